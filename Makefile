# The one command that must pass before a merge.
.PHONY: test
SHELL := /bin/bash

test: export INSTA_UPDATE = no
test:
	scripts/tools
	cargo fmt --check
	cargo clippy --all-targets --locked -- -D warnings
	cargo test --locked

# The one command that must pass before a merge.
.PHONY: test test-live
SHELL := /bin/bash

test: export INSTA_UPDATE = no
# The same cases on every machine; cargo test by itself draws others each time.
test: export PROPTEST_RNG_SEED = 20261130
test:
	scripts/tools
	cargo fmt --check
	cargo clippy --all-targets --locked -- -D warnings
	cargo test --locked

# Captures from the cluster that KUBECONFIG names; see docs/live-tests.md.
test-live:
	scripts/tools
	cargo test --locked --test live -- --ignored --nocapture

# The one command that must pass before a merge.
.PHONY: test test-live test-pre-commit test-html mutation fuzz
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

# A commit with pre-commit itself, which is fetched from the Python Package Index into .tools.
test-pre-commit:
	python3 -m venv .tools/pre-commit
	.tools/pre-commit/bin/pip install --quiet pre-commit==4.7.0
	PATH="$(CURDIR)/.tools/pre-commit/bin:$$PATH" cargo test --locked --test pre_commit -- --ignored

# The HTML report in a headless Chromium (Debian: chromium-headless-shell, chromium); CHROMIUM names the program.
test-html:
	cargo test --locked --test html -- --ignored --nocapture

# Spoils each rule and checks that its tests notice.
mutation:
	scripts/mutation-check

# Lets libFuzzer look for inputs that presync does not bear, each target for FUZZ_SECONDS; see docs/fuzzing.md.
FUZZ_SECONDS ?= 600
FUZZ_TARGETS ?= $(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs)))
fuzz:
	for target in $(FUZZ_TARGETS); do mkdir -p fuzz/found/"$$target"; cargo +nightly fuzz run "$$target" fuzz/found/"$$target" fuzz/corpus/"$$target" -- -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -timeout=10 || exit 1; done

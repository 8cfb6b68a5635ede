# The gate and the demonstration. `make help` lists the targets; each brings what it lacks by scripts/setup.

export PATH := $(CURDIR)/.tools/bin:$(PATH)
cargo := cargo
workspace := --workspace --locked
seconds := 1200

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test lint format licences docs unit e2e bench soak fuzz dist dist-check generate clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: ## Build, then watch loadproof measure a simulated engine
	@scripts/setup rust cc
	$(cargo) build --release --locked --package cli
	@$(cargo) run --release --locked --quiet --package cli -- demo

test: lint docs unit e2e ## Everything that must pass before a change lands

lint: format licences ## Formatting, clippy, dependencies
	@scripts/setup rust cc
	$(cargo) clippy $(workspace) --all-targets -- -D warnings

format:
	@scripts/setup rust
	$(cargo) fmt --all --check

licences:
	@scripts/setup deny
	$(cargo) fetch --locked --quiet
	$(cargo) deny --locked --offline check bans licenses sources

docs: ## The examples in the documentation, and its links
	@scripts/setup rust cc
	RUSTDOCFLAGS="-D warnings" $(cargo) doc $(workspace) --no-deps
	$(cargo) test $(workspace) --doc --quiet

unit: ## All tests that need nothing but this checkout
	@scripts/setup nextest cc
	$(cargo) nextest run $(workspace) --profile unit

e2e: ## The binary against llama.cpp, Prometheus, other HTTP parsers, age and an S3 server, and shut in
	@scripts/setup nextest cc prometheus engine parsers age s3 jail
	$(cargo) nextest run $(workspace) --profile e2e

bench: ## Micro-benchmarks of the token path, and what the proxy and its observers add to an event
	@scripts/setup rust cc
	$(cargo) bench $(workspace) --bench '*'

soak: ## Everything that goes wrong, for 20 minutes (or seconds=60): nothing may grow or get lost
	@scripts/setup rust cc
	$(cargo) build --release --locked --package cli
	@$(cargo) run --release --locked --quiet --package cli -- soak --seconds $(seconds)

fuzz: ## Each fuzz target for FUZZ_SECONDS, 60 by default; needs a nightly compiler
	@scripts/setup fuzz
	@scripts/fuzz $(or $(FUZZ_SECONDS),60)

dist: ## The static binary, the list of what is in it and checksums, in dist/
	@scripts/setup rust cc cyclonedx
	@scripts/dist

dist-check: ## Build it in two folders: the bytes must be equal
	@scripts/setup rust cc cyclonedx
	@scripts/dist --check

generate: ## Write anew what is generated: METRICS.md, docs/CONFIG.md, docs/HOSTILE-STREAMS.md, docs/CAPTURE-FORMAT.md, dashboard and rules
	@scripts/setup rust cc
	$(cargo) run --locked --quiet --package exporter --example metrics_md
	$(cargo) run --locked --quiet --package grafana --example generate
	$(cargo) run --locked --quiet --package decode --example hostile_streams
	$(cargo) run --locked --quiet --package capture --example capture_format
	mkdir -p target && $(cargo) run --locked --quiet --package cli -- config reference > target/CONFIG.md
	mv target/CONFIG.md docs/CONFIG.md

clean: ## Remove what was built; the tools stay (.tools, .venv)
	$(cargo) clean

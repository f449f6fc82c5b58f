# Everything a fresh machine needs: Python 3.11 or newer, a Rust toolchain, and these targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST := $(shell find native/src -name '*.rs') native/Cargo.toml native/Cargo.lock
BUILT := $(VENV)/.built
TOOLS := $(VENV)/.tools
RELEASE_BIN := $(VENV)/release/bin
RELEASE := $(VENV)/release/.tools
# What matplotlib caches stays in the clone.
export MPLCONFIGDIR := $(CURDIR)/$(VENV)/matplotlib
# Tests and demonstrations start many processes: what one of them compiled is there for the next.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help build demo check test bench bars campaign docs wheel clean

help:  ## List the targets.
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

$(TOOLS): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "hedgerow needs Python 3.11 or newer as '$(PYTHON)'; install it, or name yours: make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "hedgerow needs Python 3.11 or newer; '$(PYTHON)' is older. Name another: make PYTHON=python3.12" >&2; exit 1; }
	@command -v cargo >/dev/null || { echo "hedgerow needs a Rust toolchain (cargo 1.89 or newer) to build; install one with rustup or your package manager." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "Python's venv module is missing; on Debian: apt install python3-venv" >&2; exit 1; }
	@$(BIN)/python -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; x = p["optional-dependencies"]; print("\n".join(r for r in p["dependencies"] + sum(x.values(), []) if not r.startswith("hedgerow[")))' > $(VENV)/requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r $(VENV)/requirements.txt -c constraints.txt
	@touch $@

$(RELEASE): release/requirements.txt
	$(PYTHON) -m venv $(VENV)/release
	$(RELEASE_BIN)/python -m pip install --quiet --disable-pip-version-check -r release/requirements.txt
	@touch $@

$(BUILT): $(TOOLS) $(RUST)
	@cargo --version >/dev/null 2>&1 || { echo "hedgerow needs a Rust toolchain (cargo 1.89 or newer) to build; install one with rustup or your package manager." >&2; exit 1; }
	@echo "Building the native part; the first time takes a minute or two."
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --locked --quiet 2>&1 | { grep -v "^Requirement already satisfied" || true; }
	@touch $@

build: $(BUILT)  ## Create .venv, install the release build and the tools; quick when nothing changed.

demo: build  ## Three organisations learn together, as real processes, and a page of it; about a minute.
	$(BIN)/python -m hedgerow.demo

check: build  ## Lint, types, floors, stubs.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m mypy.stubtest hedgerow._native
	cd native && cargo fmt --check
	cd native && cargo clippy --release --locked --quiet --all-targets --features python -- -D warnings

test: check  ## Checks, then every test.
	cd native && cargo test --profile tests --locked --quiet
	$(BIN)/python -m pytest --basetemp=$(VENV)/tmp -n 2 --dist worksteal

bench: build  ## Measure what docs/results lacks and write its pages, under two hours; QUICK=1 writes small ones to results-quick.
	$(BIN)/python -m benchmarks results $(if $(QUICK),--quick)

bars: build  ## Compare with XGBoost and other ciphers; QUICK=1 takes minutes, OLD=path/to/python adds another version.
	@ended=0; for name in pooled horizontal vertical hybrid sealed ciphers dp; do \
		$(BIN)/python -m benchmarks $$name $(if $(QUICK),--quick) || ended=$$?; \
	done; \
	$(if $(OLD),$(BIN)/python -m benchmarks.versions $(OLD) || ended=$$?;) exit $$ended

campaign: build  ## Kill parties and driver, break lines, lie to decoders; takes long.
	$(BIN)/python -m campaign

wheel: $(RELEASE)  ## One wheel for Linux of glibc 2.28 or newer in dist/, used where there is no Rust; TWICE=1 compares two builds.
	PATH="$(CURDIR)/$(RELEASE_BIN):$$PATH" $(RELEASE_BIN)/python -m release.wheel $(if $(TWICE),--twice)

docs: build  ## Write the reference pages anew, and build the documentation into docs/_build.
	$(BIN)/python -m docs.generate
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

clean:  ## Remove everything that was built.
	rm -rf $(VENV) native/target docs/_build demo-output src/hedgerow/_native*.so

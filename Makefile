# make run      the whole platform on this machine; Ctrl-C stops it
# make test     all tests, on real parts; PYTEST_ARGS="-k name" is handed on, TEST_PROCESSES=1 runs them one by one
# make test-fast    the tests of single parts: unit, store, and the web in one process
# make chaos    everything is killed at random while tasks go through; SEED=7 SECONDS=120 TASKS=300 may be given
# make bench    Coatcheck beside its ceilings and a peer, in under 15 minutes; BENCH_ARGS="--quick polls" is handed on
# make lint     what CI checks before the tests
# make format   the code as ruff lays it out
# make lock     the hashed requirements, from pyproject.toml; LOCK_ARGS=--upgrade takes the newest
# make clean    removes what was made; the data of `make run` in .data stays

PYTHON ?= python3
PYTEST_ARGS ?=
TEST_PROCESSES ?= 4
BENCH_ARGS ?=
SEED ?=
SECONDS ?= 120
TASKS ?= 300
LOCK_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-input --require-hashes

# The command of an installed distribution, for the checkout; nothing has to be built for it.
COMMAND := printf '\#!/bin/sh\nPYTHONPATH="%s$${PYTHONPATH:+:$$PYTHONPATH}" exec "%s" -m coatcheck "$$@"\n' "$(CURDIR)" "$(CURDIR)/$(BIN)/python" \
	> $(BIN)/coatcheck && chmod +x $(BIN)/coatcheck

# A file's tests run in one process, because they share its platform.
PARALLEL := --numprocesses $(TEST_PROCESSES) --dist loadfile
FAST := tests/unit tests/store tests/streams/test_in_process.py

.DEFAULT_GOAL := run
.PHONY: run test test-fast chaos bench lint format lock clean

run: $(VENV)/run.stamp
	@exec $(BIN)/python -m coatcheck.launch --procfile Procfile

test: $(VENV)/dev.stamp
	$(BIN)/python -m pytest $(PARALLEL) --durations 20 $(PYTEST_ARGS)

test-fast: $(VENV)/dev.stamp
	$(BIN)/python -m pytest $(PARALLEL) --durations 10 $(FAST) $(PYTEST_ARGS)

chaos: $(VENV)/dev.stamp
	$(BIN)/python -m tests.chaos --seconds $(SECONDS) --tasks $(TASKS) $(if $(SEED),--seed $(SEED))

bench: $(VENV)/dev.stamp
	$(BIN)/python -m bench $(BENCH_ARGS)

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# One lock for every Python from 3.11 on and every platform: environment markers stay in it.
# The development lock takes the versions of the other one.
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $(LOCK_ARGS)

lock: $(VENV)/dev.stamp
	$(LOCK) pyproject.toml --extra all --output-file requirements.txt
	$(LOCK) pyproject.toml --extra dev --constraint requirements.txt --output-file requirements-dev.txt
	$(LOCK) tests/client/peer/requirements.in --output-file tests/client/peer/requirements.txt

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is younger than the lock it stands for as long as nothing has to be installed: no network is touched then.
$(VENV)/run.stamp: requirements.txt $(VENV)/venv.stamp
	@echo "Installing what Coatcheck needs into $(VENV); this happens once."
	@$(PIP_INSTALL) --requirement requirements.txt
	@$(COMMAND)
	@touch $@

$(VENV)/dev.stamp: requirements-dev.txt $(VENV)/venv.stamp
	@echo "Installing what Coatcheck and its tests need into $(VENV); this happens once."
	@$(PIP_INSTALL) --requirement requirements-dev.txt
	@$(COMMAND)
	@touch $@

$(VENV)/venv.stamp:
	@command -v "$(PYTHON)" >/dev/null || { \
		echo "Coatcheck needs Python 3.11 or newer, and $(PYTHON) was not found. Install it, or name it: make PYTHON=/path/to/python3.12" >&2; \
		exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Coatcheck needs Python 3.11 or newer; this is $$("$(PYTHON)" --version 2>&1). Name another: make PYTHON=/path/to/python3.12" >&2; \
		exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' || { \
		echo "This Python cannot make environments. On Debian and Ubuntu: apt install python3-venv" >&2; \
		exit 1; }
	@"$(PYTHON)" -m venv $(VENV)
	@touch $@

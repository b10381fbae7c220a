# Everything a person or CI runs. `make demo` and `make test` need Python >= 3.11, pip and make, nothing else.
PYTHON ?= python3
VENV   ?= .venv
ARGS   ?=
export PYTHON

BIN    := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest $(ARGS)
CHROMIUM := /usr/bin/chromium

.PHONY: help setup tools browser demo test test-fast test-changed check peer drill bench lock golden clean

help:  ## these lines
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

setup:  ## the environment with `fanal` in it, nothing to test with
	@locks/install $(VENV) demo

tools: setup
	@locks/install $(VENV) test

browser:
	@test -x $(CHROMIUM) || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } || { \
	  echo "The browser tests need Chromium at $(CHROMIUM). On Debian, as root: apt install chromium"; exit 2; }

demo: setup  ## train the lantern and watch it (ARGS=--headless: no page)
	@$(BIN)/fanal demo $(ARGS)

test: tools browser  ## all tests but peer and drill
	$(PYTEST) -m "not peer and not drill"

test-fast: tools  ## the unmarked tests
	$(PYTEST) -m "not peer and not drill and not browser and not layout and not e2e"

test-changed: tools  ## the tests that mirror the files changed since the last commit
	$(BIN)/python -m tests.changed | xargs -r $(PYTEST) -m "not peer and not drill"

check: tools  ## lint, types, layers, house rules, locks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(PYTEST) -q tests/test_house.py tests/contract/test_index.py

peer:  ## beside other people's libraries, in an environment of their own
	@locks/install $(VENV)-peer peer torch==2.13.0
	$(VENV)-peer/bin/python -m pytest $(ARGS) -m peer tests/peer

drill: tools  ## faults and kills
	$(PYTEST) -m drill

bench: setup  ## the benchmarks, as JSON in benchmarks/results/
	@locks/install $(VENV) bench
	$(BIN)/python -m benchmarks $(ARGS)

lock: tools  ## resolve locks/*.in again
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet uv
	$(BIN)/python locks/resolve.py

golden: tools  ## write tests/golden anew and print what changed
	$(BIN)/python -m tests.golden

clean:  ## remove environments and caches of this folder; runs/ stays
	rm -rf $(VENV) $(VENV)-peer build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find fanal tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

# make            what there is to make (this text)
# make setup      .venv with the package, the development tools and compiled loops
# make demo       a model of made-up notes with 1,000,000 words, with privacy and without
# make check      linters, types, import contracts and quick tests: seconds, before every commit
# make test       all of that and all tests, also on the oldest versions we claim
# make docs       the documentation, in docs/_build/html; its examples are run, warnings are errors
# make site-test  that, and tests of the site in a browser: search, links, size, narrow screens
# make stress     hostile input at every door for MINUTES (60), then commands killed hundreds of times
# make bench      every study of benchmarks/; make bench-NAME runs benchmarks/NAME.py with ARGS
# make build      source distribution and wheel, in dist/
# make release    the same, with the wheel tested in an empty environment and the version checked
# make clean      remove all of the above
#
# Needs make and Python 3.11 or later with venv and pip; PYTHON=... chooses another interpreter. Tests
# also compile C++ (the kernels of a card, for the processor): c++, or the Python package ziglang.

PYTHON ?= python3
BIN := .venv/bin
OLD := .venv-oldest
SOURCES := $(shell find src -name '*.py')

.PHONY: help setup demo lint check test test-oldest docs site-test stress bench build release clean

help:
	@sed -n '/^$$/q;s/^# \{0,1\}//p' Makefile

setup: .venv/.dev .venv/.warm

# It compiles the loops that it needs itself.
demo: .venv/.runtime
	$(BIN)/dplasso demo

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Tests that need no compiled loops.
QUICK := tests/base tests/privacy src/dplasso/base src/dplasso/privacy
check: lint
	$(BIN)/python -m pytest --quiet $(QUICK)

# Tests that share a cluster run in one process. Three processes on two cores: some tests wait for
# servers and browsers.
test: setup .venv/.postgres .venv/.federated .venv/.cluster .venv/.docs lint
	$(BIN)/python -m pytest -n 3 --dist loadgroup
	$(MAKE) test-oldest

# The estimators on the oldest versions we claim, where those exist for this Python.
test-oldest:
	@if $(PYTHON) -c 'import sys; sys.exit(sys.version_info >= (3, 13))'; \
	then $(MAKE) $(OLD)/.fresh && NUMBA_CACHE_DIR=$(OLD)/compiled \
	$(OLD)/bin/python -m pytest -n 2 tests/estimators tests/data; \
	else echo "the oldest versions we claim have no builds for this Python: not tested"; fi

# Pages are read anew every time. Examples that have not changed are not run again: make clean forgets
# them.
SITE := docs/_build/html
docs: setup .venv/.docs
	rm -rf $(SITE)
	$(BIN)/python -m sphinx -E -b html -d docs/_build/doctrees -W --keep-going --quiet docs $(SITE)
	@echo "the documentation is in $(SITE)/index.html"

site-test: docs
	SITE=$(SITE) $(BIN)/python -m pytest --quiet tests/site

MINUTES ?= 60
STRESSES := $(basename $(notdir $(wildcard benchmarks/fuzz_*.py benchmarks/killed*.py))) stress
KILLS := $(filter killed%,$(STRESSES))
stress: setup .venv/.postgres
	$(BIN)/python benchmarks/stress.py --minutes $(MINUTES)
	$(MAKE) $(addprefix bench-,$(KILLS))

# Every script but those of `make stress`; the last one puts the results into the README.
BENCHES := $(filter-out $(STRESSES) tables,$(basename $(notdir $(wildcard benchmarks/*.py))))
bench: $(addprefix bench-,$(BENCHES))
	$(MAKE) bench-accuracy ARGS=--draw
	$(MAKE) bench-tables

bench-regret: ARGS ?= --streams
bench-%: setup .venv/.postgres .venv/.cluster
	$(BIN)/python benchmarks/$*.py $(ARGS)

build: .venv/.dev
	$(BIN)/python -m build --no-isolation

# What is published is what was tested: the tests of the wheel take the one that was built here.
release: setup
	rm -rf dist
	$(MAKE) build
	DPLASSO_DIST=dist $(BIN)/python -m pytest --quiet tests/test_wheel.py tests/test_release.py
	@ls -l dist

clean:
	rm -rf .venv $(OLD) .venv-diffprivlib .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist \
	docs/_build docs/gallery docs/reference/generated
	find . -name __pycache__ -prune -exec rm -rf {} +

# The stamps are newer than pyproject.toml as long as what it asks for is installed.
.venv/.runtime: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[cli,tables]'
	touch $@

.venv/.dev: .venv/.runtime
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

# A driver and a server for the tests of a ledger in PostgreSQL.
.venv/.postgres: .venv/.dev
	$(BIN)/python -m pip install --quiet --editable '.[postgres-tests]'
	touch $@

# What a federation runs on.
.venv/.federated: .venv/.dev
	$(BIN)/python -m pip install --quiet --editable '.[federated]'
	touch $@

# What shards of rows run on.
.venv/.cluster: .venv/.dev
	$(BIN)/python -m pip install --quiet --editable '.[cluster]'
	touch $@

# What builds the documentation.
.venv/.docs: .venv/.dev
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

# Compile the kernels once, so that no first call is slow.
.venv/.warm: .venv/.runtime $(SOURCES)
	$(BIN)/python -m dplasso.warm
	touch $@

$(OLD)/.installed: pyproject.toml tests/oldest.txt
	test -x $(OLD)/bin/python || $(PYTHON) -m venv $(OLD)
	$(OLD)/bin/python -m pip install --quiet --constraint tests/oldest.txt --editable '.[cli,tables,onnx]' \
	pytest pytest-xdist pytest-timeout hypothesis pandas polars onnxruntime
	touch $@

# Code compiled from older kernels would be used without notice.
$(OLD)/.fresh: $(OLD)/.installed $(SOURCES)
	rm -rf $(OLD)/compiled
	touch $@

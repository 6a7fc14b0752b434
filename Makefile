# make setup | demo | test | stress | bench | clean
# Needs make and Python 3.11 or later with venv and pip; PYTHON=... chooses another interpreter.

PYTHON ?= python3
BIN := .venv/bin
OLD := .venv-oldest
SOURCES := $(shell find src -name '*.py')

.PHONY: setup demo test test-oldest stress bench clean

setup: .venv/.dev .venv/.warm

# What it needs of the compiled loops, it compiles itself.
demo: .venv/.runtime
	$(BIN)/dplasso demo

test: setup .venv/.postgres .venv/.federated
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 2
	$(MAKE) test-oldest

# The estimators on the oldest versions we claim, where those exist for this Python.
test-oldest:
	@if $(PYTHON) -c 'import sys; sys.exit(sys.version_info >= (3, 13))'; \
	then $(MAKE) $(OLD)/.fresh && NUMBA_CACHE_DIR=$(OLD)/compiled \
	$(OLD)/bin/python -m pytest -n 2 tests/estimators tests/data; \
	else echo "the oldest versions we claim have no builds for this Python: not tested"; fi

# Hostile input at every door, for so many minutes.
MINUTES ?= 60
stress: setup
	$(BIN)/python benchmarks/stress.py --minutes $(MINUTES)

bench: setup .venv/.postgres
	$(BIN)/python benchmarks/first_fit.py
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/utility.py
	$(BIN)/python benchmarks/gradient.py
	$(BIN)/python benchmarks/regret.py --streams
	$(BIN)/python benchmarks/running_sums.py
	$(BIN)/python benchmarks/federated_accuracy.py
	$(BIN)/python benchmarks/federated_uplink.py
	$(BIN)/python benchmarks/federated_convergence.py
	$(BIN)/python benchmarks/federated_progress.py
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/online.py
	$(BIN)/python benchmarks/online_speed.py
	$(BIN)/python benchmarks/sparsifier_tables.py
	$(BIN)/python benchmarks/newsgroups.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/end_to_end.py
	$(BIN)/python benchmarks/killed.py
	$(BIN)/python benchmarks/killed_ledger.py
	$(BIN)/python benchmarks/killed_stream.py
	$(BIN)/python benchmarks/sign_leak.py
	$(BIN)/python benchmarks/breakdown.py
	$(BIN)/python benchmarks/planted_bugs.py
	$(BIN)/python benchmarks/tables.py

clean:
	rm -rf .venv $(OLD) .venv-diffprivlib .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -prune -exec rm -rf {} +

# The stamps are newer than pyproject.toml as long as what it asks for is installed.
.venv/.runtime: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable .
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

# Compile the kernels once, so that no first call is slow.
.venv/.warm: .venv/.runtime $(SOURCES)
	$(BIN)/python -m dplasso.warm
	touch $@

$(OLD)/.installed: pyproject.toml tests/oldest.txt
	test -x $(OLD)/bin/python || $(PYTHON) -m venv $(OLD)
	$(OLD)/bin/python -m pip install --quiet --constraint tests/oldest.txt --editable . \
	pytest pytest-xdist hypothesis pandas polars
	touch $@

# Code compiled from older kernels would be used without notice.
$(OLD)/.fresh: $(OLD)/.installed $(SOURCES)
	rm -rf $(OLD)/compiled
	touch $@

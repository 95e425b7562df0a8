# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-for-tests

# Modules become bytecode once, whatever the environment says: tests start many programs.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-slow bench readme screenshots format clean

demo: $(STAMP)
	$(BIN)/cellveil demo --out cellveil-demo

test: $(TEST_STAMP)
	$(BIN)/ruff format --check src tests benchmarks experiments
	$(BIN)/ruff check src tests benchmarks experiments
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow" src tests

test-slow: $(TEST_STAMP)
	HYPOTHESIS_PROFILE=random $(BIN)/pytest -m slow tests

bench: $(TEST_STAMP)
	$(BIN)/python benchmarks/cold_start.py
	$(BIN)/python benchmarks/tabulate.py --rows 1000000
	$(BIN)/python benchmarks/unpick.py

# The figures of README.md; the pictures of README.md and docs, which need Chromium.
readme: $(STAMP)
	$(BIN)/python benchmarks/readme.py figures

screenshots: $(TEST_STAMP)
	$(BIN)/python benchmarks/screenshots.py

format: $(TEST_STAMP)
	$(BIN)/ruff format src tests benchmarks experiments
	$(BIN)/ruff check --fix src tests benchmarks experiments

clean:
	rm -rf $(VENV) cellveil-demo

# What the package and the demo need. Modules become bytecode when they are first imported: fewer than all.
$(STAMP): pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --no-compile -c requirements.lock -e ".[excel]"
	@touch $(STAMP)

$(TEST_STAMP): $(STAMP)
	$(PIP) install --no-compile -c requirements.lock -e ".[test]"
	@touch $(TEST_STAMP)

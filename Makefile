# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-slow bench readme screenshots format clean

demo: $(STAMP)
	$(BIN)/cellveil demo --out cellveil-demo

test: $(STAMP)
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow" src tests

test-slow: $(STAMP)
	HYPOTHESIS_PROFILE=random $(BIN)/pytest -m slow tests

bench: $(STAMP)
	$(BIN)/python benchmarks/tabulate.py --rows 1000000
	$(BIN)/python benchmarks/unpick.py

# The figures and the picture of README.md; pictures need Chromium.
readme: $(STAMP)
	$(BIN)/python benchmarks/readme.py figures

screenshots: $(STAMP)
	$(BIN)/python benchmarks/readme.py screenshots

format: $(STAMP)
	$(BIN)/ruff format src tests benchmarks
	$(BIN)/ruff check --fix src tests benchmarks

clean:
	rm -rf $(VENV) cellveil-demo

$(STAMP): pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e ".[test]"
	@touch $(STAMP)

# Two commands do all the set-up: `make demo` and `make test`. What goes out is made by `make dist`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-for-tests
DIST_STAMP := $(VENV)/.installed-for-dist
SPARK_STAMP := $(VENV)/.installed-for-spark
LOOPS := hatch_build.py $(wildcard src/cellveil/loops/*.[ch])
MACHINES := linux-x86_64 linux-aarch64 musl-x86_64 musl-aarch64 macos-x86_64 macos-arm64 windows-x86_64
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
# The time of all files in what is built: that of the last commit, or a fixed one where there is no history.
EPOCH := $(shell git log -1 --format=%ct 2>/dev/null || echo 1577836800)

# Modules become bytecode once, whatever the environment says: tests start many programs.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-slow test-spark loops dist check-dist bench comparison readme screenshots pictures docs format clean

demo: $(STAMP)
	$(BIN)/cellveil demo --out cellveil-demo

test: $(TEST_STAMP)
	$(BIN)/ruff format --check src tests benchmarks experiments tools hatch_build.py
	$(BIN)/ruff check src tests benchmarks experiments tools hatch_build.py
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow" src tests

test-slow: $(TEST_STAMP)
	HYPOTHESIS_PROFILE=random $(BIN)/pytest -m "slow or hypothesis" tests

# The compiled loops anew, after a change of their sources; `make test` does it as well.
loops: $(STAMP)
	$(BIN)/python -m cellveil.loops.build

# Tabulation by Spark, on local[2] and on a cluster of two workers: 300 MB to install, and Java 17.
test-spark: $(SPARK_STAMP)
	$(BIN)/pytest tests/microdata/test_spark.py

# Source archive, a wheel for each machine (all are compiled here, by zig), and the bill of materials of what the
# lock file pins. Equal sources give equal files.
dist: $(DIST_STAMP)
	rm -rf dist
	SOURCE_DATE_EPOCH=$(EPOCH) $(BIN)/python -m build --no-isolation --sdist --outdir dist .
	for machine in $(MACHINES); do \
	    CELLVEIL_WHEEL=$$machine SOURCE_DATE_EPOCH=$(EPOCH) \
	        $(BIN)/python -m build --no-isolation --wheel --outdir dist . || exit 1; \
	done
	$(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible --of JSON \
	    -o dist/cellveil-$(VERSION).cdx.json requirements.lock

# The wheel in a clean environment: no compiler, another user, nothing writable but the output.
check-dist: $(TEST_STAMP)
	$(BIN)/pytest -m slow tests/distribution

bench: $(TEST_STAMP)
	$(BIN)/python benchmarks/tabulate.py --rows 1000000
	$(BIN)/python benchmarks/unpick.py

# Every method, and peers that are found, on the same tables; goes on where it was left: docs/comparison.md.
comparison: $(TEST_STAMP)
	$(BIN)/python -m experiments.comparison run --out comparison

# The figures of README.md; the pictures of README.md and docs, which need Chromium.
readme: $(STAMP)
	$(BIN)/python benchmarks/readme.py figures

screenshots: $(TEST_STAMP)
	$(BIN)/python benchmarks/screenshots.py

pictures: $(TEST_STAMP)
	$(BIN)/python benchmarks/drawing.py
	$(BIN)/python benchmarks/concept_pictures.py

# The documentation site: open build/site/index.html.
docs: $(TEST_STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

format: $(TEST_STAMP)
	$(BIN)/ruff format src tests benchmarks experiments tools hatch_build.py
	$(BIN)/ruff check --fix src tests benchmarks experiments tools hatch_build.py

clean:
	rm -rf $(VENV) cellveil-demo dist build

# What the package and the demo need. Modules become bytecode when they are first imported: fewer than all.
$(STAMP): pyproject.toml requirements.lock $(LOOPS)
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --no-compile -c requirements.lock -e ".[excel]"
	@touch $(STAMP)

$(TEST_STAMP): $(STAMP)
	$(PIP) install --no-compile -c requirements.lock -e ".[test]"
	@touch $(TEST_STAMP)

$(DIST_STAMP): $(STAMP)
	$(PIP) install --no-compile -c requirements.lock -e ".[dist]"
	@touch $(DIST_STAMP)

$(SPARK_STAMP): $(TEST_STAMP)
	$(PIP) install --no-compile -c requirements.lock -e ".[spark]"
	@touch $(SPARK_STAMP)

# Two commands on a fresh machine with Python 3.11+: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
PEER := .venv-0.3.0
BIN := $(VENV)/bin
# Packages are compiled after they are all there, by every core; some have files for other versions of Python.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
COMPILE := $(BIN)/python -m compileall -qq -j 0 $(VENV)/lib || true
# What Python compiles of the package is kept: else each of hundreds of processes compiles it anew.
unexport PYTHONDONTWRITEBYTECODE
# A file of tests stays in one process, which compiles its systems once; files in order, so that notebooks are no tail.
PYTEST := -m pytest -n 2 --dist loadfile --no-loadscope-reorder
TESTS := $(BIN)/python $(PYTEST)

# Tests of pages: every page of the site and every calculator in a browser.
PAGES := tests/site tests/web/test_pages.py

.PHONY: demo test site-test lint types contracts book docs validation ci check bench bench-gpu clean

demo: $(VENV)/.installed
	$(BIN)/mlsysim demo

test: $(VENV)/.test
	$(TESTS)

# Pages in a browser, which is installed where there is none; fails where none opens them.
site-test: $(VENV)/.test
	PYTHONPATH=tests $(BIN)/python -m web.chromium
	PYTHONPATH=docs $(BIN)/python -m website.browser_python
	$(TESTS) --only-long --browser $(PAGES)

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.lint
	$(BIN)/pyright

contracts: $(VENV)/.lint
	$(BIN)/lint-imports

book: $(VENV)/.installed
	$(BIN)/mlsysim book

# The site, in build/site/html; nothing is asked of a network but what its page that runs Python needs, fetched before.
docs: $(VENV)/.docs
	PYTHONPATH=docs $(BIN)/python -m website

validation: $(VENV)/.long
	$(BIN)/python tests/validation/report.py

# What a change must pass in half an hour: no test twice, and of the long ones one in forty; `make check` has them all.
ci: lint types contracts test site-test
	$(BIN)/mlsysim book --check
	$(TESTS) --only-long --share 40 --ignore=tests/benchmarks $(PAGES:%=--ignore=%)

# Every test, and the quick ones once more as an old processor runs them, whose last digits are others.
check: lint types contracts
	$(BIN)/mlsysim book --check
	PYTHONPATH=tests $(BIN)/python -m web.chromium
	PYTHONPATH=docs $(BIN)/python -m website.browser_python
	$(TESTS) --long --browser
	$(BIN)/python tests/oldest_processor.py $(PYTEST)

bench: $(VENV)/.test $(PEER)/.installed
	mkdir -p build
	$(BIN)/python -m pytest --long tests/benchmarks --ignore=tests/benchmarks/test_gpu.py --benchmark-enable --benchmark-only -p no:xdist --benchmark-json=build/benchmarks.json
	$(BIN)/python tests/benchmarks/report.py build/benchmarks.json docs/benchmarks.md

# Where JAX has a GPU: needs the build of jaxlib for it in the environment.
bench-gpu: $(VENV)/.test
	$(BIN)/python -m pytest --long tests/benchmarks/test_gpu.py --benchmark-enable --benchmark-only -p no:xdist -rs -s

# The mlsysim 0.3.0 of PyPI in an environment of its own, to be timed beside us.
$(PEER)/.installed: tests/benchmarks/constraints-0.3.0.txt
	$(PYTHON) -m venv $(PEER)
	$(PEER)/bin/python -m pip install --quiet --disable-pip-version-check -c tests/benchmarks/constraints-0.3.0.txt mlsysim==0.3.0
	touch $@

$(VENV)/.created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "mlsysim needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt pip
	touch $@

$(VENV)/.installed: $(VENV)/.created pyproject.toml constraints.txt
	$(PIP_INSTALL) -e ".[fast,plot]"
	$(COMPILE)
	$(BIN)/python -m mlsysim.backends.programs & $(BIN)/python -m mlsysim.simulation && wait $$!
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(PIP_INSTALL) --group docs
	$(COMPILE)
	PYTHONPATH=docs $(BIN)/python -m website.browser_python
	touch $@

$(VENV)/.test: $(VENV)/.installed tests/tex/package.json
	$(PIP_INSTALL) --group test
	$(COMPILE)
	$(BIN)/python tests/tex/renderers.py
	touch $@

# PyTorch and its models, a gigabyte that only long tests and types ask for.
$(VENV)/.long: $(VENV)/.test
	$(PIP_INSTALL) --group long
	touch $@

$(VENV)/.lint: $(VENV)/.long
	$(PIP_INSTALL) --group lint
	touch $@

clean:
	rm -rf $(VENV) $(PEER) build dist .pytest_cache .ruff_cache .hypothesis .benchmarks

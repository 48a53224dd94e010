# Everything a newcomer needs: `make demo`, `make test`. Each target sets up what it needs.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
OUT := out
# Benchmarks run so many instances at a time, each on one thread.
JOBS ?= 2

# The paper's datasets, where they lie beside the checkout.
ifneq ($(wildcard ../shared/data),)
export POLYCOMPLETE_DATA ?= $(abspath ../shared/data)
endif

.DEFAULT_GOAL := help
.PHONY: help demo coverage docs test test-experiments fuzz check browser test-oldest test-wheel bench bench-anchors bench-subspaces bench-solver bench-threads bench-cli \
	bench-skip bench-weights bench-tables bench-table1 bench-dermatology bench-hopkins bench-recovery bench-scale bench-wide bench-dask bench-gpu reproduce results pictures clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "polycomplete needs Python 3.11 or newer; try: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(VENV)/.ready  ## Complete digits with half of their pixels missing; table, picture and report in out/
	$(PY) examples/digits.py --out $(OUT)/demo

docs: $(VENV)/.ready  ## The documentation, warnings as errors: out/docs/index.html
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(PY) -m sphinx --fail-on-warning --keep-going --jobs auto docs $(OUT)/docs

# Two processes, which take tests from each other in the end.
PYTEST := $(PY) -m pytest -n 2 --dist worksteal

# Linters run beside the tests; what they say comes last.
test: $(VENV)/.ready  ## Lint, types, tests and doctests (three minutes)
	@mkdir -p $(OUT)
	@$(MAKE) --no-print-directory check > $(OUT)/check.txt 2>&1 & check=$$!; \
	$(PYTEST); tests=$$?; \
	wait $$check; lint=$$?; cat $(OUT)/check.txt; \
	[ $$tests -eq 0 ] && [ $$lint -eq 0 ]

test-experiments: $(VENV)/.ready  ## The longer tests of the paper's experiments (a minute)
	$(PYTEST) tests/experiments

MINUTES ?= 10
fuzz: $(VENV)/.ready  ## Random arrays, tables and damaged files against what is promised (MINUTES=10)
	$(PY) tests/fuzz.py --minutes $(MINUTES)

coverage: check  ## The tests again, with the lines they reach: twice the time
	$(PYTEST) --cov --cov-report=term

check: $(VENV)/.ready  ## Lint and types only
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

browser: docs  ## Report and documentation in a real browser: tests, and pictures in out/browser (installs Chromium)
	tests/browser/chromium.sh
	$(PY) -m pip install --quiet --disable-pip-version-check 'selenium>=4.20'
	$(PY) -m pytest tests/browser

test-oldest:  ## The tests with the oldest supported dependencies, in an environment of their own
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint tests/oldest.txt --editable '.[dev]'
	.venv-oldest/bin/python -m pytest -n 2 --dist worksteal

test-wheel: $(VENV)/.ready  ## Build the wheel, install it alone in a clean environment, use it
	$(PY) tests/wheel.py

bench: bench-anchors bench-recovery bench-scale bench-wide bench-dask bench-subspaces bench-tables bench-table1 bench-dermatology bench-hopkins bench-solver bench-skip bench-weights bench-threads bench-cli  ## All benchmarks

bench-anchors: $(VENV)/.ready  ## Error and seconds of every method against its authors' code
	$(PY) -m benchmarks.bench_anchors --out $(OUT)/benchmarks --jobs $(JOBS)

bench-recovery: $(VENV)/.ready  ## What the landmark solver recovers, with targets; the phase diagram
	$(PY) -m benchmarks.bench_recovery --out $(OUT)/benchmarks --jobs $(JOBS) --phase docs/phase.png

bench-scale: $(VENV)/.ready  ## Growth with the rows, arithmetic, new rows, peers
	$(PY) -m benchmarks.bench_scale --out $(OUT)/benchmarks --picture docs/scale.png

bench-wide: $(VENV)/.ready  ## Pictures of 784 pixels, half of them missing, against low-rank completion
	$(PY) -m benchmarks.bench_wide --out $(OUT)/benchmarks --picture docs/wide.png

bench-dask: $(VENV)/.ready  ## Five million rows from Parquet to Parquet with one and two workers
	$(PY) -m benchmarks.bench_dask --out $(OUT)/benchmarks

# On a machine with a GPU and a build of PyTorch for it.
bench-gpu: $(VENV)/.ready  ## Ten million rows on a GPU: the same answer, growth, time by stage
	$(PY) -m benchmarks.bench_gpu --out $(OUT)/benchmarks

bench-subspaces: $(VENV)/.ready  ## Unions of subspaces: VMC and LADMC
	$(PY) -m benchmarks.bench_subspaces --out $(OUT)/benchmarks --jobs $(JOBS)

# A quarter of an hour; `make bench-hopkins QUICK=` runs everything, and takes days.
QUICK ?= --quick
bench-hopkins: $(VENV)/.ready  ## Motion segmentation with missing entries
	$(PY) -m benchmarks.bench_hopkins --out $(OUT)/benchmarks --jobs $(JOBS) $(QUICK)

# Twenty minutes; `make bench-table1 FULL=1` runs everything, about 17 hours on two cores, and goes on
# where it was broken off.
bench-table1: $(VENV)/.ready  ## Classification with missing features: the paper's Table 1
	$(PY) -m benchmarks.bench_table1 --out $(OUT)/table1 --jobs $(JOBS) $(if $(FULL),--full)

bench-dermatology: $(VENV)/.ready  ## The smallest dataset of Table 1: twenty trials, and two methods that know more
	$(PY) -m benchmarks.bench_table1 --data Dermatology --methods polycomplete --whole --trials 20 \
	  --out $(OUT)/dermatology --jobs $(JOBS)
	$(PY) -m benchmarks.bench_dermatology --out $(OUT)/benchmarks

bench-tables: $(VENV)/.ready  ## Ordinary tables against scikit-learn's imputers
	$(PY) -m benchmarks.bench_tables --out $(OUT)/benchmarks

bench-solver: $(VENV)/.ready  ## What each part of the default solver is worth
	$(PY) -m benchmarks.bench_solver --out $(OUT)/benchmarks

bench-skip: $(VENV)/.ready  ## PMC-S: how many singular values to leave out
	$(PY) -m benchmarks.bench_skip --out $(OUT)/benchmarks

bench-weights: $(VENV)/.ready  ## PMC's weights: equal, w₂ and w₁ of the paper
	$(PY) -m benchmarks.bench_weights --out $(OUT)/benchmarks

bench-cli: $(VENV)/.ready  ## Start-up and memory of the command line
	$(PY) -m benchmarks.bench_cli --out $(OUT)/benchmarks

bench-threads: $(VENV)/.ready  ## One BLAS thread against all of them on small problems
	$(PY) -m benchmarks.bench_threads --out $(OUT)/benchmarks

# Half an hour; `make reproduce SCALE=--full` takes days and can be broken off and called again.
SCALE ?= --quick
reproduce: $(VENV)/.ready  ## Every figure and table of the paper, and a page: out/reproduce/index.html
	$(PY) -m experiments all $(SCALE) --jobs $(JOBS) --out $(OUT)/reproduce

results: reproduce  ## Publish that run in docs/results/
	rm -rf docs/results/figures docs/results/tables
	cp -r $(addprefix $(OUT)/reproduce/,index.html trials.jsonl figures tables) docs/results/

pictures: demo  ## The pictures of docs/ (two need the paper's data)
	cp $(OUT)/demo/digits.png docs/
	$(PY) docs/methods/pictures.py
	$(PY) docs/landmark_pictures.py
	$(PY) docs/clustering_picture.py
	$(PY) docs/tables_picture.py
	$(PY) docs/classification_picture.py
	for name in curve how_sure motion outliers pipeline; do \
		$(PY) examples/$$name.py --out docs/gallery/$$name.png || exit 1; done

clean:  ## Remove environments and outputs
	rm -rf .venv .venv-oldest .venv-wheel build dist $(OUT) .pytest_cache .mypy_cache .ruff_cache

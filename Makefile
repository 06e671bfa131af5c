# Every target does all its own set-up: a virtual environment, and, where started by root and missing, system packages.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
STAMP := $(VENV)/.installed

.PHONY: demo test lint bench cases setup system constraints clean

demo: system $(STAMP)
	$(BIN)/orchestrate demo

test: system $(STAMP)
	$(BIN)/python -m pytest -n 2 -m "not slow and not extended"
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "slow and not extended"

# The migration cases that make test leaves out, because they take minutes.
cases: system $(STAMP)
	$(BIN)/python -m pytest -m extended

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: system $(STAMP)
	$(BIN)/python -m bench.startup

setup: system $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	touch $@

# Sandbox, git and node. Without root it is only said what is missing; doctor says the same with more words.
system:
	@missing=""; \
	command -v bwrap >/dev/null || missing="$$missing bubblewrap"; \
	command -v git >/dev/null || missing="$$missing git"; \
	command -v npm >/dev/null || missing="$$missing nodejs npm"; \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	  else echo "missing:$$missing (install them with your system's package manager)" >&2; fi; \
	fi

constraints: $(STAMP)
	(head -n 1 constraints.txt; $(BIN)/python -m pip freeze --exclude-editable) > constraints.new && mv constraints.new constraints.txt

clean:
	rm -rf $(VENV) .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

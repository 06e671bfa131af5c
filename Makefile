# Every target does all its own set-up: a virtual environment, and, where started by root and missing, system packages.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
STAMP := $(VENV)/.installed

.PHONY: demo test lint bench bench-full bench-peers guests servers cases fuzz setup system node containers browser terminal constraints clean

demo: $(STAMP)
	$(BIN)/orchestrate demo
	@command -v orchestrate >/dev/null || echo 'for the commands above: export PATH="$(CURDIR)/$(BIN):$$PATH"'

# Of what takes long or repeats a way, the representatives (tests/running/representatives.py). Four workers for two
# processors, as tests wait half of their time; what pytest makes of the tests is kept for the next time, whatever is set.
test: node containers browser terminal $(STAMP)
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 4 --dist worksteal -m "representative or not (slow or extended)"

# All that is slow or extended, at full size: larger projects, every crash point, two hundred kills, every attack.
cases: guests servers node containers browser terminal $(STAMP)
	KILL_MOMENTS=10 $(BIN)/python -m pytest -n 2 --dist worksteal -m "slow or extended"

# Odd input for every way in: MINUTES=5, SEED=7 and TARGETS="journals archives" choose how long, which and what.
fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzzing --minutes $(or $(MINUTES),30) --seed $(or $(SEED),1) $(TARGETS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.measure_style

bench: $(STAMP) bench-peers
	$(BIN)/python -m bench

# The other harnesses that ours is measured against.
bench-peers: .venv-peers/.installed

.venv-peers/.installed: bench/requirements.txt | system
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip --disable-pip-version-check --quiet install --requirement $<
	@touch $@

# The agents of other makers that tests run as workers.
guests: .venv-guests/.installed

.venv-guests/.installed: tests/data/guests-requirements.txt Makefile | system node
	$(PYTHON) -m venv .venv-guests
	.venv-guests/bin/python -m pip --disable-pip-version-check --quiet install --requirement $<
	npm install --silent --no-fund --no-audit --prefix .venv-guests/npm @qwen-code/qwen-code@0.24.4
	@touch $@

# The servers of tools from registries that tests have agents use.
servers: .venv-servers/.installed

.venv-servers/.installed: tests/data/servers-requirements.txt Makefile | system node
	$(PYTHON) -m venv .venv-servers
	.venv-servers/bin/python -m pip --disable-pip-version-check --quiet install --requirement $<
	npm install --silent --no-fund --no-audit --prefix .venv-servers/npm @modelcontextprotocol/server-filesystem@2026.8.31
	@touch $@

# All at full size; takes hours, on a machine that does nothing else.
bench-full: $(STAMP) bench-peers
	$(BIN)/python -m bench --full

setup: node terminal $(STAMP)

# An environment that is broken (Python without ensurepip leaves one) or older than its Python is made anew.
$(STAMP): pyproject.toml constraints.txt | system
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is not Python 3.11 or newer: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || $(PYTHON) -m venv --clear $(VENV)
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $@

# $(call need,PACKAGES): without root it is only said what is missing; doctor says the same with more words.
define need
missing="$(strip $(1))"; \
if [ -z "$$missing" ]; then :; \
elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
  echo "installing $$missing …"; \
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
else echo "missing: $$missing (install with your system's package manager)" >&2; fi
endef

has = $(shell command -v $(1) >/dev/null 2>&1 && echo yes)

# Python with venv, git and the sandbox.
system:
	@$(call need,\
	  $(if $(call has,$(PYTHON)),,$(notdir $(PYTHON))) \
	  $(if $(shell $(PYTHON) -c 'import venv, ensurepip' 2>/dev/null && echo yes),,$(notdir $(PYTHON))-venv) \
	  $(if $(call has,bwrap),,bubblewrap) \
	  $(if $(call has,git),,git))

# The npm that migrations of JavaScript projects are tested with.
node: system
	@$(call need,$(if $(call has,npm),,nodejs npm ca-certificates))

# The second backend of the sandbox. podman's own runtime is crun; runc also starts where both versions of cgroups are mounted.
containers: system
	@$(call need,$(if $(call has,podman),,podman crun netavark uidmap) $(if $(call has,runc),,runc))

# What the dashboard's browser view is looked at with.
browser: system
	@$(call need,$(if $(or $(call has,chromium),$(call has,google-chrome)),,chromium))

# The terminal that the dashboard is tested in.
terminal: system
	@$(call need,$(if $(call has,tmux),,tmux))

constraints: $(STAMP)
	(head -n 1 constraints.txt; $(BIN)/python -m pip freeze --exclude-editable) > constraints.new && mv constraints.new constraints.txt

clean:
	rm -rf $(VENV) .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

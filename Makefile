# make lab    the environment, the native core, and JupyterLab at notebooks/00_start.ipynb
# make bench  the same set-up, then build/bench.html: what the core does in percent of this CPU's limit
# make test   the same set-up, then every test
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
EXTRAS := lab,disasm,emulators,bench,dev
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

help:
	@sed -n 's/^# //p' Makefile

# Remade when a pinned version or the package's own description changes; the core rebuilds itself on import.
$(VENV)/ready: pyproject.toml constraints.txt meson.build native/meson.build
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "aeskit needs Python 3.11 or newer, not " + sys.version.split()[0] + ": make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt meson meson-python ninja cffi
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt --no-build-isolation --editable '.[$(EXTRAS)]'
	@touch $@

setup: $(VENV)/ready

lab: setup
	$(VENV)/bin/aeskit lab

lint: setup
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

test: lint
	$(VENV)/bin/pytest -n 2 --dist loadgroup

bench: setup
	$(VENV)/bin/aeskit bench --peers --python --goals --page build/bench.html

clean:
	rm -rf $(VENV) build

.PHONY: help setup lab lint test bench clean

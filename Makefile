# One target for each thing a person does here; every target sets up what it needs, once.
# `make demo` and `make test` are the two to know.

PYTHON ?= python3
export PYTHON
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CLIENTS := tests/clients
CLIENTS_READY := $(CLIENTS)/node_modules/.ready
EDITORS := .editors
EDITORS_READY := $(EDITORS)/.ready
WORKBENCH := .workbench
WORKBENCH_READY := $(WORKBENCH)/.ready
EXTENSION := vscode-extension
VSIX := $(EXTENSION)/dist/sould.vsix
# Tests wait for the processes they start as often as they compute: on two cores three workers take a fifth less time.
WORKERS ?= 3
PYTEST := $(BIN)/python -m pytest
FAST := not acpx and not docs and not editors and not vscode and not panel and not bench and not faults and not install
QUICK := quick and not long and not model_servers and $(FAST)
# Where tests that start no process are.
INNER := tests/agents tests/acp tests/daemon tests/test_house.py tests/test_readme.py tests/test_sealed.py
# Git, ignored files, HOME, the user's settings; the installed program, too.
HOSTILE := tests/test_sealed.py tests/daemon/test_paths.py tests/daemon/cli/test_worktree.py tests/agents/sessions/settings \
	$(addprefix tests/agents/files/,edits/test_ownership.py reviewing/test_git_by_agents.py directories/test_ignored.py projects/test_identity.py)
# Each worker reads all tests; with what another run has compiled that takes it 6 s of a processor, without it 15.
unexport PYTHONDONTWRITEBYTECODE

# A checkout that was moved is set up again: its environment names the folder it was made in.
$(shell grep -qsxF "$(CURDIR)" $(VENV)/.made || rm -f $(READY))

.DEFAULT_GOAL := help
.PHONY: help setup demo panel test test-quick test-all test-faults test-hostile test-hunt test-docs test-clients test-editors test-vscode test-panel test-bench test-install test-lowest test-newest test-pythons lock check extension pictures cases bench bench-peers bench-quick bench-panel manpage schemas fmt faults dist clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile

setup: $(READY)  ## make .venv from requirements.lock

demo: $(READY)  ## watch an editor's client work with the agent, without a key and without network
	@$(BIN)/python scripts/demo.py

panel: $(READY)  ## the agent panel of the VS Code extension in a plain browser; DIR="folder ..." to work elsewhere than here
	@scripts/extension.sh panel $(DIR)

test-quick: $(READY)  ## in a minute or two: the tests that start no process
	@SOULD_LUCK=quick $(PYTEST) -q -n $(WORKERS) -m "$(QUICK) and not node" $(INNER) $(ARGS)

test: $(READY)  ## run the tests, the program itself too, without network and npm
	@$(PYTEST) -n $(WORKERS) -m "$(FAST) and not node" $(ARGS)

test-all: check test test-faults test-hostile test-bench test-docs test-clients test-editors test-vscode test-panel  ## every test but those that download

test-faults: $(READY)  ## the fault catalogue, small: kills, floods, full disks (make faults runs it large)
	@$(PYTEST) -n $(WORKERS) tests/faults $(ARGS)

test-hostile: $(READY)  ## two hundred tests in a HOME whose git, language, programs and TMPDIR would break them
	@scripts/hostile.sh $(PYTEST) -n $(WORKERS) $(HOSTILE) $(ARGS)

test-hunt: $(READY)  ## the properties with ten times as many examples and another seed each time; SOULD_SEED=7 repeats one
	@SOULD_LUCK=hunt $(PYTEST) -n $(WORKERS) --timeout 1800 -m "hypothesis and $(FAST) and not node" $(INNER) $(ARGS)

test-install: $(READY)  ## install each lock with old and new installers, where newer releases exist; downloads
	@$(PYTEST) -n 2 -m install tests/install $(ARGS)

test-lowest: $(READY) $(CLIENTS_READY)  ## the quick tests and those of whole programs with the oldest releases that pyproject.toml allows
	@scripts/resolved.sh build/lowest lowest-direct
	@build/lowest/bin/python -m pytest -n $(WORKERS) -m "$(QUICK)" $(INNER) $(ARGS)
	@build/lowest/bin/python -m pytest -n $(WORKERS) -m "$(FAST)" tests/e2e $(ARGS)

test-newest: $(READY) $(CLIENTS_READY)  ## the quick tests with the newest releases of everything that sould depends on
	@scripts/resolved.sh build/newest highest
	@build/newest/bin/python -m pytest -n $(WORKERS) -m "$(QUICK)" $(INNER) $(ARGS)

test-pythons: $(READY) $(CLIENTS_READY) $(EDITORS_READY)  ## the demo and the tests of programs with Python 3.12, 3.13 and 3.14
	@scripts/pythons.sh -n $(WORKERS) -m "$(FAST)" tests/e2e $(ARGS)

lock: $(READY)  ## pin what is installed anew: ARGS=--upgrade, or ARGS="--upgrade-package NAME"
	@$(BIN)/python scripts/lock.py $(ARGS)

test-clients: $(READY) $(CLIENTS_READY)  ## what needs npm: the clients and language servers of others, acpx among them
	@$(PYTEST) -n $(WORKERS) -m "acpx or (node and $(FAST))" $(ARGS)

test-editors: $(READY) $(EDITORS_READY) $(CLIENTS_READY)  ## drive the editors that install from Debian, npm or PyPI, as a person would
	@$(PYTEST) -n $(WORKERS) -m editors tests/editors $(ARGS)

test-vscode: $(READY) $(CLIENTS_READY) $(WORKBENCH_READY) $(VSIX)  ## drive the extension in VS Code's workbench, after its own tests
	@scripts/extension.sh check
	@$(PYTEST) -n 2 -m vscode tests/vscode tests/editors/test_decisions.py $(ARGS)

test-panel: $(READY) $(CLIENTS_READY)  ## drive the agent panel in Chromium, over a daemon with a scripted model
	@scripts/extension.sh build
	@$(PYTEST) -n 2 -m panel tests/panel $(ARGS)

test-docs: $(READY) $(CLIENTS_READY)  ## follow the pages of docs/ as a reader would
	@$(PYTEST) -n $(WORKERS) -m docs tests/docs $(ARGS)

test-bench: $(READY)  ## measure every kind of row once, small: whether the instruments work
	@$(PYTEST) -n $(WORKERS) -m bench tests/benchmarks $(ARGS)

check: $(READY)  ## formatting, lint, types, the rules of the house, and whether the extension fits
	@$(BIN)/ruff format --check --quiet . || { echo "check: run 'make fmt'"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/basedpyright
	@$(BIN)/python scripts/house.py
	@scripts/extension.sh agree

cases: $(READY)  ## programs of others that try sould from outside: DIR=FOLDER with their *.py
	@scripts/cases.sh $(DIR)

bench: $(READY)  ## measure against the budgets, beside floors of the same run; ARGS="first-token" for one row
	@$(BIN)/python benchmarks/run.py bench $(ARGS)

bench-peers: $(READY)  ## measure other agents beside ours, after installing them below build/
	@$(BIN)/python benchmarks/run.py peers $(ARGS)

bench-quick: $(READY)  ## in a minute: whether a change cost something, this tree beside HEAD
	@$(BIN)/python benchmarks/run.py quick $(ARGS)

bench-panel: $(READY)  ## what the agent panel's page costs, in Chromium
	@scripts/extension.sh build
	@PYTHONPATH=tests/support:benchmarks $(BIN)/python benchmarks/panel.py

manpage: $(READY)  ## write docs/sould.1 from the help of the commands
	@$(BIN)/python scripts/manpage.py

schemas: $(READY)  ## write docs/schemas from the types that messages are read and made with, and what the extension reads them by
	@$(BIN)/python scripts/schemas.py
	@scripts/extension.sh protocol

fmt: $(READY)  ## format, and mend what ruff can mend
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --fix .
	@scripts/extension.sh fmt

faults: $(READY)  ## the fault catalogue at its full sizes and times, an hour (make test-faults runs it small)
	@SOULD_FAULTS=full $(PYTEST) -n 0 --timeout 1800 --junitxml .faults.xml -m "faults or model_servers" tests/faults tests/agents/soul $(ARGS); found=$$?; \
	$(BIN)/python scripts/faultreport.py .faults.xml tests/faults/REPORT.md; rm -f .faults.xml; exit $$found

extension: $(VSIX)  ## package the VS Code extension into vscode-extension/dist/sould.vsix

pictures: $(READY) $(WORKBENCH_READY) $(VSIX)  ## take the pictures of VS Code in docs/images anew; look at each before you commit it
	@PYTHONPATH=tests/support $(BIN)/python scripts/pictures.py docs/images $(ARGS)

dist: $(READY)  ## build the wheel and the source archive into dist/
	@rm -rf dist
	@$(BIN)/hatchling build

clean:  ## remove what the other targets made
	rm -rf $(VENV) $(CLIENTS)/node_modules $(EDITORS) $(WORKBENCH) $(EXTENSION)/node_modules $(EXTENSION)/dist $(EXTENSION)/carried dist build

$(READY): requirements.lock scripts/pip.lock pyproject.toml bin/sould bin/sould-kimi scripts/setup.sh scripts/downloads.sh
	@scripts/setup.sh
	@touch $@

$(CLIENTS_READY): $(CLIENTS)/package-lock.json $(READY)
	@scripts/npm.sh $(CLIENTS)
	@touch $@

$(EDITORS_READY): tests/editors/requirements.lock scripts/editors.sh $(READY)
	@scripts/editors.sh $(EDITORS)
	@touch $@

$(WORKBENCH_READY): tests/vscode/workbench/package-lock.json scripts/workbench.sh $(READY)
	@scripts/workbench.sh $(WORKBENCH)
	@touch $@

$(VSIX): $(READY) $(EXTENSION)/package.json $(EXTENSION)/package.nls.json $(EXTENSION)/package-lock.json $(wildcard $(EXTENSION)/l10n/*.json) $(wildcard $(EXTENSION)/*.md $(EXTENSION)/src/*.ts $(EXTENSION)/src/*/*.ts $(EXTENSION)/panel/*.ts* $(EXTENSION)/panel/*/*)
	@scripts/extension.sh package

# The two commands: `make run` serves the course and the judge on localhost, `make test` runs the tests.
PYTHON ?= python3
TORCH ?= pip
BIN := .venv/bin
PORT ?= 8000

.DEFAULT_GOAL := run
.PHONY: setup lab-setup run site test test-slow lint book notebooks lab lite nbgrader model-smol clean

setup:
	@$(PYTHON) tools/setup_env.py --torch $(TORCH)

run: setup site
	@$(BIN)/python -m judge.service serve --port $(PORT) --accept-weak-isolation

test: lab-setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy && $(BIN)/mypy practice/judge.py
	@$(BIN)/python -m pytest

test-slow: lab-setup
	@$(BIN)/python -m pytest -m "slow and not gpu"

lint: setup
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/mypy && $(BIN)/mypy practice/judge.py

site: setup
	@$(BIN)/python -m tools.site.build

book: setup
	@$(BIN)/python -m tools.book.build

notebooks: setup
	@$(BIN)/python -m tools.notebooks.build

lab-setup:
	@$(PYTHON) tools/setup_env.py --torch $(TORCH) --lab

lab: lab-setup
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/jupyter lab --ServerApp.root_dir=chapters

lite: lab-setup
	@$(BIN)/python -m tools.lite.build

nbgrader: lab-setup
	@$(BIN)/python -m tools.nbgrader.build

model-smol: setup
	@$(BIN)/python -m tools.fetch_smollm2

clean:
	rm -rf build

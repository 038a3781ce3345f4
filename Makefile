# make book, make test: complete on a fresh machine with Python 3.11 or newer and make.
PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# JOBS chapters run side by side; more threads in each would only wait for one another
export OMP_NUM_THREADS ?= 1
PYTEST := $(BIN)/python -m pytest -q

.PHONY: book html test test-browser benchmark url clean

book: $(READY)
	$(BIN)/python tools/execute.py --jobs $(JOBS)
	$(MAKE) html

html: $(READY)
	$(BIN)/jupyter-book build . -W -n --keep-going -q
	@echo "The book: $(CURDIR)/_build/html/index.html"

test: $(READY)
	$(PYTEST) tests --ignore-glob='*test_bad_input.py' --ignore=tests/pages --benchmark-disable -n $(JOBS) \
		--jaxtyping-packages=attention_theory,typecheck.check
	$(PYTEST) -n $(JOBS) $(shell find tests -name 'test_bad_input.py') lib --doctest-modules
	$(PYTEST) --nbval --nbval-current-env -n $(JOBS) --dist loadscope book
	$(MAKE) html
	$(PYTEST) tests/pages/test_links.py

test-browser: html
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -q && apt-get install -q -y chromium; } || \
		{ echo "The browser tests need Chromium: install it with your system's package manager."; exit 1; }
	$(PYTEST) tests/pages/test_browser.py

benchmark: $(READY)
	$(PYTEST) tests/benchmarks --benchmark-only --benchmark-columns=min,median,rounds --benchmark-group-by=group

url: $(READY)
	$(BIN)/python tools/repository_url.py

clean:
	rm -rf _build $(VENV) lib/*.egg-info lib/build .pytest_cache .benchmarks .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

$(READY): requirements.txt lib/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "The book needs Python 3.11 or newer; choose one with make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -r requirements.txt
	@touch $@

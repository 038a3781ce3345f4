#!/bin/bash
# the whole way from main to a branch that can land; run in the tree (about 15 minutes of one quiet core)
set -e
cd "$(git rev-parse --show-toplevel)"
git checkout -q -- book _toc.yml; rm -rf book/*/record
git rebase main
.venv/bin/python -m pip install -q --no-deps --no-build-isolation -e ./lib
.venv/bin/python tools/split/split_records.py          # chapters, records, _toc.yml; lists what needs a hand
.venv/bin/python tools/lint.py
.venv/bin/python -m theorybook.tools.execute --jobs "${JOBS:-1}"   # all notebooks of the contents
.venv/bin/python tools/split/split_records.py --compare   # verdicts and outputs before (HEAD) and after
.venv/bin/python -m pytest -q -p no:cacheprovider tests/test_notebooks.py tests/test_ledger.py tests/test_sentences.py tests/test_bookpages.py tests/test_repository.py tests/test_new_chapter.py
.venv/bin/jupyter-book build . -W -n --keep-going -q
git add -A book _toc.yml && git commit -qm "Every chapter and its record are two notebooks"

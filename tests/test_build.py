"""Pages are built from a copy: what git holds is only read, and outputs that differ from the stored ones are named."""

import pytest
from test_workflow import CHAPTER
from theorybook.tools import build
from theorybook.tools.execute import execute


@pytest.fixture
def root(tmp_path):
    """A book of one executed chapter."""
    root = tmp_path / "repository"
    for folder in ("book/part/.hidden", "lib", "tools"):
        (root / folder).mkdir(parents=True)
    (root / "_config.yml").write_text("title: a\n")
    (root / "_toc.yml").write_text("root: book/intro.md\nparts:\n- chapters:\n  - file: book/part/one.ipynb\n")
    (root / "book" / "part" / ".hidden" / "file").write_text("not copied")
    (root / "book" / "part" / "one.md").write_text(CHAPTER)
    assert execute(root / "book" / "part" / "one.md") == ""
    return root


def test_a_copy_that_is_as_the_book_keeps_its_times_and_what_is_gone_goes(root, tmp_path):
    copy = tmp_path / "copy"
    build.gather(root, copy)
    copied = sorted(path.relative_to(copy).as_posix() for path in copy.rglob("*") if path.is_file())
    assert copied == ["_config.yml", "_toc.yml", "book/part/one.ipynb", "book/part/one.md"]
    times = {path: path.stat().st_mtime_ns for path in copy.rglob("*.*")}
    (copy / "book" / "part" / "gone.md").write_text("")
    build.gather(root, copy)
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*.*")} == times


def test_lines_of_library_and_proofs_are_found_from_the_copy(root, tmp_path):
    copy = tmp_path / "copy"
    for name in ("lib/sums.py", "proofs/Sums.v"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("")
    build.gather(root, copy)
    build.gather(root, copy)
    assert (copy / "lib" / "sums.py").is_file() and (copy / "proofs" / "Sums.v").is_file()


def test_outputs_that_differ_from_the_stored_ones_are_named_and_stay(root, tmp_path):
    copy, stored = tmp_path / "copy", root / "book" / "part" / "one.ipynb"
    build.gather(root, copy)
    assert execute(copy / "book" / "part" / "one.md") == "" and build.changed(root, copy) == []
    stored.write_text(stored.read_text().replace('"2\\n"', '"3\\n"'))
    before = stored.read_bytes()
    assert build.changed(root, copy) == ["book/part/one.ipynb, cell 2: '3\\n' -> '2\\n'"]
    assert stored.read_bytes() == before
    stored.unlink()
    assert build.changed(root, copy) == ["book/part/one.ipynb is not stored"]

"""What depends on the last place of a rounded number is found, and what does not is left in peace."""

import nbformat
import numpy as np
import pytest
import torch
from jupyter_client.provisioning import KernelProvisionerFactory
from test_workflow import CHAPTER
from theorybook.interactive_plot import interactive_plot
from theorybook.tools import forked_kernels, jitter
from theorybook.tools.execute import compared, differences, execute
from theorybook.tools.last_place import LastPlace, computing, shift

TIES = """values = torch.tensor(list(itertools.product((-1, 0, 1), repeat=6))).double()
print("ties:", int(((values / {}).sum(1) == 0).sum()), "of", len(values))"""
#: What a cell does, and whether its output moves.
CELLS = {
    "import itertools, torch, numpy as np": False,
    TIES.format(3): True,
    TIES.format(1): False,
    TIES.format(4): False,
    "np.array([0.1, 0.2, 0.3, 0.7]).sum() == np.array([0.7, 0.3, 0.2, 0.1]).sum() == 1.3": True,
    "float(np.linalg.norm([0.1] * 99))": True,
    "x = torch.arange(1, 99) / 7; int((x.exp().log() == x).sum())": True,
    "f'{float((x / 3 - x / 3).min()):.2f}'": True,
    "assert bool((torch.ones(99) / 3 == torch.ones(1) / 3).all())": True,
    "f'{float(x.double().exp().mean().log()):.4f}'": False,  # a unit in the last place of 14 is 1e-6
    "sorted(x.tolist()) == x.tolist()": False,
}


def test_cells_that_show_rounding_are_found_and_no_others(tmp_path, monkeypatch):
    factory = KernelProvisionerFactory.instance()
    monkeypatch.setattr(factory, "default_provisioner_name", factory.default_provisioner_name)
    forked_kernels.use()
    source = tmp_path / "one.md"
    source.write_text(CHAPTER.replace("print(1 + 1)", "\n```\n\n```{code-cell} ipython3\n".join(CELLS)), encoding="utf-8")
    assert execute(source) == ""
    stored = source.with_suffix(".ipynb").read_bytes()
    found = dict(place.split(": ", 1) for place in jitter.changed_outputs(source, seed=0)[1])
    assert list(found) == [f"cell {i}" for i, moves in enumerate(CELLS.values(), start=2) if moves]
    assert found["cell 3"].startswith("'ties: ") and " of 729\\n' -> 'ties: " in found["cell 3"]
    assert "AssertionError" in found["cell 10"]
    assert source.with_suffix(".ipynb").read_bytes() == stored


def test_a_chapter_without_stored_outputs_is_named(tmp_path):
    (tmp_path / "one.md").write_text(CHAPTER)
    assert "one.ipynb" in jitter.changed_outputs(tmp_path / "one.md", 0)[1][0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_unit_in_the_last_place_and_exact_numbers_stay(dtype):
    source = np.random.default_rng(0)
    exact = np.array([0, -0.0, 1, -3, 0.75, 2.0**-40, 3 * 2.0**-60, 2**20 + 1, np.inf, -np.inf, np.nan], dtype)
    before = exact.copy()
    shift(exact, source)
    np.testing.assert_array_equal(exact, before)
    values = np.full(300, 1 / 3, dtype)
    shift(values, source)
    third = dtype(1 / 3)
    assert set(values) == {np.nextafter(third, dtype(0)), third, np.nextafter(third, dtype(1))}


def test_what_only_moves_numbers_about_or_draws_them_changes_none():
    x = torch.arange(1, 28).double().reshape(3, 9) / 7
    wanted = x.clone()
    with LastPlace(np.random.default_rng(0)):
        drawn = torch.rand(3, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        for same in (
            x.T.T,
            x.clone(),
            x[[0, 1, 2]],
            torch.cat([x, x])[:3],
            x.abs(),
            x.neg().neg(),
            x.sort().values,
            x.clamp(0, 9),
            x.relu(),
        ):
            assert torch.equal(same, wanted)
        assert torch.equal(torch.where(x > 0, x, 0), wanted)
        assert not torch.equal(x * 0.1, torch.as_tensor(x.numpy() * 0.1)) and torch.equal(x, wanted)
    assert torch.equal(drawn, torch.rand(3, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64))


def test_named_results_of_numpy_keep_their_form():
    found = computing(np.linalg.eigh, np.random.default_rng(0))(np.diag([1.0, 2.0]) + 0.1)
    assert found.eigenvalues.shape == (2,) and type(found).__name__ == "EighResult"
    assert type(computing(np.sum, np.random.default_rng(0))([0.1, 0.2])) is np.float64


def test_outputs_are_compared_as_nbval_compares_them():
    new = nbformat.v4.new_output
    picture = new("display_data", data={"image/png": "a", "text/plain": "b"})
    cell = nbformat.v4.new_code_cell("", outputs=[new("stream", text="a"), picture, new("stream", text="b")])
    assert compared(cell) == ["ab", "b"]
    cell.metadata.tags = ["nbval-ignore-output"]
    assert compared(cell) == []


def test_a_report_shows_the_data_of_a_picture_and_not_its_id():
    def cell(x):
        text = interactive_plot([0, 1], {"y": [[x, 2], [x, 3]]}, ("k", [0, 1]), alt="a line")._repr_html_()
        return nbformat.v4.new_code_cell("", outputs=[nbformat.v4.new_output("display_data", data={"text/html": text})])

    stored, fresh = (nbformat.v4.new_notebook(cells=[cell(x)]) for x in (0.25, 0.75))
    (place,) = differences(stored, fresh)
    assert "0.25" in place and "0.75" in place

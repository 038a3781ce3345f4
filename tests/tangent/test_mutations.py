"""Wrong mathematics in the library makes the chapters' own verdicts fail."""

import re

import jupytext
import pytest
import torch

from attention_theory import evidence, tangent
from attention_theory.tangent import SoftmaxNetwork, bounds, kernel


def failing_claim(chapter, until=""):
    """Run a chapter's code, without figures, up to its first wrong verdict; the claim of that verdict, or None."""
    namespace = {}
    for cell in jupytext.read(chapter).cells:
        if until and until in cell.source:
            return None
        if cell.cell_type != "code" or "pip install" in cell.source or "plt.show()" in cell.source:
            continue
        try:
            exec(cell.source, namespace)
        except evidence.VerdictError as error:
            return re.match(r"\S+/(\S+):", str(error)).group(1)
    return None


@pytest.fixture
def run(book, monkeypatch, capsys):
    monkeypatch.chdir(book / "tangent")
    default = torch.get_default_dtype()
    yield lambda name, until="": failing_claim(book / "tangent" / f"{name}.md", until)
    torch.set_default_dtype(default)


def test_the_chapter_passes_unchanged(run):
    assert run("01-network-and-kernel", until="plt.subplots") is None


def test_a_dropped_m_in_the_gradient(run, monkeypatch):
    right = SoftmaxNetwork.gradient
    monkeypatch.setattr(SoftmaxNetwork, "gradient", lambda self, x, y: right(self, x, y) / self.m)
    assert run("01-network-and-kernel") == "claim-3.4"


def test_a_missing_mean_in_the_gradient(run, monkeypatch):
    def gradient(self, x, y):  # without - <a_l, S_i>
        return self.m * x.T @ (((self(x) - y) @ self.a) * self.weights(x))

    monkeypatch.setattr(SoftmaxNetwork, "gradient", gradient)
    assert run("01-network-and-kernel") == "claim-3.4"


def test_a_dropped_m_in_the_kernel(run, monkeypatch):
    right = kernel._product
    monkeypatch.setattr(kernel, "_product", lambda W, a, *rest: right(W, a, *rest) / a.shape[1])
    assert run("01-network-and-kernel") == "definition-3.6"


def test_a_missing_mean_in_the_kernel(run, monkeypatch):
    right = kernel._product
    monkeypatch.setattr(kernel, "_product", lambda W, a, x, x2, centred, memory: right(W, a, x, x2, True, memory))
    assert run("01-network-and-kernel") == "definition-3.6"


def test_unpaired_weights_taken_for_paired(run, monkeypatch):
    monkeypatch.setattr(SoftmaxNetwork, "is_paired", True)
    assert run("01-network-and-kernel") == "definition-3.6"


def test_paired_start_that_is_not_paired(run, monkeypatch):
    monkeypatch.setattr(SoftmaxNetwork, "paired", SoftmaxNetwork.unpaired)
    assert run("01-network-and-kernel") == "definition-3.7"


def test_a_wrong_sign_in_the_exponent_of_the_limit(run, monkeypatch):
    wrong = lambda x, x2=None, sigma=1.0: x @ x.T * torch.exp(-(sigma**2) * x @ x.T)
    monkeypatch.setattr(tangent, "limit_kernel", wrong)
    assert run("03-closed-form", until="def error_constant") == "own-limit"


def test_a_bound_without_its_constant(run, monkeypatch):
    monkeypatch.setattr(bounds, "_factor", lambda R, paired: R)
    assert run("02-kernel-barely-moves", until="log10_useful") == "own-kernel-bound"


def test_linear_weights_instead_of_softmax(run, monkeypatch):
    monkeypatch.setattr(SoftmaxNetwork, "weights", lambda self, x: (x @ self.W) / (x @ self.W).sum(1, keepdim=True))
    assert run("01-network-and-kernel") == "equation-2"

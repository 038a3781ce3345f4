"""Wrong mathematics in the library makes the chapters' own verdicts fail."""

import pytest
from mutation import caught

#: (chapter, claim whose verdict must fail, module, what stands there, what is put there)
MUTANTS = [
    # from the review
    ("kernel-barely-moves", "own-kernel-bound", "tangent.bounds", "growth = math.expm1(4 * R)", "growth = math.expm1(2 * R)"),
    ("constants", "own-width", "tangent.bounds", " * math.sqrt(outputs) * longest", " * longest"),
    ("constants", "own-width", "tangent.bounds", "_radius(net.outputs * float", "_radius(float"),
    ("gradient-descent", "lemma-5.3-1", "tangent.training", "norm(dim=0).max()))", "norm(dim=0).mean()))"),
    ("score", "equation-4", "tangent.diffusion", "(y / 2 + score(t, y))", "score(t, y)"),
    ("widths-and-steps", "table-1-width", "tangent.runs.table1", "break\n            needed[", "continue\n            needed["),
    ("widths-and-steps", "table-1-steps", "tangent.kernel", " / (2 * torch.pi)", " / torch.pi"),
    # of our own choosing
    (
        "network-and-kernel",
        "claim-3.4",
        "tangent.network",
        "return self.m * x.T @ ((error @ self.a - (error * mean).sum(1, keepdim=True)) * S)",
        "return self.m * x.T @ ((error @ self.a) * S)",
    ),
    ("network-and-kernel", "equation-1", "tangent.network", "return self.m * attention(", "return attention("),
    ("network-and-kernel", "own-jacobian", "tangent.kernel", "alpha=m)", "alpha=m / 2)"),
    ("network-and-kernel", "definition-3.7", "tangent.network", "(half.a, -half.a)", "(half.a, half.a)"),
    ("network-and-kernel", "lemma-a.9", "tangent.paper", "math.exp(-2 * t**2 / sum", "math.exp(-(t**2) / sum"),
    (
        "closed-form",
        "own-limit",
        "tangent.kernel",
        "torch.exp(sigma**2 * gram)\n    squares",
        "torch.exp(sigma * gram)\n    squares",
    ),
    ("closed-form", "own-exp-kernel", "tangent.kernel", "+ 2 * gram))", "- 2 * gram))"),
    ("kernel-barely-moves", "own-covariance", "tangent.runs.moves", "(s, u) for s in (-R / 2,", "(s, 2 * u) for s in (-R / 2,"),
    ("gradient-descent", "lemma-e.1", "tangent.training", "v0 = -growth * after", "v0 = growth * after"),
    (
        "constants",
        "definition-4.1",
        "tangent.paper",
        "C * sigma * math.sqrt(math.log(n * d / delta))",
        "C * sigma * math.log(n * d / delta)",
    ),
    ("constants", "own-width", "tangent.paper", "18 * B + 2 * math.log(log)", "16 * B + 2 * math.log(log)"),
    ("kernel-regression", "own-coupling", "tangent.runs.coupling", " / max(lam - eps_H, 0.0)", " / lam"),
    ("kernel-regression", "theorem-f.2-features", "tangent.network", "math.sqrt(self.m) * S * (self", "self.m * S * (self"),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m[2]}: {m[3][:40]} -> {m[4][:40]}")
def test_a_wrong_library_fails_a_verdict(mutant, tmp_path):
    chapter, claim, *change = mutant
    assert caught(tmp_path, f"tangent/{chapter}", f"cao2024/{claim}", *change) == f"cao2024/{claim}"

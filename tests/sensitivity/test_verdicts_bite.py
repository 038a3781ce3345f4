"""Wrong mathematics, and other settings than the printed ones, make the chapters' own verdicts fail."""

import pytest
from mutation import caught, run_verdict

#: (chapter, claim whose verdict must fail, module, what stands there, what is put there)
MUTANTS = [
    # half the budget of the certificate
    ("attention-is-sensitive", "own-raf-bound", "upper_bound", "ord=2)) ** 2 * d", "ord=2)) ** 2 * d / 2"),
    # the second smallest eigenvalue
    ("new-label", "equation-b.22", "new_label", "        float(values[0]),\n", "        float(values[1]),\n"),
    # the constant of Lemma D.1
    ("attention-proof", "lemma-d.1", "constructive", "ALIGNED = 0.01", "ALIGNED = 0.0001"),
    # a loss that aims at the alignment +1
    ("paper-sizes", "figure-4-raf", "new_label", "[(alignment + 1).square() for", "[(alignment - 1).square() for"),
    ("attention-is-sensitive", "own-one-token-update", "attention_features", "(p * b + a * q)", "(p * b - a * q)"),
    ("attention-is-sensitive", "own-one-token-update", "attention_features", "* scores - self.Z)", "* scores + self.Z)"),
    (
        "attention-proof",
        "own-closed-form-delta",
        "attention_features",
        "least_squares(rows, torch.ones_like(rows[:, 0]))",
        "rows.sum(dim=0)",
    ),
    ("attention-proof", "theorem-3", "runs.theorem_3", "scale: float = 0.45", "scale: float = 0.3"),
    ("random-features", "own-rf-infinite-width", "infinite_width", "np.sqrt(1 - c**2) +", "np.sqrt(1 - c**2) / 2 +"),
    # another move than the one along the token
    ("depth", "own-drf-infinite-width", "infinite_width", "infinite_width_change(n, 1.0,", "infinite_width_change(n, 0.9,"),
    ("attention-proof", "own-closed-form-delta", "runs.theorem_3", "math.sqrt(rows.shape[1]) / float", "rows.shape[1] / float"),
    ("new-label", "own-rf-gram", "random_features", "values.clamp(min=0).sqrt() @", "values.clamp(min=0) @"),
    # the unmoved token counted twice
    ("random-features", "equation-3.4", "random_features", "reshape(-1) - block @ X[token]", "reshape(-1)"),
    ("depth", "own-deferred", "deferred", "return (new @ other_image.T) @ other + noise", "return noise"),
    ("depth", "equation-4.3", "random_features", '{"relu": 2.0, "identity"', '{"relu": 1.0, "identity"'),
    ("new-label", "lemma-4.1-of-12", "new_label", "rest / rest.square().sum(),", "rest / rest.norm(),"),
    # settings as printed
    ("random-features", "figure-2-left", "paper", "(192, 384, 768)}\nFIGURE_2_R", "(192, 384, 512)}\nFIGURE_2_R"),
    ("depth", "figure-2-right", "paper", '"depth": (2, 4, 8)', '"depth": (2, 4, 6)'),
    ("attention-is-sensitive", "figure-3-left", "paper", '"weights": ("relu", "softmax")', '"weights": ("relu", "linear")'),
    ("paper-sizes", "figure-5", "paper", '"p": (0.01, 0.1, 1.0)', '"p": (0.01, 0.1, 2.0)'),
    ("paper-sizes", "figure-7", "paper", 'FIGURE_7 = {"d": 768, "n": (120,)', 'FIGURE_7 = {"d": 768, "n": (160,)'),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m[2]}: {m[3].strip()} -> {m[4].strip()}")
def test_a_wrong_library_fails_a_verdict(mutant, tmp_path):
    chapter, claim, module, old, new = mutant
    claim = f"bombari2024/{claim}"
    assert caught(tmp_path, f"sensitivity/{chapter}", claim, f"sensitivity.{module}", old, new) == claim


LIGHT = sorted({mutant[:2] for mutant in MUTANTS if mutant[2] in ("paper", "deferred")})


@pytest.mark.parametrize("place", LIGHT, ids="/".join)
def test_the_right_library_does_not(place):
    assert run_verdict(f"sensitivity/{place[0]}", f"bombari2024/{place[1]}") == "holds"

"""Wrong mathematics in the library makes the verdicts of Part IV fail."""

import pytest
from mutation import caught, run_verdict

VIT, RUNS = "patches.vit", "patches.runs."
#: (chapter, claim whose verdict must fail, module, what stands there, what is put there)
MUTANTS = [
    # of the review: the floor in bits
    (
        "learning-in-expectation",
        "own-floor",
        "patches.errors",
        "loss -= chance * math.log1p(-share)",
        "loss -= chance * math.log2(1 - share)",
    ),
    # sign, factor, exponent
    ("learning-in-expectation", "lemma-h.1", VIT, "dv = -D * torch.einsum", "dv = D * torch.einsum"),
    ("learning-in-expectation", "lemma-h.2", VIT, "dA = -D / self.temperature * S", "dA = -D * S"),
    (
        "learning-in-expectation",
        "lemma-h.1",
        VIT,
        "return self.p * z ** (self.p - 1) + self.nu",
        "return self.p * z ** (self.p - 1)",
    ),
    ("three-events", "lemma-d.1", RUNS + "expectation", "0.0, 0.0) - 0.25, 1e-3, 2.0)", "0.0, 0.0) - 0.4, 1e-3, 2.0)"),
    (
        "world-of-patches",
        "own-linear-phase",
        "patches.errors",
        "np.pad(noise, (2 * C, 0)), np.pad(noise, (0, 2 * C))",
        "np.pad(noise, (C, 0)), np.pad(noise, (0, C))",
    ),
    ("world-of-patches", "theorem-3.2-1", "patches.errors", "lead = 1 + plus - minus", "lead = plus - minus"),
    ("lemmas-in-expectation", "lemma-k.4", "patches.paper", "return 2**C * q**k", "return 2**C * q ** (k + 1)"),
    ("transfer", "theorem-5.2-tv", "patches.hidden", "- C * math.log(q / 2)), 0", "- C * math.log(q)), 0"),
    # index, comparison
    (
        "world-of-patches",
        "definition-2.2",
        VIT,
        "outside = torch.where(same, -torch.inf, A).amax(1)",
        "outside = torch.where(same, torch.inf, A).amin(1)",
    ),
    ("world-of-patches", "assumption-1-labelling", "patches.distribution", "threshold: float = 0.9", "threshold: float = 0.4"),
    # a printed setting
    ("world-of-patches", "figure-3", "patches.paper", '"C": 4, "label": 1}', '"C": 8, "label": 1}'),
    ("world-of-patches", "figure-1-b", "patches.paper", "[{1, 2, 5, 6}", "[{1, 2, 5, 7}"),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m[1]}: {m[3][:40]}")
def test_a_wrong_library_fails_a_verdict(mutant, tmp_path):
    chapter, claim, *change = mutant
    assert caught(tmp_path, f"patches/{chapter}", f"jelassi2022/{claim}", *change) == f"jelassi2022/{claim}"


@pytest.mark.parametrize("place", sorted({mutant[:2] for mutant in MUTANTS}), ids="/".join)
def test_the_right_library_does_not(place):
    assert run_verdict(f"patches/{place[0]}", f"jelassi2022/{place[1]}") == "holds"

"""Wrong mathematics in the library makes the chapters' own verdicts fail."""

import pytest
from mutation import caught, run_verdict

#: (chapter, claim whose verdict must fail, module, what stands there, what is put there)
MUTANTS = [
    (
        "threshold",
        "deng2023/definition-3.8",
        "separation.regression",
        "LOW, HIGH, SPECIAL = 1.0, 1.4, 4.0",
        "LOW, HIGH, SPECIAL = 1.0, 1.4, 3.0",
    ),
    # the certified threshold without m, and the largest norm from one data set only
    ("threshold", "deng2023/own-threshold-range", "separation.regression", "math.log(m / risk))", "math.log(1 / risk))"),
    ("threshold", "deng2023/own-norm-exponent", "separation.regression", "int(np.argmax(", "int(np.argmin("),
    # a tie, or one sign more, decides differently
    (
        "threshold",
        "deng2023/definition-3.5",
        "separation.regression",
        "/ low + others) / 2 + 1e-9)",
        "/ low + others) / 2 - 1)",
    ),
    (
        "threshold",
        "deng2023/own-threshold-range",
        "separation.regression",
        "if miss <= allowed else",
        "if miss <= 2 * allowed else",
    ),
    ("threshold", "deng2023/lemma-4.1-1", "separation.paper", "(math.sqrt(n) if part == 1", "(n**0.6 if part == 1"),
    (
        "threshold",
        "deng2023/lemma-4.2-2",
        "separation.regression",
        "return 2 * float(regression_weights(n, 1",
        "return float(regression_weights(n, 1",
    ),
    # settings as printed
    ("threshold", "deng2023/figure-3a", "separation.panels", "list(range(100, 2001, 10))", "list(range(100, 2001, 20))"),
    ("self-attention-ones", "deng2023/own-detection-eighth", "separation.chances", "tau - np.array(", "1.05 * tau - np.array("),
    ("self-attention-ones", "deng2023/definition-d.1", "separation.data", "A[:, -1] = c", "A[:, -1] = b"),
    (
        "self-attention-ones",
        "deng2023/figure-5a",
        "separation.panels",
        '"a1": 1.2, "b": 0.2, "c": 0.8}',
        '"a1": 1.3, "b": 0.2, "c": 0.8}',
    ),
    (
        "self-attention-ones",
        "deng2023/figure-5a",
        "separation.panels",
        '"a1": 1.2, "b": 0.2, "c": 0.8}',
        '"a1": 1.2, "b": 0.25, "c": 0.8}',
    ),
    (
        "self-attention-ones",
        "deng2023/figure-5a",
        "separation.panels",
        '"a1": 1.2, "b": 0.2, "c": 0.8}',
        '"a1": 1.2, "b": 0.2, "c": 0.75}',
    ),
    ("cross-attention", "deng2023/figure-7a", "separation.panels", '"a0": 0.01, "a1": 3}', '"a0": 0.3, "a1": 3}'),
    ("cross-attention", "deng2023/figure-7a", "separation.panels", '"a0": 0.01, "a1": 3}', '"a0": 0.01, "a1": 1.5}'),
    (
        "cross-attention",
        "deng2023/lemma-f.4-1",
        "separation.chances",
        "np.floor((gaps / other + others) / 2",
        "np.floor(1 + (gaps / other + others) / 2",
    ),
    (
        "cross-attention",
        "deng2023/theorem-f.9",
        "separation.exact",
        "-math.expm1(m * math.log1p(-p))",
        "-math.expm1(math.log1p(-p))",
    ),
    ("cross-attention", "deng2023/lemma-f.2-1a", "separation.data", "A1[query, 0] = a", "A1[query, 0] = a * a"),
    # the binomial tail, off by one
    (
        "exact-probability",
        "deng2023/own-exact-probability",
        "separation.exact",
        "return _upper(signs)[plus] / 2**signs",
        "return _upper(signs)[max(0, plus - 1)] / 2**signs",
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m[2]}: {m[3]} -> {m[4]}")
def test_a_wrong_library_fails_a_verdict(mutant, tmp_path):
    chapter, claim, *change = mutant
    assert caught(tmp_path, f"separation/{chapter}", claim, *change) == claim


@pytest.mark.parametrize("place", sorted({mutant[:2] for mutant in MUTANTS}), ids="/".join)
def test_the_right_library_does_not(place):
    assert run_verdict(f"separation/{place[0]}", place[1]) == "holds"

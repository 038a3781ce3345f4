"""Wrong mathematics in the library makes the chapters' own verdicts fail."""

import pytest
from mutation import caught, run_verdict

#: (chapter, claim whose verdict must fail, module below the package, what stands there, what is put there)
MUTANTS = [
    ("one-knob", "own-families", "attention", "torch.softmax(self.knob * scores", "torch.softmax(scores"),
    ("one-knob", "own-share", "exponential.competition", "return weights.knob * math.log(score)", "return math.log(score)"),
    ("one-knob", "own-least-knob", "exponential.competition", "math.log(wanted / (1 - wanted))", "math.log(wanted)"),
    ("one-knob", "own-truncation", "exponential.competition", "2 * int(enough[0]) + 2", "2 * int(enough[0]) + 4"),
    ("one-knob", "own-invariance", "attention", "torch.softmax(self.knob * scores", "torch.softmax(self.knob * scores**2"),
    ("one-knob", "own-dispersion", "exponential.competition", "math.log(n - 1)", "math.log(n)"),
    ("separation", "own-window", "exponential.windows", "> kappa + b or", "> kappa or"),
    ("separation", "own-window", "exponential.windows", "(room / b) ** 2 / 2", "(room / b) ** 2"),
    (
        "separation",
        "own-sharpness",
        "exponential.windows",
        "shares(family(knob)).own - kappa",
        "shares(family(knob)).own - 1.1 * kappa",
    ),
    ("separation", "own-sharpness", "exponential.windows", "math.log1p(-1 / blocks) if blocks", "math.log1p(-0.5) if blocks"),
    ("separation", "own-degree", "exponential.windows", "math.ceil(found - 1e-9)", "math.floor(found)"),
    ("separation", "own-ceiling", "exponential.windows", "math.log(blocks - 1)) if", "math.log(blocks)) if"),
    ("separation", "own-closing", "exponential.windows", "d=math.ceil(10 * size)", "d=math.ceil(20 * size)"),
    ("training", "own-limit-kernel", "exponential.kernels", "moment**2 / (math.factorial(k) * mean**2)", "moment**2 / mean**2"),
    ("training", "own-rank", "exponential.kernels", "math.comb(degree + d - 2, d - 1)\n", "math.comb(degree + d - 2, d)\n"),
    ("training", "own-definite", "exponential.kernels", ".clamp(min=0)) ** q", ".clamp(min=0)) ** (q + 2)"),
    ("training", "own-eigenvalue", "exponential.kernels", "1 / math.factorial(k) for", "1 / math.factorial(k + 1) for"),
    ("training", "own-labels", "exponential.kernels", "range(min(dimension, n))", "range(min(dimension + 1, n))"),
    ("training", "own-floor", "exponential.kernels", "rate = speed / (m", "rate = 0.001 * speed / (m"),
    ("words", "own-update", "sensitivity.attention_features", "(p * b + a * q)", "(p * b - a * q)"),
    ("words", "own-averaging", "exponential.words", "math.sqrt(X.shape[1]) / total", "math.sqrt(X.shape[0]) / total"),
    ("words", "own-hard", "exponential.words", "[[tilt, -1.0], [0.0, 0.0]]", "[[-tilt, -1.0], [0.0, 0.0]]"),
    ("words", "own-certificate", "sensitivity.upper_bound", "multiplier * budget +", "0.8 * multiplier * budget +"),
    ("words", "own-certificate", "sensitivity.upper_bound", "return float(root)", "return float(root) / 2"),
    ("words", "own-peak", "sensitivity.attention_features", "torch.logsumexp(knob * scores", "torch.logsumexp(scores"),
    ("words", "own-word-degree", "attention", "total = 1 + scores * total / k", "total = 1 + scores * total"),
    ("space", "own-population", "exponential.space", "(self.D - self.C) * raised[2]", "self.D * raised[2]"),
    ("space", "own-exchange", "attention", "return self.knob * self(scores)", "return self(scores)"),
    ("space", "own-push", "exponential.space", "(total - (a - b) - (D - C) * seen)", "(total - (a - b) - D * seen)"),
    ("space", "own-push", "exponential.space", "ball(nu).root(p - 1)", "ball(nu).root(p)"),
    ("space", "own-dead", "attention", "return (scores > 0) * (degree", "return (scores >= 0) * (degree"),
    ("space", "own-errors", "exponential.space", "start=C**3)", "start=C**2)"),
    ("space", "own-time", "patches.population", "int(found[0, 0])", "int(found[-1, 0])"),
    ("together", "own-averaging-can", "exponential.kernels", "else weights.knob * S", "else S"),
    ("together", "own-linear-can", "exponential.words", "- K @ X[token]", "+ K @ X[token]"),
    ("together", "own-degree-can", "attention", "/ math.factorial(int(self.knob))", "/ math.factorial(int(self.knob) - 1)"),
    ("together", "own-relu-can", "attention", "return (scores > 0) * (degree", "return (scores > 9) * (degree"),
    ("together", "own-softmax-can", "exponential.windows", "dict(a0=0.01, a1=1.2", "dict(a0=0.01, a1=0.2"),
    ("together", "own-hard-can", "separation.exact", "int(i == min(row))", "int(i == max(row))"),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m[2]}: {m[3]} -> {m[4]}")
def test_a_wrong_library_fails_a_verdict(mutant, tmp_path):
    chapter, name, *change = mutant
    assert caught(tmp_path, f"exponential/{chapter}", f"exponential/{name}", *change) == f"exponential/{name}"


@pytest.mark.parametrize("place", sorted({mutant[:2] for mutant in MUTANTS}), ids="/".join)
def test_the_right_library_does_not(place):
    assert run_verdict(f"exponential/{place[0]}", f"exponential/{place[1]}") == "holds"

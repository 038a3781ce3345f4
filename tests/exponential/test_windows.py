"""The window of the knob, against whole attention matrices, closed forms and the theorem's words."""

import math
import random

import pytest
from attention_checks.exponential import knobs
from attention_checks.exponential.runs import bounds
from attention_theory.attention import attention_weights
from attention_theory.exponential import power, sharp, windows
from attention_theory.separation import data
from attention_theory.separation.data import threshold
from attention_theory.separation.exact import separation_probability

KAPPA = 0.1


class Given(windows.DataSet):
    """A data set whose two weights are given."""

    def shares(self, weights):
        return self.given


def found(model, own=0.0, block=0.0, a=1.2, b=0.2, c=0.8, d=40):
    D = Given(model, 5.0, a, d=d) if model == "cross" else Given(model, 5.0, a, b, c, d)
    object.__setattr__(D, "given", windows.Shares(own, block))
    return D


def test_shares_at_sizes_beyond_floats():
    many = windows.DataSet("self-identity", 5000.0, 1.1, 0.3, 0.6, 8).shares(sharp(0))
    assert 0 <= many.own < 1e-300 and many.block == pytest.approx(1 / 6)
    endless = windows.DataSet("self-identity", math.log(24), 1.1, 0.3, 0.6).shares(power(2))
    special, far = (1.1**2 + 0.3**2 + 0.6**2) ** 2, 0.6**4
    assert (endless.own, endless.block) == (pytest.approx(special / (special + 23 * far)), 0.0)


def test_fires_at_least_is_the_chance_of_the_patterns_that_suffice():
    draw, seen = random.Random(0), set()
    for _ in range(300):
        model = draw.choice(("self-ones", "self-identity", "cross"))
        own, block, m = draw.random(), draw.random() * (model == "self-identity"), draw.randint(1, 9)
        D = found(model, own, block, a=draw.uniform(0, 1), b=draw.uniform(0.01, 0.6))
        a, b, above = (1.0, 1.0, threshold(model, 1.0)) if model == "cross" else (D.a, D.b, KAPPA)
        # value of a row whose signs that matter are +1, less c, if the rest of its weight meets -1, or on average 0
        values = [max((a + b) * own + rest * b * (1 - own), b * block + rest * b * (1 - block)) for rest in (-1, 0)]
        signs = 2 if model == "cross" else 3
        chance = 2.0**-signs if values[0] > above else 2.0 ** -(signs + 1) if values[1] > above else 0.0
        seen.add((model, chance))
        assert D.fires_at_least(sharp(1), m) == pytest.approx(1 - (1 - chance) ** m, abs=1e-15)
    assert len(seen) == 9


@pytest.mark.parametrize(
    ("a", "own", "block", "chance"),
    [
        (0.5, 0.35, 0, 1 / 16),
        (0, 0, 0.7, 1 / 16),
        (0.75, 0.1, 0, 0),
        (0, 0, 0.4, 0),
    ],
)
def test_a_row_at_tau_does_not_fire(a, own, block, chance):
    D = found("self-identity", own, block, a=a, b=0.25)
    assert D.fires_at_least(sharp(1), 2) == pytest.approx(1 - (1 - chance) ** 2, abs=1e-15)


@pytest.mark.parametrize(("model", "columns"), [("self-ones", 38), ("self-identity", 38), ("cross", 39)])
def test_fires_at_most_is_hoeffdings_bound(model, columns):
    a, b, above = (1.0, 1.0, 0.9) if model == "cross" else (0.4, 0.3, 0.1)
    for own, block, m in ((0.05, 0.1, 1), (0.02, 0.0, 7), (0.1, 0.05, 3)):
        # signs of N block columns with weights of mean below 1/N: P[their mean > h] <= exp(-N h^2 / 2)
        h = (above - (a + b) * own - b * block) / b
        expected = min(1.0, m * math.exp(-columns * h**2 / 2))
        assert found(model, own, block, a=0.4, b=0.3).fires_at_most(sharp(1), m) == pytest.approx(expected, rel=1e-12)
    assert found(model, 0.9, 0.0, a=0.4, b=0.3).fires_at_most(sharp(1), 1) == 1.0


@pytest.mark.parametrize(("own", "fires"), [(0.05, 0.0), (0.1, 0.0), (0.2, 1.0)])
def test_without_blocks_nothing_is_random(own, fires):
    assert found("self-ones", own, a=1.0, b=0.0).fires_at_most(sharp(1), 5) == fires


@pytest.mark.parametrize(
    ("most", "least", "expected"),
    [((0.9, 0.2), (0.7, 0.1), (0.5, 0.9)), ((0.9, 0.3), (0.7, 0.2), (0.4, 0.8)), ((0.4, 0.9), (0.3, 0.8), (0.0, 0.2))],
)
def test_separation_bounds(monkeypatch, most, least, expected):
    # F_u fires on D1 and not on D0: at least P1 - P0, at most P1 and 1 - P0
    D1, D0 = (windows.DataSet("cross", 5.0, a, d=9) for a in (1.0, 0.0))
    for name, (first, second) in (("fires_at_most", most), ("fires_at_least", least)):
        monkeypatch.setattr(windows.DataSet, name, lambda D, u, m, at={1.0: first, 0.0: second}: at[D.a] if m == 3 else -9)
    result = bounds.separation_bounds(sharp(1), D1, D0, 3)
    assert (result.lower, result.upper) == pytest.approx(expected, abs=1e-15)


def test_edges_that_are_nowhere_or_at_once():
    for model, a, b in (("self-ones", 0, 0.4), ("cross", 0, None), ("self-identity", 0, 0.1), ("self-ones", 0.1, 0)):
        D = windows.DataSet(model, 5.0, a, b, None if b is None else 0.8, 22)
        assert windows.upper_edge(sharp, D) == math.inf
    pair = windows.DataSet("self-ones", math.log(2), 1.0, 0.5, 0.5)  # averaging does: half the weight
    assert windows.upper_edge(sharp, pair) == 1e-9 and windows.upper_edge(power, pair) == 1.0


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("family", [sharp, power])
def test_the_bound_of_an_edge_is_where_the_noise_is_large_enough(family, upper):
    log_n = 4 * math.log(10)
    D, m = windows.paper_data("self-identity", log_n)[upper], windows.paper_sizes(log_n)["m"]
    level = (1 - 0.75**m) / 2  # half of all successes; or what is left of them by rows that fire with a chance of 1/16
    found = windows.edge(family, "self-identity", log_n, upper)
    assert D.fires_at_most(family(found.bound), m) == pytest.approx(1 - (15 / 16) ** m - level if upper else level, rel=1e-8)
    assert found.formula == (windows.upper_edge if upper else windows.lower_edge)(family, D)
    assert found.bound < found.crossing < 1.2 * found.formula


def test_edge_of_the_exact_probability():
    log_n = 6 * math.log(10)
    crossing = windows.edge(sharp, "cross", log_n).crossing
    sizes = windows.paper_sizes(log_n)
    assert sizes == dict(d=math.ceil(10 * math.log(1e8)), m=math.ceil(9 * math.log(1e8)))
    below, above = (
        separation_probability(sharp(beta), "cross", **sizes, a0=0.1, a1=1.2, log_n=log_n)
        for beta in (crossing / 1.0002, crossing)
    )
    assert below < (1 - 0.75 ** sizes["m"]) / 2 <= above


@pytest.mark.parametrize("family", [sharp, power])
def test_the_window_closes_where_the_edges_meet(family):
    where = knobs.closing(family, 2.0, 2000.0)
    for digits, closed in ((where * (1 - 1e-6), False), (where * (1 + 1e-6), True)):
        D1, D0 = windows.paper_data("self-identity", digits * math.log(10))
        assert (windows.lower_edge(family, D1) > windows.upper_edge(family, D0)) == closed


def test_beyond_bounds_in_earnest():
    assert bounds.beyond_bounds(6, seed=1).beyond <= 1e-12


@pytest.mark.parametrize("u", [sharp(0.7), power(1), power(3)], ids=str)
def test_a_key_raises_the_special_row_alone(u):
    A, _, X = data.inputs("self-ones", 24, 8, 1.1, 0.3, 0.6)
    X[0, 0] += 5.0
    weights = attention_weights(A @ X @ A.T, u)
    found = windows.DataSet("self-ones", math.log(24), 1.1, 0.3, 0.6, d=8, key=5.0)
    assert found.shares(u).own == pytest.approx(float(weights[0, 0]), rel=1e-9)
    assert float(weights[1:, 0].max()) < found.shares(u).own


def test_a_bound_for_any_scores():
    found = windows.DataSet("self-ones", math.log(1000), 1.2, 0.2, 0.8, d=1002)
    assert windows.fires_at_most_for_any_scores(50.0, found, 3) == 1.0
    assert windows.fires_at_most_for_any_scores(0.0, found, 3) == pytest.approx(3e3 * math.exp(-(0.494**2) * 500), rel=1e-9)
    assert windows.largest_block(3.0, 1) == 1.0

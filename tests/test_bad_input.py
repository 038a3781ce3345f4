from fractions import Fraction

import numpy as np
import pytest
import sympy
import torch
from attention_theory import evidence, figures, tokens
from attention_theory.attention import attention_weights
from attention_theory.device import generator
from attention_theory.evidence.prove import same
from attention_theory.exponential import kernels, sharp, space, truncated, windows
from attention_theory.exponential import proofs as threshold_proofs
from attention_theory.movable import movable
from attention_theory.patches import hidden
from attention_theory.patches.distribution import PatchDistribution
from attention_theory.patches.population import Population, population_descent
from attention_theory.patches.runs import expectation, lemmas, sample_sizes
from attention_theory.patches.runs.samples import coupled
from attention_theory.patches.similarity import chance_level, cosines
from attention_theory.sensitivity.attention_features import RandomAttentionFeatures
from attention_theory.sensitivity.deferred import DeferredGaussian
from attention_theory.sensitivity.new_label import solutions
from attention_theory.sensitivity.random_features import DeepRandomFeatures
from attention_theory.sensitivity.runs.worst import turned
from attention_theory.sensitivity.word import word_sensitivity
from attention_theory.separation import data, parts, proofs, regression
from attention_theory.separation.panels import as_printed, panel
from attention_theory.separation.runs import phases, thresholds
from attention_theory.tangent.kernel import rank
from attention_theory.tangent.network import SoftmaxNetwork
from attention_theory.tangent.runs.coupling import draw_coupling
from attention_theory.tangent.runs.descent import aim, descent, moved_pair
from attention_theory.tangent.runs.limit import draw_kernels
from attention_theory.tangent.runs.moves import worst_difference


def test_attention_weights():
    with pytest.raises(ValueError, match="'cosine' are unknown; choose one of softmax, linear, relu"):
        attention_weights(torch.ones(2, 2), "cosine")
    with pytest.raises(ValueError, match="a row sums to 0"):
        attention_weights(torch.tensor([[1.0, -1.0]]), "linear")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: evidence.compare("x", 1, "~", 2), "relation '~'"),
        (lambda: evidence.compare("x", 1, "==", 1, method="vote"), "method 'vote'"),
        (lambda: evidence.compare("x", [], "<=", 1), "nothing was measured"),
        (lambda: evidence.compare("x", float("nan"), "<=", 1), "not a number"),
        (lambda: evidence.identity("x", [1, 2], [1, 2, 3]), "do not fit"),
        (lambda: evidence.identity("x", [[1, 1, 1]] * 2, [[1, 1]] * 3), "do not fit"),
        (lambda: evidence.identity("x", 1, 1, tolerance=2), "tolerance = 2"),
        (lambda: evidence.compare("x", 1, "within", (2, 1)), "exceeds the upper"),
        (lambda: evidence.compare("x", 1, "within", 3), "takes a pair"),
        (lambda: evidence.identity("x", [], []), "nothing was measured"),
        (lambda: evidence.interval("x", evidence.Interval(0, 1), "==", 0.5), "relation '=='"),
        (lambda: evidence.interval("x", (0, 1), "contains", 0.5), r"estimate = \(0, 1\) is not allowed: Interval"),
        (lambda: evidence.power_law([1, 2], [1, 2]), "at least 3 points"),
        (lambda: evidence.judge("p/x", printed=[]), "needs a check"),
        (lambda: evidence.judge("p/x", printed=["yes"]), "printed = .* is not allowed: Check"),
        (lambda: evidence.compare("x", ["a", "b"], "<=", 1), "not made of numbers"),
        (lambda: evidence.compare("x", None, "<=", 1), "not made of numbers"),
        (lambda: evidence.rate_interval(3, 2), "not possible"),
        (lambda: evidence.rate_interval(1, 2, confidence=1.5), "confidence = 1.5"),
        (lambda: evidence.mean_interval([1.0]), "at least 2 points"),
        (lambda: evidence.mean_interval([1.0, float("nan")]), "samples = .* is not allowed: finite"),
        (lambda: evidence.power_law([1, 2, 3], [1, -2, 3]), "positive numbers only"),
        (lambda: figures.table({"a": [1], "b": [1, 2]}), "differ in length"),
    ],
)
def test_evidence_and_tables(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"x": [1]}, "needs two of each"),
        ({"parameter": ("p", [1])}, "needs two of each"),
        ({"curves": {"a": [[1, 2], [3, 4], [5, 6]]}}, r"a has shape \(3, 2\); p and x need \(2, 2\)"),
        ({"curves": {}}, "no curve"),
        ({"curves": {"a": [1, float("inf")]}}, "finite"),
        ({"curves": {"a": [float("nan")] * 2}}, "not all of them nan"),
        ({"log": "z"}, "log = 'z'"),
        ({"log": "y", "curves": {"a": [0, 1]}}, "smallest y is 0"),
        ({"log": "y", "ylim": (0, 1)}, "smallest y is 0"),
        ({"points": ["b"]}, "no curves; there are"),
        ({"says": ["one"]}, "1 sentences for 2 values of p"),
        ({"start": 7}, "start = 7 is no value of p; there are 1, 2"),
        ({"alt": ""}, "alt text"),
    ],
)
def test_movable(changed, message):
    good = {"x": [1, 2], "curves": {"a": [[1, 2], [3, 4]]}, "parameter": ("p", [1, 2]), "alt": "a"}
    movable(**good)
    with pytest.raises(ValueError, match=message):
        movable(**good | changed)


ONES = torch.ones(3, 4, dtype=torch.float64)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: proofs.special("1", 3), "r = '1' is not allowed: a number"),
        (lambda: proofs.identity_others(float("nan"), 3, 2), "B = nan is not allowed: finite"),
        (lambda: data.threshold("self-ones", 1.0, float("nan")), "c = nan is not allowed: finite"),
        (lambda: data.threshold("self-ones", 1.0), "c = None is not allowed"),
        (lambda: word_sensitivity("softmax", ONES), "map = 'softmax' is not allowed: FeatureMap"),
        (lambda: word_sensitivity(RandomAttentionFeatures.sample(4, 0), ONES.float()), "X = float32, but map.W is float64"),
        (lambda: phases.success("self", 3.0, 10), "model = 'self' is not allowed: one of self-ones, self-identity, cross"),
        (lambda: phases.linear_gap("", 30, 5), "model = '' is not allowed"),
        (lambda: phases.least_dimension("cross", 10**30), "decades = 10+ is not allowed: at least 1 and at most"),
        (lambda: regression.worst_high(10, 2), "dataset = 2 is not allowed: at least 0 and at most 1"),
        (lambda: thresholds.averages(2**40, "linear", max, [4], [0.1]), "dataset = 1099511627776"),
        (lambda: DeferredGaussian(5, 4, 1.0, generator(0)).times(ONES[:, :3]), "vectors of 3 entries; this side .* takes 4"),
        (lambda: DeferredGaussian(5, 4, 1.0, generator(0)).transpose_times(ONES), "vectors of 4 entries"),
        (lambda: Population(8, 4, 0.5).error(ONES[0]), r"margins = .* of shape \(M\), where M = 15"),
        (lambda: population_descent(8, 4, 0.5, temperature=1e-300), "the result is not finite"),
        (lambda: cosines(torch.ones(4, 4)), "the result is not finite"),
        (lambda: solutions(ONES[:2] + torch.eye(2, 4), ONES[0, :2], 0 * ONES[0], 1.0), "lost to rounding"),
        (lambda: lemmas.power_sequence(1.0, 2, 1.0, -1.0, 9.0), "M = -1.0 is not allowed: above 0"),
        (lambda: expectation.steps_to([], bool), r"flow = \[\] is not allowed: not empty"),
        (lambda: lemmas.power_sequence(1e-300, 2, 1.0, 1.0, 9.0), "steps away or more: take a larger z"),
        (lambda: same("x", [], 1), r"left = \[\] is not allowed: Term"),
        (lambda: same("x", sympy.zeros(2, 1), 1), r"sizes \(2, 1\) and \(1, 1\)"),
        (lambda: DeepRandomFeatures.sample(3, 4, 5, 2, 0)(ONES.float()), "X = float32, but self.V.0. is float64"),
        (lambda: space.population_descent(sharp(1), 4, 2, 0.5, steps="3"), "steps = '3' is not allowed: int"),
        (lambda: coupled(5, 0, horizon=-1), "horizon = -1 is not allowed: at least 0"),
        (lambda: aim(SoftmaxNetwork.paired(4, 2, 0, outputs=2), ONES, ONES[0]), "f has 4 entries for 3 inputs and 2 outputs"),
        (lambda: rank(torch.eye(3)), "kernel = a float32 tensor .* is not allowed: a float64 tensor"),
        (lambda: sample_sizes.run(50, 0, steps=2**40), "steps = 1099511627776 is not allowed"),
        (lambda: sample_sizes.run(50, 0, q=[0.5]), r"q = \[0.5\] is not allowed: float"),
        (lambda: windows.paper_data("self", 9.0), "model = 'self' is not allowed"),
        (lambda: draw_coupling("", 4, 0), "kind = '' is not allowed: one of paired, unpaired"),
        (lambda: draw_kernels(ONES, 4, 1.0, 1, []), r"seeds = \[\] is not allowed: not empty"),
        (lambda: evidence.power_law([1, 2, 3], [1, 2, 3, 4]), "fitted to pairs, got 3 and 4"),
        (lambda: moved_pair(0.5, 2**40), "k = 1099511627776 is not allowed"),
        (lambda: truncated(4)(np.float32(0.5)), "scores = .* is not allowed: a number"),
        (lambda: chance_level(torch.eye(4), "all"), "statistic = 'all' is not allowed: one of locality, local_share"),
        (lambda: expectation.population_law(4, 2, 0.5, []), r"order = \[\] is not allowed: not empty"),
        (lambda: turned(-1.0, 0), "share = -1.0 is not allowed: at least 0 and at most 1"),
        (lambda: RandomAttentionFeatures.sample(4, 0).to(3), "where = 3 is not allowed"),
        (lambda: PatchDistribution(4, 2, 3, 0.5, 0.1, "ab"), "groups = 'ab' is not allowed"),
        (lambda: as_printed(panel("4a"), {}), "and models are needed"),
        (lambda: hidden.groups_seen(3, 2**40), "N = 1099511627776 is not allowed"),
        (lambda: worst_difference(0.1, 2**40), "m = 1099511627776 is not allowed: at least 1 and at most 10"),
        (lambda: kernels.taylor_mean(10**30, 0.5), "degree = 10+ is not allowed"),
        (lambda: space.push_difference(1j, 4, 2, Fraction(1, 2)), "ratio must be a number or a flint.arb, got 1j"),
        (lambda: threshold_proofs.fixed_degree_fails(2**40), "degree = 1099511627776 is not allowed"),
        (lambda: kernels.fittable_share(10**30, 5), "n = 10+ is not allowed"),
        (lambda: thresholds.union_bound(2**40, 1.0, 0.1), "n = 1099511627776 is not allowed"),
        (lambda: descent(SoftmaxNetwork.paired(4, 2, 0, outputs=2), ONES, ONES[:, :1]), "y has 1 outputs, the network 2"),
        (lambda: parts.judge("d.2", dict, []), r"layers = \[\] is not allowed: not empty"),
        (lambda: parts.ratios(lambda _: {"a": []}, "b", [parts.layer("cross", "softmax", 3, 4, 1.0)]), "no part 'b', but a"),
        (lambda: phases.no_growth_from("self", 1.0), "model = 'self' is not allowed"),
        (lambda: tokens.bert_contexts([], 1, 1, 1, 0, tokenizer="", model=None), "tokenizer = '' is not allowed"),
        (lambda: tokens.bert_contexts([], 1, 1, 1, 0, tokenizer=len, model="x"), "model = 'x' is not allowed"),
    ],
)
def test_what_the_fuzz_found(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_descent_in_float32_is_that_in_float64():
    x, y = torch.nn.functional.normalize(ONES + torch.eye(3, 4), dim=1), torch.tensor([1.0, -1.0, 1.0]).double()
    single, double = (kernels.descend(truncated(4), x.to(t), y.to(t), 20, 0, 30) for t in (torch.float32, torch.float64))
    assert single.loss == pytest.approx(double.loss, rel=1e-3)

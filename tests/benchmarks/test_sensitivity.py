"""What the exact reductions of Part I save: ratios within one run."""

import subprocess
import sys
import time

import pytest
import torch
from attention_theory import sensitivity, tokens
from attention_theory.device import generator, normal
from attention_theory.domain import unchecked

D = 768


def least_seconds(function, total=0.4):
    """The least processor time of the runs that fit into ``total`` seconds: other processes on the machine add to the rest."""
    function()
    seconds = []
    while sum(seconds) < total or len(seconds) < 5:
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return min(seconds)


def value_and_gradient(change, deltas):
    deltas = deltas.clone().requires_grad_(True)
    value = change(deltas)
    return value, torch.autograd.grad(value.sum(), deltas)[0]


@pytest.mark.benchmark(group="one token moved: value and gradient")
@pytest.mark.parametrize("moves", [6, 16], ids="{} moves".format)  # 6: the default starts of word_sensitivity
@pytest.mark.parametrize("n, least", [(120, 15), (320, 40)])
def test_one_token_update_against_the_literal_map(benchmark, n, least, moves):
    X = tokens.contexts("iid", 1, n, D, seed=0)[0]
    raf = sensitivity.RandomAttentionFeatures.sample(D, 1)
    view, before = raf.one_token(X, 0), raf(X)
    deltas = 0.9 * tokens.on_sphere(normal(moves, D, generator=generator(2)))

    def literal(deltas):
        contexts = X.expand(len(deltas), n, D).clone()
        contexts[:, 0] += deltas
        return ((torch.softmax(raf.scores(contexts), dim=-1) @ contexts) - before).square().sum(dim=(1, 2))

    fast, slow = value_and_gradient(view.change, deltas), value_and_gradient(literal, deltas)
    for a, b in zip(fast, slow):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-8)
    if benchmark.disabled:
        pytest.skip("measures time")
    with unchecked():  # the search calls it from inside
        benchmark.pedantic(value_and_gradient, (view.change, deltas), rounds=10, warmup_rounds=1)
        ratio = least_seconds(lambda: value_and_gradient(literal, deltas)) / least_seconds(
            lambda: value_and_gradient(view.change, deltas)
        )
    benchmark.extra_info["times faster"] = round(ratio, 1)
    assert ratio >= least


MEMORY = """
import re, sys, torch
from attention_theory import sensitivity, tokens
n, d, k = 60, 64, 4000
X = tokens.contexts("iid", 1, n, d, seed=0)
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
base = peak()
if sys.argv[1] == "literal":
    view = sensitivity.RandomFeatures.sample(n, d, k, 1).one_token(X[0], 0)
else:
    view = sensitivity.one_token_in_law(X, 0, k, 1)[0]
view.change(torch.zeros(1, d, dtype=torch.float64))
print(peak() - base)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak memory from /proc")
def test_random_features_need_k_d_numbers_instead_of_k_n_d():
    literal, block = (
        int(subprocess.run([sys.executable, "-c", MEMORY, how], capture_output=True, text=True, check=True).stdout)
        for how in ("literal", "block")
    )
    assert literal * 1024 >= 0.9 * 4000 * 60 * 64 * 8
    assert literal >= 10 * max(block, 1)

"""What the law of random features saves: memory."""

import subprocess
import sys

import pytest

MEMORY = """
import re, sys, torch
from attention_theory import sensitivity, tokens
how, n, d, k = *sys.argv[1:], 64, 4000
X = tokens.contexts("iid", 1, int(n), d, seed=0)
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
base = peak()
if how == "literal":
    view = sensitivity.RandomFeatures.sample(int(n), d, k, 1).one_token(X[0], 0)
elif how == "block":
    view = sensitivity.one_token_in_law(X, 0, k, 1)[0]
else:
    map = sensitivity.RandomAttentionFeatures.sample(d, 1, how)
    map(X[0])
    view = map.one_token(X[0], 0)
view.change(torch.zeros(1, d, dtype=torch.float64))
print(peak() - base)
"""


def grown(how, n):
    """Bytes that a process of its own takes for a map of this kind and a move of one of n tokens."""
    command = [sys.executable, "-c", MEMORY, how, str(n)]
    return 1024 * int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak memory from /proc")


def test_random_features_need_k_d_numbers_instead_of_k_n_d():
    literal, block = grown("literal", 60), grown("block", 60)
    assert literal >= 0.9 * 4000 * 60 * 64 * 8
    assert literal >= 10 * max(block, 1024)


def test_attention_features_never_hold_all_scores():
    assert grown("softmax", 8192) < 8192**2 * 8 / 2

"""What the law of random features saves: memory."""

import subprocess
import sys

import pytest

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

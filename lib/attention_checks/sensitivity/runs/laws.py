"""Laws of what is drawn: Lipschitz functions of contexts (bombari2024, (A.1)), the norm of
features, several contexts.
"""

import math

import numpy as np
import torch
from attention_theory import tokens
from attention_theory.device import generator, normal
from attention_theory.sensitivity.random_features import RandomFeatures, one_token_in_law
from theorybook.validation import Count, OpenChance, Seed, Size


def lipschitz_values(
    count: Size = 4000, n: Count = 10, d: Count = 32, seed: Seed = 8
) -> dict[str, np.ndarray]:
    """Functions of Lipschitz constant 1 on so many contexts of iid tokens."""
    sample = tokens.contexts("iid", count, n, d, seed)
    flat, u = sample.flatten(1), normal(n * d, generator=generator(seed + 1))
    values = {
        "one coordinate": flat[:, 0],
        "a direction": flat @ (u / u.norm()),
        "distance to a point": (flat - u).norm(dim=1),
        "largest first coordinate": sample[:, :, 0].amax(dim=1),
    }
    return {name: value.numpy() for name, value in values.items()}


def small_norm_exponent(k: Count, epsilon: OpenChance) -> float:
    """-log P(|phi|^2 <= (1 - epsilon) k/2) / (epsilon^2 k) for k independent ReLU features relu(g),
    computed exactly.

    The number of active features is binomial, and given it |phi|^2 is chi-square with as many
    degrees of freedom.
    """
    from scipy import stats

    active = np.arange(1, k + 1)
    log_p = stats.binom.logpmf(active, k, 0.5) + stats.chi2.logcdf((1 - epsilon) * k / 2, active)
    return -float(np.logaddexp.reduce([*log_p, -k * math.log(2)])) / (epsilon**2 * k)


def gram_in_law(draws: Size = 40, k: Count = 5000) -> dict[str, tuple[np.ndarray, float]]:
    """Pre-activations of four contexts that resemble each other, drawn in law and through a literal
    V, and their predictions.

    Each entry has one value for every draw. For a fixed combination of the contributions of the
    other tokens: its variance over that by the Gram matrix; its fourth moment over three times the
    square of that variance, which is 1 only for Gaussians (eight numbers are summed, too few for
    the central limit theorem); and its mean product with the contribution of the moved token in the
    first context.
    """
    n, d, c = 3, 4, torch.tensor([1.0, -1.0, 0.5, 2.0]).double()
    contexts = tokens.contexts("anisotropic", len(c), n, d, seed=5)
    predicted = float((c @ contexts[:, 1:].flatten(1)).square().sum() / (n * d))
    found: dict[str, list[tuple[float, float, float]]] = {"in law": [], "literal": []}
    for draw in range(draws):
        drawn = RandomFeatures.sample(n, d, k, seed=1000 + draw)
        ones = {
            "in law": one_token_in_law(contexts, 0, k, seed=draw),
            "literal": [drawn.one_token(X, 0) for X in contexts],
        }
        for name, views in ones.items():
            rest, own = torch.stack([one.rest for one in views]).T @ c, views[0].block @ views[0].x
            square = rest.square() / predicted
            found[name].append(
                (
                    float(square.mean()),
                    float(square.square().mean()) / 3,
                    float((rest * own).mean()),
                )
            )
    columns = {name: np.transpose(rows) for name, rows in found.items()}
    return {
        f"{what}, {name}": (values[j], at)
        for name, values in columns.items()
        for j, (what, at) in enumerate(
            {
                "variance over prediction": 1.0,
                "fourth moment": 1.0,
                "times the moved block": 0.0,
            }.items()
        )
    }

"""Lemmas that are lists of parts: values of, and bounds on, blocks of the scores, weights and
features of one layer.

deng2023 (Lemmas D.2 to D.15, E.1, E.2, F.2 to F.15) bounds the matrices u, f and c of an attention
layer by row (special or not) and by key or column. A :class:`Part` is one such line, a
:class:`Layer` is what it is about; :func:`verdict_arguments` compares all parts of a lemma with
many layers.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import torch
from attention_theory.attention import attention_weights
from attention_theory.separation import data
from attention_theory.separation.data import Model, Scale
from attention_theory.separation.network import attention_features
from jaxtyping import Bool, Float
from theorybook import Check, compare, identity, proved
from theorybook.validation import ANY, FILLED, Chance, Count, Integer, Natural, NonNegative
from torch import Tensor


class Part(NamedTuple):
    """One line of a lemma: entries of a matrix in these rows and columns stand in this relation to
    a value.

    Attributes:
        matrix: ``u`` (scores), ``f`` (weights) or ``c`` (features).
        rows: ``j2`` (the special query), ``j3`` (the special key's row), ``not j2``, ``not j3`` or
            ``any``.
        columns: for u and f keys, ``j3``, ``not j3``, ``own block``, ``not own block`` (neither
            with j3 in its own row) or ``any``; for c columns, ``first``, ``blocks``,
            ``block of j3``, ``other blocks`` or ``last``.
        relation: ``==``, ``<=`` or ``>=``.
        value: the right-hand side.
        counting: if given, the relation is about the number of entries of a row that are at least
            this large.
    """

    matrix: str
    rows: str
    columns: str
    relation: str
    value: float
    counting: float | None = None


@dataclass(frozen=True, eq=False)
class Layer:
    """One attention layer on the data of the paper: its sizes and its matrices.

    Attributes:
        model, weights: as in :func:`layer`.
        n, d, t: rows, columns, identity blocks.
        a, b, c: sizes of the data; b and c are None for ``cross``.
        data_a: the ``a`` of the matrices, where ``a`` is that of a lemma that speaks of other data
            (:func:`printed_with`).
        query, key: the special rows j2 and j3, equal for self-attention.
        u, f: (n, n) scores (softmax: their exponentials) and weights.
        features: (n, d), the rows c_j of the paper.
    """

    model: Model
    weights: str
    n: Count
    d: Count
    t: Natural
    a: NonNegative
    b: Any
    c: Any
    query: Natural
    key: Natural
    u: Annotated[Float[Tensor, "n n"], ANY]  # exponentials may overflow
    f: Float[Tensor, "n n"]
    features: Float[Tensor, "n d"]
    data_a: NonNegative | None = None

    def __str__(self) -> str:
        a = (
            f"{self.a:g}"
            if self.data_a is None
            else f"{self.data_a:g} in the data, {self.a:g} in the lemma"
        )
        sizes = f"n = {self.n}, d = {self.d}, a = {a}"
        return sizes + (
            f", b = {self.b:g}"
            if self.b is not None
            else f", j2 {'=' if self.query == self.key else '≠'} j3"
        )

    @property
    def scale(self) -> float:
        """The unit of features: sqrt(log n), for cross-attention 1."""
        return 1.0 if self.model == "cross" else math.sqrt(math.log(self.n))

    def row(self, j: Integer) -> list[float]:
        """A row of features in that unit."""
        return (self.features[j].double() / self.scale).tolist()

    def places(self, part: Part) -> tuple[Bool[Tensor, "n"], Bool[Tensor, "n k"]]:
        """The rows that a part speaks of, and in each row of its matrix the columns."""
        rows, device = torch.arange(self.n, device=self.u.device), self.u.device
        chosen = {
            "j2": rows == self.query,
            "j3": rows == self.key,
            "not j2": rows != self.query,
            "not j3": rows != self.key,
            "any": rows >= 0,
        }[part.rows]
        if part.matrix == "c":
            columns = torch.arange(self.d, device=device)
            last = self.d if self.model == "cross" else self.d - 1
            block, special = (columns > 0) & (columns < last), 1 + self.key % (last - 1)
            mask = {
                "first": columns == 0,
                "blocks": block,
                "block of j3": columns == special,
                "other blocks": block & (columns != special),
                "last": columns == self.d - 1,
            }[part.columns].expand(self.n, -1)
        else:
            near = (rows[:, None] - rows) % (self.n // self.t) == 0
            itself = (rows[:, None] == self.query) & (rows == self.key)
            mask = {
                "j3": rows == self.key,
                "not j3": rows != self.key,
                "own block": near & ~itself,
                "not own block": ~near,
                "any": rows >= 0,
            }[part.columns].expand(self.n, -1)
        return chosen, mask

    def entries(self, part: Part) -> Float[Tensor, " k"]:
        """The entries that a part speaks of, or with ``counting`` how many of them in each row are
        that large.
        """
        matrix = {"u": self.u, "f": self.f, "c": self.features}[part.matrix]
        chosen, mask = self.places(part)
        if part.counting is None:
            return matrix[chosen[:, None] & mask]
        return ((matrix >= part.counting * (1 - 1e-9)) & mask).sum(1)[chosen].to(matrix)


def layer(
    model: Model,
    weights: str,
    n: Count,
    d: Count,
    a: NonNegative,
    b: Scale = None,
    c: Scale = None,
    query: Natural = 0,
    key: Natural = 0,
) -> Layer:
    """The layer of the library on the data of the paper.

    Args:
        model, weights: as in :func:`data.inputs` and
            :func:`attention_theory.separation.network.attention_features`.
        n, d, a, b, c: sizes of the data; no b and c for ``cross``.
        query, key: the special rows j2 and j3; for self-attention only ``key``.
    """
    A1, A2, X = data.inputs(model, n, d, a, b, c)
    if b is None or c is None:
        A1, A2 = data.cross_attention_data(n, d, a, query, key)
    else:
        A1 = A2 = data.self_attention_data(n, d, a, b, c, special=key)
        query = key
    scores = A1 @ X @ A2.T
    return Layer(
        *(model, weights, n, d, data.check_sizes(model, n, d), a, b, c, query, key),
        u=torch.exp(scores) if weights == "softmax" else scores,
        f=attention_weights(scores, weights),
        features=attention_features(A1, A2, A2, X, weights),
    )


def layers(model: Model, weights: str, sizes: Iterable[tuple], a: Sequence[float]) -> list[Layer]:
    """Layers of all sizes (n, d, b, c), or for ``cross`` (n, d, j2, j3), with all values of
    ``a``.
    """
    if model == "cross":
        return [
            layer(model, weights, n, d, x, query=j2, key=j3)
            for (n, d, j2, j3), x in itertools.product(sizes, a)
        ]
    return [layer(model, weights, n, d, x, b, c) for (n, d, b, c), x in itertools.product(sizes, a)]


def printed_with(layers: Sequence[Layer], a: NonNegative) -> list[Layer]:
    """The same matrices for a lemma that prints another ``a`` than theirs: statements that name the
    wrong data set.
    """
    return [replace(L, a=a, data_a=L.a) for L in layers]


Lemma = Callable[[Layer], Mapping[str, Any]]


def ratios(
    lemma: Lemma, part: str, layers: Sequence[Layer]
) -> list[tuple[Layer, list[tuple[str, float, float]]]]:
    """For each layer and each line of a part that has entries there: its relation, and least and
    largest entry / value.
    """
    found = []
    for L in layers:
        parts = lemma(L)
        if part not in parts:
            raise ValueError(f"the lemma has no part {part!r}, but {', '.join(parts)}")
        pairs = []
        for line in _lines(lemma, part, L):
            values = L.entries(line).double()
            if len(values):
                # counts compare with differences, since the printed number may be 0
                scaled = values / line.value if line.counting is None else values - line.value + 1
                pairs.append((line.relation, float(scaled.min()), float(scaled.max())))
        if pairs:
            found.append((L, pairs))
    return found


def _broken(relation: str, low: float, high: float) -> float:
    """The factor by which a line fails, 1 or less if it holds."""
    worst = {
        "<=": high,
        ">=": 1 / low if low else math.inf,
        "==": max(high, 1 / low if low else math.inf),
    }[relation]
    return worst if worst > 1 + 1e-9 else 1.0


def counterexample(what: str, lemma: Lemma, part: str, layers: Sequence[Layer]) -> Check | None:
    """The smallest layer, by n, d and a, that breaks a part; None if all satisfy it."""
    size = lambda L: (L.n, L.d, L.a if L.data_a is None else L.data_a)
    for L, pairs in sorted(ratios(lemma, part, layers), key=lambda pair: size(pair[0])):
        for relation, low, high in pairs:
            if _broken(relation, low, high) > 1:
                value = low if relation == ">=" or (relation == "==" and low * high < 1) else high
                digits, said = (
                    3 if abs(value - 1) > 0.01 else 5,
                    f"{what}, {L}: entry / printed value",
                )
                return compare(
                    said, value, relation, 1, method="counterexample", slack=1e-9, digits=digits
                )
    return None


def holds(
    what: str, lemma: Lemma, part: str, layers: Sequence[Layer], floor: Chance = 0.5
) -> list[Check]:
    """Checks that a part holds on all layers: values agree to rounding; bounds hold, and are
    reached up to ``floor``.

    The floor makes the check two-sided: a bound that is off by more than 1 / ``floor`` everywhere
    is noticed too (not with 0).
    """
    found = [pair for _, pairs in ratios(lemma, part, layers) for pair in pairs]
    values = [x for relation, low, high in found if relation == "==" for x in (low, high)]
    upper = [high for relation, low, high in found if relation == "<="]
    lower = [low for relation, low, high in found if relation == ">="]
    checks = []
    if values:
        checks.append(
            identity(
                f"{what}: entries / printed value, {len(layers)} layers",
                values,
                [1.0] * len(values),
            )
        )
    if upper:
        checks.append(
            compare(f"{what}: largest entry / bound", max(upper), "within", (floor, 1), slack=1e-9)
        )
    if lower:
        checks.append(
            compare(
                f"{what}: smallest entry / bound",
                min(lower),
                "within",
                (1, 1 / floor if floor else math.inf),
                slack=1e-9,
            )
        )
    return checks


def _lines(lemma: Lemma, part: str, L: Layer) -> list[Part]:
    lines = lemma(L)[part]
    return [lines] if isinstance(lines, Part) else lines


def verdict_arguments(
    name: str,
    lemma: Lemma,
    layers: Annotated[Sequence[Layer], FILLED],
    printed_on: Sequence[Layer] | None = None,
    meant: Lemma | None = None,
    floor: Chance = 0.5,
    floors: Mapping[str, float] | None = None,
    proofs: Mapping[str, Any] | None = None,
) -> dict[str, dict[str, Any]]:
    """The arguments of a verdict for each part of a lemma: the printed form if it holds, else its
    counterexample and the corrected form.

    Args:
        name: of the lemma, ``d.2``.
        lemma: the parts as printed, from the sizes of a layer.
        layers: what the lemma is meant to speak of.
        printed_on: what it says it speaks of, if that is something else. A part with another slip
            besides is shown to fail on ``layers`` too.
        meant: the corrected lemma, if it differs: a function that gives the parts that do.
        floor: how far every bound must be reached, as a part of it; a looser formula then fails.
        floors: the same for single parts.
        proofs: by ``name-part``, or ``u`` for the scores and ``last`` for the last column; each
            takes the layers and the lines of the part, and gives its proof, tied to them.
    """
    changed = meant or (lambda _: {})
    corrected = lambda L: {**lemma(L), **changed(L)}
    found = {}
    for part in corrected(layers[0]):
        first = _lines(corrected, part, layers[0])[0]
        kind = "u" if first.matrix == "u" else first.columns
        as_is = printed_on is None and part not in changed(layers[0])
        broken = counterexample("as printed", lemma, part, printed_on or layers)
        twice = (
            broken and printed_on is not None and part in changed(layers[0])
        )  # wrong data and another slip
        again = (
            counterexample("as printed, on the data meant", lemma, part, layers) if twice else None
        )
        checks = holds(
            "as printed" if as_is else "as meant",
            corrected,
            part,
            layers,
            (floors or {}).get(part, floor),
        )
        checks += [
            proved("for all sizes", proof(layers, functools.partial(_lines, corrected, part)))
            for key, proof in (proofs or {}).items()
            if key in (f"{name}-{part}", kind) or key.startswith(f"{name}-{part}-")
        ]
        if broken:
            found[part] = {"printed": [broken, again] if again else broken, "corrected": checks}
        else:
            also = [] if as_is else holds("as printed", lemma, part, printed_on or layers, floor=0)
            found[part] = {"printed": also + checks}
    return found

"""The formulas of the note, as printed; each is named after its statement."""


def lemma_1(n):
    """1 + 3 + ... + (2n - 1)."""
    return n**2


def lemma_2(n):
    """1^2 + 2^2 + ... + n^2."""
    return n * (n + 1) * (2 * n + 1) / 6


def lemma_3(n):
    """1^3 + 2^3 + ... + n^3; the denominator should be 4."""
    return n**2 * (n + 1) ** 2 / 2


def theorem_4(a, b):
    """Harmonic mean and arithmetic mean: the first is at most the second."""
    return 2 / (1 / a + 1 / b), (a + b) / 2

"""Mathematics as readable text: TeX between dollars, and numbers and indices as programs print
them.
"""

import re
import unicodedata
from typing import Any

_SIGNS = {
    **{
        "le": "≤",
        "leq": "≤",
        "ge": "≥",
        "geq": "≥",
        "ne": "≠",
        "neq": "≠",
        "ll": "≪",
        "gg": "≫",
        "approx": "≈",
        "sim": "~",
    },
    **{
        "times": "×",
        "cdot": "·",
        "pm": "±",
        "in": "∈",
        "to": "→",
        "mapsto": "↦",
        "infty": "∞",
        "sum": "Σ",
        "prod": "Π",
    },
    **{
        "sqrt": "√",
        "int": "∫",
        "partial": "∂",
        "nabla": "∇",
        "langle": "⟨",
        "rangle": "⟩",
        "|": "‖",
        "Vert": "‖",
        "top": "ᵀ",
    },
    **{
        "ell": "ℓ",
        "ldots": "...",
        "dots": "...",
        "cdots": "...",
        "propto": "∝",
        "subset": "⊂",
        "odot": "⊙",
        "perp": "⊥",
    },
    **{
        "lfloor": "⌊",
        "rfloor": "⌋",
        "lceil": "⌈",
        "rceil": "⌉",
        "equiv": "≡",
        "otimes": "⊗",
        "varepsilon": "ε",
        "epsilon": "ε",
    },
    **{
        "vartheta": "θ",
        "varphi": "φ",
        "lambda": "λ",
        "Lambda": "Λ",
        "qquad": " ",
        "quad": " ",
        "square": "",
    },
}
#: TeX commands that only change how something looks.
_LOOKS = re.compile(
    r"\\(?:left|right|[bB]igg?[lrm]?|math(?:rm|cal|bf|bb|sf)|boldsymbol|operatorname\*?|text(?:bf|rm|it)?|displaystyle"
    r"|limits|tfrac(?=\d)|tag|label|begin\{\w+\*?\}|end\{\w+\*?\}|hat|tilde|bar|widehat|overline)(?![A-Za-z])"
)


def _sign(name: str) -> str:
    if name in _SIGNS:
        return _SIGNS[name]
    try:
        return unicodedata.lookup(
            f"GREEK {'CAPITAL' if name[0].isupper() else 'SMALL'} LETTER {name}"
        )
    except KeyError:
        return name  # log, max, exp, ...


def plain(text: str) -> str:
    r"""Readable text from words with TeX between dollars.

    >>> from theorybook.plain import plain
    >>> plain(r"the push on $a_{2r-1}$ is at most $\frac{\sqrt{d}}{2}$")
    'the push on a_(2r-1) is at most √(d)/2'
    """
    return re.sub(r"(\$\$?)([^$]+)\1", lambda found: _plain(found[2]), text)


def _plain(tex: str) -> str:
    tex = _LOOKS.sub("", tex)
    last = None
    while last != tex:  # from the inside out
        last = tex
        tex = re.sub(r"([_^])\s*\{([^{}]*)\}", lambda found: found[1] + _operand(found[2]), tex)
        tex = re.sub(r"\\sqrt\s*\{([^{}]*)\}", r"√(\1)", tex)
        tex = re.sub(
            r"\\[dt]?frac\s*(?:\{([^{}]*)\}|(\w))\s*(?:\{([^{}]*)\}|(\w))",
            lambda found: f"{_operand(found[1] or found[2])}/{_operand(found[3] or found[4])}",
            tex,
        )
        tex = re.sub(r"\\binom\s*\{([^{}]*)\}\s*\{([^{}]*)\}", r"binom(\1, \2)", tex)
        tex = re.sub(r"(?<![_^\\}])(?<!frac)(?<!sqrt)\{([^{}]*)\}(?!\s*\{)", r"\1", tex)
    tex = re.sub(
        r"\\([A-Za-z]+|\|)(\s*)", lambda found: _sign(found[1]) + " " * bool(found[2]), tex
    )
    tex = re.sub(r"\\[,;!: \\]|[&~]", " ", tex).replace("\\", "").replace("^ᵀ", "ᵀ")
    return re.sub(r"\s+", " ", re.sub(r"(?<=[∂∇√]) ", "", tex)).strip()


_END = r"(?!\w|\.\d)"  # a full stop may follow, a digit may not
_PRINTED = re.compile(
    rf"(?<![\w.])(?P<front>\d+(?:\.\d+)?)e(?P<power>[+-]\d+){_END}"
    rf"|(?<=[\w)])\^(?P<raised>-?\d+){_END}"
    r"|(?<![\w][A-Za-zα-ω])(?<=[A-Za-zα-ω])_(?P<index>\d+)(?!\w)"
)


def as_written(text: str) -> str:
    """A line as a person would write it: powers of ten, exponents and indices instead of what
    programs print.

    >>> from theorybook.plain import as_written
    >>> as_written("5.5e+03, 2e-06, 10^12, T_4")
    '5,500, 2 × 10⁻⁶, 10¹², T₄'
    """

    def written(found: re.Match) -> str:
        if found["front"]:
            return power_of_ten(found["front"], found["power"])
        return raised(found["raised"]) if found["raised"] else lowered(found["index"])

    return _PRINTED.sub(written, text)


def power_of_ten(front: str, power: str) -> str:
    """``front`` times 10 to the ``power``: 5,500 up to a million, then 2 × 10⁷, and 10⁷ for a front
    of 1.
    """
    k = int(power)
    if 0 <= k < 6 and len(front.partition(".")[2]) <= k:
        return f"{float(front) * 10**k:,.0f}"
    return f"{'' if front == '1' else front + ' × '}10{raised(str(k))}"


def raised(digits: str) -> str:
    """An exponent: ``raised("-12")`` is ⁻¹²."""
    return digits.translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def lowered(digits: str) -> str:
    """An index: ``lowered("4")`` is ₄."""
    return digits.translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def _operand(tex: str) -> str:
    """In parentheses, unless it is one symbol or already in parentheses."""
    tex = (tex or "").strip()
    return tex if re.fullmatch(r"\w+|\\[A-Za-z]+|.|√?\([^()]*\)", tex) else f"({tex})"


def off_the_edge(value: Any) -> float:
    """A number to twelve digits, so that one that would be 0.0625 but for rounding is shortened to
    the same digits on every machine.

    >>> from theorybook.plain import off_the_edge
    >>> [f"{off_the_edge(value):.3f}" for value in (0.0625, 0.0625 + 1e-17, 0.0625 + 1e-15)]
    ['0.062', '0.062', '0.062']
    """
    return float(f"{value:.12g}")

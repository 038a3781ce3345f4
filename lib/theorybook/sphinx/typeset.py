"""Plain-text mathematics as HTML: ``|<f, s>| <= n^0.3`` gets its sub- and superscripts, relations
and Greek letters.

Only what is safe without a grammar is changed; every word is kept. Letters become italic, names in
code are unchanged.
"""

import html
import re

from markupsafe import Markup

_SMALL = (
    "alpha beta gamma delta epsilon eps zeta eta theta kappa lambda mu nu xi rho sigma tau "
    "phi chi psi omega"
)
_CAPITAL = "Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega"
GREEK = dict(zip(f"{_SMALL} {_CAPITAL}".split(), "αβγδεεζηθκλμνξρστφχψωΓΔΘΛΞΣΦΨΩ"))
_NAME = "|".join(GREEK)
_ROMAN = "max|min|sup|inf|Top|sum"
_ATOM = rf"(?:{_ROMAN}|{_NAME}|[A-Za-zα-ωΑ-Ω][\u0303\u0304]?(?:'(?=_))?)"
_INDEX = r"[A-Za-z0-9α-ωΑ-Ωℓ]+(?![A-Za-z0-9_])|[*∞⊥±+−-](?![\w(])"
_EDGE = r"(?<![\w.'’-])"  # not inside a word or the number of a lemma
# not inside a word or a path; a Greek letter may stand before it, and a number before an index
_START = r"(?:(?<![\w.'’/-])|(?<=[α-ωΔΣΦ])|(?<=\d)(?=\w_))"
_TOKENS = re.compile(
    rf"(?P<power>(?<![\w.])(?P<digits>\d+(?:\.\d+)?)e(?P<sign>[-+]?)0*(?P<power10>\d+)(?!\w))"
    rf"|(?P<sup>\^(?:\{{(?P<braces>[^{{}}]*)\}}|\((?P<round>(?:[^()]|\([^()]*\))*)\)|(?P<plain>[-−]?(?:\d+(?:\.\d+)?|\w+))))"
    rf"|(?P<sub>{_START}(?P<base>{_ATOM})(?:_\{{(?P<index>[^{{}}]*)\}}|_(?P<word>{_INDEX})|(?P<number>(?<![a-z]{{3}})\d)(?!\w|\.\w)))"
    rf"|(?P<after>(?<=[)|‖\]′*])_(?:\{{(?P<inner>[^{{}}]*)\}}|(?P<one>{_INDEX})))"
    rf"|(?P<greek>(?<![\w.'’-])(?:{_NAME})(?![\w(.]\w|\w))"
    rf"|(?P<letter>{_EDGE}[b-zB-HJ-Z](?![A-Za-z0-9_Α-ω'’]|\.\w|-[^\W\d]))"
    r"|(?P<bracket><(?=[A-Za-z][^<>=]{0,24}>))|(?P<close>(?<=\w)>(?!=)(?<!->))"
    r"|(?P<relation><=|>=|!=|==|->|\+-)"
    r"|(?P<root>\bsqrt(?:(?=\()| (?=\w)))"
    r"|(?P<minus>(?<=[\s(\[])-(?=[\d\w(.])|(?<=[\w)\]|] )-(?= [\w(\[|])"
    r"|(?<=[\s(/^√][a-zA-Z])-(?=\d)|(?<=\d)-(?=[α-ωΑ-Ω]))"
)
TEX = re.compile(r"(\$\$[^$]+\$\$|\$[^$]+\$)")
_RELATIONS = {"<=": "≤", ">=": "≥", "!=": "≠", "==": "=", "->": "→", "+-": "±"}


def typeset(text: str) -> Markup:
    """HTML of a line of prose with mathematics in it: TeX between dollars unchanged, the rest
    recognised by its form.
    """
    return Markup(
        "".join(
            _formula(piece) if i % 2 else _guessed(piece) for i, piece in enumerate(TEX.split(text))
        )
    )


def _formula(tex: str) -> str:
    """The formula between single dollars in the line, that between double dollars on a line of its
    own.
    """
    if tex.startswith("$$"):
        return (
            '<span class="math notranslate nohighlight '
            f'display">\\[{html.escape(tex[2:-2])}\\]</span>'
        )
    return f'<span class="math notranslate nohighlight">\\({html.escape(tex[1:-1])}\\)</span>'


def _guessed(text: str) -> str:
    open_brackets = 0
    out, last = [], 0
    for match in _TOKENS.finditer(text):
        found = match.groupdict()
        kind = next(key for key in _KINDS if found[key] is not None)
        if kind == "close":
            if not open_brackets:
                continue
            open_brackets -= 1
        open_brackets += kind == "bracket"
        out += [html.escape(text[last : match.start()]), _KINDS[kind](found)]
        last = match.end()
    return "".join(out) + html.escape(text[last:])


def _power(found: dict) -> str:
    factor = "" if found["digits"] == "1" else f"{found['digits']} × "
    return f"{factor}10<sup>{'−' if found['sign'] == '-' else ''}{found['power10']}</sup>"


def _base(name: str) -> str:
    if re.fullmatch(_ROMAN, name):
        return "Σ" if name == "sum" else name
    return f"<i>{GREEK.get(name, name)}</i>"


def _first(found: dict, *keys: str) -> str:
    return next(found[key] for key in keys if found[key] is not None)


_KINDS = {
    "power": _power,
    "sup": lambda found: (
        f"<sup>{typeset(_first(found, 'braces', 'round', 'plain').replace('-', '−'))}</sup>"
    ),
    "sub": lambda found: (
        f"{_base(found['base'])}<sub>{typeset(_first(found, 'index', 'word', 'number').replace('-', '−'))}</sub>"
    ),
    "after": lambda found: f"<sub>{typeset(_first(found, 'inner', 'one'))}</sub>",
    "greek": lambda found: f"<i>{GREEK[found['greek']]}</i>",
    "letter": lambda found: f"<i>{found['letter']}</i>",
    "bracket": lambda found: "⟨",
    "close": lambda found: "⟩",
    "relation": lambda found: _RELATIONS[found["relation"]],
    "root": lambda found: "√",
    "minus": lambda found: "−",
}

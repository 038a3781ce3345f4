"""The letters on the page of notation, and the fold at the start of a chapter that lists those its
story uses, in order.
"""

import html
import posixpath
import re

#: Built page of notation.
PAGE = "book/notation.html"
#: Parts of a formula that are no letters, as the page of notation says for all parts: words and
#: marks, the normal law, extreme singular values and eigenvalues, the d of an integral; and
#: indices.
NO_LETTERS = re.compile(
    r"\\(?:text|operatorname|mathrm|begin|end|label)\{[^{}]*\}|(?<![A-Za-z])N\(|\\(?:sigma|lambda)_\{\\m(?:ax|in)\}"
    r"|\\,\s*d(?=[tx](?![A-Za-z]))|_(?:\{(?:[^{}]|\{[^{}]*\})*\}|\\[A-Za-z]+|.)"
)
SCRIPT = re.compile(r"\\math(cal|bb|scr|frak)\s*\{?([A-Za-z])\}?")
LETTER = re.compile(r"\\math\w+\{[A-Za-z]\}|\\[A-Za-z]+|[A-Za-z]")
#: A built formula, without its number.
FORMULA = re.compile(
    r'<(?P<tag>span|div) class="math[^>]*>(?:\s*<span '
    r'class="eqno">.*?</span>)?(?P<tex>.*?)</(?P=tag)>',
    re.S,
)
ROW = re.compile(r'<tr class="row-\w+"[^>]*>\s*<td>(.*?)</td>.*?</tr>', re.S)
#: Pieces that introduce their letters themselves: a built proof, up to its mark or to what follows,
#: and the card of a verdict.
ASIDE = re.compile(
    r'<details class="verdict.*?</details>'
    r'|<p><em>Proof.*?(?:\\square|□|(?=<section|<div class="(?:proof|admonition|exercise)))',
    re.S,
)
FOLD = re.compile(r'\s*<details class="letters">.*?</details>', re.S)


def letters_in(tex: str) -> set[str]:
    """The letters of a formula, and its commands; script letters in braces."""
    return set(LETTER.findall(SCRIPT.sub(r"\\math\1{\2}", NO_LETTERS.sub("", tex))))


def stands_in(symbol: str, tex: str) -> bool:
    """Whether a symbol, one letter or more, stands in a formula."""
    letters = letters_in(symbol)
    if letters == {symbol} or SCRIPT.fullmatch(symbol):
        return letters <= letters_in(tex)
    return re.search(r"(?<![A-Za-z\\])" + re.escape(symbol), tex) is not None


def formulas(text: str) -> list[str]:
    """The TeX of all formulas in a built page or a piece of it."""
    return [html.unescape(formula["tex"]) for formula in FORMULA.finditer(text)]


def symbols(text: str) -> dict[str, dict[str, str]]:
    """``tangent`` or ``tangent-score`` -> TeX of a symbol -> its line in the table of the part or
    chapter, as built.
    """
    found: dict[str, dict[str, str]] = {}
    for section in re.split(r"(?=<section )", text):
        if name := re.search(r'id="([\w-]+)-letters"', section):
            lines = {
                cell: row.group() for row in ROW.finditer(section) for cell in formulas(row[1])
            }
            found[name[1]] = {re.sub(r"^\\\(|\\\)$", "", tex): line for tex, line in lines.items()}
    return found


def with_letters(text: str, name: str, known: dict[str, dict[str, str]]) -> str:
    """A built chapter with the letters used before its record section, proofs excepted, folded
    under its title; other pages unchanged.
    """
    page, text = name.removeprefix("book/").removesuffix(".html"), FOLD.sub("", text)
    told = formulas(ASIDE.sub("", text.partition(' id="the-record"')[0]))
    own = known.get(
        page.replace("/", "-"), {}
    )  # a record introduces what it adds to the letters of its chapter
    meanings = known.get(page.partition("/")[0], {}) | own if own else {}
    first = {
        symbol: next((i for i, tex in enumerate(told) if stands_in(symbol, tex)), None)
        for symbol in meanings
    }
    lines = [
        meanings[symbol]
        for symbol in sorted(meanings, key=lambda s: first[s] or 0)
        if first[symbol] is not None
    ]
    if not lines:
        return text
    up = posixpath.relpath(posixpath.dirname(PAGE), posixpath.dirname(name))
    rows = re.sub(
        r' id="[^"]*"', "", re.sub(r'href="(?!\w+:)', f'href="{up}/', "".join(dict.fromkeys(lines)))
    )
    table = (
        '<div class="pst-scrollable-table-container"><table '
        f'class="table"><tbody>{rows}</tbody></table></div>'
    )
    fold = f'<details class="letters"><summary>Letters of this page</summary>{table}</details>'
    head, mark, body = text.partition("<article")
    return head + mark + body.replace("</h1>", f"</h1>\n{fold}", 1)

"""The letters of the page of notation, and the fold with which every chapter begins: those of its part that it uses."""

import html
import posixpath
import re

#: Built page of notation.
PAGE = "book/notation.html"
#: What is not a letter inside a formula: words and marks, the normal law and extreme singular values (said for all parts),
#: and indices.
NO_LETTERS = re.compile(
    r"\\(?:text|operatorname|mathrm|begin|end|label)\{[^{}]*\}|(?<![A-Za-z])N\(|\\(?:sigma|lambda)_\{\\m(?:ax|in)\}"
    r"|_(?:\{(?:[^{}]|\{[^{}]*\})*\}|\\[A-Za-z]+|.)"
)
SCRIPT = re.compile(r"\\math(cal|bb|scr|frak)\s*\{?([A-Za-z])\}?")
LETTER = re.compile(r"\\math\w+\{[A-Za-z]\}|\\[A-Za-z]+|[A-Za-z]")
FORMULA = re.compile(r'<(?:span|div) class="math[^>]*>(.*?)</(?:span|div)>', re.S)
ROW = re.compile(r'<tr class="row-\w+"[^>]*>\s*<td>(.*?)</td>.*?</tr>', re.S)
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
    """The TeX of a built page or a piece of it."""
    return [html.unescape(tex) for tex in FORMULA.findall(text)]


def symbols(text: str) -> dict[str, dict[str, str]]:
    """Part -> TeX of a symbol -> its line in the built page of notation."""
    found: dict[str, dict[str, str]] = {}
    for section in re.split(r"(?=<section )", text):
        if name := re.search(r'id="(\w+)-letters"', section):
            lines = {cell: row.group() for row in ROW.finditer(section) for cell in formulas(row[1])}
            found[name[1]] = {re.sub(r"^\\\(|\\\)$", "", tex): line for tex, line in lines.items()}
    return found


def with_letters(text: str, name: str, known: dict[str, dict[str, str]]) -> str:
    """A built chapter with the letters of its part that it uses, folded, under its title."""
    part, text = name.removeprefix("book/").partition("/")[0], FOLD.sub("", text)
    used = formulas(text)
    lines = [line for symbol, line in known.get(part, {}).items() if any(stands_in(symbol, tex) for tex in used)]
    if not lines:
        return text
    up = posixpath.relpath(posixpath.dirname(PAGE), posixpath.dirname(name))
    rows = re.sub(r' id="[^"]*"', "", re.sub(r'href="(?!\w+:)', f'href="{up}/', "".join(dict.fromkeys(lines))))
    table = f'<div class="pst-scrollable-table-container"><table class="table"><tbody>{rows}</tbody></table></div>'
    fold = f'<details class="letters"><summary>Letters of this page</summary>{table}</details>'
    head, mark, page = text.partition("<article")
    return head + mark + page.replace("</h1>", f"</h1>\n{fold}", 1)

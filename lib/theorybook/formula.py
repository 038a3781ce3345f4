"""Formulas as printed: the source of a function, shown next to the statement."""

import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

#: The examples of a docstring, with the blank line before them; a page that shows a formula does not
#: need them, since it runs the formula itself.
_EXAMPLES = re.compile(r"\n\n +>>> .*?(?=\n *\n|\n *\"\"\")", re.DOTALL)


@dataclass(frozen=True)
class Source:
    """Source text that a notebook shows as Python code, and stores, so that nbval notices when it
    changes.
    """

    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        fence = (
            max(["``", *re.findall("`{3,}", self.text)], key=len) + "`"
        )  # longer than any in a docstring
        return f"{fence}python\n{self.text}\n{fence}"


def formula(*functions: Callable) -> Source:
    """The source of one or several functions, without decorators and without the examples of
    docstrings.

    Raises:
        TypeError: an object without Python source.
    """
    texts = []
    for function in functions:
        try:
            lines = textwrap.dedent(inspect.getsource(inspect.unwrap(function))).splitlines()
        except OSError:
            raise TypeError(f"{function!r} has no source in a file or a notebook's cell") from None
        start = next(
            (
                i
                for i, line in enumerate(lines)
                if line.startswith(("def ", "async def ", "class "))
            ),
            None,
        )
        if start is None:
            raise TypeError(
                f"{function!r} has no source that begins with def or class; give it a name"
            )
        texts.append(_EXAMPLES.sub("", "\n".join(lines[start:]).rstrip()))
    return Source("\n\n\n".join(texts))

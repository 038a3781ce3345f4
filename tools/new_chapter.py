"""Begin a chapter: ``make chapter NAME=<part>/<slug>`` writes a page that passes every form test, and adds it to the contents.

    python tools/new_chapter.py separation/my-chapter

What it shows is a placeholder with all the pieces: question and answer, a described figure with its numbers, an exercise in
which the reader breaks something. Then follow "Add a statement" in CONTRIBUTING.md; "Add a chapter" says how to
take it back.
"""

import argparse
import os
import re
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]

CHAPTER = """---
jupytext:
  formats: ipynb,md:myst
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# {title}

```{{code-cell}} ipython3
:tags: [remove-cell]

try:
    import attention_theory
except ImportError:
    !git clone -q --depth 1 {url} attention-theory || echo "A chapter alone needs git and a network, or a clone beside it."
    %pip install -q ./attention-theory/lib
```

**Question.** What does this chapter ask?

**Answer.** What it finds, with the number of the headline picture.

```{{code-cell}} ipython3
import matplotlib.pyplot as plt
import torch

from attention_theory import figures
from attention_theory.attention import attention_weights
from attention_theory.evidence import compare

figures.use_style()
```

```{{code-cell}} ipython3
---
mystnb:
  figure:
    caption: |
      The weight of the largest of $n$ scores, one of which is $2 \\ln n$ and the others $0$.
    name: fig-{part}-{slug}
  image:
    alt: The weight rises from 0.8 at n = 2 towards one as n grows.
tags: [hide-input, nbval-ignore-output]
---
sizes = [2, 4, 8, 16, 32, 64]


def largest_weight(n):
    scores = torch.zeros(1, n, dtype=torch.float64)
    scores[0, 0] = 2 * torch.tensor(float(n)).double().log()
    return float(attention_weights(scores)[0, 0])


weights = [largest_weight(n) for n in sizes]
figure, ax = plt.subplots(figsize=(5, 3))
ax.semilogx(sizes, weights, "o-")
ax.set(xlabel="n", ylabel="weight of the largest score")
plt.show()
```

```{{code-cell}} ipython3
figures.table({{"n": sizes, "weight": weights}}, {{"weight": ".3f"}})
```

A statement goes into a box, its formula and its measurement into the library, its row into the ledger. Its verdict is a cell
that gives checks like this one to `verdict`:

```{{code-cell}} ipython3
bars = [n**2 / (n**2 + n) for n in sizes]
print(compare("weight of the largest score", weights, ">=", bars))
```

## Exercise

:::{{exercise}}
:label: exercise-{part}-{slug}

Break it: with $\\tfrac12 \\ln n$ in place of $2 \\ln n$ the check fails. From which $n$ on is the weight below one half?
:::

:::{{solution}} exercise-{part}-{slug}
:class: dropdown

The weight is $\\sqrt n / (\\sqrt n + n - 1)$, below one half as soon as $n - 1 > \\sqrt n$, so from $n = 3$ on.
:::
"""


def begin(name: str, root: Path = ROOT) -> Path:
    """Write the chapter and its entry in the contents; the path of the page.

    Raises:
        ValueError: no name of the form <part>/<slug>, an unknown part, or a chapter that is there already.
    """
    if not re.fullmatch(r"[a-z]+/[a-z0-9]+(-[a-z0-9]+)*", name):
        raise ValueError(
            f"{name!r} is not allowed: write <part>/<slug> in small letters, digits and hyphens, as separation/my-chapter"
        )
    part, slug = name.split("/")
    page = root / "book" / part / f"{slug}.md"
    toc = (root / "_toc.yml").read_text(encoding="utf-8")
    entries = re.findall(rf"^.*file: book/{part}/.*$\n", toc, flags=re.M)
    if not entries:
        parts = dict.fromkeys(re.findall(r"file: book/(?!ledger)([a-z]+)/.*\.ipynb", toc))
        raise ValueError(f"there is no part {part!r} in _toc.yml; its parts are {', '.join(parts)}")
    if page.exists():
        raise ValueError(f"{page.relative_to(root)} is there already; run it with tools/execute.py, or choose another name")
    url = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"]
    title = slug.replace("-", " ").capitalize()
    page.write_text(CHAPTER.format(title=title, url=url, part=part, slug=slug), encoding="utf-8")
    last = entries[-1]
    added = re.sub(r"file: \S+", f"file: book/{part}/{slug}.ipynb", last)
    if added not in entries:  # left over from a chapter that was taken back
        (root / "_toc.yml").write_text(toc.replace(last, last + added), encoding="utf-8")
    return page


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", help="<part>/<slug>")
    try:
        page = begin(parser.parse_args().name)
    except ValueError as error:
        parser.error(str(error))
    sys.path.insert(0, str(ROOT / "tools"))
    from execute import execute

    os.environ.pop("MPLBACKEND", None)  # a backend without a screen would store no picture
    failure, name = execute(page), page.relative_to(ROOT).as_posix()
    tests = f"tests/test_ledger.py tests/test_notebooks.py -k 'test_ledger or {name[5:-3]}.ipynb'"
    if failure:
        print(f"{failure}\n{name} is written, its .ipynb is not: then run .venv/bin/python tools/execute.py {name}")
    else:
        print(f"{name}, its .ipynb and its line in _toc.yml are written. Change the .md, then:")
        print(f"    .venv/bin/python tools/execute.py {name}")
        print(f"    .venv/bin/python -m pytest -q {tests}")
    return bool(failure)


if __name__ == "__main__":
    sys.exit(main())

"""Begin a chapter: ``make chapter NAME=<part>/<slug>`` writes a page that passes every form test, and adds it to the contents.

    python tools/new_chapter.py separation/my-chapter

What it shows is a placeholder with all the pieces of a chapter in their order. Then follow "Add a statement" in
CONTRIBUTING.md; "Add a chapter" says how to take it back.
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

A situation in plain words and numbers, and the question that it raises. Here: five keys, one of which has a score that is
higher by 1. Softmax gives it the share 0.40. How much of that is left among a thousand keys, and how much higher must its
score be to keep one half? This placeholder has every piece of a chapter, in order. Replace each by your own, and keep the
order: the phenomenon first, then an example that can be followed on paper, then a picture of the mechanism, then why, then the
statement, its proof, and what it means. What is checked beyond that goes into the record.

The chapter's place in the book is the contrast against the crowd: one key with $r$ times the weight of each of its $n - 1$
rivals gets the share $r/(r + n - 1)$.

```{{code-cell}} ipython3
:tags: [hide-input]

import math

import torch

from attention_theory import figures
from attention_theory.attention import attention_weights
from attention_theory.evidence import identity
from attention_theory.movable import movable

figures.use_style()
sizes = [2, 4, 8, 16, 32, 64]


def pictured(alt, **options):
    options |= {{"xlabel": "gap of the scores", "ylabel": "share"}}
    gaps = [0.5 * k for k in range(13)]
    shares = [[math.exp(s) / (math.exp(s) + n - 1) for s in gaps] for n in sizes]
    return movable(gaps, {{"share": shares}}, ("keys", sizes), alt=alt, **options)
```

## By hand

:::{{prf:example}} Five keys
:label: example-{part}-{slug}

The scores are 2, 1, 1, 1, 1. The exponential makes the first key $e = 2.72$ times as heavy as each rival, so its share is
$2.72/(2.72 + 4) = 0.40$. Among a thousand rivals it is $2.72/1002.72 = 0.003$.
:::

```{{code-cell}} ipython3
for rivals in (4, 1000):
    print(rivals, f"{{math.e / (math.e + rivals):.3f}}")
```

## The mechanism

**Move the number of keys.** The curve keeps its shape and slides to the right. Say here in one sentence what to move and
what to see, and below the picture what it is exact about.

```{{code-cell}} ipython3
:tags: [hide-input]

pictured("The share rises with the gap of the scores.")
```

```{{code-cell}} ipython3
:tags: [hide-input]

pictured("The same on a logarithmic axis.", log="y")
```

```{{code-cell}} ipython3
:tags: [hide-input]

pictured("The same, opened at 64 keys.", start=64)
```

## Why

Say it in words before the formula: a difference of scores becomes a ratio of weights, and a ratio is what beats a crowd.

## The statement

A statement goes into a box with its hypotheses, its claim and its constants, its formula and its measurement into the library,
its row into the ledger. Beside it stands one visible cell like this, which hands its two checks to `verdict`:

```{{code-cell}} ipython3
scores = torch.tensor([[2.0, 1, 1, 1, 1]], dtype=torch.float64)
share = attention_weights(scores)[0, 0]
print(identity("share of the first key", share, math.e / (math.e + 4)))
```

## What it means, and what it does not

Sizes, a real head, trained models, the paper's claim against ours.

## The record

| statement | fate | reason |
|---|---|---|
| none yet | | |

## Exercises

:::{{exercise}}
:label: exercise-{part}-{slug}

Break it: with a gap of $\\tfrac12 \\ln n$ in place of $2 \\ln n$, from which $n$ on is the share below one half?
:::

:::{{solution}} exercise-{part}-{slug}
:class: dropdown

The share is $\\sqrt n / (\\sqrt n + n - 1)$, below one half as soon as $n - 1 > \\sqrt n$, so from $n = 3$ on.
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

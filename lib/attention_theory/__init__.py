"""The mathematics of softmax attention that the book *attention-theory* is about, small enough to
be read in an afternoon.

Shared modules: :mod:`attention`, :mod:`tokens`, :mod:`device`. One subpackage per part of the book
holds that part's mathematics; what only the verdicts need is in :mod:`attention_checks`, and the
verdict toolkit is :mod:`theorybook`.
"""

__version__ = "0.1.0"

from theorybook.validation import install

install(__name__)

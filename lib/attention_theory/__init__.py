"""Executable theory of softmax attention: the library of the book *attention-theory*.

Shared modules: :mod:`attention`, :mod:`evidence`, :mod:`sweep`, :mod:`figures`, :mod:`device`. One subpackage
per part of the book carries that part's mathematics.
"""

__version__ = "0.1.0"

from attention_theory.domain import install

install(__name__)

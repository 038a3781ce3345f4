"""A toolkit for executable theory: computed verdicts on numbered statements, and the ledger that
says what they should be.

A chapter measures something, compares it with what a statement predicts (a :class:`Check`), and
hands the comparison to :func:`verdict`. The outcome follows from the checks; nobody types it. Where
there is a ledger (``ledger/<citation>.yml`` in the current folder or above), a verdict that differs
from the declared outcome raises.

>>> from theorybook import compare, judge
>>> check = compare("largest share", 0.97, "within", (0.9, 1))
>>> judge("doe2026/lemma-d.2-3a", printed=check)
Verdict doe2026/lemma-d.2-3a: holds (exact) | largest share: 0.97 within [0.9, 1]

:mod:`checks` compares, :mod:`intervals` estimates, :mod:`verdicts` judges and shows, :mod:`ledger`
reads what is declared, :mod:`predictions` what was predicted, :mod:`prove` covers whole boxes of
parameters, :mod:`records` stores results that take long to compute.
"""

from theorybook.validation import install

install(__name__, but=("sphinx", "tools", "validation"))  # before what it checks

from theorybook.checks import METHODS, Check, compare, exponent, identity, interval, number, proved
from theorybook.intervals import CONFIDENCE, Interval, mean_interval, power_law, rate_interval
from theorybook.ledger import (
    COMPUTED,
    OUTCOMES,
    UNCOMPUTED,
    Entry,
    anchor,
    find_ledger,
    load_ledger,
    record_of,
)
from theorybook.predictions import Prediction, load_predictions, measured
from theorybook.prove import NotProved, Proof
from theorybook.verdicts import MIME, Verdict, VerdictError, judge, stored_verdicts, verdict

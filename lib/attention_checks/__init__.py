"""What the verdicts of the book *attention-theory* need besides its mathematics: formulas as
printed, proofs, runs.
"""

from theorybook.validation import install

install(__name__)

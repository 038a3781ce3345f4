"""What the verdicts of ``book/exponential`` need: formulas as printed, proofs, runs."""

"""What the verdicts of ``book/sensitivity`` need: formulas as printed, proofs, runs."""

"""What the verdicts of ``book/patches`` need: formulas as printed, proofs, runs."""

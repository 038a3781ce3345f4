"""What the verdicts of ``book/separation`` need: formulas as printed, proofs, runs."""

"""What the verdicts of ``book/tangent`` need: formulas as printed, proofs, runs."""

"""What only the verdicts of Part VI need: its measurements
(:mod:`attention_checks.trained.runs`).
"""

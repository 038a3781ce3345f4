"""What Part III measures: searches, draws, descents and sweeps, each a function with a seed and a
small result.
"""

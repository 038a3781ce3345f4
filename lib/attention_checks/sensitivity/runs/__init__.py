"""What Part I measures: sweeps of word sensitivity, the proof of Theorem 3 at its own sizes, worst
moves, new labels.
"""

"""What Part II measures, as functions that return small results, and the command lines that
record.
"""

"""Tools that make a book of verdicts: execution, comparison, pages. Each is run in the book's
folder, with ``python -m``.
"""

"""What a book of verdicts is made with: execution, comparison, pages. Each runs in the book's
folder, as ``python -m``.
"""

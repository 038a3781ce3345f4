"""What the chapters of Part IV measure: enumerations, descents, searches, and the command lines of
recorded runs.
"""

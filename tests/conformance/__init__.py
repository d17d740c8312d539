"""Vectors made by running the real upstream schedulers, run through the public functions here.

`python -m tests.conformance FILE...` prints what passes, and for each failure the first difference.
"""

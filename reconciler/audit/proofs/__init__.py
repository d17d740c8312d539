"""Passes computed again, and held against what was committed."""

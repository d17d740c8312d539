"""Evictions from a placement, each judged once, within the budget of the placement."""

"""Delivery: decisions become files that a cluster's own tools apply.

Each API says what its decisions put onto a cluster (`dialects/renderer.py`); a transport says in
which files that stands (`transports/`); `deliver.py` finds out which files there should be, and
`pruning.py` which of those that are there go. All of it is computed from the world as a pass leaves
it and committed with the decisions, or not at all.
"""

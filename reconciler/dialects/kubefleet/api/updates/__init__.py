"""Staged update runs, their strategies and approval requests, as people and passes write them."""

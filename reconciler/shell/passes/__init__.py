"""Passes for real: what may be decided from, what is written, where it goes."""

"""Measurements; each file is a script."""

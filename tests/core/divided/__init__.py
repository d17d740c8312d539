"""A first pass in pieces."""

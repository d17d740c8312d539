"""Remotes, and our own copies of them."""

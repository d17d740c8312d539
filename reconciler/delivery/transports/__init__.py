"""Transports: each says in which files stand what clusters get."""

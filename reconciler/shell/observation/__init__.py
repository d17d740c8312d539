"""Clusters as their API servers show them."""

"""Bindings become Works: for each cluster the manifest that belongs there."""

"""Staged update runs in passes."""

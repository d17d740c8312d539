"""Imports: exports of live control planes as files and state."""

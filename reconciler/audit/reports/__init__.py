"""Findings as people and programs read them: one file a format, each a pure function to text."""

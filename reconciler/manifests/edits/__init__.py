"""Edits of what people wrote, which keep every other byte."""

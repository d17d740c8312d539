"""Verbs of kubectl that edit what people wrote: each a line of a file, and what it would move."""

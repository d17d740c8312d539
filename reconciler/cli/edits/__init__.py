"""Edits of people's files, written or only tried: demands, suspensions, imports."""

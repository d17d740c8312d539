"""Folders that have a branch checked out, and how their files follow it."""

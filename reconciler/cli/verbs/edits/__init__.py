"""Verbs that write manifests or edit those of people: files to commit, and what they would move."""

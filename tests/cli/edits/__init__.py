"""Tests of the edits of people's files."""

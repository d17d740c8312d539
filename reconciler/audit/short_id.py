"""A commit id as people are shown it."""

SHORT_ID = 12
"""Ours: digits enough for one commit of a large repository, and few enough for a line of text."""


def short_id(revision: str) -> str:
    """Return the first digits of a commit id.

    >>> short_id("0123456789abcdef0123456789abcdef01234567")
    '0123456789ab'
    """
    return revision[:SHORT_ID]

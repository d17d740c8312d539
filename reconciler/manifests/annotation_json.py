"""Notes: small mappings that a pass keeps in an annotation for the next one, as JSON in a line."""

import json
from collections.abc import Mapping

from reconciler.model.moments import is_moment

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def write_note(entries: Mapping[str, object]) -> str:
    """Return a mapping as the text of an annotation.

    >>> write_note({"b": 1, "a": "x"})
    '{"a":"x","b":1}'
    """
    return _encode(entries)


def read_note(text: str) -> Mapping[str, object]:
    """Return the mapping of an annotation, an empty one if it is absent or a person garbled it.

    >>> read_note('{"a": 1}'), read_note("{"), read_note("[1]")
    ({'a': 1}, {}, {})
    """
    if not text:
        return {}
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def read_moments(text: str) -> Mapping[str, str]:
    """Return the entries of an annotation that are moments, as RFC 3339 text."""
    found = read_note(text)
    moments = {at for at in found.values() if isinstance(at, str)}  # most clusters share one
    moments = {at for at in moments if is_moment(at)}
    return {name: at for name, at in found.items() if isinstance(at, str) and at in moments}

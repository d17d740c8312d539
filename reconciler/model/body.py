"""The body of a document, as every layer hands it on: a mapping, or one decoded when it is read.

Stamps alone never make a change: where a desired body differs from the present one in moments set
by this pass only, or not at all, the present one stays.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reconciler.model.moments import Stamp

Body = Mapping[str, object]
"""A decoded document: mappings with string keys, lists, str, int, float, bool and None."""

TOGETHER = 50  # ours: so many are decoded in a millisecond, and share their keys

_decode = json.JSONDecoder().decode


class StoredBody:
    """A body as JSON that was encoded before, decoded when it is read; use `stored_bodies`."""

    __slots__ = ("_body", "_neighbours", "_text", "_texts")

    def __init__(
        self, text: str, body: Body | None, neighbours: list["StoredBody"], texts: dict[str, str]
    ) -> None:
        """Remember the text, `""` once the body is there, and what is decoded with it."""
        self._text = text
        self._body = body
        self._neighbours = neighbours
        self._texts = texts

    def read(self) -> Body:
        """Return the body, the very same one each time."""
        if self._body is None:
            _decode_all(self._neighbours, self._texts)
        return self._body  # type: ignore[return-value]  # it is among them

    def may_say(self, words: str) -> bool:
        """Return whether some words may be in the body; it is not decoded for that."""
        return not self._text or words in self._text

    def __eq__(self, other: object) -> bool:
        """Compare what is read; a body may be stored on one side only."""
        return self.read() == (other.read() if isinstance(other, StoredBody) else other)

    __hash__ = None  # type: ignore[assignment]  # as mappings are

    def __repr__(self) -> str:
        return repr(self.read())

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy, or send to another process, the text as long as there is no body; alone."""
        return (_alone, (self._text, self._body))


def stored_bodies(stored: Sequence[str], texts: dict[str, str]) -> list[StoredBody]:
    """Return bodies that are decoded when one of them is read.

    Args:
        stored: JSON of a mapping each.
        texts: The keys and values that were met so far: equal ones are one in memory, or else a
            large repository would take a third more of it. It grows.
    """
    all_bodies: list[StoredBody] = []
    for start in range(0, len(stored), TOGETHER):
        neighbours: list[StoredBody] = []
        piece = stored[start : start + TOGETHER]
        neighbours += (StoredBody(text, None, neighbours, texts) for text in piece)
        all_bodies += neighbours
    return all_bodies


def _decode_all(neighbours: list[StoredBody], texts: dict[str, str]) -> None:
    """Decode bodies as one text, so that they share their keys.

    Another thread may do the same; whose body is there first stays.
    """
    pending = [(stored, text) for stored in neighbours if (text := stored._text)]  # noqa: SLF001  # of one file
    bodies = _decode(f"[{','.join(text for _, text in pending)}]")
    _share(bodies, texts)
    for (stored, _), body in zip(pending, bodies, strict=True):
        if stored._body is None:  # noqa: SLF001
            stored._body = body  # noqa: SLF001
        stored._text, stored._neighbours, stored._texts = "", [], {}  # noqa: SLF001


class LateBody:
    """A body that is computed when it is read, the very same one each time."""

    __slots__ = ("_body", "_compute")

    def __init__(self, compute: Callable[[], Body]) -> None:
        self._compute = compute
        self._body: Body | None = None

    def read(self) -> Body:
        """Return the body."""
        if self._body is None:
            self._body = self._compute()
        return self._body


_LATE = frozenset({StoredBody, LateBody})
Held = Body | StoredBody | LateBody
"""A body, or what it is decoded from or computed by when it is read."""


def read_body(held: Held) -> Body:
    """Return a body that may still have to be decoded or computed."""
    return held.read() if type(held) in _LATE else held  # type: ignore[union-attr, return-value]  # a type in a set does not narrow


def may_say(held: Held, words: str) -> bool:
    """Return whether some plain words may be in a body, as a key or in a text; soon told.

    >>> may_say(stored_bodies(['{"spec": {"a": 1}}'], {})[0], '"b"')
    False
    """
    return held.may_say(words) if type(held) is StoredBody else True


def _alone(text: str, body: Body | None) -> StoredBody:
    """Return a stored body without those that it was stored with."""
    neighbours: list[StoredBody] = []
    neighbours.append(StoredBody(text, body, neighbours, {}))
    return neighbours[0]


def _share(bodies: list[Any], texts: dict[str, str]) -> None:
    """Replace each text by the first that is equal to it."""
    share = texts.setdefault
    nodes: list[Any] = [bodies]
    for node in nodes:  # it grows on the way
        for place, value in node.items() if isinstance(node, dict) else enumerate(node):
            kind = type(value)
            if kind is str:
                node[place] = share(value, value)
            elif kind is dict or kind is list:
                nodes.append(value)


def keep_present(desired: Body, present: Body | None) -> Body:
    """Return `present` itself where nothing but stamps would change, else the desired body.

    The order of keys is no change either. So what is unchanged is seen by `is`, and a file keeps
    its form until it says something else.

    >>> present = {"at": "2026-01-01T00:00:00Z"}
    >>> keep_present({"at": Stamp("2026-01-02T00:00:00Z")}, present) is present
    True
    """
    if present is None or desired is present:
        return desired
    return present if _same(desired, present) else desired


def _same(desired: object, present: object) -> bool:
    """Return whether two values are equal but for stamps; most parts are, and soon told."""
    if desired == present:
        return True
    if isinstance(desired, Stamp):
        return isinstance(present, str)
    if isinstance(desired, Mapping):
        return (
            isinstance(present, Mapping)
            and desired.keys() == present.keys()
            and all(_same(value, present[key]) for key, value in desired.items())
        )
    if isinstance(desired, list | tuple):
        return (
            isinstance(present, list | tuple)
            and len(desired) == len(present)
            and all(_same(mine, theirs) for mine, theirs in zip(desired, present, strict=True))
        )
    return False

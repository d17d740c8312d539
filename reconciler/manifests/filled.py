"""Documents that are alike but for one text: many of them are written with the work of one."""

from collections.abc import Sequence
from typing import Self

from reconciler.manifests.emitter import encode, encode_scalar
from reconciler.model.content import with_value
from reconciler.model.same import Same
from reconciler.model.world import Body

HOLE = "hole"


class Filled(dict[str, object]):
    """A document, and what it was made of: a shared one, and the text that it has at a place."""

    __slots__ = ("place", "shared", "text")

    shared: Body
    place: tuple[str, ...]
    text: str

    @classmethod
    def of(cls, shared: Body, place: Sequence[str], text: str) -> Self:
        """Return a shared document with a text at a place where it has one already.

        >>> Filled.of({"metadata": {"name": "", "labels": {}}}, ("metadata", "name"), "web")
        {'metadata': {'name': 'web', 'labels': {}}}
        """
        filled = cls(with_value(shared, place, text))
        filled.shared, filled.place, filled.text = shared, tuple(place), text
        return filled


Known = dict[tuple[Same, tuple[str, ...]], tuple[str, str]]
"""What is written before and behind the text of a shared document, by its place."""


def encode_alike(body: Body, known: Known) -> str:
    """Return what `encode` does; what is known of documents that are alike is added to.

    Raises:
        ValueError: As `encode` does.
    """
    if not isinstance(body, Filled):
        return encode(body)
    key = (Same(body.shared), body.place)
    parts = known.get(key)
    if parts is None:
        parts = known[key] = _around(body)
    return f"{parts[0]}{encode_scalar(body.text)}{parts[1]}"


def _around(body: Filled) -> tuple[str, str]:
    """Return what is written before and behind the text of a document."""
    hole, written = HOLE, encode(body.shared)
    while hole in written:
        hole += "s"
    head, _, tail = encode(with_value(body.shared, body.place, hole)).partition(hole)
    return head, tail

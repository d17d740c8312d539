"""Documents that are alike but for a few texts: many of them are written with the work of one."""

from collections.abc import Iterator, Mapping

from reconciler.manifests.text.emitter import encode, encode_scalar
from reconciler.model.body import Body
from reconciler.model.content import with_value
from reconciler.model.same import Same

HOLE = "hole"

Places = tuple[tuple[str, ...], ...]


class Filled(Mapping[str, object]):
    """A shared document with texts at places where it has one already.

    The document is put together when such a place is asked for: most of them are only written. All
    places begin with the same field.

    >>> dict(Filled({"metadata": {"name": "", "labels": {}}}, (("metadata", "name"),), ("web",)))
    {'metadata': {'name': 'web', 'labels': {}}}
    """

    __slots__ = ("_whole", "places", "shared", "texts")

    def __init__(self, shared: Body, places: Places, texts: tuple[str, ...]) -> None:
        """Remember of what it is made."""
        self.shared = shared
        self.places = places
        self.texts = texts
        self._whole: Body | None = None

    def __getitem__(self, name: str) -> object:
        """Return a field."""
        if name != self.places[0][0]:
            return self.shared[name]
        if self._whole is None:
            self._whole = _with_texts(self.shared, self.places, self.texts)
        return self._whole[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the fields."""
        return iter(self.shared)

    def __len__(self) -> int:
        """Return how many fields there are."""
        return len(self.shared)

    def __repr__(self) -> str:
        """Return it as the mapping that it stands for."""
        return repr(dict(self))


Known = dict[tuple[Same, Places], tuple[tuple[str, ...], tuple[int, ...]]]
"""What is written around the texts of a shared document, and their order, by its places."""


def encode_alike(body: Body, known: Known) -> str:
    """Return what `encode` does; what is known of documents that are alike is added to.

    Raises:
        ValueError: As `encode` does.
    """
    if not isinstance(body, Filled):
        return encode(body)
    key = (Same(body.shared), body.places)
    around = known.get(key)
    if around is None:
        around = known[key] = _around(body)
    (head, *tails), order = around
    parts = [head]
    for index, tail in zip(order, tails, strict=True):
        parts += (encode_scalar(body.texts[index]), tail)
    return "".join(parts)


def _around(body: Filled) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return what is written around the texts of a document, and in which order they stand."""
    hole = HOLE
    while True:  # until nothing else of the document has a text that stands for one of its own
        holes = tuple(f"{hole}{chr(ord('a') + index)}" for index in range(len(body.places)))
        written = encode(_with_texts(body.shared, body.places, holes))
        if written.count(hole) == len(holes):
            order = tuple(sorted(range(len(holes)), key=lambda index: written.index(holes[index])))
            return _cut(written, [holes[index] for index in order]), order
        hole += "s"


def _cut(written: str, holes: list[str]) -> tuple[str, ...]:
    """Return what stands before, between and behind texts that follow one another."""
    parts: list[str] = []
    for hole in holes:
        head, written = written.split(hole)
        parts.append(head)
    return (*parts, written)


def _with_texts(shared: Body, places: Places, texts: tuple[str, ...]) -> Body:
    for place, text in zip(places, texts, strict=True):
        shared = with_value(shared, place, text)
    return shared

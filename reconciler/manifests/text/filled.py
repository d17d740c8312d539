"""Documents that are alike but for one text: many of them are written with the work of one."""

from collections.abc import Iterator, Mapping

from reconciler.manifests.text.emitter import encode, encode_scalar
from reconciler.model.body import Body
from reconciler.model.content import with_value
from reconciler.model.same import Same

HOLE = "hole"


class Filled(Mapping[str, object]):
    """A shared document with a text at a place where it has one already.

    The document is put together when that place is asked for: most of them are only written.

    >>> dict(Filled({"metadata": {"name": "", "labels": {}}}, ("metadata", "name"), "web"))
    {'metadata': {'name': 'web', 'labels': {}}}
    """

    __slots__ = ("_whole", "place", "shared", "text")

    def __init__(self, shared: Body, place: tuple[str, ...], text: str) -> None:
        """Remember of what it is made."""
        self.shared = shared
        self.place = place
        self.text = text
        self._whole: Body | None = None

    def __getitem__(self, name: str) -> object:
        """Return a field."""
        if name != self.place[0]:
            return self.shared[name]
        if self._whole is None:
            self._whole = with_value(self.shared, self.place, self.text)
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
    hole = HOLE
    while True:  # until nothing else of the document has the text that stands for its own
        head, *tails = encode(with_value(body.shared, body.place, hole)).split(hole)
        if len(tails) == 1:
            return head, tails[0]
        hole += "s"

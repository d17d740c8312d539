"""Bodies to canonical block YAML: byte-stable, and the same to readers of YAML 1.1 and 1.2.

No library writes the output, so none can rewrite every file by an upgrade. Documents that are alike
but for a few texts are written with the work of one.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeGuard

from reconciler.manifests.text.raw import MAX_DEPTH, MAX_DIGITS
from reconciler.model.body import Body
from reconciler.model.fields import with_value
from reconciler.model.remembered import Same

LONGEST_PLAIN = 128  # characters; longer text is quoted
LONGEST_KEPT = 1000  # of longer text it is not remembered how it is written
LONGEST_KEY = 1000  # written characters; YAML finds the colon behind at most 1024
PLAIN = re.compile(
    r"(?:[A-Za-z/]|_[A-Za-z])"  # YAML 1.1 has numbers that start with an underscore
    r"(?:[A-Za-z0-9_./+@=(),;*$~^'-]|:(?=[^ ])| (?=[^ #]))*"
)
LARGEST = 10 ** (MAX_DIGITS - 1)
SCALARS = frozenset({str, int, bool, float, type(None)})
WORDS_1_1 = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"}  # any capitals
ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
SURROGATE = re.compile("[\ud800-\udfff]")
_in_quotes = json.JSONEncoder(ensure_ascii=False).encode  # `dumps` makes one for each text


Written = dict[tuple[str, Same], str]
"""What objects that documents share are written as, by their indent."""

MOST_WRITTEN = 1 << 12  # of a few hundred bytes each; what is alike comes one after the other


def encode(body: Mapping[str, object], written: Written | None = None) -> str:
    r"""Return a body as YAML text.

    Args:
        body: Mappings with text keys, lists, tuples, text, integers, finite floats, booleans and
            `None`, at most 64 levels deep. Keys are written in the order given.
        written: What documents before it were written as; of objects at the first two levels that
            it shares with them nothing is written again. What it has itself is added.

    Returns:
        Block style, two blanks a level, list items level with their key, `\n` at the end of each
        line, no line folded.

    Raises:
        ValueError: A value is of another type, is no finite number, has more than 100 digits or
            half of a surrogate pair, or the body is too deep.

    Source: ours; libraries leave text unquoted that YAML 1.1 or 1.2 reads as something else.

    >>> print(encode({"kind": "A", "on": ["yes", 1, {"b": {}, "c": None}]}), end="")
    kind: A
    "on":
    - "yes"
    - 1
    - b: {}
      c: null
    """
    if not body:
        return "{}\n"
    parts: list[str] = []
    _write_mapping(body, "", parts, 1, written)
    return "".join(parts)


def _write_mapping(
    body: Mapping[str, object],
    indent: str,
    parts: list[str],
    depth: int,
    shared: Written | None = None,
) -> None:
    """Write the entries; the first one's indent is already there if it follows a dash."""
    if depth > MAX_DEPTH:
        raise ValueError(f"a body must be at most {MAX_DEPTH} levels deep")
    lead = ""
    for key, value in body.items():
        if not isinstance(key, str):
            raise ValueError(f"a key must be text, not {type(key).__name__}")  # noqa: TRY004
        written = _remembered(key) if len(key) <= LONGEST_PLAIN else _quoted(key)
        if len(written) > LONGEST_KEY:
            written = f"? {written}\n{indent}"
        if type(value) is str and len(value) <= LONGEST_PLAIN:  # the usual case, and faster
            parts.append(f"{lead}{written}: {_remembered(value)}\n")
        elif value and isinstance(value, list | tuple):
            parts.append(f"{lead}{written}:\n")
            if shared is None:
                _write_items(value, indent, parts, depth + 1, indent)
            else:
                parts.append(_written_once(value, indent, depth, shared))
        elif value and type(value) not in SCALARS and _is_mapping(value):
            parts.append(f"{lead}{written}:\n{indent}  ")
            if shared is None:
                _write_mapping(value, indent + "  ", parts, depth + 1)
            else:
                parts.append(_written_once(value, indent, depth, shared))
        else:
            parts.append(f"{lead}{written}: {encode_scalar(value)}\n")
        lead = indent


def _written_once(
    value: Mapping[str, object] | list[object] | tuple[object, ...],
    indent: str,
    depth: int,
    shared: Written,
) -> str:
    """Return what stands below a key, as it was written before if it is the very same object."""
    key = (indent, Same(value))
    text = shared.get(key)
    if text is not None:
        return text
    parts: list[str] = []
    if isinstance(value, list | tuple):
        _write_items(value, indent, parts, depth + 1, indent)
    else:
        _write_mapping(value, indent + "  ", parts, depth + 1, shared if depth == 1 else None)
    if len(shared) >= MOST_WRITTEN:
        shared.clear()
    text = shared[key] = "".join(parts)
    return text


def _write_items(
    items: list[object] | tuple[object, ...], indent: str, parts: list[str], depth: int, lead: str
) -> None:
    """Write the items; `lead` is what stands before the first one's dash."""
    if depth > MAX_DEPTH:
        raise ValueError(f"a body must be at most {MAX_DEPTH} levels deep")
    inner = indent + "  "
    for element in items:
        parts.append(f"{lead}- ")
        lead = indent
        if element and isinstance(element, list | tuple):
            _write_items(element, inner, parts, depth + 1, "")
        elif element and type(element) not in SCALARS and _is_mapping(element):
            _write_mapping(element, inner, parts, depth + 1)
        else:
            parts.append(f"{encode_scalar(element)}\n")


def _is_mapping(value: object) -> TypeGuard[Mapping[str, object]]:
    return type(value) is dict or isinstance(value, Mapping)  # the first is faster


def encode_scalar(value: object) -> str:
    """Return a scalar or an empty collection as `encode` writes it."""
    if type(value) is int and -LARGEST < value < LARGEST:  # the usual case, and faster
        return f"{value}"
    if isinstance(value, str):  # stamps and other subclasses are written as plain text
        return _remembered(value) if len(value) <= LONGEST_PLAIN else _quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if abs(value) >= LARGEST:
            raise ValueError(f"an integer must have fewer than {MAX_DIGITS} digits")
        return int.__repr__(value)
    if value is None:
        return "null"
    if isinstance(value, float):
        return _written_float(value)
    if isinstance(value, Mapping):
        return "{}"
    if isinstance(value, list | tuple):
        return "[]"
    raise ValueError(f"a body must not have a {type(value).__name__}")


def _written_float(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError("a float must be finite")
    text = float.__repr__(value)
    if "." not in text:  # "1e+22" is text in YAML 1.1
        text = text.replace("e", ".0e")
    return text


@lru_cache(maxsize=1 << 15)  # the files of clusters name the same objects one after the other
def _remembered(text: str) -> str:
    if PLAIN.fullmatch(text) and text.lower() not in WORDS_1_1:
        return str.__str__(text)
    return _quoted(text)


def _quoted(text: str) -> str:
    return _escaped(text) if len(text) > LONGEST_KEPT else _kept(text)


@lru_cache(maxsize=1 << 10)
def _kept(text: str) -> str:
    return _escaped(text)


def _escaped(text: str) -> str:
    """Return text in double quotes, with JSON's escapes: YAML knows them all."""
    if SURROGATE.search(text):
        raise ValueError("text must not have half of a surrogate pair")
    written = _in_quotes(str.__str__(text))
    return ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


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
        self.shared = shared
        self.places = places
        self.texts = texts
        self._whole: Body | None = None

    def __getitem__(self, name: str) -> object:
        if name != self.places[0][0]:
            return self.shared[name]
        if self._whole is None:
            self._whole = _with_texts(self.shared, self.places, self.texts)
        return self._whole[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.shared)

    def __len__(self) -> int:
        return len(self.shared)

    def __repr__(self) -> str:
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

"""Mutations of one file: each field replaced by what it should not hold, or removed; cuts."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from reconciler.manifests.text.reader import read
from tests.fuzz.corpus import Repository

REMOVED = object()
CUTS = 40  # truncations of a file, evenly apart


def _nested(depth: int) -> object:
    value: object = "x"
    for level in range(depth):
        value = {"a": value} if level % 2 else [value]
    return value


VALUES: Mapping[str, object] = {
    "removed": REMOVED,
    "null": None,
    "true": True,
    "zero": 0,
    "negative": -1,
    "int32": 2**31,
    "int64": 2**63 - 1,
    "least-int64": -(2**63),
    "huge": 10**30,
    "fraction": 1.5,
    "enormous": 1e308,
    "empty": "",
    "text": "x",
    "digits": "5",
    "percent": "5000000000000%",
    "exponent": "1e9999",
    "long": "x" * 300,
    "control": "a\x00\x1b[2J\r\n\u2028b",
    "surrogate": "\ud800",
    "path": "../../etc/passwd",
    "last-moment": "9999-12-31T23:59:59Z",
    "first-moment": "0001-01-01T00:00:00Z",
    "no-moment": "9999-12-31T23:59:59-10:00",
    "list": [],
    "null-in-list": [None],
    "lists": [[["x"]]],
    "map": {},
    "null-in-map": {"app": None},
    "number-in-map": {"app": 1},
    "deep": _nested(60),
    "deeper": _nested(200),
    "wide": {f"k{i}": i for i in range(200)},
}


@dataclass(frozen=True)
class Mutation:
    """One file of a repository with another content; `name` says what was done to it."""

    repository: Repository
    path: str
    name: str
    data: bytes

    def __str__(self) -> str:
        return f"{self.repository.name} {self.path} {self.name}"


@dataclass(frozen=True)
class Spot:
    """Where to mutate: a file, a document of it and a field there, and what to put there.

    Spots of one `shape` differ in the repository and in the numbers of list items only.
    """

    shape: str
    repository: Repository
    path: str
    document: int
    field: tuple[str | int, ...]
    value: str

    @property
    def name(self) -> str:
        """What is done, as text."""
        return f"{self.document}/{'/'.join(map(str, self.field))}={self.value}"

    @property
    def rank(self) -> str:
        """Where it stands in the order that a sample is drawn in: any, yet always the same."""
        named = f"{self.repository.name} {self.path} {self.name}"
        return hashlib.sha256(named.encode()).hexdigest()

    def make(self) -> Mutation:
        """The mutation."""
        data = self.repository.files[self.path]
        if self.value == "cut":
            return Mutation(self.repository, self.path, self.name, data[: int(self.field[0])])
        bodies = [deepcopy(document.body) for document in read(data, self.path).documents]
        bodies[self.document] = _replaced(bodies[self.document], self.field, VALUES[self.value])
        content = "".join(f"---\n{json.dumps(body)}\n" for body in bodies).encode()
        return Mutation(self.repository, self.path, self.name, content)


def ordered(repositories: Iterable[Repository]) -> list[Spot]:
    """Every spot of the repositories, one of each shape first; always in the same order."""
    found = sorted((one for each in repositories for one in spots(each)), key=lambda one: one.rank)
    seen: Counter[str] = Counter()
    rounds: list[tuple[int, int, Spot]] = []
    for number, spot in enumerate(found):
        rounds.append((seen[spot.shape], number, spot))
        seen[spot.shape] += 1
    return [spot for _, _, spot in sorted(rounds, key=lambda one: one[:2])]


def spots(repository: Repository) -> Iterator[Spot]:
    """Every place of a repository with every value."""
    for path in repository.mutated:
        data = repository.files[path]
        side = "output " if path.startswith("status/") else ""
        for document, found in enumerate(read(data, path).documents):
            kind = f"{side}{found.body.get('apiVersion')} {found.body.get('kind')}"
            for field in _fields(found.body):
                named = "/".join("0" if isinstance(part, int) else part for part in field)
                for value in VALUES:
                    shape = f"{kind} {named}={value}"
                    yield Spot(shape, repository, path, document, field, value)
        step = max(1, len(data) // CUTS)
        for end in range(0, len(data), step):
            yield Spot(f"{path} {end}", repository, path, 0, (end,), "cut")


def _fields(value: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every place within a document, itself but not included."""
    if at:
        yield at
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _fields(one, (*at, key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for number, one in enumerate(value):
            yield from _fields(one, (*at, number))


def _replaced(body: Any, field: tuple[str | int, ...], value: object) -> Any:
    """The document with one field replaced or removed."""
    *parents, last = field
    at = body
    for part in parents:
        at = at[part]
    if value is REMOVED:
        del at[last]
    else:
        at[last] = deepcopy(value)
    return body

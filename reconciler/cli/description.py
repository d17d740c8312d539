"""An object line by line as `kubectl describe` prints it: labels, fields, conditions."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from reconciler.manifests.columns import NONE, ago
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.text import printable

Line = tuple[str, str | None]
"""What stands left, and what stands right of it; `None` where the line has one part only."""

ACRONYMS = frozenset({"API", "URL", "UID", "OSB", "GUID"})
APART = frozenset({"name", "namespace", "labels", "annotations", "managedFields"})
"""Fields of the metadata that stand at the top, or that describe nothing."""

DATA = frozenset({"data", "stringData", "binaryData"})
"""Fields whose keys are a person's own."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|-")
_PLAIN = re.compile(r"[A-Za-z-]+")


def heading(body: Body, key: ObjectKey) -> Iterator[Line]:
    """Yield name, namespace, labels and annotations."""
    metadata = mapping(body, "metadata")
    yield "Name:", key.name
    yield "Namespace:", key.namespace or NONE
    yield from _pairs("Labels:", metadata.get("labels"), "=")
    yield from _pairs("Annotations:", metadata.get("annotations"), ": ")


def fields(body: Body) -> Iterator[Line]:
    """Yield all fields but those of the heading, and the conditions of the status.

    Source: kubernetes/kubectl pkg/describe/describe.go `printUnstructuredContent`.
    """
    metadata = {k: v for k, v in mapping(body, "metadata").items() if k not in APART}
    shown = {k: v for k, v in body.items() if k != "metadata"}
    shown |= {"metadata": metadata} if metadata else {}
    if conditions_of(body):
        shown["status"] = {k: v for k, v in mapping(body, "status").items() if k != "conditions"}
    yield from _fields(shown, 0)


def conditions_of(body: Body) -> tuple[Body, ...]:
    """Return the conditions of an object; none if they are not as conditions are."""
    status = body.get("status")
    found = status.get("conditions") if isinstance(status, Mapping) else None
    if not isinstance(found, list) or not all(isinstance(one, Mapping) for one in found):
        return ()
    return bodies(mapping(body, "status"), "conditions")


def conditions(body: Body, now: datetime) -> Iterator[Line]:
    """Yield the conditions as a table."""
    rows = [
        (
            text(one, "type"),
            text(one, "status"),
            text(one, "reason") or NONE,
            ago(text(one, "lastTransitionTime"), now),
            text(one, "message") or NONE,
        )
        for one in conditions_of(body)
    ]
    if rows:
        yield "Conditions:", None
        yield from ruled(("Type", "Status", "Reason", "Age", "Message"), rows)


def ruled(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[Line]:
    """Yield a table with a line below its head, as kubectl's descriptions have them."""
    lines = [list(titles), ["-" * len(title) for title in titles]]
    lines += [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        yield f"  {'  '.join(cells)}".rstrip(), None


def aligned(lines: Iterable[Line]) -> Iterator[str]:
    """Yield lines whose right parts stand below each other where they follow each other."""
    block: list[tuple[str, str]] = []
    for left, right in (*lines, ("", None)):
        if right is not None:
            block.append((left, right))
            continue
        width = max((len(one) for one, _ in block), default=0)
        yield from (f"{one.ljust(width)}  {other}".rstrip() for one, other in block)
        block = []
        if left:
            yield left


def _pairs(title: str, pairs: object, between: str) -> Iterator[Line]:
    """Yield entries of a map line by line, the first one behind the title."""
    ordered = sorted(pairs.items()) if isinstance(pairs, Mapping) else []
    for i, (key, value) in enumerate(ordered):
        yield title if i == 0 else "", printable(f"{key}{between}{value}")
    if not ordered:
        yield title, NONE


def _fields(body: Body, level: int, *, keys: bool = False) -> Iterator[Line]:
    """Yield the fields of a mapping, sorted; `keys` are not names of fields but data."""
    indent = "  " * level
    for name in sorted(body):
        value, title = body[name], f"{indent}{printable(name if keys else _title(name))}:"
        if name in DATA and isinstance(value, Mapping) and value:
            yield title, None
            yield from _fields(value, level + 1, keys=True)
        elif isinstance(value, Mapping | list) and value:
            yield title, None
            yield from _inside(value, level + 1)
        elif isinstance(value, str) and "\n" in value:
            yield title, None
            yield from ((f"{indent}  {printable(line)}", None) for line in value.splitlines())
        else:
            yield title, _value(value)


def _inside(value: Body | list[object], level: int) -> Iterator[Line]:
    """Yield what is in a mapping or a list."""
    if isinstance(value, Mapping):
        yield from _fields(value, level)
        return
    for item in value:
        if isinstance(item, Mapping | list):
            yield from _inside(item, level)
        else:
            yield f"{'  ' * level}{_value(item)}", None


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return NONE if value is None or value in ({}, []) else printable(str(value))


def _title(name: str) -> str:
    """Return the name of a field as words; what is no plain name stays as it is.

    Source: kubernetes/kubectl pkg/describe/describe.go `smartLabelFor`.

    >>> _title("clusterTolerations"), _title("apiVersion"), _title("a/b")
    ('Cluster Tolerations', 'API Version', 'a/b')
    """
    if not _PLAIN.fullmatch(name):
        return name
    words = (word for word in _WORD.findall(name) if word)
    return " ".join(
        word.upper() if word.upper() in ACRONYMS else word[:1].upper() + word[1:] for word in words
    )

"""Reading and changing what no schema judged, as workloads are: what is unexpected is absent."""

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from reconciler.model.body import Body

_TEXT = frozenset({str})


def at(body: Body, *path: str) -> Body:
    """Return the mapping at a path, an empty one where it ends early.

    >>> at({"spec": {"template": 3}}, "spec", "template")
    {}
    """
    for name in path:
        body = mapping_of(body.get(name))
    return body


def mapping_of(value: object) -> Body:
    """Return a mapping, an empty one for anything else."""
    if value is None or type(value) is dict:  # the usual cases, and faster
        return value or {}
    return value if isinstance(value, Mapping) else {}


def has_only_texts(found: Mapping[str, object]) -> TypeGuard[Mapping[str, str]]:
    """Return whether all values of a mapping are texts, as nearly always; soon told."""
    return _TEXT.issuperset(map(type, found.values()))


def count_of(value: object, default: int = 0) -> int:
    """Return a count, the default for anything that is none.

    >>> count_of(3), count_of(-1), count_of(True), count_of(None, 1)
    (3, 0, 0, 1)
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return default
    return value


def mappings_of(value: object) -> list[Body]:
    """Return the mappings of a list, none for anything else."""
    listed = value if isinstance(value, list) else ()
    return [item for item in listed if type(item) is dict or isinstance(item, Mapping)]


def with_value(body: Body, path: Sequence[str], value: object) -> Body:
    """Return a document with a value at a path; what stands in the way is replaced.

    >>> with_value({"spec": {"replicas": 3, "paused": True}}, ("spec", "replicas"), 2)
    {'spec': {'replicas': 2, 'paused': True}}
    """
    name, *rest = path
    below = with_value(mapping_of(body.get(name)), rest, value) if rest else value
    return {**body, name: below}


def without(body: Body, path: Sequence[str]) -> Body:
    """Return a document without what stands at a path; the same one where nothing does.

    >>> without({"spec": {"replicas": 3}}, ("spec", "replicas"))
    {'spec': {}}
    """
    name, *rest = path
    if name not in body:
        return body
    if not rest:
        return {field: value for field, value in body.items() if field != name}
    inner = body[name]
    below = without(inner, rest) if isinstance(inner, Mapping) else inner
    return body if below is inner else {**body, name: below}

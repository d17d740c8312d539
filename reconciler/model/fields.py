"""Reading the fields of a document by type: of what a schema judged, and of what none did.

Of a decoded document a field of `null` counts as absent. Of workloads, which no schema judged, what
is unexpected is absent; they can be changed, too.
"""

from collections.abc import Mapping, Sequence
from typing import TypeGuard, cast

from reconciler.errors import UserError
from reconciler.model.body import Body

_NOTHING: Body = {}
_ONLY_DICTS = frozenset({dict})


def mapping_or_none(body: Body, field: str) -> Body | None:
    """Return the mapping below `field`, `None` if there is none."""
    value = body.get(field)
    if value is None:
        return None
    if type(value) is not dict and not isinstance(value, Mapping):  # the first is faster
        raise UserError("must be a mapping", field=field)
    return value


def mapping(body: Body, field: str) -> Body:
    """Return the mapping below `field`, an empty one if there is none."""
    value = body.get(field)
    if type(value) is dict:  # the usual case, and faster
        return value
    below = mapping_or_none(body, field)
    return _NOTHING if below is None else below


def items_or_none(body: Body, field: str) -> Sequence[object] | None:
    """Return the list below `field`, `None` if there is none."""
    value = body.get(field)
    if value is None:
        return None
    if type(value) is list:  # the usual case, and faster
        return value
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise UserError("must be a list", field=field)
    return value


def bodies_or_none(body: Body, field: str) -> tuple[Body, ...] | None:
    """Return the mappings listed below `field`, `None` if there is no list."""
    items = items_or_none(body, field)
    if items is None:
        return None
    if _ONLY_DICTS.issuperset(map(type, items)):  # the usual case, and faster
        return tuple(cast("Sequence[Body]", items))
    return tuple(as_mapping(item, field) for item in items)


def bodies(body: Body, field: str) -> tuple[Body, ...]:
    """Return the mappings listed below `field`, none if there is no list."""
    return () if body.get(field) is None else bodies_or_none(body, field) or ()


def strings_or_none(body: Body, field: str) -> tuple[str, ...] | None:
    """Return the strings listed below `field`, `None` if there is no list."""
    items = items_or_none(body, field)
    return None if items is None else tuple(as_text(item, field) for item in items)


def strings(body: Body, field: str) -> tuple[str, ...]:
    """Return the strings listed below `field`, none if there is no list."""
    return strings_or_none(body, field) or ()


def pairs_or_none(body: Body, field: str) -> tuple[tuple[str, str], ...] | None:
    """Return a mapping of strings as pairs sorted by key, `None` if there is no mapping."""
    below = mapping_or_none(body, field)
    if below is None:
        return None
    if has_only_texts(below):  # the usual case, and faster
        return tuple(sorted(below.items()))
    return tuple(sorted((key, as_text(value, field)) for key, value in below.items()))


def text(body: Body, field: str) -> str:
    """Return the string below `field`, `""` if there is none."""
    value = body.get(field)
    if type(value) is str:
        return value
    return "" if value is None else as_text(value, field)


def number(body: Body, field: str) -> int:
    """Return the integer below `field`, 0 if there is none."""
    value = body.get(field)
    return value if type(value) is int else number_or_none(body, field) or 0


def number_or_none(body: Body, field: str) -> int | None:
    """Return the integer below `field`, `None` if there is none."""
    value = body.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise UserError("must be an integer", field=field)
    return value


def flag_or_none(body: Body, field: str) -> bool | None:
    """Return the boolean below `field`, `None` if there is none."""
    value = body.get(field)
    if value is None or isinstance(value, bool):
        return value
    raise UserError("must be true or false", field=field)


def as_mapping(value: object, field: str) -> Body:
    """Return the value as a mapping, a null as an empty one."""
    if value is None:
        return _NOTHING
    if type(value) is not dict and not isinstance(value, Mapping):  # the first is faster
        raise UserError("must be a mapping", field=field)
    return value


def as_text(value: object, field: str) -> str:
    """Return the value as a string."""
    if not isinstance(value, str):
        raise UserError("must be a string", field=field)
    return value


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

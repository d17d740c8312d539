"""What kubectl printed: objects, whatever Lists they stand in, without nulls.

An export is no repository: JSON is read by the standard library, whatever its size. YAML is read by
the strict reader, with its limits.
"""

import json
from collections.abc import Iterator, Mapping

from reconciler.errors import UsageError
from reconciler.manifests.identity import Identity, identify, namespace_for
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind, KnownKinds
from reconciler.model.records import dataclass

SUFFIX = "List"


@dataclass(frozen=True, slots=True)
class LiveObject:
    """An object of an export, as it was printed but for nulls."""

    key: ObjectKey
    body: Body


def read_export(
    data: bytes, name: str, known: KnownKinds, scopes: Mapping[Kind, bool]
) -> tuple[LiveObject, ...]:
    """Return the objects of an export, in its order.

    Args:
        data: What kubectl printed.
        name: What the export is called in messages; JSON is known by its first character.
        known: Kinds, by which a manifest is told from another program's document.
        scopes: Whether a kind is namespaced, as far as that is known.

    Raises:
        UsageError: It is neither JSON nor YAML, or an object in it says not what it is.
    """
    documents = _json(data, name) if data.lstrip()[:1] in (b"{", b"[") else _yaml(data, name)
    objects = []
    for body in (one for document in documents for one in _items(document, name)):
        identity = identify(body, known, is_item=True)
        if not isinstance(identity, Identity):
            wrong = "it holds no object" if identity is None else identity.message
            raise UsageError(f"{name} is no export of kubectl: {wrong}; give kubectl get -o json")
        namespace = namespace_for(identity.group, identity.kind, identity.namespace, scopes)
        key = ObjectKey(identity.group, identity.kind, namespace, identity.name)
        objects.append(LiveObject(key, body))
    return tuple(objects)


def _json(data: bytes, name: str) -> list[object]:
    try:
        return [json.loads(data)]
    except ValueError as error:
        at = f" from line {error.lineno} on" if isinstance(error, json.JSONDecodeError) else ""
        raise UsageError(f"{name} is not JSON{at}; give what kubectl get -o json says") from None
    except RecursionError:
        raise UsageError(f"{name} is nested too deep to be an export of kubectl") from None


def _yaml(data: bytes, name: str) -> list[object]:
    reading = read(data, name)
    if reading.faults:
        fault = min(reading.faults).fault
        where = f"{name}:{fault.line}" if fault.line else name
        raise UsageError(f"{where}: {fault.message}; give what kubectl get -o json says")
    return [document.body for document in reading.documents]


def _items(document: object, name: str) -> Iterator[Body]:
    """Yield the objects of a document: itself, or the items of a List, also in Lists."""
    if not isinstance(document, Mapping):
        raise UsageError(f"{name} is no export of kubectl: it must hold objects")
    kind, items = document.get("kind"), document.get("items")
    if isinstance(kind, str) and kind.endswith(SUFFIX) and isinstance(items, list | tuple):
        single = kind.removesuffix(SUFFIX)
        for item in items:
            whole = item
            if single and isinstance(item, Mapping) and "kind" not in item:
                whole = {"apiVersion": document.get("apiVersion"), "kind": single, **item}
            yield from _items(whole, name)
        return
    pruned = _without_nulls(document)
    if isinstance(pruned, Mapping):
        yield pruned


def _without_nulls(value: object) -> object:
    """Return a value without fields that are null: of a live object they are absent."""
    if isinstance(value, Mapping):
        return {str(k): _without_nulls(v) for k, v in value.items() if v is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list | tuple) else value

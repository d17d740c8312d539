"""Who set which field: server-side apply as Kubernetes defines it, with lists as single values.

A real server knows that containers are told apart by name; here a list is owned as a whole, which
makes more conflicts and never fewer.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass

from reconciler.model.body import Body

Path = tuple[str, ...]
IDENTITY = {
    ("apiVersion",),
    ("kind",),
    *(("metadata", name) for name in ("name", "namespace", "uid", "managedFields")),
    *(("metadata", name) for name in ("resourceVersion", "generation", "creationTimestamp")),
}
"""What nobody owns."""


@dataclass(frozen=True, order=True)
class Manager:
    """Who writes, and whether by server-side apply: the same name is two managers then."""

    name: str
    applies: bool = False


Owners = MutableMapping[Path, set[Manager]]


def fields(body: Body, above: Path = ()) -> Iterator[tuple[Path, object]]:
    """Yield the fields of an object that can be owned, with their values."""
    for name, value in body.items():
        path = (*above, name)
        if path in IDENTITY or path == ("status",):
            continue
        if isinstance(value, Mapping) and value:
            yield from fields(value, path)
        else:
            yield path, value


def conflicts(live: Body, wanted: Body, owners: Owners, manager: Manager) -> list[str]:
    """Return the fields that somebody else has set to another value, with who it was."""
    present = dict(fields(live))
    return [
        f"{'.'.join(path)} of {other.name}"
        for path, value in fields(wanted)
        for other in sorted(owners.get(path, set()) - {manager})
        if path in present and present[path] != value
    ]


def applied(live: Body, wanted: Body, owners: Owners, manager: Manager) -> dict[str, object]:
    """Return an object after a server-side apply that takes over what others have set otherwise.

    What the manager applied before and does not any more goes, unless somebody else has it, too.
    """
    present, asked = dict(fields(live)), dict(fields(wanted))
    body = _copied(live)
    for path, value in asked.items():
        others = owners.setdefault(path, set())
        if present.get(path) != value:
            others.clear()
        others.add(manager)
        _put(body, path, value)
    for path in [path for path, named in owners.items() if manager in named and path not in asked]:
        owners[path].discard(manager)
        if not owners[path]:
            del owners[path]
            _take(body, path)
    return body


def updated(live: Body, body: Body, owners: Owners, manager: Manager) -> None:
    """Note who has what after a whole object was written: what changed is the writer's alone."""
    before, after = dict(fields(live)), dict(fields(body))
    for path, value in after.items():
        if before.get(path) != value:
            owners[path] = {manager}
    for path in before.keys() - after.keys():
        owners.pop(path, None)


def owned_fields(owners: Owners, manager: Manager) -> Body:
    """Return what a manager has set, as Kubernetes writes it."""
    found: dict[str, object] = {}
    for path in sorted(path for path, named in owners.items() if manager in named):
        _put(found, tuple(f"f:{name}" for name in path), {})
    return found


def _copied(value: Body) -> dict[str, object]:
    return {k: _copied(v) if isinstance(v, Mapping) else v for k, v in value.items()}


def _put(body: dict[str, object], path: Path, value: object) -> None:
    *above, last = path
    for name in above:
        below = body.get(name)
        if not isinstance(below, dict):
            below = body[name] = {}
        body = below
    if value == {} and isinstance(body.get(last), dict):
        return  # an empty mapping takes nothing away
    body[last] = value


def _take(body: dict[str, object], path: Path) -> None:
    *above, last = path
    for name in above:
        below = body.get(name)
        if not isinstance(below, dict):
            return
        body = below
    body.pop(last, None)

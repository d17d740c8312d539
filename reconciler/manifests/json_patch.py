"""JSON patches (RFC 6902) as overrides have them: the library's, with what evanphx/json-patch adds.

That one, which both Karmada and KubeFleet use, counts negative indices from the end, allows zeros
before an index, passes over what stands before the first slash of a path, and takes a missing value
for null.

Why one does not apply is said by place, in words of ours: those of the library hold the document.
"""

import copy
from collections.abc import Mapping, Sequence

from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import text
from reconciler.model.text import cut

ESCAPES = (("~", "~0"), ("/", "~1"))


def apply_patch(document: object, operations: Sequence[Body]) -> object:
    """Return a document as a patch leaves it; the document itself stays as it is.

    Args:
        document: Anything that JSON has.
        operations: Each with `op`, `path`, and what it needs besides.

    Raises:
        UserError: An operation does not apply; none of them takes effect then.

    Source: github.com/evanphx/json-patch v5 `Patch.Apply`.

    >>> apply_patch({"a": [1, 2, 3]}, [{"op": "remove", "path": "/a/-1"}])
    {'a': [1, 2]}
    """
    return patch_in_place(copy.deepcopy(document), operations) if operations else document


def patch_in_place(document: object, operations: Sequence[Body]) -> object:
    """Change a document of one's own by a patch, and return it, or what has taken its place.

    Many patches of one document then cost what they change, not a copy each. After an error the
    document is of no use.

    Raises:
        UserError: An operation does not apply.
    """
    for operation in operations:
        document = _applied(document, operation)
    return document


def escaped(name: str) -> str:
    """Return a name as a part of a path.

    >>> escaped("app.kubernetes.io/name")
    'app.kubernetes.io~1name'
    """
    for plain, escape in ESCAPES:
        name = name.replace(plain, escape)
    return name


def _applied(document: object, operation: Body) -> object:
    """Return a document as one operation leaves it; it is changed in place, or replaced."""
    import jsonpatch  # noqa: PLC0415  # only where something is overridden
    from jsonpointer import JsonPointerException  # noqa: PLC0415

    op, path = text(operation, "op"), text(operation, "path")
    value = copy.deepcopy(operation.get("value"))  # later operations may change it
    plain = _plain(document, path, adds=op == "add")
    step = {**operation, "op": op, "path": plain, "value": value}
    if "from" in operation:
        step["from"] = _plain(document, text(operation, "from"), adds=False)
    refused = f"patch: {cut(op)} of `{cut(path)}` does not apply"
    if op == "remove" and not step["path"]:
        raise UserError(f"{refused}: there is nothing but the root")
    try:
        patched: object = jsonpatch.JsonPatch([step]).apply(document, in_place=True)
    except (jsonpatch.JsonPatchException, JsonPointerException, TypeError, KeyError):
        raise UserError(f"{refused}: {_why(document, step)}") from None
    return patched


def _why(document: object, operation: Body) -> str:
    """Return why an operation does not apply to a document, which holds what it held before it."""
    op, path = text(operation, "op"), text(operation, "path")
    read = text(operation, "from") if op in ("move", "copy") else path
    if op in ("move", "copy") and not isinstance(operation.get("from"), str):
        return "it needs a `from`"
    needs_target = op in ("replace", "remove", "test", "move", "copy")
    lacking = what_lacks(document, read if needs_target else _parent(path))
    if not lacking and op != "test":
        lacking = what_lacks(document, _parent(path)) or _no_container(document, path)
    return lacking or ("there is another value" if op == "test" else "it cannot be carried out")


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _no_container(document: object, path: str) -> str:
    """Return what keeps a value from standing at a path whose parent is there, `""` if nothing."""
    for part in _parts(_parent(path)):
        document = _below(document, part)
    if isinstance(document, Mapping | list):
        return ""
    return f"`{cut(_parent(path))}` is neither a mapping nor a list"


def what_lacks(document: object, path: str) -> str:
    """Return where a path ends too early in a document, `""` if it leads to something.

    The words name places and no values, so that they may be said of a Secret.

    >>> what_lacks({"data": {"a": "secret"}}, "/data/b/c")
    'there is nothing at `/data/b`'
    """
    parts = _parts(path)
    for i, part in enumerate(parts):
        if isinstance(document, list):
            inside = part.isdecimal() and int(part) < len(document)
        else:
            inside = isinstance(document, Mapping) and _unescaped(part) in document
        if not inside:
            return f"there is nothing at `{cut('/' + '/'.join(parts[: i + 1]))}`"
        document = _below(document, part)
    return ""


def _parts(path: str) -> list[str]:
    return path.split("/")[1:]


def _plain(document: object, path: str, *, adds: bool) -> str:
    """Return a path as the standard has it, its indices resolved in a document.

    Args:
        document: Where the path leads.
        path: As written.
        adds: Whether the last part names a place that need not be there yet.

    Raises:
        UserError: The path has no slash, or an index is none.
    """
    if not path:
        return path
    _, slash, rest = path.partition("/")
    if not slash:
        raise UserError(f"patch: the path `{cut(path)}` must begin with a slash")
    parts = rest.split("/")
    plain = []
    for i, part in enumerate(parts):
        last = i == len(parts) - 1
        if isinstance(document, list):
            part = _index(document, part, adds=adds and last)  # noqa: PLW2901  # as it is read
        plain.append(part)
        document = _below(document, part)
    return "".join(f"/{part}" for part in plain)


def _index(items: Sequence[object], part: str, *, adds: bool) -> str:
    """Return an index as the standard has it."""
    if part == "-" and adds:
        return part
    try:
        index = int(part)
    except ValueError:
        raise UserError(f"patch: `{cut(part)}` is no index of a list") from None
    size = len(items) + adds
    if not -size <= index < size:
        raise UserError(f"patch: the index {cut(part)} is out of range, the list has {len(items)}")
    return str(index % size)


def _below(document: object, part: str) -> object:
    """Return what stands at a part of a path, `None` if nothing does."""
    if isinstance(document, list):
        return document[int(part)] if part.isdecimal() and int(part) < len(document) else None
    if isinstance(document, Mapping):
        return document.get(_unescaped(part))
    return None


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")

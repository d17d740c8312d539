"""commandOverrider and argsOverrider: words added to those of a container, or taken away."""

from collections.abc import Sequence

from reconciler.dialects.karmada.overridemanager.containers import containers_of, containers_path
from reconciler.errors import UserError
from reconciler.model.fields import strings, text
from reconciler.model.world import Body


def command_patches(manifest: Body, field: str, overrider: Body) -> list[Body]:
    """Return the JSON patch that changes the `command` or the `args` of containers of a name.

    A container without any gets a list in any case, be it empty.

    Raises:
        UserError: The containers, or what they have there, are no lists.

    Source: karmada@f8fdd02 pkg/util/overridemanager/commandargsoverride.go
    `buildCommandArgsPatches`.
    """
    path = containers_path(manifest)
    if path is None:
        return []
    return [
        {
            "op": "add" if container.get(field) is None else "replace",
            "path": f"/{'/'.join(path)}/{i}/{field}",
            "value": _changed(_words(container.get(field), field), overrider),
        }
        for i, container in enumerate(containers_of(manifest, path))
        if container.get("name") == text(overrider, "containerName")
    ]


def _changed(words: list[str], overrider: Body) -> list[str]:
    values: Sequence[str] = strings(overrider, "value")
    match text(overrider, "operator"):
        case "add":
            return [*words, *values]
        case "remove":
            return [word for word in words if word not in values]
        case _:
            return words


def _words(value: object, field: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise UserError(f"`{field}` of a container must be a list")
    return [_printed(item) for item in value]


def _printed(item: object) -> str:
    """Return a word as Go prints it where it expects a text."""
    match item:
        case str():
            return item
        case bool():
            return f"%!s(bool={str(item).lower()})"
        case int():
            return f"%!s(int64={item})"
        case float():
            return f"%!s(float64={item})"
        case _:
            return f"%!s({item})"

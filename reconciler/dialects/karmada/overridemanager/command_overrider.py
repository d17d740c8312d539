"""commandOverrider and argsOverrider: words added to those of a container, or taken away."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from reconciler.dialects.karmada.overridemanager.containers import containers_of, containers_path
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import strings, text


def command_patches(field: str, manifest: Body, overriders: Sequence[Body]) -> list[Body]:
    """Return the JSON patch that changes the `command` or the `args` of containers of a name.

    A container without any gets a list in any case, be it empty.

    Raises:
        UserError: The containers, or what they have there, are no lists.

    Source: karmada@f8fdd02 pkg/util/overridemanager/commandargsoverride.go
    `buildCommandArgsPatches`.
    """
    path = containers_path(manifest) if overriders else None
    if path is None:
        return []
    by_name: defaultdict[str, list[Body]] = defaultdict(list)
    for one in overriders:
        by_name[text(one, "containerName")].append(one)
    return [
        {
            "op": "add" if container.get(field) is None else "replace",
            "path": f"/{'/'.join(path)}/{i}/{field}",
            "value": _changed(_words(container.get(field), field), changes),
        }
        for i, container in enumerate(containers_of(manifest, path))
        if isinstance(name := container.get("name"), str) and (changes := by_name.get(name))
    ]


def _changed(words: list[str], overriders: Iterable[Body]) -> list[str]:
    """Return words as changes leave them."""
    words = list(words)
    for overrider in overriders:
        values = strings(overrider, "value")
        match text(overrider, "operator"):
            case "add":
                words.extend(values)
            case "remove":
                taken = frozenset(values)
                words = [word for word in words if word not in taken]
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

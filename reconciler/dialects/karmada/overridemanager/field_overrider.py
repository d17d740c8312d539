"""fieldOverrider: changes inside of a text that holds JSON or YAML."""

import json
from collections.abc import Mapping, Sequence
from typing import Self

from reconciler.dialects.karmada.api.gojson import go_json
from reconciler.dialects.karmada.overridemanager.yaml_text import read_yaml, write_yaml
from reconciler.errors import UserError
from reconciler.manifests.json_patch import patch_in_place, what_lacks
from reconciler.model.body import Body
from reconciler.model.fields import bodies, text
from reconciler.model.message_text import cut


def field_patches(manifest: Body, overrider: Body) -> list[Body]:
    """Return the JSON patch that a fieldOverrider stands for.

    Its changes in YAML come before those in JSON; without either the field becomes empty.

    Raises:
        UserError: The path does not lead to a text, the text is neither JSON nor YAML, or a change
            does not apply.

    Source: karmada@f8fdd02 pkg/util/overridemanager/fieldoverrider.go `applyFieldOverriders`.
    """
    path, value = text(overrider, "fieldPath"), text_changed(manifest, overrider)
    in_yaml, in_json = bodies(overrider, "yaml"), bodies(overrider, "json")
    changed = ""
    if in_yaml:
        changed = _changed_yaml(value, in_yaml)
    elif in_json:
        changed = _changed_json(value, in_json)
    return [{"op": "replace", "path": path, "value": changed}]


def text_changed(manifest: Body, overrider: Body) -> str:
    """Return the text that a fieldOverrider changes.

    Raises:
        UserError: Its path does not lead to a text.
    """
    path = text(overrider, "fieldPath")
    from jsonpointer import (  # noqa: PLC0415
        JsonPointerException,
        resolve_pointer,
    )

    try:
        value = resolve_pointer(manifest, path)
    except JsonPointerException:
        why = what_lacks(manifest, path) or "it is no JSON pointer"
        raise UserError(f"`{cut(path)}` leads nowhere: {why}") from None
    if not isinstance(value, str):
        raise UserError(f"Get object's value by overrider's path({cut(path)}) is not string")
    return value


def _changed_json(document: str, changes: Sequence[Body]) -> str:
    """Return a JSON text with changes, numbers as they were written; an empty one stays."""
    if not document:
        return document
    try:
        decoded = json.loads(document, parse_float=WrittenNumber)
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}"
        raise UserError(f"the text must be JSON: it is none from {at} on") from None
    except (ValueError, RecursionError):
        raise UserError("the text must be JSON: a number is too long, or it is too deep") from None
    return _in_json(_patched(decoded, changes))


class WrittenNumber(float):
    """A number of a JSON text that keeps its spelling."""

    text: str

    def __new__(cls, text: str) -> Self:
        """Return the number that a text is."""
        number = super().__new__(cls, text)
        number.text = text
        return number

    def __deepcopy__(self, _memo: object) -> Self:
        """Return the number itself, which never changes."""
        return self


def _in_json(value: object) -> str:
    if isinstance(value, WrittenNumber):
        return value.text
    if isinstance(value, Mapping):
        fields = (f"{go_json(name)}:{_in_json(one)}" for name, one in value.items())
        return f"{{{','.join(fields)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_in_json, value))}]"
    return go_json(value)


def _changed_yaml(document: str, changes: Sequence[Body]) -> str:
    """Return a YAML text with changes, its keys sorted, comments lost."""
    return write_yaml(_patched(read_yaml(document), changes))


def _patched(document: object, changes: Sequence[Body]) -> object:
    if not isinstance(document, dict | list):
        raise UserError("the text must be a mapping or a list")
    operations = [
        {"op": text(one, "operator"), "path": text(one, "subPath"), "value": one.get("value")}
        for one in changes
    ]
    return patch_in_place(document, operations)

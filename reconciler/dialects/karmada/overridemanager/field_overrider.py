"""fieldOverrider: changes inside of a text that holds JSON or YAML."""

import json
import warnings
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Self

from reconciler.dialects.karmada.api.gojson import go_json
from reconciler.errors import UserError
from reconciler.manifests.json_patch import patch_in_place, what_lacks
from reconciler.model.body import Body
from reconciler.model.fields import bodies, text
from reconciler.model.message_text import cut

WIDTH = 80


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
    """Return a YAML text with changes, its keys sorted, comments lost.

    The parser and the emitter are those of libyaml, of which Go's are a port, and fast.

    Source: sigs.k8s.io/yaml `YAMLToJSON`, `JSONToYAML`: YAML 1.1, the first document only.
    """
    from ruamel.yaml import YAML  # noqa: PLC0415  # only where something is overridden
    from ruamel.yaml.error import MantissaNoDotYAML1_1Warning, YAMLError  # noqa: PLC0415

    reader = YAML(typ="safe")
    reader.version = "1.1"
    try:
        with warnings.catch_warnings(category=MantissaNoDotYAML1_1Warning, action="ignore"):
            decoded = _as_json(next(iter(reader.load_all(document)), None))
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        at = f" from line {mark.line + 1}, column {mark.column + 1} on" if mark else ""
        raise UserError(f"the text must be YAML: it is none{at}") from None
    except (ValueError, TypeError, RecursionError):
        raise UserError("the text must be YAML: a value in it cannot be read") from None
    return _in_yaml(_patched(decoded, changes))


def _as_json(value: object) -> object:
    """Return a decoded YAML value as JSON has it: keys are texts, whole numbers have no point."""
    if isinstance(value, Mapping):
        return {_key(name): _as_json(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_as_json(one) for one in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _key(name: object) -> str:
    return str(name).lower() if isinstance(name, bool) else str(name)


def _in_yaml(value: object) -> str:
    from ruamel.yaml import YAML  # noqa: PLC0415  # only where something is overridden
    from ruamel.yaml.representer import SafeRepresenter  # noqa: PLC0415

    class Representer(SafeRepresenter):
        """Texts of several lines stand as blocks, as Go writes them."""

    def block(representer: SafeRepresenter, text: str) -> object:
        style = "|" if "\n" in text else None
        return representer.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Representer.add_representer(str, block)
    writer = YAML(typ="safe")
    writer.Representer = Representer
    writer.default_flow_style = False
    writer.width = WIDTH
    stream = StringIO()
    writer.dump(value, stream)
    return stream.getvalue()


def _patched(document: object, changes: Sequence[Body]) -> object:
    if not isinstance(document, dict | list):
        raise UserError("the text must be a mapping or a list")
    operations = [
        {"op": text(one, "operator"), "path": text(one, "subPath"), "value": one.get("value")}
        for one in changes
    ]
    return patch_in_place(document, operations)

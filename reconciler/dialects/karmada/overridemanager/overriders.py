"""The overriders of a rule, each turned into a JSON patch of the manifest.

- imageOverrider: another registry, repository or tag, of all containers or of one field.
- commandOverrider and argsOverrider: words added to those of a container, or removed.
- labelsOverrider and annotationsOverrider: entries of these maps added, replaced or removed.
- fieldOverrider: changes inside a text that contains JSON or YAML.

The text of an image consists of a registry, a repository, and a tag or digest.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Self

from reconciler.dialects.karmada.api.names import go_json
from reconciler.dialects.karmada.overridemanager.yaml_text import read_yaml, write_yaml
from reconciler.errors import UserError
from reconciler.manifests.json_patch import patch_in_place, what_lacks
from reconciler.model.body import Body
from reconciler.model.fields import at, bodies, mapping, mapping_of, mapping_or_none, strings, text
from reconciler.model.records import dataclass, replace
from reconciler.model.text import cut


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


LONGEST_NAME = 255
_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN = rf"{_LABEL}(?:\.{_LABEL})*(?::[0-9]+)?"
_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|[-]*)[a-z0-9]+)*"
_NAME = rf"(?:{_DOMAIN}/)?{_COMPONENT}(?:/{_COMPONENT})*"
_TAG = r"[\w][\w.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*[:][0-9A-Fa-f]{32,}"
_REFERENCE = rf"({_NAME})(?::({_TAG}))?(?:@({_DIGEST}))?"


@dataclass(frozen=True, slots=True)
class ImageReference:
    """An image; a tag and a digest never come together."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    def with_tag_or_digest(self, text: str) -> "ImageReference":
        """Return the image with another tag or digest; with what is neither, as it is."""
        if _is(_TAG, text):
            return replace(self, tag=text, digest="")
        if _is(_DIGEST, text):
            return replace(self, tag="", digest=text)
        return self

    def __str__(self) -> str:
        """Return it as a manifest has it."""
        name = f"{self.registry}/{self.repository}" if self.registry else self.repository
        if self.tag:
            return f"{name}:{self.tag}"
        return f"{name}@{self.digest}" if self.digest else name


def parse_image(text: str) -> ImageReference:
    """Return the parts of an image.

    With a tag and a digest the digest is lost.

    Raises:
        UserError: The text is none of an image.

    Source: karmada@f8fdd02 pkg/util/imageparser/parser.go `Parse`, and github.com/distribution/
    reference `Parse`.

    >>> parse_image("ghcr.io/fleet/web:1.2")
    ImageReference(registry='ghcr.io', repository='fleet/web', tag='1.2', digest='')
    """
    import re2  # type: ignore[import-untyped]  # noqa: PLC0415  # only where an image is changed

    match = re2.fullmatch(_REFERENCE, text)
    if match is None:
        raise UserError(f"failed to parse image value({text}), error: {_problem(text)}")
    name, tag, digest = match.groups()
    if len(name) > LONGEST_NAME:
        raise UserError(
            f"failed to parse image value({text}), error: "
            f"repository name must not be more than {LONGEST_NAME} characters"
        )
    registry, slash, rest = name.partition("/")
    if slash and ("." in registry or ":" in registry or registry == "localhost"):
        return ImageReference(registry, rest, tag or "", "" if tag else digest or "")
    return ImageReference("", name, tag or "", "" if tag else digest or "")


def _problem(text: str) -> str:
    """Return what is wrong with a text that is no image."""
    if not text:
        return "repository name must have at least one component"
    if _is(_REFERENCE, text.lower()):
        return "repository name must be lowercase"
    return "invalid reference format"


def _is(pattern: str, text: str) -> bool:
    import re2  # noqa: PLC0415  # only where an image is changed

    return re2.fullmatch(pattern, text) is not None


def image_patches(manifest: Body, overrider: Body) -> list[Body]:
    """Return the JSON patch that an imageOverrider stands for.

    Raises:
        UserError: There is no image where one is changed, or it cannot be read.

    Source: karmada@f8fdd02 pkg/util/overridemanager/imageoverride.go `buildPatches`.
    """
    predicate = mapping_or_none(overrider, "predicate")
    if predicate is None:
        return list(_of_containers(manifest, overrider))
    path = text(predicate, "path")
    if path and not path.startswith("/"):
        raise UserError(f"`{path}` must begin with a slash")
    return [_patch(path, _image_at(manifest, path), overrider)]


def _of_containers(manifest: Body, overrider: Body) -> Iterator[Body]:
    path = containers_path(manifest)
    if path is None:
        return
    for i, container in enumerate(containers_of(manifest, path)):
        image = container.get("image") or ""
        if not isinstance(image, str):
            raise UserError(f"the image of container {i} must be a text")
        yield _patch(f"/{'/'.join(path)}/{i}/image", image, overrider)


def _image_at(manifest: Body, path: str) -> str:
    """Return the text at a path, which is split at its slashes as they are."""
    value: object = manifest
    for name in path.strip("/").split("/"):
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            value = None
    if not isinstance(value, str):
        raise UserError(f"failed to obtain imageValue with predicate path({path}): it is no text")
    return value


def _patch(path: str, image: str, overrider: Body) -> Body:
    changed = _changed_image(parse_image(image), overrider)
    return {"op": "replace", "path": path, "value": str(changed)}


def _changed_image(image: ImageReference, overrider: Body) -> ImageReference:
    """Return an image with one of its parts changed.

    Source: karmada@f8fdd02 pkg/util/overridemanager/imageoverride.go `overrideImage`.
    """
    operator, value = text(overrider, "operator"), text(overrider, "value")
    match text(overrider, "component"):
        case "Registry":
            return replace(image, registry=_part(image.registry, operator, value))
        case "Repository":
            return replace(image, repository=_part(image.repository, operator, value))
        case "Tag":
            return _with_tag(image, operator, value)
        case component:
            raise UserError(f"unsupported image component({component})")


def _part(part: str, operator: str, value: str) -> str:
    return {"add": part + value, "replace": value, "remove": ""}.get(operator, part)


def _with_tag(image: ImageReference, operator: str, value: str) -> ImageReference:
    match operator:
        case "add":
            return image.with_tag_or_digest((image.tag or image.digest) + value)
        case "replace":
            return image.with_tag_or_digest(value)
        case "remove":
            return replace(image, tag="", digest="")
        case _:
            return image


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
    for overrider in overriders:
        by_name[text(overrider, "containerName")].append(overrider)
    return [
        {
            "op": "add" if container.get(field) is None else "replace",
            "path": f"/{'/'.join(path)}/{i}/{field}",
            "value": _changed_words(_words(container.get(field), field), changes),
        }
        for i, container in enumerate(containers_of(manifest, path))
        if isinstance(name := container.get("name"), str) and (changes := by_name.get(name))
    ]


def _changed_words(words: list[str], overriders: Iterable[Body]) -> list[str]:
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


def label_patches(field: str, manifest: Body, overriders: Sequence[Body]) -> list[Body]:
    """Return the JSON patch that changes the `labels` or the `annotations` of a manifest.

    What is not there is neither replaced nor removed. A slash in a key is escaped, a tilde is not.

    Raises:
        UserError: An operator is unknown.

    Source: karmada@f8fdd02 pkg/util/overridemanager/labelannotationoverrider.go
    `applyLabelAnnotationOverriders`.
    """
    labels = string_map(at(manifest, "metadata").get(field))
    present = None if labels is None else set(labels)
    patches: list[Body] = []
    for overrider in overriders:
        operator, values = text(overrider, "operator"), mapping(overrider, "value")
        if operator not in {"add", "remove", "replace"}:
            raise UserError(f"unsupported operator `{operator}` of {field}")
        if operator == "add" and present is None:
            patches.append({"op": "add", "path": f"/metadata/{field}", "value": {}})
            present = set()
        for key in sorted(values):
            if operator != "add" and key not in (present or ()):
                continue
            path = f"/metadata/{field}/{key.replace('/', '~1')}"
            patches.append({"op": operator, "path": path, "value": values[key]})
            if present is not None and operator != "replace":
                (present.add if operator == "add" else present.discard)(key)
    return patches


def string_map(value: object) -> Body | None:
    """Return a map of texts, `None` for anything else."""
    if isinstance(value, dict) and all(isinstance(one, str) for one in value.values()):
        return value
    return None


TEMPLATED = frozenset({"DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet"})
"""Kinds whose pods have a template; of any group, as upstream has it."""


def containers_path(manifest: Body) -> tuple[str, ...] | None:
    """Return where a manifest has its containers, `None` if its kind has none that are changed.

    Source: karmada@f8fdd02 pkg/util/overridemanager/imageoverride.go `buildPatches`,
    commandargsoverride.go `buildCommandArgsPatches`.
    """
    kind = text(manifest, "kind")
    if kind == "Pod":
        return ("spec", "containers")
    return ("spec", "template", "spec", "containers") if kind in TEMPLATED else None


def containers_of(manifest: Body, path: Sequence[str]) -> list[Body]:
    """Return the containers at a path, none where it ends early.

    Raises:
        UserError: There is something else than a list of containers.
    """
    value: object = manifest
    for name in path:
        value = mapping_of(value).get(name)
        if value is None:
            return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise UserError(f"`{'.'.join(path)}` must be a list of containers")
    return value

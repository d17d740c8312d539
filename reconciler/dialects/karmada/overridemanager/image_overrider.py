"""imageOverrider: another registry, repository or tag, of all containers or of one field."""

from collections.abc import Iterator
from dataclasses import replace

from reconciler.dialects.karmada.overridemanager.containers import containers_of, containers_path
from reconciler.dialects.karmada.overridemanager.image_reference import (
    ImageReference,
    parse_image,
)
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import mapping_or_none, text


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
    changed = _changed(parse_image(image), overrider)
    return {"op": "replace", "path": path, "value": str(changed)}


def _changed(image: ImageReference, overrider: Body) -> ImageReference:
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

"""The containers of a manifest, which overrides of images, commands and arguments change."""

from collections.abc import Sequence

from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.content import mapping_of
from reconciler.model.fields import text

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

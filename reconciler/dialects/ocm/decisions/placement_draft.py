"""A placement before it is decided, with its files so far."""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.dialects.ocm.api.placement import GROUP, Placement, decode_placement
from reconciler.manifests.paths import is_frozen, output_path
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A placement and its files so far.

    Attributes:
        manifest: As written.
        placement: Decoded.
        status_file: `None` before the first pass.
        decisions: Those that can be read.
        frozen: Whether one of its files cannot be read, so that all are left as they are.
    """

    manifest: Manifest
    placement: Placement
    status_file: Body | None
    decisions: Mapping[ObjectKey, Body]
    frozen: bool = False

    @property
    def files(self) -> Mapping[ObjectKey, Body]:
        """Its decisions and its status file, as far as they are there."""
        status = {} if self.status_file is None else {self.manifest.key: self.status_file}
        return {**self.decisions, **status}

    @property
    def idle(self) -> str:
        """Why it stays as it is whatever happens, `""` if it does not."""
        if self.frozen:
            return "one of its files cannot be read"
        if self.placement.deleting:
            return "it is being deleted"
        return f"{self.placement.disabled} is true" if self.placement.disabled else ""


def draft_of(
    manifest: Manifest,
    status_file: Body | None,
    decisions: Mapping[ObjectKey, Body],
    *,
    frozen: bool,
) -> Draft:
    """Return a placement and its files; its namespace is that of its key, written or not."""
    metadata = {**mapping(manifest.body, "metadata"), "namespace": manifest.key.namespace}
    return Draft(
        manifest=manifest,
        placement=decode_placement({**manifest.body, "metadata": metadata}),
        status_file=status_file,
        decisions=decisions,
        frozen=frozen,
    )


def is_left_alone(world: World, key: ObjectKey) -> bool:
    """Return whether the status file or a decision of a placement cannot be read."""
    if not world.frozen:
        return False
    if is_frozen(world, key):
        return True
    first = ObjectKey(GROUP, "PlacementDecision", key.namespace, f"{key.name}-decision-")
    stem = output_path(world.output_root, first).removesuffix(".yaml")
    rest = (path.removeprefix(stem) for path in world.frozen.paths if path.startswith(stem))
    return world.frozen.may_hold(stem) or any(
        text.removesuffix(".yaml").isdecimal() for text in rest
    )

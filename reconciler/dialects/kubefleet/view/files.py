"""The files of a placement that converged, but for its status; and whether one is unreadable."""

from datetime import datetime

from reconciler.dialects.kubefleet.api.binding import PLACEMENT_PART
from reconciler.dialects.kubefleet.api.kinds import kinds_in
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.placement_cycle import ConvergedPlacement
from reconciler.dialects.kubefleet.view.binding_rendering import binding_file, key_of
from reconciler.dialects.kubefleet.view.snapshot_rendering import snapshot_file
from reconciler.manifests.paths import is_frozen, output_path
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import stamp
from reconciler.model.world import World


def files_of(converged: ConvergedPlacement, namespace: str, now: datetime) -> dict[ObjectKey, Body]:
    """Return the files of a placement but for its status."""
    outputs: dict[ObjectKey, Body] = {}
    kinds = kinds_in(namespace)
    for kind, found in (
        (kinds.policy_snapshot, converged.policies),
        (kinds.resource_snapshot, converged.resources),
    ):
        for name, body in found.items():
            key = ObjectKey(GROUP, kind, namespace, name)
            outputs[key] = snapshot_file(key, body, stamp(now))
    for binding in converged.bindings.values():
        outputs[key_of(binding)] = binding_file(binding, stamp(now))
    return outputs


def is_unreadable(world: World, key: ObjectKey) -> bool:
    """Return whether a file that may belong to a placement cannot be read."""
    if not world.frozen or is_frozen(world, key):
        return bool(world.frozen)
    stems = (
        output_path(
            world.output_root,
            ObjectKey(GROUP, kind, key.namespace, f"{key.name[:PLACEMENT_PART]}-"),
        )
        for kind in kinds_in(key.namespace).owned
    )
    prefixes = tuple(stem.removesuffix(".yaml") for stem in stems)
    return any(path.startswith(prefixes) for path in world.frozen.paths) or any(
        map(world.frozen.may_hold, prefixes)
    )

"""The files of a placement that converged, but for its status."""

from datetime import datetime

from reconciler.dialects.kubefleet.api.kinds import kinds_in
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.placement_cycle import ConvergedPlacement
from reconciler.dialects.kubefleet.view.binding_rendering import binding_file, key_of
from reconciler.dialects.kubefleet.view.snapshot_rendering import snapshot_file
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import stamp
from reconciler.model.world import Body


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

"""The files of a placement that converged, but for its status."""

from datetime import datetime

from reconciler.dialects.kubefleet.api.names import (
    BINDING,
    GROUP,
    POLICY_SNAPSHOT,
    RESOURCE_SNAPSHOT,
)
from reconciler.dialects.kubefleet.drift_repair import snapshot_file
from reconciler.dialects.kubefleet.placement_cycle import ConvergedPlacement
from reconciler.dialects.kubefleet.view.binding_rendering import binding_file
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import stamp
from reconciler.model.world import Body


def files_of(converged: ConvergedPlacement, now: datetime) -> dict[ObjectKey, Body]:
    """Return the files of a placement but for its status."""
    outputs: dict[ObjectKey, Body] = {}
    for kind, found in (
        (POLICY_SNAPSHOT, converged.policies),
        (RESOURCE_SNAPSHOT, converged.resources),
    ):
        for name, body in found.items():
            key = ObjectKey(GROUP, kind, "", name)
            outputs[key] = snapshot_file(key, body, stamp(now))
    for name, binding in converged.bindings.items():
        outputs[ObjectKey(GROUP, BINDING, "", name)] = binding_file(binding, stamp(now))
    return outputs

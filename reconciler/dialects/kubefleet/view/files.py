"""The files of a placement that settled, but for its status."""

from datetime import datetime

from reconciler.dialects.kubefleet.api.names import (
    BINDING,
    GROUP,
    POLICY_SNAPSHOT,
    RESOURCE_SNAPSHOT,
)
from reconciler.dialects.kubefleet.drift_repair import snapshot_file
from reconciler.dialects.kubefleet.placement_cycle import Settled
from reconciler.dialects.kubefleet.view.binding_rendering import binding_file
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import stamp
from reconciler.model.world import Body


def files_of(settled: Settled, now: datetime) -> dict[ObjectKey, Body]:
    """Return the files of a placement but for its status."""
    outputs: dict[ObjectKey, Body] = {}
    for kind, found in (
        (POLICY_SNAPSHOT, settled.policies),
        (RESOURCE_SNAPSHOT, settled.resources),
    ):
        for name, body in found.items():
            key = ObjectKey(GROUP, kind, "", name)
            outputs[key] = snapshot_file(key, body, stamp(now))
    for name, binding in settled.bindings.items():
        outputs[ObjectKey(GROUP, BINDING, "", name)] = binding_file(binding, stamp(now))
    return outputs

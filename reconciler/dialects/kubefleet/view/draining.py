"""How a MemberCluster is emptied: by the taint of a cordon, and an eviction for each placement.

An eviction is judged once, so budgets count; one that was blocked stays so, and another one is made
beside it.
"""

from collections.abc import Iterator

from reconciler.dialects.draining import DRAINS, Draining, tolerated_for_ever
from reconciler.dialects.kubefleet.api.disruption_admission import refuse_eviction
from reconciler.dialects.kubefleet.api.eviction_request import (
    EvictionRequest,
    decode_request,
    encode_request,
)
from reconciler.dialects.kubefleet.api.kinds import CLUSTER_SCOPED, placement_key
from reconciler.dialects.kubefleet.api.names import API_VERSION, GROUP
from reconciler.dialects.kubefleet.api.placement import decode_placement
from reconciler.dialects.kubefleet.api.policy import decode_policy
from reconciler.dialects.kubefleet.eviction.judgement import EVICTION, EXECUTED, is_over
from reconciler.dialects.kubefleet.view.cluster import CORDON
from reconciler.dialects.kubefleet.view.placed import clusters_in, owner_of
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import Manifest, World


def requests(world: World, cluster: ClusterName) -> Iterator[tuple[ObjectKey, Body]]:
    """Yield an eviction for each placement on a cluster that no eviction asks to leave.

    Source: kubefleet@e160c1c tools/fleet/cmd/draincluster/draincluster.go `drain`, which
    names them at random.
    """
    waiting = {
        decode_request(one.body).placement
        for one in _evictions(world, cluster)
        if not _is_over(world, one)
    }
    for placement in _placed_on(world, cluster):
        if placement.name in waiting or _never_evicted(world, placement):
            continue
        name = base = f"drain-{cluster}-{placement.name}"
        tries = 1
        while ObjectKey(GROUP, EVICTION, "", name) in world.inputs:
            tries += 1
            name = f"{base}-{tries}"
        body = {
            "apiVersion": API_VERSION,
            "kind": EVICTION,
            "metadata": {"name": name, "annotations": {DRAINS: cluster}},
            "spec": encode_request(EvictionRequest(placement.name, cluster)),
        }
        yield ObjectKey(GROUP, EVICTION, "", name), body


def stays(world: World, key: ObjectKey, cluster: ClusterName) -> str:
    """Return why a placement does not leave a drained cluster."""
    if never := _never_evicted(world, key):
        return never
    for one in reversed(_evictions(world, cluster)):
        if decode_request(one.body).placement == key.name and _is_over(world, one):
            executed = _condition(world, one.key, EXECUTED)
            if text(executed, "status") == "False":
                return f"{one.key.name} did not evict it: {text(executed, 'message')}"
    return ""


def _never_evicted(world: World, placement: ObjectKey) -> str:
    """Return why no eviction would take a placement away for good, `""` if one may."""
    written = world.inputs.get(placement)
    if written is None:
        return "its placement is gone, and what it put there with it"
    if placement.namespace:
        return "evictions are for placements of no namespace"
    asked = {"spec": encode_request(EvictionRequest(placement.name, ""))}
    if refused := next(refuse_eviction(asked, written.body), None):
        return refused.message.replace("`", "")
    try:
        policy = decode_policy(decode_placement(written.body).policy)
    except UserError:
        return "its placement cannot be read"
    return tolerated_for_ever(policy.tolerations, CORDON)


def _placed_on(world: World, cluster: ClusterName) -> list[ObjectKey]:
    """Return the placements without a namespace that have a binding for a cluster, sorted."""
    bindings = world.outputs_of_kind((GROUP, CLUSTER_SCOPED.binding))
    here = (one for one in bindings if any(name == cluster for name, _ in clusters_in(one.body)))
    owners = (owner_of(one.key, one.body) for one in here)
    return sorted(placement_key("", one.name) for one in owners if one is not None)


def _evictions(world: World, cluster: ClusterName) -> list[Manifest]:
    """Return the evictions from a cluster, in the order of their names."""
    every = world.of_kind(GROUP, EVICTION)
    return [one for one in every if decode_request(one.body).cluster == cluster]


def _is_over(world: World, eviction: Manifest) -> bool:
    """Return whether an eviction was judged."""
    written = world.outputs.get(eviction.key)
    if written is None:
        return False
    conditions = bodies(mapping(written.body, "status"), "conditions")
    return is_over(conditions, number(mapping(written.body, "metadata"), "generation"))


def _condition(world: World, eviction: ObjectKey, kind: str) -> Body:
    conditions = bodies(mapping(world.outputs[eviction].body, "status"), "conditions")
    return next((one for one in conditions if text(one, "type") == kind), {})


DRAINING = Draining(taint=CORDON, stays=stays, requests=requests, request_kind=(GROUP, EVICTION))

"""The switch from an OCM hub: what of it is not done yet, as far as kubectl shows it."""

from collections.abc import Iterator, Mapping

from reconciler.dialects.hub_switch import (
    HubSwitch,
    LiveHub,
    SwitchStep,
    running,
    settled,
    stopped,
)
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    GROUP,
    KIND,
    SET_LABEL,
    WORK,
    set_of,
)
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import labels_of

OPERATOR = ("open-cluster-management", "cluster-manager")
HUB = "open-cluster-management-hub"
TRANSPORT = "manifestworks"
ORPHAN = "Orphan"
SHOW = f"show the Deployments of {HUB}: --context, or as a file"
SET_ORPHAN = "set deleteOption.propagationPolicy: Orphan in the template of their sets"
DELETE = "once Flux or Argo CD has applied them, delete these ManifestWorks"


def steps(hub: LiveHub) -> tuple[SwitchStep, ...]:
    """Return the steps on the hub, in order.

    The operator goes first: it starts what is stopped. An agent applies a ManifestWork again and
    again as long as it is there; with `Orphan` it takes its owner off the objects, which then stay
    when the ManifestWork goes. ManifestWorks of no set are nobody's decision, and not looked at.
    """
    seen = hub.whole or hub.host or hub.has_namespace(HUB, OPERATOR[0])
    operators = running(hub, lambda key: (key.namespace, key.name) == OPERATOR)
    placing = running(hub, lambda key: _is_of_hub(key, "placement-controller"))
    working = running(hub, lambda key: _is_of_hub(key, "work-controller"))
    works = {} if hub.by_agents else _works_of_sets(hub)
    owned = [key for key, body in works.items() if _deletion(body) != ORPHAN]
    return (
        settled("keep", owned, SET_ORPHAN),
        stopped("scheduler", (*operators, *placing), seen=seen, show=SHOW),
        stopped("controllers", working, seen=seen, show=SHOW),
        settled("agents", works, DELETE, last=True),
    )


def _is_of_hub(key: ObjectKey, part: str) -> bool:
    """Return whether a Deployment is a part of a hub, a hosted one in its namespace included."""
    return key.name.endswith(f"-{part}") and (
        key.namespace == HUB or key.name == f"{key.namespace}-{part}"
    )


def _works_of_sets(hub: LiveHub) -> dict[ObjectKey, Body]:
    found = hub.of_kind(GROUP, WORK)
    return {key: body for key, body in found.items() if labels_of(body).get(SET_LABEL)}


def _deletion(body: Body) -> str:
    return text(mapping(mapping(body, "spec"), "deleteOption"), "propagationPolicy")


def brings(live: Mapping[ObjectKey, Body]) -> Iterator[ObjectKey]:
    """Yield the live sets, and those whose ManifestWorks are there."""
    for key, body in live.items():
        if (key.group, key.kind) == (GROUP, KIND):
            yield key
        elif (key.group, key.kind) == (GROUP, WORK) and (owner := set_of(body)):
            yield owner


SWITCH = HubSwitch(
    steps=steps, brings=brings, agents=TRANSPORT, following=frozenset({(GROUP, KIND)})
)

"""The family ocm/enqueue: whom an event concerns."""

from collections.abc import Mapping
from typing import cast

from reconciler.dialects.ocm.api.cluster_sets import decode_set, decode_set_binding
from reconciler.dialects.ocm.api.clusters import decode_cluster
from reconciler.dialects.ocm.api.placement import decode_placement
from reconciler.dialects.ocm.decisions.enqueue import (
    ClusterChanged,
    Event,
    Index,
    ScoreReported,
    queued,
)
from reconciler.dialects.ocm.decisions.placement_decisions import decode_decision
from reconciler.model.identity import ClusterName
from tests.conformance.compare import first_difference
from tests.conformance.ocm import Body, bodies, members


def check_enqueue(case: Body) -> str | None:
    """Compare the placements that an event queues."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    event = cast(Mapping[str, Body], given["event"])
    kind, verb, body = str(event["kind"]), str(event["verb"]), event["object"]
    index = _index(_after(given, kind, verb, body))
    found = queued(_event(given, kind, verb, body), index)
    return first_difference(expected, {"queued": [f"{space}/{name}" for space, name in found]})


def _index(given: Body) -> Index:
    return Index(
        placements=tuple(map(decode_placement, bodies(given, "placements"))),
        bindings=tuple(map(decode_set_binding, bodies(given, "managedClusterSetBindings"))),
        sets=tuple(map(decode_set, bodies(given, "managedClusterSets"))),
        members=members(given),
    )


PLURALS = {
    "ManagedCluster": "managedClusters",
    "ManagedClusterSet": "managedClusterSets",
    "ManagedClusterSetBinding": "managedClusterSetBindings",
    "Placement": "placements",
    "PlacementDecision": "placementDecisions",
    "AddOnPlacementScore": "addOnPlacementScores",
}


def _names(body: Body) -> tuple[object, object]:
    metadata = cast(Body, body["metadata"])
    return metadata.get("namespace"), metadata["name"]


def _after(given: Body, kind: str, verb: str, body: Body) -> Body:
    """The hub as it is after the event."""
    rest = [item for item in bodies(given, PLURALS[kind]) if _names(item) != _names(body)]
    return {**given, PLURALS[kind]: rest if verb == "delete" else [*rest, body]}


def _event(given: Body, kind: str, verb: str, body: Body) -> Event:
    match kind:
        case "ManagedCluster":
            before = next(
                (c for c in bodies(given, PLURALS[kind]) if _names(c) == _names(body)), None
            )
            known = None if before is None or verb != "update" else decode_cluster(before)
            return ClusterChanged(decode_cluster(body), known)
        case "AddOnPlacementScore":
            space, name = _names(body)
            return ScoreReported(ClusterName(str(space)), str(name))
        case "Placement":
            return decode_placement(body)
        case "PlacementDecision":
            return decode_decision(body)
        case "ManagedClusterSet":
            return decode_set(body)
        case _:
            return decode_set_binding(body)

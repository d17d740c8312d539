"""OCM's placements through the front door: a hub in files, one pass, decisions and status."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from reconciler.model.moments import parse_moment
from tests.builders import Body
from tests.conformance.door.door import (
    LeftOut,
    Passed,
    configuration,
    field,
    items,
    not_later,
    walk_in,
)
from tests.conformance.judgements import first_difference

GROUP = "cluster.open-cluster-management.io"
PLACEMENT_LABEL = f"{GROUP}/placement"
SET_LABEL = f"{GROUP}/clusterset"
DISABLED = f"{GROUP}/experimental-scheduling-disable"
AVAILABLE = "ManagedClusterConditionAvailable"
COMPARED = ("placementDecisions", "numberOfSelectedClusters", "decisionGroups", "conditions")
KINDS = {
    "managedClusters": ("v1", "ManagedCluster"),
    "managedClusterSets": ("v1beta2", "ManagedClusterSet"),
    "managedClusterSetBindings": ("v1beta2", "ManagedClusterSetBinding"),
    "addOnPlacementScores": ("v1alpha1", "AddOnPlacementScore"),
}
REPORTED = {
    "type": AVAILABLE,
    "status": "True",
    "reason": "ManagedClusterAvailable",
    "message": "Managed cluster is available",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
IMPLICIT = {"default": "ExclusiveClusterSetLabel", "global": "LabelSelector"}


def check_placement(case: Body) -> str | None:
    """Compare decisions, status and the next look after one pass.

    A pass goes on until nothing is written, so what upstream settles with counts.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    spellings = [("v1beta1", given["placement"]), ("v1alpha1", given.get("placementAsProposed"))]
    found = (_check({**given, "placement": p}, v, expected) for v, p in spellings if p)
    return next((difference for difference in found if difference), None)


def _check(given: Body, version: str, expected: Body) -> str | None:
    passed = walk_in(_inputs(given, version), _outputs(given), parse_moment(str(given["now"])))
    if "crdErrors" in expected:
        return "upstream's CRD refuses this"
    actual = _actual(given, passed)
    oscillates = field(expected, "settled").get("oscillates")
    if oscillates and not passed.faults("oscillates"):
        return "upstream oscillates, here it converges"
    if oscillates or expected.get("scheduled") is False:
        wanted = [_described(body) for body in items(given, "placementDecisions")]
        return first_difference(wanted, actual["placementDecisions"], ".placementDecisions")
    differences = [_difference(choice, actual, passed) for choice in _choices(expected)]
    return None if None in differences else differences[0]


def _choices(expected: Body) -> Sequence[Body]:
    settled = field(expected, "settled")
    later = {**settled, **field(settled, "status")}
    more = {key: later[key] for key in COMPARED if key in later}
    wait = {"wait": settled["requeueAfterSeconds"]} if "requeueAfterSeconds" in settled else {}
    choices = cast(Sequence[Body], expected.get("anyOf", [expected]))
    return [{**choice, **more, **wait} for choice in choices]


def _difference(expected: Body, actual: Body, passed: Passed) -> str | None:
    wanted = {key: expected[key] for key in COMPARED if key in expected}
    found = {key: actual.get(key) for key in wanted}
    difference = first_difference(wanted, found)
    if difference or "wait" not in expected:
        return difference
    wait = cast(float | None, expected["wait"])
    return not_later("ocm/placement", None if wait is None else math.ceil(wait), passed.seconds)


def _inputs(given: Body, version: str) -> Iterator[Body]:
    """The hub as people write it.

    A cluster that reports anything is available: its hub would say so, and taint it otherwise. The
    placements of other decisions are there and switched off, so that theirs stay as they are.
    """
    yield configuration()
    bound = {str(field(item, "spec").get("clusterSet")) for item in items(given, SETS_BOUND)}
    for name, (served, kind) in KINDS.items():
        for body in items(given, name):
            written = {"apiVersion": f"{GROUP}/{served}", "kind": kind, **body}
            yield _available(written, bound) if kind == "ManagedCluster" else written
    yield {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Placement",
        **_without_status(field(given, "placement")),
    }
    yield from _others(given)


SETS_BOUND = "managedClusterSetBindings"


def _available(cluster: Body, bound: set[str]) -> Body:
    labels = field(cluster, "metadata", "labels")
    if "default" in bound and not labels.get(SET_LABEL):
        raise LeftOut("cluster-in-no-set")
    status = field(cluster, "status")
    conditions = items(cluster, "status", "conditions")
    if not status:
        return cluster
    found = [item for item in conditions if item.get("type") == AVAILABLE]
    more = [] if found else [REPORTED]
    return {**cluster, "status": {**status, "conditions": [*conditions, *more]}}


def _without_status(placement: Body) -> Body:
    return {key: value for key, value in placement.items() if key != "status"}


def _others(given: Body) -> Iterator[Body]:
    mine = _identity(field(given, "placement"))
    owners = {_owner(decision) for decision in items(given, "otherPlacementDecisions")}
    for namespace, name in sorted(owners - {mine}):
        yield {
            "apiVersion": f"{GROUP}/v1beta1",
            "kind": "Placement",
            "metadata": {"name": name, "namespace": namespace, "annotations": {DISABLED: "true"}},
            "spec": {},
        }


def _identity(body: Body) -> tuple[str, str]:
    metadata = field(body, "metadata")
    return str(metadata["namespace"]), str(metadata["name"])


def _owner(decision: Body) -> tuple[str, str]:
    name = field(decision, "metadata", "labels").get(PLACEMENT_LABEL)
    if name is None:
        raise LeftOut("decision-of-none")
    return _identity(decision)[0], str(name)


def _outputs(given: Body) -> Iterator[Body]:
    """The decisions so far, and the status so far if there is one."""
    version = f"{GROUP}/v1beta1"
    for name in ("otherPlacementDecisions", "placementDecisions"):
        for body in items(given, name):
            chosen = [{"reason": "", **item} for item in items(body, "status", "decisions")]
            written = {**body, "status": {"decisions": chosen}}
            yield {"apiVersion": version, "kind": "PlacementDecision", **written}
    placement = field(given, "placement")
    if placement.get("status"):
        metadata = field(placement, "metadata")
        yield {
            "apiVersion": version,
            "kind": "Placement",
            "metadata": {key: metadata[key] for key in ("name", "namespace")},
            "status": placement["status"],
        }


def _actual(given: Body, passed: Passed) -> Mapping[str, object]:
    namespace, name = _identity(field(given, "placement"))
    status = field(passed.of_kind("Placement", namespace).get(name, {}), "status")
    own = [
        _described(body)
        for body in passed.of_kind("PlacementDecision", namespace).values()
        if field(body, "metadata", "labels").get(PLACEMENT_LABEL) == name
    ]
    conditions = [
        {key: item[key] for key in ("type", "status", "reason", "message")}
        for item in items(status, "conditions")
    ]
    return {
        "placementDecisions": sorted(own, key=lambda item: _number(str(item["name"]))),
        "numberOfSelectedClusters": status.get("numberOfSelectedClusters"),
        "decisionGroups": status.get("decisionGroups"),
        "conditions": conditions,
    }


def _number(name: str) -> tuple[int, str]:
    last = name.rpartition("-")[2]
    return int(last) if last.isdecimal() else 0, name


def _described(decision: Body) -> Body:
    chosen = items(decision, "status", "decisions")
    return {
        "name": field(decision, "metadata")["name"],
        "labels": field(decision, "metadata", "labels"),
        "clusters": [item["clusterName"] for item in chosen],
    }

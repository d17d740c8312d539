"""KubeFleet's snapshots through the front door: a placement and its snapshots so far."""

import hashlib
import json
from collections.abc import Iterator
from typing import cast

from reconciler.manifests.admission import admit
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import parse_moment
from tests.builders import NOW, Body
from tests.conformance.compare import first_difference
from tests.conformance.door.door import LeftOut, Refused, configuration, field, items, walk_in
from tests.conformance.door.kubefleet import GENERATION, GROUP, INDEX, LATEST, NUMBER, SNAPSHOT

OURS = "reconciler.dev/"
IMMUTABLE = "placement-immutable"
PLACEMENT = "ClusterResourcePlacement"
RESOURCES = "ClusterResourceSnapshot"


def check_policysnapshot(case: Body) -> str | None:
    """Compare the snapshots that stand after one pass."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    _refuse(given)
    passed = walk_in([configuration(), _placement(given)], _outputs(given), NOW)
    if passed.faults(IMMUTABLE):
        raise Refused(IMMUTABLE)
    found = passed.of_kind(SNAPSHOT)
    wanted = [described_snapshot(body) for body in items(expected, "snapshots")]
    actual = [described_snapshot({**field(body, "metadata"), **body}) for body in found.values()]
    latest = [str(body["name"]) for body in actual if field(body, "labels")[LATEST] == "true"]
    failed = expected["error"] is not None
    return first_difference(
        {"failed": failed, "snapshots": wanted, "latest": [expected["latest"]]},
        {"failed": bool(passed.outcome.faults), "snapshots": actual, "latest": latest},
    )


def check_resourcesnapshot(case: Body) -> str | None:
    """Compare the snapshots that stand after one pass, and the next look.

    A snapshot file holds the hash of each resource; so the hashes of their contents are compared.
    """
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    if given["minIntervalSeconds"] or given["collectionSeconds"]:
        raise LeftOut("option")
    selected = items(given, "selectedResources")
    if any(list(body) != sorted(body) for body in selected):
        raise LeftOut("unordered-keys")
    before = [_hashed(body) for body in items(given, "snapshots")]
    passed = walk_in(
        [configuration(), _placement(given), *selected],
        [*_record(given), *before],
        parse_moment(str(given["now"])),
    )
    found = list(passed.of_kind(RESOURCES).values())
    actual = [described_snapshot({**field(body, "metadata"), **body}) for body in found]
    return first_difference(
        {
            "failed": expected["error"] is not None,
            "snapshots": [
                described_snapshot(_hashed(body)) for body in items(expected, "snapshots")
            ],
            "counts": [body["selectedResourceCount"] for body in items(expected, "snapshots")],
            "latest": [expected["latest"]],
            "requeueAfterSeconds": expected["requeueAfterSeconds"],
        },
        {
            "failed": bool(passed.outcome.faults),
            "snapshots": [{**body, "spec": without_places(field(body, "spec"))} for body in actual],
            "counts": [len(items(body, "spec", "selectedResources")) for body in found],
            "latest": [body["name"] for body in actual if field(body, "labels")[LATEST] == "true"],
            "requeueAfterSeconds": passed.seconds or 0,
        },
    )


def _hashed(snapshot: Body) -> Body:
    """A snapshot with what its file holds of each resource."""
    resources = [entry_of(body) for body in items(snapshot, "spec", "selectedResources")]
    return {**snapshot, "spec": {"selectedResources": resources}}


def entry_of(resource: Body) -> Body:
    """Return what a snapshot file holds of a resource, but for the place in the repository."""
    text = json.dumps(resource, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    for character in "&<>\u2028\u2029":  # as Go writes them
        text = text.replace(character, f"\\u{ord(character):04x}")
    metadata = field(resource, "metadata")
    return {
        **{name: resource[name] for name in ("apiVersion", "kind")},
        "metadata": {name: metadata[name] for name in ("namespace", "name") if name in metadata},
        "hash": hashlib.sha256(text.encode()).hexdigest(),
    }


def without_places(spec: Body) -> Body:
    """The spec of a snapshot without the places of its resources in the repository."""
    resources = [
        {name: value for name, value in body.items() if name not in ("blob", "document")}
        for body in items(spec, "selectedResources")
    ]
    return {"selectedResources": resources}


def _placement(given: Body) -> Body:
    placement = field(given, "placement")
    spec = {**field(placement, "spec"), "revisionHistoryLimit": given["revisionHistoryLimit"]}
    return {
        **{key: placement[key] for key in ("apiVersion", "kind")},
        "metadata": {"name": field(placement, "metadata")["name"]},
        "spec": spec,
    }


def _refuse(given: Body) -> None:
    """Leave out what no pass leaves: snapshots whose labels contradict their names."""
    spreading = items(given, "placement", "spec", "policy", "topologySpreadConstraints")
    if any("maxSkew" not in constraint for constraint in spreading):
        raise LeftOut("defaulted-policy")
    found = {str(field(body, "metadata")["name"]): body for body in items(given, "snapshots")}
    numbers = {name: int(name.rpartition("-")[2]) for name in found}
    for name, body in found.items():
        labels = field(body, "metadata", "labels")
        newest = numbers[name] == max(numbers.values())
        if labels.get(INDEX) != str(numbers[name]) or (labels.get(LATEST) == "true") != newest:
            raise LeftOut("contradicting-labels")
        marks = field(body, "metadata", "annotations")
        fixed = field(body, "spec", "policy").get("placementType") != "PickN"
        if not str(marks.get(GENERATION, "")).isdecimal() or (not fixed and NUMBER not in marks):
            raise LeftOut("uncounted-snapshot")


def _outputs(given: Body) -> Iterator[Body]:
    yield from _record(given)
    for body in items(given, "snapshots"):
        yield {name: value for name, value in body.items() if name != "status"}


def _record(given: Body) -> Iterator[Body]:
    """The status file of the placement, which knows its generation."""
    placement = _placement(given)
    metadata = field(given, "placement", "metadata")
    key = ObjectKey(GROUP, PLACEMENT, "", str(metadata["name"]))
    _, record = admit(key, placement["spec"], None, NOW)
    head = {name: placement[name] for name in ("apiVersion", "kind")}
    yield {**head, "metadata": {**record, "generation": metadata["generation"]}}


def described_snapshot(body: Body) -> Body:
    """Return a snapshot as it is compared: without uids and marks of ours."""
    marks = field(body, "annotations")
    return {
        "name": body["name"],
        "labels": body["labels"],
        "annotations": {name: marks[name] for name in marks if not name.startswith(OURS)},
        "ownerReferences": [
            {name: value for name, value in owner.items() if name != "uid"}
            for owner in items(body, "ownerReferences")
        ],
        "spec": body["spec"],
    }

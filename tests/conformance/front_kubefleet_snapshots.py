"""KubeFleet's policy snapshots through the front door: a placement and its snapshots so far."""

from collections.abc import Iterator
from typing import cast

from reconciler.dialects.kubefleet.api.placement import decode_placement
from reconciler.manifests.admission import admit
from reconciler.model.identity import ObjectKey
from tests.builders import NOW, Body
from tests.conformance.compare import first_difference
from tests.conformance.front_door import LeftOut, configuration, field, items, walk_in
from tests.conformance.front_kubefleet import GENERATION, GROUP, INDEX, LATEST, NUMBER, SNAPSHOT

OURS = "reconciler.dev/"
IMMUTABLE = "placement-immutable"
PLACEMENT = "ClusterResourcePlacement"


def check_policysnapshot(case: Body) -> str | None:
    """Compare the snapshots that stand after one pass."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    _refuse(given)
    passed = walk_in([configuration(), _placement(given)], _outputs(given), NOW)
    if expected["error"] is None and passed.faults(IMMUTABLE):
        raise LeftOut(f"past admission: {IMMUTABLE}")
    if expected["error"] is not None:
        return None if passed.outcome.faults else "upstream fails, here is no fault"
    found = passed.of_kind(SNAPSHOT)
    wanted = [_described(body) for body in items(expected, "snapshots")]
    actual = [_described({**field(body, "metadata"), **body}) for body in found.values()]
    latest = [str(body["name"]) for body in actual if field(body, "labels")[LATEST] == "true"]
    return first_difference(wanted, actual, ".snapshots") or first_difference(
        [expected["latest"]], latest, ".latest"
    )


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
    placement = _placement(given)
    if decode_placement(placement).policy != field(placement, "spec").get("policy"):
        raise LeftOut("a policy that admission changes")
    found = {str(field(body, "metadata")["name"]): body for body in items(given, "snapshots")}
    numbers = {name: int(name.rpartition("-")[2]) for name in found}
    for name, body in found.items():
        labels = field(body, "metadata", "labels")
        newest = numbers[name] == max(numbers.values())
        if labels.get(INDEX) != str(numbers[name]) or (labels.get(LATEST) == "true") != newest:
            raise LeftOut("a snapshot with labels that contradict its name, which no pass writes")
        marks = field(body, "metadata", "annotations")
        fixed = field(body, "spec", "policy").get("placementType") != "PickN"
        if not str(marks.get(GENERATION, "")).isdecimal() or (not fixed and NUMBER not in marks):
            raise LeftOut("a snapshot that lacks a count, which no pass writes")


def _outputs(given: Body) -> Iterator[Body]:
    placement = _placement(given)
    metadata = field(given, "placement", "metadata")
    key = ObjectKey(GROUP, PLACEMENT, "", str(metadata["name"]))
    _, record = admit(key, placement["spec"], None, NOW)
    head = {name: placement[name] for name in ("apiVersion", "kind")}
    yield {**head, "metadata": {**record, "generation": metadata["generation"]}}
    for body in items(given, "snapshots"):
        yield {name: value for name, value in body.items() if name != "status"}


def _described(body: Body) -> Body:
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

"""KubeFleet's placements through the front door: what is selected, and what snapshots hold it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from reconciler.dialects.kubefleet.api.names import PlacementKinds, kinds_in, placement_key
from reconciler.manifests.admission import admit
from reconciler.model.moments import parse_moment
from tests.builders import NOW, Body
from tests.conformance.compare import first_difference
from tests.conformance.direct.kubefleet_placement import CUSTOM, identity_of, refuse_options
from tests.conformance.door.door import LeftOut, Passed, configuration, field, items, walk_in
from tests.conformance.door.kubefleet import check_schedule
from tests.conformance.door.kubefleet_snapshots import described_snapshot, entry_of, without_places

ENVELOPES = "kubernetes-fleet.io/number-of-enveloped-object"


def check_resourceplacement(case: Body) -> str | None:
    """Compare the outputs of a pass with what a vector expects, by its mode."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    if given["mode"] in ("cycle", "settle"):
        return check_schedule(case)
    refuse_options(case)
    if given["mode"] == "snapshots" and "policy" not in field(given, "placement", "spec"):
        raise LeftOut("defaulted-policy")
    passed = walk_in(
        [configuration(), *_definitions(), *items(given, "objects"), _placement(given)],
        [_record(given), *items(given, "snapshots")],
        parse_moment(str(given["now"])),
    )
    namespace = str(field(given, "placement", "metadata").get("namespace", ""))
    kinds = kinds_in(namespace)
    if expected["error"] is not None:
        snapshots = passed.of_kind(kinds.resource_snapshot, namespace)
        return first_difference([True, {}], [bool(passed.outcome.faults), snapshots], ".error")
    if given["mode"] == "select":
        return _compare_selection(expected, passed, kinds, namespace)
    return _compare_snapshots(expected, passed, kinds, namespace)


def _definitions() -> Iterator[Body]:
    """The CRDs of the hub's own kinds."""
    for (group, kind), namespaced in CUSTOM.items():
        yield {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{kind.lower()}s.{group}"},
            "spec": {
                "group": group,
                "names": {"kind": kind},
                "scope": "Namespaced" if namespaced else "Cluster",
            },
        }


def _placement(given: Body) -> Body:
    placement = field(given, "placement")
    names = ("name", "namespace")
    metadata = field(placement, "metadata")
    return {**placement, "metadata": {key: metadata[key] for key in names if key in metadata}}


def _record(given: Body) -> Body:
    """The status file of the placement, which knows its generation."""
    placement, metadata = _placement(given), field(given, "placement", "metadata")
    key = placement_key(str(metadata.get("namespace", "")), str(metadata["name"]))
    _, record = admit(key, placement["spec"], None, NOW)
    head = {name: placement[name] for name in ("apiVersion", "kind")}
    return {**head, "metadata": {**record, "generation": metadata["generation"]}}


def _compare_selection(
    expected: Body, passed: Passed, kinds: PlacementKinds, namespace: str
) -> str | None:
    """Compare identities, hashes of the contents, and how many are envelopes."""
    [snapshot] = passed.of_kind(kinds.resource_snapshot, namespace).values()
    entries = items(without_places(field(snapshot, "spec")), "selectedResources")
    return first_difference(
        {
            "failed": False,
            "selected": items(expected, "selected"),
            "entries": [entry_of(body) for body in items(expected, "contents")],
            "envelopes": str(expected["envelopes"]),
        },
        {
            "failed": bool(passed.outcome.faults),
            "selected": [identity_of(one) for one in entries],
            "entries": entries,
            "envelopes": field(snapshot, "metadata", "annotations")[ENVELOPES],
        },
    )


def _compare_snapshots(
    expected: Body, passed: Passed, kinds: PlacementKinds, namespace: str
) -> str | None:
    """Compare both kinds of snapshots."""
    policies = passed.of_kind(kinds.policy_snapshot, namespace)
    resources = passed.of_kind(kinds.resource_snapshot, namespace)
    wanted = [
        {**body, "spec": _hashed(field(body, "spec"))}
        for body in items(expected, "resourceSnapshots")
    ]
    found = [{**body, "spec": without_places(field(body, "spec"))} for body in resources.values()]
    errors = (expected["policyError"], expected["resourceError"])
    return first_difference(
        {
            "failed": any(error is not None for error in errors),
            "policies": _described(items(expected, "policySnapshots")),
            "resources": _described(wanted),
        },
        {
            "failed": bool(passed.outcome.faults),
            "policies": _described(list(policies.values())),
            "resources": _described(found),
        },
    )


def _hashed(spec: Body) -> Body:
    return {"selectedResources": [entry_of(body) for body in items(spec, "selectedResources")]}


def _described(bodies: Sequence[Mapping[str, object]]) -> list[Body]:
    return [
        {
            "kind": one["kind"],
            "namespace": field(one, "metadata").get("namespace"),
            **described_snapshot({**field(one, "metadata"), **one}),
        }
        for one in bodies
    ]

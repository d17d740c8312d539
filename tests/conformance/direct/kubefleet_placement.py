"""The family of KubeFleet's namespaced placements: selection, snapshots, scheduling."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from reconciler.core.dialects import KINDS
from reconciler.dialects.kubefleet.api.binding import Binding, decode_binding
from reconciler.dialects.kubefleet.api.member import decode_member, members_of
from reconciler.dialects.kubefleet.api.names import PlacementKinds, UnexpectedBehavior, kinds_in
from reconciler.dialects.kubefleet.api.placement import Placement, decode_placement
from reconciler.dialects.kubefleet.api.snapshots import Owner
from reconciler.dialects.kubefleet.scheduler.schedule import schedule
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import (
    decode_snapshot,
    snapshot_policy,
)
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import Resource, snapshot_resources
from reconciler.dialects.kubefleet.snapshots.selection import SelectedResources, select_resources
from reconciler.errors import UserError
from reconciler.model.kinds import KnownKinds
from reconciler.model.moments import parse_moment
from tests.builders import Body
from tests.conformance.compare import first_difference
from tests.conformance.direct.kubefleet import described_binding, failure, snapshot_status
from tests.conformance.direct.kubefleet_cycle import run_cycle
from tests.conformance.door.door import LeftOut, field, items
from tests.stories import world

CUSTOM = {("example.com", "Widget"): True, ("example.com", "ClusterWidget"): False}
HUB: KnownKinds = replace(KINDS, scopes={**KINDS.scopes, **CUSTOM})
"""What the hub of the vectors serves."""

OPTIONS = ("allowedPropagatingAPIs", "skippedPropagatingAPIs", "enableWorkload")


def check_resourceplacement(case: Body) -> str | None:
    """Compare what a vector expects, by its mode."""
    mode = cast(Body, case["input"])["mode"]
    if mode in ("cycle", "settle"):
        return _check_cycle(case)
    refuse_options(case)
    return _check_selection(case) if mode == "select" else _check_snapshots(case)


def refuse_options(case: Body) -> None:
    """Leave out what depends on an option of the hub, and kinds that only its discovery knows."""
    given = cast(Body, case["input"])
    if any(option in given for option in OPTIONS):
        raise LeftOut("hub-option")
    selectors = items(given, "placement", "spec", "resourceSelectors")
    for selector in selectors:
        kind = str(selector.get("group", "")), str(selector["kind"])
        if kind not in HUB.scopes and kind[0] not in KINDS.groups:
            raise LeftOut("unknown-kind")


def _check_selection(case: Body) -> str | None:
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    try:
        found = _selected(given)
    except UserError as error:
        kind = "unexpected-behavior" if isinstance(error, UnexpectedBehavior) else "user"
        return first_difference(_error(expected), kind, ".error")
    wanted = {key: expected.get(key) for key in ("selected", "contents", "envelopes")}
    return first_difference(
        {"error": _error(expected), **wanted},
        {"error": None, **_told(found), "envelopes": found.envelopes},
    )


def _error(expected: Body) -> object:
    error = expected["error"]
    return None if error is None else cast(Body, error)["kind"]


def _selected(given: Body) -> SelectedResources:
    placement = _placement(given)
    inputs = world(*items(given, "objects")).inputs
    return select_resources(placement.selectors, inputs, {}, HUB, placement.namespace)


def _placement(given: Body) -> Placement:
    body = field(given, "placement")
    return decode_placement(body, str(field(body, "metadata").get("namespace", "")))


def _told(found: SelectedResources) -> Body:
    return {
        "selected": [identity_of(resource.entry) for resource in found.resources],
        "contents": [json.loads(resource.content) for resource in found.resources],
    }


def identity_of(entry: Body) -> Body:
    """Return a selected resource as vectors name it."""
    group, _, version = str(entry["apiVersion"]).rpartition("/")
    return {
        **({"group": group} if group else {}),
        "version": version,
        "kind": entry["kind"],
        **field(entry, "metadata"),
    }


def _check_snapshots(case: Body) -> str | None:
    """Compare both kinds of snapshots, those of other placements included."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    try:
        found = _selected(given)
    except UserError:
        return first_difference(_error(expected), "user", ".error")
    placement, metadata = _placement(given), field(given, "placement", "metadata")
    owner = Owner(
        placement.name, str(metadata["uid"]), int(str(metadata["generation"])), placement.namespace
    )
    before = items(given, "snapshots")
    policy = cast(Body | None, field(given, "placement", "spec").get("policy"))
    policies = snapshot_policy(owner, policy, before, placement.history)
    whole = [Resource(json.loads(one.content), one.content) for one in found.resources]
    resources = snapshot_resources(
        owner,
        whole,
        [body for body in before if body["kind"] == owner.kinds.resource_snapshot],
        parse_moment(str(given["now"])),
        limit=placement.history,
        envelopes=found.envelopes,
    )
    others = [
        body for body in before if field(body, "metadata").get("namespace", "") != owner.namespace
    ]
    actual = {
        "policyError": policies.error,
        "resourceError": resources.error,
        "policySnapshots": _described([*others, *policies.snapshots.values()]),
        "resourceSnapshots": _described(list(resources.snapshots.values())),
        "selected": _told(found)["selected"],
        "envelopes": found.envelopes,
    }
    return first_difference({key: expected[key] for key in actual}, actual)


def _described(bodies: Sequence[Body]) -> list[Body]:
    return [{key: body[key] for key in ("kind", "metadata", "spec")} for body in bodies]


def _check_cycle(case: Body) -> str | None:
    """Compare bindings and status after scheduling; bindings of the other scope are not listed."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    now = parse_moment(str(given["now"]))
    members = members_of(
        (decode_member(body, declared=False) for body in items(given, "memberClusters")), now
    )
    snapshot = decode_snapshot(field(given, "policySnapshot"))
    before = {one.name: one for one in map(decode_binding, items(given, "bindings"))}
    run = schedule if given["mode"] == "settle" else run_cycle
    result = run(snapshot, before.values(), members, now)
    status = snapshot.status if result.status is None else result.status
    actual = {
        "error": failure(result),
        "requeue": result.requeue,
        "bindings": list(_bindings(before, result.bindings, kinds_in(snapshot.namespace))),
        "statusUpdated": result.status is not None,
        "policySnapshotStatus": snapshot_status(status, snapshot.status, str(given["now"])),
    }
    wanted = {key: expected[key] for key in actual}
    if wanted["error"] is not None:
        wanted["error"] = {"kind": _error(expected)}
    return first_difference(wanted, actual)


def _bindings(
    before: Mapping[str, Binding], after: Mapping[str, Binding], kinds: PlacementKinds
) -> Iterator[Body]:
    """Those that stay by namespace and name, then new ones by cluster, then those that are gone."""
    new = sorted(after.keys() - before.keys(), key=lambda name: after[name].target)
    known = sorted(before.keys() & after.keys(), key=lambda name: (after[name].namespace, name))
    for name in (*known, *new):
        if kinds_in(after[name].namespace) is kinds:
            place = {"namespace": after[name].namespace} if after[name].namespace else {}
            yield {**described_binding(before.get(name), after[name], brief=True), **place}
    for name in sorted(before.keys() - after.keys()):
        yield {"name": name, "op": "removed"}

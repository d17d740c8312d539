"""Karmada's taints of clusters: by their Ready condition, and by ClusterTaintPolicies."""

from collections.abc import Mapping, Sequence
from typing import cast

from reconciler.dialects.karmada.api.cluster import decode_cluster, members_of
from reconciler.dialects.karmada.api.cluster_taints import (
    TaintPolicy,
    decode_taint_policy,
    taints_by_condition,
    taints_by_policies,
)
from tests.builders import Body
from tests.conformance.compare import first_difference
from tests.conformance.door.door import field, items

NOW: Body = {"timeAdded": "NOW"}
ROUNDS = 3
Taints = Mapping[str, Sequence[Body]]


def check_taintpolicy(case: Body) -> str | None:
    """Compare the taints of each cluster after a look by either controller, or by both in turn."""
    given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
    clusters = {
        str(field(one, "metadata")["name"]): (one, items(one, "spec", "taints"))
        for one in items(given, "clusters")
    }
    start = {name: taints for name, (_, taints) in clusters.items()}
    if given["check"] == "conditions":
        return _differs(expected, "clusters", start, by_condition(given, start))
    if given["check"] == "policies":
        return _differs(expected, "clusters", start, by_policies(given, start))
    conditions = by_condition(given, start)
    policies = by_policies(given, conditions)
    found, settled = policies, False
    for _ in range(ROUNDS):
        after = by_policies(given, by_condition(given, found))
        settled = all(_same(found[name], after[name]) for name in found)
        found = after
    return (
        _differs(expected, "afterConditions", start, conditions)
        or _differs(expected, "afterPolicies", conditions, policies)
        or first_difference(expected["final"], {n: [*t] for n, t in found.items()}, ".final")
        or first_difference(expected["settled"], settled, ".settled")
    )


def by_condition(given: Body, taints: Taints) -> Taints:
    """What the cluster controller leaves."""
    return {
        str(field(one, "metadata")["name"]): taints_by_condition(
            taints[str(field(one, "metadata")["name"])],
            items(one, "status", "conditions"),
            deleting=bool(field(one, "metadata").get("deletionTimestamp")),
            added=NOW,
        )
        for one in items(given, "clusters")
    }


def by_policies(given: Body, taints: Taints) -> Taints:
    """What the policy controller leaves; the oldest policy comes first."""
    written = sorted(
        items(given, "policies"), key=lambda one: str(field(one, "metadata")["creationTimestamp"])
    )
    policies = [decode_taint_policy(one) for one in written]
    members = members_of(map(decode_cluster, items(given, "clusters")))
    found: dict[str, Sequence[Body]] = {}
    for one in items(given, "clusters"):
        name = str(field(one, "metadata")["name"])
        bit = (
            1
            << members.fleet.position[
                next(v.cluster.name for v in members.views if v.cluster.name == name)
            ]
        )

        def targets(policy: TaintPolicy, bit: int = bit) -> bool:
            return policy.target is None or bool(members.matching(policy.target) & bit)

        conditions = items(one, "status", "conditions")
        found[name] = taints_by_policies(taints[name], conditions, policies, targets, NOW)
    return found


def _differs(expected: Body, part: str, before: Taints, after: Taints) -> str | None:
    wanted = {
        name: {key: one[key] for key in ("taints", "added", "removed")}
        for name, one in cast(Mapping[str, Body], expected[part]).items()
    }
    return first_difference(wanted, {name: _told(before[name], after[name]) for name in after})


def _told(before: Sequence[Body], after: Sequence[Body]) -> Body:
    return {
        "taints": [*after],
        "added": [one for one in after if one not in before],
        "removed": [one for one in before if one not in after],
    }


def _same(one: Sequence[Body], other: Sequence[Body]) -> bool:
    return [*one] == [*other]

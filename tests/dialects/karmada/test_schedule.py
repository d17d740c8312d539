"""Scheduling where upstream's vectors do not go: declared clusters, the record of an attempt."""

from collections.abc import Mapping

import pytest

from reconciler.dialects.karmada.api.binding import decode_binding
from reconciler.dialects.karmada.api.cluster import Members, decode_cluster, members_of
from reconciler.dialects.karmada.scheduler.plugins import PROFILE
from reconciler.dialects.karmada.scheduler.schedule import ScheduleVerdict, schedule
from reconciler.model.moments import parse_moment
from reconciler.schedule.framework import positions_of

NOW = parse_moment("2026-11-20T12:00:00Z")
DYNAMIC = {
    "replicaSchedulingType": "Divided",
    "replicaDivisionPreference": "Weighted",
    "weightPreference": {"dynamicWeight": "AvailableReplicas"},
}
SPOT = {"key": "spot", "effect": "NoSchedule"}


def fleet(*, declared: bool = True, **taints: Mapping[str, str] | None) -> Members:
    """Clusters without a status, by name, each with at most one taint."""
    return members_of(
        decode_cluster(
            {"metadata": {"name": name}, "spec": {"taints": [taint] if taint else []}},
            declared=declared,
        )
        for name, taint in taints.items()
    )


def place(members: Members, *, replicas: int = 5, **spec: object) -> ScheduleVerdict:
    """The verdict on a new Deployment."""
    body = {
        "metadata": {"name": "web-deployment", "namespace": "default", "generation": 1},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "replicas": replicas,
            "placement": {"replicaScheduling": DYNAMIC},
            **spec,
        },
    }
    return schedule(decode_binding(body), members, NOW)


def test_declared_clusters_have_every_api_and_room_for_all() -> None:
    """A manifest without a status is a promise."""
    assert (("a", 3), ("b", 2)) == place(fleet(a=None, b=None)).clusters


def test_undeclared_clusters_are_judged_like_upstream() -> None:
    """Without a status there is no API, so nothing fits."""
    verdict = place(fleet(declared=False, a=None, b=None))

    assert verdict.error is not None
    assert "0/2 clusters are available: 2 cluster(s) did not have the API resource." == str(
        verdict.error.message
    )
    assert () == verdict.clusters


def test_every_cluster_is_feasible_or_rejected_for_one_reason() -> None:
    """The record of an attempt covers the fleet without overlap."""
    attempt = place(fleet(a=None, b=SPOT, c=None)).attempts[0]

    assert [0, 2] == positions_of(attempt.feasible)
    assert [("TaintToleration", [1], "cluster(s) had untolerated taint {spot:NoSchedule}")] == [
        (item.plugin, positions_of(item.clusters), str(item.reason)) for item in attempt.rejections
    ]


def test_division_keeps_its_steps() -> None:
    """What was asked for, and what there was room for."""
    division = place(fleet(a=None, b=None)).attempts[0].division

    assert division is not None
    assert [("ScaleUp", 5, 10, [0, 1])] == [
        (str(step.mode), step.target, step.room, list(step.parties)) for step in division.steps
    ]


def test_present_clusters_score_a_hundred() -> None:
    """ClusterLocality looks at the name alone; ClusterAffinity never scores."""
    members = fleet(a=None, b=None)
    verdict = place(members, clusters=[{"name": "b", "replicas": 0}])
    ranking = verdict.attempts[0].ranking

    assert ranking is not None
    assert [(1, 100), (0, 0)] == [(i, ranking.score(i)) for i in ranking.order]
    assert ["ClusterAffinity", "ClusterLocality"] == list(PROFILE.scores)


def test_binding_without_placement_is_retried() -> None:
    """Upstream never gets there; it reports an error and keeps everything."""
    verdict = place(fleet(a=None), placement=None)

    assert verdict.clusters is None
    assert verdict.error is not None
    assert "the binding has no placement" == verdict.error.message


@pytest.mark.parametrize("replicas", [1, 10**6, 2**31 - 1])
def test_great_numbers_are_divided_at_once(replicas: int) -> None:
    """The work does not grow with the replicas."""
    clusters = place(fleet(a=None, b=None, c=None), replicas=replicas).clusters

    # three unlimited clusters wrap Go's int32 sum: then there is no room, as upstream says
    expected = None if replicas == 2**31 - 1 and clusters is None else replicas
    assert expected == (None if clusters is None else sum(count for _, count in clusters))

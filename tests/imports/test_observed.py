"""From probes to verdicts, after exactly the thresholds of each API; from nodes to every status."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.dialects import DIALECTS
from reconciler.imports.observed import (
    ObservedCluster,
    Probe,
    ProbedHealth,
    judge,
    reported_health,
    with_observed,
)
from reconciler.model.body import Body
from reconciler.model.fields import at, mappings_of
from reconciler.model.kinds import Kind
from reconciler.model.moments import format_moment
from reconciler.projection.project import ClusterReadiness
from tests.builders import NOW, cluster
from tests.core.test_laws import LAW
from tests.dialects.kubefleet.fleet import member
from tests.kube.members import node, pod

KARMADA, OCM, KUBEFLEET = (dialect.cluster for dialect in DIALECTS)
WELL = ClusterReadiness("True", "2026-01-01T00:00:00Z", "Told", "")
SEEN = ObservedCluster(
    version="v1.34.0",
    apis=(
        {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]},
    ),
    nodes=[node("n1", cpu="4")],
    pods=[pod("a", cpu="1"), pod("b", on=""), pod("c", phase="Failed")],
)


def judged(
    kind: Kind, probes: Sequence[tuple[int, Probe]], before: ProbedHealth | None, spec: Body
) -> list[str]:
    """The verdicts after probes at so many seconds."""
    rules = next(one.importer().probed for one in DIALECTS if one.cluster == kind)
    assert rules is not None
    found = []
    for seconds, probe in probes:
        before = judge(before, probe, rules, {"spec": spec}, NOW + timedelta(seconds=seconds))
        found.append("" if before is None else before.verdict.reason)
    return found


@pytest.mark.parametrize(
    ("kind", "spec", "seconds", "expected"),
    [
        pytest.param(KARMADA, {}, 30, "ClusterNotReachable", id="karmada"),
        pytest.param(OCM, {}, 300, "ManagedClusterLeaseUpdateStopped", id="ocm"),
        pytest.param(
            OCM, {"leaseDurationSeconds": 10}, 50, "ManagedClusterLeaseUpdateStopped", id="leases"
        ),
        pytest.param(KUBEFLEET, {}, 0, "Unreachable", id="kubefleet"),
    ],
)
def test_a_cluster_is_unreachable_after_exactly_its_threshold(
    kind: Kind, spec: Body, seconds: int, expected: str
) -> None:
    """Counted from the first probe that failed; an answer in between begins anew."""
    dead, late = Probe.UNREACHABLE, [(1, Probe.WELL)] if seconds else []
    times = [(0, dead)] if seconds else []
    probes = [*times, *late, (2, dead), (2 + max(0, seconds - 1), dead), (2 + seconds, dead)]
    found = judged(kind, probes, ProbedHealth(WELL), spec)

    assert expected == found[-1]
    assert (expected not in found[:-1]) == bool(seconds)


@pytest.mark.parametrize(
    ("kind", "probe", "seconds", "expected"),
    [
        pytest.param(KARMADA, Probe.FAILING, 30, "ClusterNotReachable", id="karmada-error"),
        pytest.param(KARMADA, Probe.UNHEALTHY, 30, "ClusterNotReady", id="karmada-not-ok"),
        pytest.param(
            OCM, Probe.FAILING, 0, "ManagedClusterKubeAPIServerUnavailable", id="ocm-error"
        ),
        pytest.param(KUBEFLEET, Probe.FAILING, 0, "Unhealthy", id="kubefleet-error"),
    ],
)
def test_an_answer_with_an_error_is_what_its_api_says(
    kind: Kind, probe: Probe, seconds: int, expected: str
) -> None:
    """Open Cluster Management's agent itself says so, at once."""
    found = judged(kind, [(0, probe), (seconds, probe)], ProbedHealth(WELL), {})

    assert expected == found[-1]


def test_a_recovery_waits_as_long_as_its_api_does() -> None:
    """Karmada for its threshold, the others not at all."""
    lost = ProbedHealth(ClusterReadiness("False", "", "Lost", ""))
    probes = [(0, Probe.WELL), (29, Probe.WELL), (30, Probe.WELL)]

    assert ["Lost", "Lost", "ClusterReady"] == judged(KARMADA, probes, lost, {})
    assert "ManagedClusterAvailable" == judged(OCM, probes, lost, {})[0]
    assert "Healthy" == judged(KUBEFLEET, probes, lost, {})[0]


def test_what_was_never_reported_is_said_at_once() -> None:
    """There is nothing that could be kept."""
    assert ["ClusterNotReachable"] == judged(KARMADA, [(0, Probe.UNREACHABLE)], None, {})
    assert [""] == judged(KARMADA, [(0, Probe.REFUSED)], None, {})


@LAW
@given(
    st.sampled_from((KARMADA, OCM, KUBEFLEET)),
    st.lists(st.tuples(st.integers(1, 100), st.sampled_from([*Probe])), min_size=1, max_size=12),
)
def test_refusals_and_slow_answers_change_no_verdict(
    kind: Kind, steps: list[tuple[int, Probe]]
) -> None:
    """Of any outage, flap or refusal: who is refused is left out, and a verdict has its moment."""
    rules = next(one.importer().probed for one in DIALECTS if one.cluster == kind)
    assert rules is not None
    health: ProbedHealth | None = ProbedHealth(WELL)
    now, since = NOW, NOW
    for seconds, probe in steps:
        now += timedelta(seconds=seconds)
        before = health
        health = judge(health, probe, rules, {}, now)
        assert health is not None
        assert before is not None
        if probe is Probe.REFUSED:
            assert before == health
            continue
        if (probe is Probe.WELL) == before.is_well:
            assert before.is_well == health.is_well
            since = now
        elif health.is_well != before.is_well:
            assert format_moment(now) == health.verdict.since
            since = now
    assert since <= now


def managed() -> Body:
    """A ManagedCluster with a claim of somebody else."""
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": "a"},
        "spec": {"hubAcceptsClient": True},
        "status": {"clusterClaims": [{"name": "id.k8s.io", "value": "1"}], "conditions": []},
    }


def test_every_api_has_the_room_in_its_own_words() -> None:
    """Pods that have ended take nothing; what is not placed yet does."""
    status = {
        kind: at(with_observed(body, kind, WELL, SEEN), "status")
        for kind, body in ((KARMADA, cluster()), (OCM, managed()), (KUBEFLEET, member("a")))
    }

    summary = at(status[KARMADA], "resourceSummary")
    assert [("4", "8Gi"), ("1", None), ("1", None)] == [
        (at(summary, name).get("cpu"), at(summary, name).get("memory"))
        for name in ("allocatable", "allocated", "allocating")
    ]
    assert [*SEEN.apis] == [*mappings_of(status[KARMADA]["apiEnablements"])]
    assert "4" == at(status[OCM], "capacity")["cpu"]
    claims = {one["name"]: one["value"] for one in mappings_of(status[OCM]["clusterClaims"])}
    assert ("1", "v1.34.0") == (
        claims["id.k8s.io"],
        claims["kubeversion.open-cluster-management.io"],
    )
    assert "2" == at(status[KUBEFLEET], "resourceUsage", "available")["cpu"]


def test_a_cluster_that_is_not_looked_into_keeps_its_room() -> None:
    """Only how it is, is new; a condition that says what it said keeps its moment."""
    body = with_observed(cluster(), KARMADA, WELL, SEEN)
    lost = ClusterReadiness("False", "2026-11-20T12:00:00Z", "ClusterNotReachable", "gone")
    after = with_observed(body, KARMADA, lost, None)

    assert at(body, "status")["resourceSummary"] == at(after, "status")["resourceSummary"]
    health = reported_health(after, KARMADA)
    assert health is not None
    assert lost == health.verdict
    again = with_observed(after, KARMADA, lost._replace(since="2026-11-21T12:00:00Z"), None)
    assert after == again

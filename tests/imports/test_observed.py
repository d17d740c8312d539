"""From probes to verdicts, after exactly the thresholds of each API; from nodes to every status."""

from collections.abc import Callable, Sequence
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
from tests.builders import NOW, cluster, configuration, deployment, policy
from tests.core.test_laws import LAW
from tests.dialects.kubefleet.fleet import eviction, member, pick, placement, targets
from tests.dialects.ocm import worlds
from tests.kube.members import node, pod
from tests.stories import Story, story

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


def test_nodes_are_counted_by_the_models_of_their_cluster() -> None:
    """Those that people ask for; another API has none."""
    models = [
        {"grade": grade, "ranges": [{"name": "cpu", "min": least, "max": most}]}
        for grade, least, most in ((0, "0", "2"), (1, "2", "64"))
    ]
    body = cluster()
    modelled = {**body, "spec": {**at(body, "spec"), "resourceModels": models}}
    seen = with_observed(modelled, KARMADA, WELL, SEEN)

    assert [{"grade": 0, "count": 0}, {"grade": 1, "count": 1}] == [
        *mappings_of(at(seen, "status", "resourceSummary")["allocatableModelings"])
    ]
    plain = at(with_observed(body, KARMADA, WELL, SEEN), "status", "resourceSummary")
    assert "allocatableModelings" not in plain


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


STEP = 10


def outage(
    told: Story, kind: Kind, at_seconds: int, placed: Callable[[Story], list[str]]
) -> dict[int, list[str]]:
    """Probe two clusters, of which "a" dies after ten steps, with a pass after each look.

    Returns:
        Seconds since the death to where the object is from then on.
    """
    rules = next(one.importer().probed for one in DIALECTS if one.cluster == kind)
    assert rules is not None
    declared = {one.key.name: one.body for one in told.world().of_kind(*kind)}
    health: dict[str, ProbedHealth | None] = dict.fromkeys(declared)
    found: dict[int, list[str]] = {}
    for number in range(10 + at_seconds // STEP + 1):
        now = NOW + timedelta(seconds=number * STEP)
        since = (number - 10) * STEP
        for name, body in declared.items():
            probe = Probe.UNREACHABLE if name == "a" and since >= 0 else Probe.WELL
            health[name] = judge(health[name], probe, rules, body, now)
            judged_now = health[name]
            assert judged_now is not None
            seen = SEEN if judged_now.is_well else None
            declared[name] = with_observed(body, kind, judged_now.verdict, seen)
            report = {key: declared[name][key] for key in ("apiVersion", "kind", "status")}
            path = f"feedback/{name}/cluster.yaml"
            told.put({**report, "metadata": {"name": name}}, path=path)
        told.run(number * STEP)
        where = placed(told)
        if since >= 0 and where != next(reversed(found.values()), None):
            found[since] = where
    return found


def one_of() -> Body:
    """A policy for a single cluster, "a" if that will do."""
    groups = [{"affinityName": n, "clusterNames": [n]} for n in ("a", "b")]
    return policy(placement={"clusterAffinities": groups})


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, {0: ["a"], 330: ["b"]}, id="failover"),
        pytest.param({"failover": {"enabled": False}}, {0: ["a"]}, id="no-failover"),
    ],
)
def test_karmada_moves_after_its_threshold_and_its_toleration(
    settings: Body, expected: dict[int, list[str]]
) -> None:
    """30 s of failures, then the 300 s that its webhook writes into every policy; or never."""
    told = story(
        cluster("a"), cluster("b"), deployment(), one_of(), configuration(karmada=settings)
    )

    def holding(told: Story) -> list[str]:
        return sorted(told.placed())

    assert expected == outage(told, KARMADA, 700, holding)


@pytest.mark.parametrize(
    ("tolerations", "expected"),
    [
        pytest.param([], {0: ["a"], 300: ["b"]}, id="after-five-leases"),
        pytest.param(
            [{"key": f"{OCM[0]}/unreachable", "operator": "Exists", "tolerationSeconds": 100}],
            {0: ["a"], 400: ["b"]},
            id="and-a-toleration",
        ),
    ],
)
def test_ocm_moves_after_five_leases_and_its_toleration(
    tolerations: list[Body], expected: dict[int, list[str]]
) -> None:
    """A lease of 60 s that nobody renews."""
    asked = worlds.placement(numberOfClusters=1, tolerations=tolerations)
    hub = (worlds.cluster("a"), worlds.cluster("b"), worlds.cluster_set(), worlds.binding())
    told = story(*hub, asked)

    assert expected == outage(told, OCM, 700, lambda told: worlds.chosen(told.files))


def test_kubefleet_does_not_move_until_an_eviction_is_merged() -> None:
    """A cluster that is not healthy gets nothing new; what it has stays."""
    told = story(member("0"), member("a"), placement(pick(1)), deployment())
    before = outage(told, KUBEFLEET, 700, targets)
    (kept,) = before[0]
    told.put(eviction(kept))
    told.run(10_000)

    assert {0: [kept]} == before
    assert [kept] != targets(told)

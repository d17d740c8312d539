"""Selection and division are those of an oracle that hands out replica by replica."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.dialects.karmada.api.binding import decode_binding
from reconciler.dialects.karmada.api.cluster import decode_cluster, members_of
from reconciler.dialects.karmada.scheduler.schedule import schedule
from reconciler.model.moments import parse_moment
from tests.dialects.karmada.division_oracle import Member, NotPlaced, Question, divided

NOW = parse_moment("2026-11-20T12:00:00Z")
WRAP = 2**32  # Go cuts what is more than 32 bits off: so many pods less one count as -1
WEIGHTED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
NAMES = ("a", "b", "c", "d", "e", "f")
ODD_UID = "b"  # its hash makes ties go to the greater name


def member(name: str, room: int = 5, *, tier: int = 0, held: int | None = None) -> Member:
    """A cluster of one region."""
    return Member(name=name, region="r", room=room, tier=tier, held=held)


BASE = Question(
    members=(),
    replicas=4,
    strategy="dynamic",
    weights=(),
    fresh=False,
    regions=None,
    clusters=None,
    tiered=True,
    descending=False,
)
"""A binding that overflows, and is bound by nothing."""


def placed(asked: Question) -> dict[str, int] | str:
    """What the scheduler answers: who gets how many, or the message."""
    members = members_of(
        decode_cluster(cluster_body(item), declared=False) for item in asked.members
    )
    body = {
        "metadata": {"name": "web-deployment", "namespace": "default", "generation": 1},
        "spec": {
            "resource": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": "web",
                "uid": ODD_UID if asked.descending else "",
            },
            "replicas": asked.replicas,
            "clusters": [
                {"name": item.name, "replicas": item.held}
                for item in asked.members
                if item.held is not None
            ],
            "placement": placement_of(asked),
            "rescheduleTriggeredAt": "2026-11-20T11:00:00Z" if asked.fresh else None,
        },
        "status": {"lastScheduledTime": "2026-11-20T10:00:00Z"},
    }
    verdict = schedule(decode_binding(body), members, NOW)
    if verdict.error is not None:
        return verdict.error.message
    return dict(verdict.clusters or ())


def cluster_body(asked: Member) -> Mapping[str, object]:
    """A cluster that has the API, and so many pods left."""
    pods = asked.room if asked.room >= 0 else WRAP + asked.room
    return {
        "metadata": {"name": asked.name},
        "spec": {"region": asked.region},
        "status": {
            "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment"}]}],
            "resourceSummary": {"allocatable": {"pods": str(pods)}},
        },
    }


def placement_of(asked: Question) -> Mapping[str, object]:
    """The placement that asks so."""
    strategies: Mapping[str, Mapping[str, object]] = {
        "duplicated": {"replicaSchedulingType": "Duplicated"},
        "aggregated": {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Aggregated",
        },
        "dynamic": {**WEIGHTED, "weightPreference": {"dynamicWeight": "AvailableReplicas"}},
        "equal": WEIGHTED,
        "static": {
            **WEIGHTED,
            "weightPreference": {
                "staticWeightList": [
                    {"targetCluster": {"clusterNames": [name]}, "weight": weight}
                    for name, weight in asked.weights
                ]
            },
        },
    }
    limits = {"region": asked.regions, "cluster": asked.clusters}
    spread = [
        {"spreadByField": field, "minGroups": bounds[0], "maxGroups": bounds[1]}
        for field, bounds in limits.items()
        if bounds is not None
    ]
    return {
        **({"clusterAffinities": [affinity_of(asked)]} if asked.tiered else {}),
        **({"spreadConstraints": spread} if spread else {}),
        "replicaScheduling": strategies[asked.strategy],
    }


def affinity_of(asked: Question) -> Mapping[str, object]:
    """The primary group and two that it overflows into; nobody is no cluster's name."""
    groups = [
        {
            "affinityName": f"group{tier}",
            "clusterNames": [m.name for m in asked.members if m.tier == tier] or ["nobody"],
        }
        for tier in range(3)
    ]
    return {**groups[0], "overflowAffinities": groups[1:]}


def told(asked: Question) -> dict[str, int] | str:
    """What the oracle answers."""
    try:
        return divided(asked)
    except NotPlaced as error:
        return str(error)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(
            replace(
                BASE,
                members=(
                    member("a", 1),
                    member("b", tier=1),
                ),
                replicas=3,
                strategy="duplicated",
            ),
            {"a": 1, "b": 2},
            id="duplicated-overflow-gives-each-group-its-own-number",
        ),
        pytest.param(
            replace(
                BASE,
                members=(
                    member("a", -2),
                    member("b", 9, tier=1),
                ),
                replicas=3,
            ),
            {"b": 5},
            id="group-with-less-than-no-room-gets-nothing-and-the-next-one-more",
        ),
        pytest.param(
            replace(BASE, members=(member("a", -2),), replicas=3),
            "failed to assign replicas: Clusters available replicas are not enough to schedule.",
            id="only-group-has-less-than-no-room",
        ),
        pytest.param(
            replace(
                BASE,
                members=(
                    member("a", 9, held=-3),
                    member("b", held=8),
                ),
                replicas=5,
                tiered=False,
            ),
            {"b": 8},
            id="cluster-that-held-less-than-nothing-is-left-out",
        ),
        pytest.param(
            replace(BASE, members=(member("a"),), replicas=0, clusters=(1, 0), tiered=False),
            "failed to select clusters: no enough resource when selecting 0 clusters",
            id="no-cluster-is-never-enough-even-of-nothing",
        ),
        pytest.param(
            replace(BASE, members=(member("a"),), regions=(1, 0), clusters=(1, 1), tiered=False),
            "failed to select clusters: the number of clusters is less than the cluster"
            " spreadConstraint.MinGroups",
            id="region-without-most-takes-none",
        ),
    ],
)
def test_rare_divisions(asked: Question, expected: dict[str, int] | str) -> None:
    """The scheduler answers it, and the oracle."""
    assert (expected, expected) == (told(asked), placed(asked))


members = st.lists(
    st.builds(
        lambda region, room, tier, held: (region, room, tier, held),
        st.sampled_from(("r1", "r2", "r3")),
        st.integers(-3, 12),
        st.sampled_from((0, 0, 1, 2)),
        st.none() | st.integers(-1, 6),
    ),
    min_size=1,
    max_size=len(NAMES),
)
limits = st.none() | st.tuples(st.integers(1, 3), st.integers(0, 4))


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Bindings of any strategy, on few clusters, some with less than no room."""
    replicas = draw(st.integers(0, 15))
    tiered = replicas > 0 and draw(st.booleans())
    found = tuple(
        Member(name=name, region=region, room=room, tier=tier if tiered else 0, held=held)
        for name, (region, room, tier, held) in zip(NAMES, draw(members), strict=False)
    )
    weights = st.tuples(st.sampled_from(NAMES), st.integers(1, 4))
    return Question(
        members=found,
        replicas=replicas,
        strategy=draw(st.sampled_from(("duplicated", "static", "equal", "dynamic", "aggregated"))),
        weights=tuple(draw(st.lists(weights, min_size=1, max_size=4))),
        fresh=draw(st.booleans()),
        regions=draw(limits),
        clusters=draw(limits),
        tiered=tiered,
        descending=draw(st.booleans()),
    )


@settings(max_examples=600)
@given(questions())
def test_division_is_that_of_the_oracle(asked: Question) -> None:
    """Same clusters, same replicas, same message."""
    assert told(asked) == placed(asked)

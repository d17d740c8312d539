"""Each direction, as rows: what is written in one API, and what another one reads of it."""

from collections.abc import Callable, Mapping
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.validation import Rules, validate_file
from reconciler.core.inputs.world import languages
from reconciler.dialects.karmada.projection import CLUSTERS as KARMADA
from reconciler.dialects.kubefleet.projection import CLUSTERS as KUBEFLEET
from reconciler.dialects.ocm.projection import CLUSTERS as OCM
from reconciler.manifests.text.emitter import encode
from reconciler.model.body import Body
from reconciler.multicluster.cluster_profile import PROFILES
from reconciler.projection.project import (
    LABELS,
    READINESS,
    ROOM,
    TAINTS,
    ClusterReadiness,
    Fact,
    Force,
    Language,
    Room,
    SharedTaint,
    direction,
    project,
)
from reconciler.shell.resources import load_schemas
from tests.documents.generated import lost

SINCE = "2026-11-20T11:00:00Z"
DIRECTIONS = [
    pytest.param(one, other, id=f"{one.name} to {other.name}".replace(" ", "-").lower())
    for one, other in permutations(languages().values(), 2)
]


def facts_of(body: Body, language: Language) -> Mapping[Fact[Any], object]:
    """All that a manifest says of its cluster."""
    found = ((row.fact, row.read(body)) for row in language.rows)
    return {fact: value for fact, value in found if value is not None}


def karmada(**spec: object) -> Body:
    """A Karmada cluster with everything that can be said of one."""
    return {
        "apiVersion": KARMADA.api_version,
        "kind": "Cluster",
        "metadata": {"name": "member1", "labels": {"tier": "gold"}},
        "spec": {
            "syncMode": "Push",
            "region": "eu-west",
            "zones": ["eu-west-1a"],
            "provider": "aws",
            "taints": [
                {"key": "new", "effect": "NoSchedule"},
                {"key": "soft", "effect": "PreferNoSchedule"},
                {"key": "out", "value": "now", "effect": "NoExecute", "timeAdded": SINCE},
            ],
            **spec,
        },
        "status": {
            "kubernetesVersion": "v1.34.1",
            "apiEnablements": [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment"}]}],
            "conditions": [
                {
                    "type": "Ready",
                    "status": "False",
                    "reason": "Lost",
                    "message": "no answer",
                    "lastTransitionTime": SINCE,
                }
            ],
            "nodeSummary": {"totalNum": 3, "readyNum": 2},
            "resourceSummary": {
                "allocatable": {"cpu": "8", "memory": "16Gi", "pods": 110},
                "allocated": {"cpu": "2500m", "memory": "1Gi"},
                "allocating": {"cpu": "500m"},
            },
        },
    }


def ocm() -> Body:
    """A ManagedCluster with everything that can be said of one."""
    return {
        "apiVersion": OCM.api_version,
        "kind": "ManagedCluster",
        "metadata": {
            "name": "member1",
            "labels": {"topology.kubernetes.io/zone": "eu-west-1a", "tier": "gold"},
        },
        "spec": {
            "hubAcceptsClient": True,
            "taints": [
                {"key": "new", "effect": "NoSelectIfNew"},
                {"key": "soft", "effect": "PreferNoSelect"},
                {"key": "out", "value": "now", "effect": "NoSelect", "timeAdded": SINCE},
            ],
        },
        "status": {
            "version": {"kubernetes": "v1.34.1"},
            "conditions": [
                {
                    "type": "ManagedClusterConditionAvailable",
                    "status": "False",
                    "reason": "Lost",
                    "message": "no answer",
                    "lastTransitionTime": SINCE,
                }
            ],
            "clusterClaims": [
                {"name": "region.open-cluster-management.io", "value": "eu-west"},
                {"name": "platform.open-cluster-management.io", "value": "aws"},
                {"name": "gpu.example.org", "value": "4"},
            ],
            "capacity": {"cpu": "10", "memory": "20Gi"},
            "allocatable": {"cpu": "8", "memory": "16Gi"},
        },
    }


def kubefleet() -> Body:
    """A MemberCluster with everything that can be said of one."""
    return {
        "apiVersion": KUBEFLEET.api_version,
        "kind": "MemberCluster",
        "metadata": {
            "name": "member1",
            "labels": {"topology.kubernetes.io/region": "eu-west", "tier": "gold"},
        },
        "spec": {
            "identity": {"kind": "ServiceAccount", "name": "agent"},
            "taints": [{"key": "new", "effect": "NoSchedule"}],
        },
        "status": {
            "agentStatus": [
                {
                    "type": "MemberAgent",
                    "lastReceivedHeartbeat": SINCE,
                    "conditions": [
                        {"type": "Joined", "status": "True", "lastTransitionTime": SINCE},
                        {
                            "type": "Healthy",
                            "status": "False",
                            "reason": "Lost",
                            "message": "no answer",
                            "lastTransitionTime": SINCE,
                        },
                    ],
                }
            ],
            "properties": {
                "kubernetes-fleet.io/node-count": {"value": "3", "observationTime": SINCE},
                "gpu.example.org": {"value": "4", "observationTime": SINCE},
            },
            "resourceUsage": {
                "capacity": {"cpu": "10"},
                "allocatable": {"cpu": "8"},
                "available": {"cpu": "5"},
                "observationTime": SINCE,
            },
        },
    }


def profile() -> Body:
    """A ClusterProfile with everything that can be said of a cluster."""
    said = {
        "topology.kubernetes.io/region": "eu-west",
        "topology.kubernetes.io/zone": "eu-west-1a",
        "platform.open-cluster-management.io": "aws",
        "kubernetes-fleet.io/node-count": "3",
        "resources.kubernetes-fleet.io/total-cpu": "10",
        "resources.kubernetes-fleet.io/allocatable-cpu": "8",
        "resources.kubernetes-fleet.io/available-cpu": "5",
        "gpu.example.org": "4",
    }
    return {
        "apiVersion": PROFILES.api_version,
        "kind": "ClusterProfile",
        "metadata": {"name": "member1", "labels": {"tier": "gold"}},
        "spec": {"displayName": "The first", "clusterManager": {"name": "fleet"}},
        "status": {
            "version": {"kubernetes": "v1.34.1"},
            "conditions": [
                {
                    "type": "ControlPlaneHealthy",
                    "status": "False",
                    "reason": "Lost",
                    "message": "no answer",
                    "lastTransitionTime": SINCE,
                }
            ],
            "properties": [{"name": name, "value": value} for name, value in said.items()],
        },
    }


FULL: Mapping[Language, Callable[[], Body]] = {
    KARMADA: karmada,
    OCM: ocm,
    KUBEFLEET: kubefleet,
    PROFILES: profile,
}

ALL_OF_IT = {"cpu": "8", "memory": "16Gi", "pods": "110"}
UNWELL = ClusterReadiness("False", SINCE, "Lost", "no answer")
NEW = SharedTaint("new", "", Force.NEW, "")
SOFT = SharedTaint("soft", "", Force.PREFER, "")
OUT = SharedTaint("out", "now", Force.OUT, SINCE)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        pytest.param(KARMADA, OCM, [NEW, SOFT, OUT], id="all-three-and-the-moment"),
        pytest.param(OCM, KARMADA, [NEW, SOFT, OUT], id="and-back"),
        pytest.param(
            KARMADA, KUBEFLEET, [NEW, NEW._replace(key="out", value="now")], id="kubefleet-has-one"
        ),
        pytest.param(
            OCM, KUBEFLEET, [NEW, NEW._replace(key="out", value="now")], id="of-both-others"
        ),
        pytest.param(KUBEFLEET, KARMADA, [NEW], id="its-one-to-karmada"),
        pytest.param(KUBEFLEET, OCM, [NEW], id="its-one-to-ocm"),
    ],
)
def test_taints_do_what_they_did(
    source: Language, target: Language, expected: list[SharedTaint]
) -> None:
    """What keeps new ones away, is avoided, or drives out does so in the other API, too."""
    found = facts_of(project(FULL[source](), source, target), target)

    assert tuple(expected) == found[TAINTS]


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_cluster_that_is_unwell_is_so_everywhere(source: Language, target: Language) -> None:
    """With since when, and why."""
    assert UNWELL == facts_of(project(FULL[source](), source, target), target)[READINESS]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        pytest.param(
            KARMADA,
            KUBEFLEET,
            Room(
                None,
                {"cpu": "8", "memory": "16Gi", "pods": "110"},
                {"cpu": "5", "memory": "15Gi", "pods": "110"},
            ),
            id="karmada-knows-what-is-left",
        ),
        pytest.param(
            KARMADA,
            OCM,
            Room(ALL_OF_IT, ALL_OF_IT, None),
            id="ocm-wants-a-capacity",
        ),
        pytest.param(
            OCM,
            KARMADA,
            Room(None, {"cpu": "8", "memory": "16Gi"}, {"cpu": "8", "memory": "16Gi"}),
            id="all-is-left-where-nothing-is-said",
        ),
        pytest.param(
            OCM,
            KUBEFLEET,
            Room({"cpu": "10", "memory": "20Gi"}, {"cpu": "8", "memory": "16Gi"}, None),
            id="what-is-left-is-not-invented",
        ),
        pytest.param(
            KUBEFLEET, KARMADA, Room(None, {"cpu": "8"}, {"cpu": "5"}), id="the-rest-is-allocated"
        ),
        pytest.param(KUBEFLEET, OCM, Room({"cpu": "10"}, {"cpu": "8"}, None), id="ocm-has-no-rest"),
        pytest.param(PROFILES, KARMADA, Room(None, {"cpu": "8"}, {"cpu": "5"}), id="of-a-profile"),
        pytest.param(
            KUBEFLEET, PROFILES, Room({"cpu": "10"}, {"cpu": "8"}, {"cpu": "5"}), id="to-a-profile"
        ),
    ],
)
def test_room_is_what_both_can_say(source: Language, target: Language, expected: Room) -> None:
    """Quantities stay as they are written; what is left is exact."""
    assert expected == facts_of(project(FULL[source](), source, target), target)[ROOM]


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_projected_manifest_is_a_valid_one(source: Language, target: Language) -> None:
    """It passes the schema and the webhooks of its API, as if a person had written it."""
    data = encode(project(FULL[source](), source, target)).encode()

    found = validate_file("c.yaml", "0", data, Rules(load_schemas(), ADMISSIONS, KINDS))

    assert () == found.broken


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_there_and_back_keeps_what_both_can_say(source: Language, target: Language) -> None:
    """All but labels that a field was written to, and room that the other one rounds off."""
    there = project(FULL[source](), source, target)

    assert kept(FULL[source](), source, target) == kept(
        project(there, target, source), source, target
    )


def kept(body: Body, source: Language, target: Language) -> Mapping[str, object]:
    """What a manifest says that another API can say exactly, by the name of the fact."""
    inexact: set[Fact[Any]] = {LABELS, ROOM, TAINTS}
    there, back = direction(source, target), direction(target, source)
    shared = ({fact for fact, _, _ in there} & {fact for fact, _, _ in back}) - inexact
    return {fact.name: value for fact, value in facts_of(body, source).items() if fact in shared}


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        pytest.param(
            KARMADA, OCM, {"API enablements", "number of nodes", "resource models"}, id="to-ocm"
        ),
        pytest.param(
            KARMADA,
            KUBEFLEET,
            {"API enablements", "provider", "resource models", "version of Kubernetes"},
            id="to-kubefleet",
        ),
        pytest.param(OCM, KARMADA, {"claims and properties", "cluster set"}, id="from-ocm"),
        pytest.param(
            OCM,
            KUBEFLEET,
            {"provider", "version of Kubernetes", "cluster set"},
            id="ocm-to-kubefleet",
        ),
        pytest.param(
            KUBEFLEET,
            KARMADA,
            {"claims and properties", "heartbeat of the agent", "namespaces that are there"},
            id="from-kubefleet",
        ),
        pytest.param(
            KUBEFLEET,
            OCM,
            {"number of nodes", "heartbeat of the agent", "namespaces that are there"},
            id="kubefleet-to-ocm",
        ),
    ],
)
def test_what_is_lost_is_listed(source: Language, target: Language, expected: set[str]) -> None:
    """What the target has no words for."""
    assert expected == {name for name, _ in lost(source, target)}


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_a_declared_cluster_is_declared_in_the_other_api(
    source: Language, target: Language
) -> None:
    """Without a status it is well, with every API and room for everything; or, if not, for none."""
    body = {name: value for name, value in FULL[source]().items() if name != "status"}

    found = facts_of(project(body, source, target), target)
    judged = project(body, source, target, declared=False)

    readiness = found.get(READINESS)
    assert readiness is None or (
        isinstance(readiness, ClusterReadiness) and readiness.status == "True"
    )
    assert ROOM not in found
    assert "status" not in judged


texts = st.text("ab", min_size=1, max_size=3)
amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", "example.org/gpu"]),
    st.sampled_from(["0", "1", "250m", "3Gi", "1500M"]),
)


@given(st.data())
def test_any_cluster_passes_through_any_api(data: st.DataObject) -> None:
    """Whatever parts a cluster has, what two APIs can say comes back as it was."""
    source, target = data.draw(st.permutations(list(languages().values())))[:2]
    body = dict(FULL[source]())
    for part in data.draw(st.sets(st.sampled_from(["spec", "status"]))):
        present = body[part]
        assert isinstance(present, Mapping)
        dropped = data.draw(st.sets(st.sampled_from(sorted(present))))
        wanted = {"syncMode", "identity"}
        body[part] = {n: one for n, one in present.items() if n in wanted or n not in dropped}

    there = project(body, source, target)

    before = kept(body, source, target)
    after = kept(project(there, target, source), source, target)
    assert before.items() <= after.items()

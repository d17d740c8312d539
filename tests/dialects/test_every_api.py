"""What all APIs have alike: wishes, problems, suspension, and values written as they are read."""

from collections.abc import Callable, Iterator, Mapping
from typing import cast

import pytest

from reconciler.core.dialects import DIALECTS, dialect_of
from reconciler.core.reconcile import reconcile
from reconciler.dialects.karmada.api.binding import decode_metadata, decode_status, encode_manifest
from reconciler.dialects.karmada.api.binding_spec import decode_spec, encode_spec
from reconciler.dialects.karmada.view.answers import affinity_place
from reconciler.dialects.kubefleet.api.binding import (
    decode_binding,
    decode_placement_status,
    encode_binding,
    encode_placement_status,
)
from reconciler.dialects.kubefleet.api.snapshots import (
    decode_entry,
    decode_policy_spec,
    decode_policy_status,
    decode_resources,
    encode_entry,
    encode_policy_spec,
    encode_policy_status,
    encode_resources,
)
from reconciler.dialects.ocm.api.placement import decode_decision, encode_clusters
from reconciler.dialects.ocm.api.placement import decode_status as decode_hub_status
from reconciler.dialects.ocm.api.placement import encode_status as encode_hub_status
from reconciler.dialects.view import SpreadWish
from reconciler.manifests.admission import SUSPEND
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.rebalance.rebalancer_files import decode_status as decode_rebalancer
from reconciler.rebalance.rebalancer_files import encode as encode_rebalancer
from reconciler.rebalance.schedule_trigger import decode_trigger_status, encode_trigger_status
from reconciler.rebalance.target import AffinityPlace
from tests.builders import cluster, deployment, policy, rebalancer
from tests.dialects.kubefleet.fleet import GROUP, PLACEMENT, member, pick, placement
from tests.dialects.kubefleet.fleet import GROUP as FLEET
from tests.dialects.ocm import worlds
from tests.dialects.ocm.worlds import GROUP as OCM
from tests.golden import files_in, stories
from tests.stories import Story, story

WHY = "0/2 clusters are available"


def condition(kind: str, status: str) -> Body:
    """Return an output with one condition."""
    return {"status": {"conditions": [{"type": kind, "status": status, "message": WHY}]}}


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        pytest.param("work.karmada.io", "Scheduled", id="karmada"),
        pytest.param("cluster.open-cluster-management.io", "PlacementSatisfied", id="ocm"),
        pytest.param(
            "placement.kubernetes-fleet.io", "ClusterResourcePlacementScheduled", id="kubefleet"
        ),
        pytest.param(
            "placement.kubernetes-fleet.io", "ResourcePlacementScheduled", id="kubefleet-namespaced"
        ),
    ],
)
def test_each_api_says_why_clusters_are_lacking(group: str, kind: str) -> None:
    """By its own condition where that is False, and by no other."""
    dialect = dialect_of(group)
    assert dialect is not None
    problem_of = dialect.view().outputs.problem_of
    found = [
        problem_of(condition(*one)) for one in ((kind, "False"), (kind, "True"), ("X", "False"))
    ]

    assert [WHY, "", ""] == found


KARMADA = "work.karmada.io"
KUBEFLEET = "placement.kubernetes-fleet.io"
HUB = "cluster.open-cluster-management.io"


def of_karmada(body: Body) -> Body:
    """A whole binding, but for who owns it."""
    metadata, status = decode_metadata(body), decode_status(body)
    owners = bodies(mapping(body, "metadata"), "ownerReferences")
    return encode_manifest(metadata, encode_spec(decode_spec(body)), status, list(owners))


def of_policy_snapshot(body: Body) -> Body:
    """A policy snapshot, its metadata left alone; the status from its parts alone."""
    spec, status = decode_policy_spec(body), decode_policy_status(body)._replace(body={})
    return {
        **body,
        "spec": encode_policy_spec(spec.policy, spec.policy_hash),
        **({"status": encode_policy_status(status)} if "status" in body else {}),
    }


def of_resource_snapshot(body: Body) -> Body:
    """A resource snapshot, each of its entries from its parts alone."""
    entries = [decode_entry(entry.body) for entry in decode_resources(body)]
    made = [
        encode_entry(
            text(entry.body, "apiVersion"),
            entry.key,
            content_hash=entry.hash,
            blob=entry.blob,
            document=entry.document,
            pointer=entry.pointer,
        )
        for entry in entries
    ]
    return {**body, "spec": encode_resources(made)}


def of_placement(body: Body) -> Body:
    """The status of a placement, from its parts alone."""
    status = decode_placement_status(body)._replace(body={})
    return {**body, "status": encode_placement_status(status)}


def of_rebalancer(body: Body) -> Body:
    """The status of a rebalancer; what its conditions say is not of it."""
    status = mapping(body, "status")
    made = encode_rebalancer(decode_rebalancer(status), stamped=False, limited="progress" in status)
    kept = {name: status[name] for name in ("conditions",) if name in status}
    return {**body, "status": {**made, **kept}}


def of_trigger(body: Body) -> Body:
    """The status of a trigger."""
    kept = {k: v for k, v in mapping(body, "status").items() if k == "conditions"}
    return {**body, "status": {**encode_trigger_status(decode_trigger_status(body)), **kept}}


def of_decision(body: Body) -> Body:
    """The status of a PlacementDecision."""
    return {**body, "status": encode_clusters(decode_decision(body))}


def of_hub_placement(body: Body) -> Body:
    """The status of a placement of Open Cluster Management."""
    return {**body, "status": encode_hub_status(decode_hub_status(body))}


CODECS: Mapping[tuple[str, str], Callable[[Body], Body]] = {
    (KARMADA, "ResourceBinding"): of_karmada,
    (KARMADA, "ClusterResourceBinding"): of_karmada,
    (KUBEFLEET, "ClusterResourceBinding"): lambda body: encode_binding(decode_binding(body)),
    (KUBEFLEET, "ResourceBinding"): lambda body: encode_binding(decode_binding(body)),
    (KUBEFLEET, "ClusterSchedulingPolicySnapshot"): of_policy_snapshot,
    (KUBEFLEET, "SchedulingPolicySnapshot"): of_policy_snapshot,
    (KUBEFLEET, "ClusterResourceSnapshot"): of_resource_snapshot,
    (KUBEFLEET, "ResourceSnapshot"): of_resource_snapshot,
    (KUBEFLEET, "ClusterResourcePlacement"): of_placement,
    (KUBEFLEET, "ResourcePlacement"): of_placement,
    (HUB, "PlacementDecision"): of_decision,
    (HUB, "Placement"): of_hub_placement,
    ("apps.karmada.io", "WorkloadRebalancer"): of_rebalancer,
    ("policy.karmada.io", "ScheduleTrigger"): of_trigger,
}


def written() -> Iterator[tuple[tuple[str, str], str, Body]]:
    """Every output that a golden story leaves, of these kinds, with its path."""
    for golden in stories():
        for after in sorted(golden.glob("*/after")):
            for path, data in files_in(after).items():
                for document in read(data.encode(), path).documents:
                    group = text(document.body, "apiVersion").partition("/")[0]
                    kind = group, text(document.body, "kind")
                    if kind in CODECS:
                        yield kind, f"{golden.name}/{after.parent.name}/{path}", document.body


WRITTEN = list(written())


@pytest.mark.parametrize("kind", CODECS, ids=".".join)
def test_a_file_says_the_same_after_a_round_trip(kind: tuple[str, str]) -> None:
    """What was left out by the decoder would be missing from the next pass's file."""
    bodies = {path: body for found, path, body in WRITTEN if found == kind}

    assert bodies == {path: CODECS[kind](body) for path, body in bodies.items()}


def test_the_stories_have_files_of_most_kinds() -> None:
    """A kind without a file is not tested above."""
    assert {found for found, _, _ in WRITTEN} >= set(CODECS) - {
        (KARMADA, "ClusterResourceBinding"),
    }


GROUPS: Body = {"clusterAffinities": [{"affinityName": "home"}, {"affinityName": "away"}]}
VIEWS = {dialect.name: dialect.view() for dialect in DIALECTS}


@pytest.mark.parametrize(
    ("placement", "observed", "expected"),
    [
        pytest.param(GROUPS, "home", AffinityPlace(0, "home"), id="first"),
        pytest.param(GROUPS, "away", AffinityPlace(1, "away"), id="second"),
        pytest.param(GROUPS, "gone", AffinityPlace(2, "gone"), id="none-of-these-any-more"),
        pytest.param(GROUPS, "", None, id="never-scheduled"),
        pytest.param(GROUPS, None, None, id="no-status"),
        pytest.param({}, "home", None, id="no-groups"),
    ],
)
def test_the_group_that_placed_a_binding(
    placement: Body, observed: str | None, expected: AffinityPlace | None
) -> None:
    """By its place among those that are tried in order."""
    assert expected == affinity_place(placement, observed)


def located(name: str, **spec: object) -> Body:
    """A cluster that says where it stands."""
    found = cluster(name)
    return {**found, "spec": {**found.get("spec", {}), **spec}}  # type: ignore[dict-item]


def test_karmada_spreads_by_fields_and_labels_of_clusters() -> None:
    """Regions, first zones, providers; a cluster that says nothing is in no domain."""
    constraints = [
        {"spreadByField": "region", "minGroups": 2, "maxGroups": 3},
        {"spreadByField": "zone", "minGroups": 1},
        {"spreadByField": "cluster", "minGroups": 2},
    ]
    told = story(
        located("a", region="east", zones=["e1", "e2"]),
        located("b", region="west", zone="w1"),
        located("c"),
        deployment(),
        policy(placement={"spreadConstraints": constraints}),
    )
    told.run(0)
    key = ObjectKey("work.karmada.io", "ResourceBinding", "default", "web-deployment")

    assert (
        SpreadWish(name="region", domain_of={"a": "east", "b": "west"}, least=2, most=3),
        SpreadWish(name="zone", domain_of={"a": "e1", "b": "w1"}, least=1),
        SpreadWish(name="cluster", domain_of={"a": "a", "b": "b", "c": "c"}, least=2),
    ) == VIEWS["karmada"].world.spread(told.world())(key)


def test_kubefleet_spreads_by_labels() -> None:
    """With the skew that counts where none is written."""
    constraints = [{"topologyKey": "zone", "maxSkew": 2}, {"topologyKey": "rack"}]
    told = story(
        member("a", labels={"zone": "x"}),
        member("b"),
        placement(pick(1, topologySpreadConstraints=constraints)),
    )

    assert (
        SpreadWish(name="zone", domain_of={"a": "x"}, skew=2),
        SpreadWish(name="rack", domain_of={}, skew=1),
    ) == VIEWS["kubefleet"].world.spread(told.world())(ObjectKey(GROUP, PLACEMENT, "", "web"))


CRP = placement(pick(1))
ONE_CLUSTER = worlds.placement(numberOfClusters=1)


def kubefleet() -> Story:
    """Web on `a`, which is to leave."""
    told = story(member("a"), CRP, deployment())
    told.run(0)
    told.run(100)
    return told.put(member("a", leaving=True), member("b"))


def ocm() -> Story:
    """A placement on `a`, which is tainted now."""
    told = story(worlds.cluster_set(), worlds.binding(), worlds.cluster("a"), ONE_CLUSTER)
    told.run(0)
    taint = {"key": "gone", "effect": "NoSelect"}
    return told.put(worlds.cluster("a", taint), worlds.cluster("b"))


CASES = [
    pytest.param(
        kubefleet, CRP, ObjectKey(FLEET, "ClusterResourcePlacement", "", "web"), id="fleet"
    ),
    pytest.param(ocm, ONE_CLUSTER, ObjectKey(OCM, "Placement", "ns1", "p"), id="ocm"),
]


def suspended(body: Body, value: str = "true") -> Body:
    """The same manifest with the annotation."""
    metadata = cast(Body, body["metadata"])
    return {**body, "metadata": {**metadata, "annotations": {SUSPEND: value}}}


def placements(told: Story) -> dict[str, str]:
    """All that is written of placements."""
    return {path: data for path, data in told.outputs.items() if "placement" in path}


def demand(key: ObjectKey, body: Body) -> Body:
    """A rebalancer of the placement."""
    scope = {"namespace": key.namespace} if key.namespace else {}
    reference = {"apiVersion": body["apiVersion"], "kind": key.kind, "name": key.name}
    return rebalancer("demo", {**reference, **scope})


@pytest.mark.parametrize(("begun", "body", "key"), CASES)
def test_a_suspended_placement_stays_as_it_is(
    begun: Callable[[], Story], body: Body, key: ObjectKey
) -> None:
    """What would move it does not, and does once it is resumed."""
    told = begun().put(suspended(body))
    before = placements(told)
    resting = told.run(500)
    assert ((), before) == (resting.decisions, placements(told))

    [decision] = told.put(suspended(body, "false")).run(600).decisions

    assert [key, ("b",)] == [decision.key, tuple(name for name, _ in decision.after)]


@pytest.mark.parametrize(("begun", "body", "key"), CASES)
def test_a_rebalancer_of_a_suspended_placement_waits(
    begun: Callable[[], Story], body: Body, key: ObjectKey
) -> None:
    """It has neither succeeded nor failed until the placement is resumed."""
    told = begun().put(suspended(body), demand(key, body))
    told.run(500)
    [waiting] = cast(list[dict[str, str]], told.rebalancer()["observedWorkloads"])
    told.put(body).run(600)
    [done] = cast(list[dict[str, str]], told.rebalancer()["observedWorkloads"])

    assert ("", "Successful") == (waiting.get("result", ""), done.get("result", ""))


@pytest.mark.parametrize(("begun", "body", "key"), CASES)
def test_the_explanation_names_the_annotation(
    begun: Callable[[], Story], body: Body, key: ObjectKey
) -> None:
    """No cluster was judged."""
    told = begun().put(suspended(body))
    world = told.world()
    explanation = reconcile(world, told.now, asked=frozenset({key})).explanations[key]()

    assert not explanation.judged
    assert f"{SUSPEND} is true" in explanation.result

"""ClusterProfiles as an inventory: what they say to each API, and which of them are one cluster."""

from collections.abc import Mapping, Sequence

import pytest

from reconciler.audit.fleet.usage import usage_of
from reconciler.audit.previews.edits import cordon, fail
from reconciler.audit.references import check_references
from reconciler.core.asked import AskedAlone
from reconciler.core.inputs.world import faces_of, members_in
from reconciler.errors import UsageError
from reconciler.imports.importers import Wanted
from reconciler.model.identity import ObjectKey
from reconciler.model.quantity import parse_quantity
from reconciler.multicluster.cluster_profile import (
    CONTRADICTION,
    MEMBER_LABEL,
    PROFILES,
    SET_LABEL,
    refuse_profile,
    refuse_profile_update,
    refuse_publishing_update,
)
from tests.builders import (
    NOW,
    Body,
    cluster,
    configuration,
    deployment,
    divided,
    policy,
    profile,
    text_of,
)
from tests.core.asked.held_alone import hold_alone
from tests.core.inputs.test_world import KARMADA, MANAGED, MEMBER, PROJECTING, pick_all, seen
from tests.dialects.ocm.test_decide import chosen_clusters
from tests.dialects.ocm.worlds import BY_SCORE, binding, cluster_set, placement
from tests.imports.imported import import_into
from tests.stories import Story, story

CPU = "resources.kubernetes-fleet.io/allocatable-cpu"
SINCE = text_of(NOW)
AGGREGATED = divided("Aggregated")
KEY = ObjectKey("multicluster.x-k8s.io", "ClusterProfile", "fleet", "a")


def namespace(name: str = "fleet", **labels: str) -> Body:
    """A Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def conditions(**statuses: str) -> list[Body]:
    """Conditions by type."""
    return [
        {
            "type": kind,
            "status": status,
            "reason": "Told",
            "message": "",
            "lastTransitionTime": SINCE,
        }
        for kind, status in statuses.items()
    ]


def found_in(told: Story) -> list[str]:
    """The rules that references break, and what is said."""
    findings = check_references(told.world(), {})
    return [f"{one.fault.rule}: {one.fault.message}" for one in findings]


def test_profiles_are_the_clusters_of_all_three_apis() -> None:
    """With no other cluster, each API places on them."""
    told = story(PROJECTING, profile("a"), profile("b"), deployment(), policy(), pick_all())
    told.put(*(namespace("x"), namespace(**{SET_LABEL: "s"}), binding(), placement()))
    told.put(cluster_set())
    told.run(0)

    assert {"Cluster": ["a", "b"], "ManagedCluster": ["a", "b"], "MemberCluster": ["a", "b"]} == (
        seen(told)
    )
    assert {"a": 2, "b": 2} == told.placed()
    assert ["a", "b"] == chosen_clusters(told)
    assert told.run(0).changes == ()


def test_profiles_are_not_clusters_unless_asked_for() -> None:
    """So nothing moves by an upgrade."""
    assert {"Cluster": [], "ManagedCluster": [], "MemberCluster": []} == seen(story(profile()))


def test_own_clusters_of_an_api_win() -> None:
    """And of one name what an API says counts before a profile, for the others, too."""
    told = story(PROJECTING, profile("a", labels={"of": "profile"}), profile("b"))
    told.put(cluster("a", labels={"of": "karmada"}))

    found = told.world().find(ObjectKey(*MEMBER, "", "a"))

    assert {"Cluster": ["a"], "ManagedCluster": ["a", "b"], "MemberCluster": ["a", "b"]} == (
        seen(told)
    )
    assert found is not None
    assert {"of": "karmada"} == found.body["metadata"]["labels"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param({"ControlPlaneHealthy": "True"}, "True", id="healthy"),
        pytest.param({"ControlPlaneHealthy": "False"}, "False", id="not-healthy"),
        pytest.param({"ControlPlaneHealthy": "Unknown"}, "Unknown", id="unknown"),
        pytest.param({"ControlPlaneHealthy": "True", "Joined": "False"}, "False", id="left"),
        pytest.param({"ControlPlaneHealthy": "True", "Joined": "Unknown"}, "Unknown", id="unsure"),
        pytest.param({"ControlPlaneHealthy": "False", "Joined": "True"}, "False", id="joined-ill"),
        pytest.param({"Joined": "True"}, None, id="joined-says-nothing-of-health"),
        pytest.param({}, None, id="silent"),
    ],
)
def test_readiness_is_the_worse_of_health_and_membership(
    told: Mapping[str, str], expected: str | None
) -> None:
    """What is silent is left to the API that reads it."""
    body = profile(conditions=conditions(**told), version={"kubernetes": "v1.33.1"})

    (row,) = (one for one in PROFILES.rows if one.fact.name == "readiness")
    read = row.read(body)

    assert expected == (None if read is None else read.status)


def test_what_a_profile_does_not_say_is_not_limited() -> None:
    """A cluster without any amount takes more than one that has four processors."""
    told = story(PROJECTING, profile("a", properties={CPU: "4"}), profile("b"))
    told.put(deployment(replicas=20, cpu="1"), policy(placement={"replicaScheduling": AGGREGATED}))
    told.run(0)

    (usage, other) = usage_of(told.world())

    assert {"b": 20} == told.placed()
    assert {"cpu": parse_quantity("4")} == usage.capacity
    assert (None, "Declared") == (other.capacity, other.ready)


def test_an_amount_that_is_none_is_told_and_ignored() -> None:
    """The cluster stays, without that limit."""
    told = story(PROJECTING, profile(properties={CPU: "plenty"}))

    assert [f"profile-amount: {CPU} is 'plenty', which is no amount; it is ignored"] == (
        [one.replace('"', "'") for one in found_in(told)]
    )
    assert [None] == [one.capacity for one in usage_of(told.world())]


def test_the_set_of_a_namespace_is_that_of_its_profiles() -> None:
    """Open Cluster Management sees members of the ManagedClusterSet; the label may move."""
    told = story(PROJECTING, namespace(**{SET_LABEL: "s"}), profile("a"), binding(), placement())
    told.put(cluster_set())
    told.put(profile("b", namespace="other"))
    told.run(0)
    before = chosen_clusters(told)
    told.put(namespace("other", **{SET_LABEL: "s"})).run(1)

    assert (["a"], ["a", "b"]) == (before, chosen_clusters(told))


def test_one_member_of_two_managers_is_one_cluster() -> None:
    """By its id, whatever its profiles are called: what the first lacks the second says."""
    same = {MEMBER_LABEL: "m1"}
    first = profile("a", labels={**same, "tier": "gold"}, properties={"one": "1"})
    second = profile("z", manager="other", labels={**same, "zone": "x"}, properties={"two": "2"})
    told = story(PROJECTING, first, second)

    (member,) = members_in(told.world())

    assert {"Cluster": ["a"], "ManagedCluster": ["a"], "MemberCluster": ["a"]} == seen(told)
    assert {**same, "tier": "gold", "zone": "x"} == member.body["metadata"]["labels"]  # type: ignore[index]
    assert ["one", "two"] == [one["name"] for one in member.body["status"]["properties"]]  # type: ignore[index]
    assert [] == found_in(told)


def test_profiles_of_one_member_that_contradict_each_other_are_told() -> None:
    """The first counts."""
    first = profile("a", version={"kubernetes": "v1"}, conditions=conditions(Joined="True"))
    second = profile("a", namespace="other", version={"kubernetes": "v2"})
    told = story(PROJECTING, first, second)

    why = 'the version is "v2" here and "v1" in ClusterProfile fleet/a, which counts'
    assert [f"{CONTRADICTION}: {why}"] == found_in(told)
    assert [] == found_in(story(first, second))


def test_two_members_of_one_name_are_told_and_the_first_is_taken() -> None:
    """They are not joined: their ids say that they are two."""
    told = story(PROJECTING, profile("a", labels={MEMBER_LABEL: "m1", "of": "fleet"}))
    told.put(profile("a", namespace="other", labels={MEMBER_LABEL: "m2", "of": "other"}))

    (member,) = members_in(told.world())

    assert "fleet" == member.key.namespace
    why = "has the same name and is another member, so this one is not taken"
    assert [f"{CONTRADICTION}: ClusterProfile fleet/a {why}"] == found_in(told)


def test_two_clusters_of_one_inventory_are_never_joined_into_one() -> None:
    """A third profile with the name of one and the id of the other joins neither to the other."""
    oslo = profile("oslo", namespace="registry", labels={MEMBER_LABEL: "4711"})
    turin = profile("turin", namespace="registry")
    stray = profile("turin", namespace="aaa", manager="someone", labels={MEMBER_LABEL: "4711"})
    told = story(PROJECTING, oslo, turin, stray)

    assert ["oslo", "turin"] == [one.key.name for one in members_in(told.world())]
    why = "yet one manager lists both as clusters of their own, so they are taken as two"
    assert [f"{CONTRADICTION}: the member id is that of ClusterProfile aaa/turin, {why}"] == (
        found_in(told)
    )


@pytest.mark.parametrize("amount", ["-8", "1e400", "9223372036854775808"])
def test_an_amount_that_nothing_can_have_is_ignored(amount: str) -> None:
    """As one that is no amount."""
    told = story(PROJECTING, profile("a", properties={CPU: amount}))

    assert [None] == [one.capacity for one in usage_of(told.world())]
    assert [f'profile-amount: {CPU} is "{amount}", which is no amount; it is ignored'] == (
        found_in(told)
    )


def test_a_name_that_no_cluster_can_have_is_told_and_not_taken() -> None:
    """A profile may have a dot in its name."""
    told = story(PROJECTING, profile("a.example.org"))

    assert {"Cluster": [], "ManagedCluster": [], "MemberCluster": []} == seen(told)
    assert [
        'profile-name: no cluster can be named "a.example.org", so the profile is not taken as one'
    ] == found_in(told)


def test_other_kinds_of_the_group_stay_workloads_and_a_profile_may_be_one() -> None:
    """A policy propagates a ServiceExport, and a profile where it selects that."""
    export = {
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ServiceExport",
        "metadata": {"name": "web", "namespace": "default"},
    }
    wanted = [
        {"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": kind}
        for kind in ("ServiceExport", "ClusterProfile")
    ]
    told = story(cluster("a"), export, profile("b", namespace="default"))
    told.put(policy(selectors=wanted)).run(0)

    bindings = [path.rpartition("/")[2] for path in told.outputs if "resourcebindings" in path]
    assert ["b-clusterprofile.yaml", "web-serviceexport.yaml"] == bindings


def test_objects_are_asked_alone_over_profiles_and_their_sets() -> None:
    """The Namespace of an inventory is read with it."""
    told = story(PROJECTING, namespace(**{SET_LABEL: "s"}), profile("a"), profile("b"), binding())
    told.put(cluster_set())
    told.put(placement(prioritizerPolicy=BY_SCORE), deployment(), policy(), pick_all())
    asking = AskedAlone()
    for _ in range(2):
        assert {} == hold_alone(told.world(), told.now, asking)
        told.run(0)


def test_a_profile_fails_as_its_manager_would_tell() -> None:
    """Each API then judges a cluster that cannot be reached."""
    told = story(PROJECTING, profile("a"), profile("b"), deployment(), policy())
    world = fail([KEY], NOW)(told.world())

    (usage, _) = usage_of(world)

    assert "Unknown" == usage.ready
    assert [KEY[:2], KARMADA, MANAGED, MEMBER] == ([one[:2] for one in faces_of(told.world(), KEY)])


def test_a_profile_cannot_be_cordoned() -> None:
    """It has no taints."""
    with pytest.raises(UsageError, match="a ClusterProfile has no taints"):
        cordon([KEY])


@pytest.mark.parametrize(
    ("version", "access", "expected"),
    [
        pytest.param("v1alpha2", {"server": "https://a:6443"}, [], id="address"),
        pytest.param("v1alpha2", {"server": "a:6443"}, ["server"], id="no-host"),
        pytest.param("v1alpha2", {"server": ""}, ["server"], id="empty"),
        pytest.param("v1alpha2", {"server": "https://[a"}, ["server"], id="no-address-at-all"),
        pytest.param(
            "v1alpha2", {"server": "https://a", "proxy-url": "ftp://p"}, ["proxy-url"], id="proxy"
        ),
        pytest.param("v1alpha1", {"server": "a:6443"}, [], id="older-takes-any"),
    ],
)
def test_addresses_are_urls_in_the_newer_version(
    version: str, access: Body, expected: Sequence[str]
) -> None:
    """By upstream's CEL rules."""
    body = profile(accessProviders=[{"name": "oidc", "cluster": access}])
    body = {**body, "apiVersion": f"multicluster.x-k8s.io/{version}"}

    assert expected == [one.pointer.rpartition("/")[2] for one in refuse_profile(body)]


def test_the_manager_of_a_profile_stays() -> None:
    """Anything else of it may change."""
    before = profile(manager="one")

    assert ["profile-manager-immutable"] == [
        one.rule for one in refuse_profile_update(before, profile(manager="other"))
    ]
    assert () == refuse_profile_update(before, profile(manager="one", labels={"a": "b"}))


def test_the_manager_of_published_profiles_stays() -> None:
    """An API server would refuse each of them under another; switched off and on it may change."""

    def published(manager: str) -> Body:
        return configuration(inventory={"publish": {"namespace": "fleet", "manager": manager}})

    edit = refuse_publishing_update(published("one"), published("other"))

    assert ["profile-manager-immutable"] == [one.rule for one in edit]
    assert () == refuse_publishing_update(published("one"), published("one"))
    assert () == refuse_publishing_update(published("one"), configuration())
    assert () == refuse_publishing_update(configuration(), published("other"))


def test_profiles_of_a_hub_are_imported_as_clusters() -> None:
    """With their status, since that is all that is known of the cluster."""
    seen_at = [{"name": "one", "value": "1", "lastObservedTime": SINCE}]
    live = profile(conditions=conditions(ControlPlaneHealthy="True"))
    live = {**live, "status": {**live["status"], "properties": seen_at}}  # type: ignore[dict-item]

    plan = import_into({}, [live], Wanted())

    ((path, data),) = plan.files.items()
    assert "clusters/" == path[:9]
    assert b"ControlPlaneHealthy" in data

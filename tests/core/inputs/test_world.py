"""The world of a pass: followed from tree to tree, equal at equal trees, projected clusters."""

import re
from collections.abc import Mapping
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.changes import Outcome, carried_over
from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.index import change_between, follow_inputs, index_inputs
from reconciler.core.inputs.validation import FileValidation, Rules, validate_file
from reconciler.core.inputs.world import SWITCH_BRAKED
from reconciler.core.reconcile import reconcile
from reconciler.core.state import follow_state, read_state
from reconciler.manifests.paths import blob_id
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.records import replace
from reconciler.model.world import Kinds
from reconciler.projection.project import ClusterReadiness, condition
from reconciler.shell.resources import load_schemas
from tests.builders import NOW, Body, cluster, configuration, deployment, policy
from tests.core.test_law_memo import told_of
from tests.core.test_laws import LAW
from tests.stories import Story, story
from tests.strategies import edit, objects, stories

PROJECTING = configuration(inventory={"project": True})
MANAGED = ("cluster.open-cluster-management.io", "ManagedCluster")
MEMBER = ("cluster.kubernetes-fleet.io", "MemberCluster")
KARMADA = ("cluster.karmada.io", "Cluster")


def managed(name: str, **labels: str) -> Body:
    """A declared ManagedCluster."""
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": name, "labels": labels},
        "spec": {"hubAcceptsClient": True},
    }


def member(name: str) -> Body:
    """A declared MemberCluster."""
    return {
        "apiVersion": "cluster.kubernetes-fleet.io/v1beta1",
        "kind": "MemberCluster",
        "metadata": {"name": name},
        "spec": {"identity": {"kind": "ServiceAccount", "name": "agent"}},
    }


def pick_all() -> Body:
    """A ClusterResourcePlacement that wants every cluster."""
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": "base"},
        "spec": {
            "resourceSelectors": [{"group": "", "version": "v1", "kind": "Namespace", "name": "x"}],
            "policy": {"placementType": "PickAll"},
        },
    }


def seen(told: Story) -> Mapping[str, list[str]]:
    """The names of the clusters that each API sees."""
    world = told.world()
    return {
        kind: [m.key.name for m in world.of_kind(group, kind)]
        for group, kind in (KARMADA, MANAGED, MEMBER)
    }


def allowed_by(outcome: Outcome) -> str:
    """The digest that a fault names."""
    (fault,) = (one for one in outcome.faults if one.rule == SWITCH_BRAKED)
    found = re.search(r"sha256:[0-9a-f]+", fault.expected)
    assert found is not None
    return found[0]


def fleet_places(told: Story) -> set[str]:
    """Where KubeFleet wants its placement."""
    specs = (
        mapping(one.body, "spec")
        for key, one in told.world().outputs.items()
        if key.kind == "ClusterResourceBinding"
    )
    return {str(spec["targetCluster"]) for spec in specs if spec["state"] != "Unscheduled"}


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        pytest.param(
            [cluster("a"), cluster("b")],
            {"Cluster": ["a", "b"], "ManagedCluster": ["a", "b"], "MemberCluster": ["a", "b"]},
            id="one-kind-serves-all",
        ),
        pytest.param(
            [cluster("a"), managed("b")],
            {"Cluster": ["a"], "ManagedCluster": ["b"], "MemberCluster": ["a", "b"]},
            id="its-own-or-all-others",
        ),
        pytest.param(
            [cluster("a"), managed("b"), member("c")],
            {"Cluster": ["a"], "ManagedCluster": ["b"], "MemberCluster": ["c"]},
            id="each-its-own",
        ),
        pytest.param(
            [], {"Cluster": [], "ManagedCluster": [], "MemberCluster": []}, id="none-at-all"
        ),
    ],
)
def test_an_api_sees_its_own_clusters_or_those_of_all_others(
    bodies: list[Body], expected: Mapping[str, list[str]]
) -> None:
    """Sorted by name."""
    assert expected == seen(story(PROJECTING, *bodies))


def test_without_the_setting_each_api_sees_its_own_alone() -> None:
    """So no fleet moves by an upgrade."""
    told = story(cluster("a"))

    assert {"Cluster": ["a"], "ManagedCluster": [], "MemberCluster": []} == seen(told)


def test_of_one_name_the_first_api_counts() -> None:
    """Karmada's cluster says what KubeFleet sees of `a`, not that of Open Cluster Management."""
    told = story(PROJECTING, cluster("a", labels={"of": "karmada"}), managed("a", of="ocm"))

    found = told.world().find(ObjectKey(*MEMBER, "", "a"))

    assert found is not None
    assert {"of": "karmada"} == found.body["metadata"]["labels"]  # type: ignore[index]  # a mapping


def test_a_cluster_of_another_api_is_no_resource_to_select() -> None:
    """What people wrote stays what they wrote: nothing is added to it."""
    told = story(PROJECTING, cluster("a"))

    assert {KARMADA, ("reconciler.dev", "ReconcilerConfiguration")} == {
        key[:2] for key in told.world().inputs
    }


def test_the_first_own_cluster_waits_where_something_would_be_lost() -> None:
    """KubeFleet keeps to the clusters that it saw, until exactly this switch is allowed."""
    told = story(PROJECTING, cluster("a"), cluster("b"), pick_all())
    told.run(0)
    assert {"a", "b"} == fleet_places(told)
    told.put(member("c"))
    outcome = told.run(10)

    (fault,) = (one for one in outcome.faults if one.rule == SWITCH_BRAKED)
    assert "would see 1 cluster of its own instead of 2 of other APIs" in fault.message
    assert {"a", "b"} == fleet_places(told)
    told.run(10)
    assert {"a", "b"} == fleet_places(told)

    told.put(configuration(inventory={"project": True}, safety={"allow": allowed_by(outcome)})).run(
        10
    )

    assert ["c"] == seen(told)["MemberCluster"]
    assert {"c"} == fleet_places(told)


def test_own_clusters_for_all_of_them_switch_at_once() -> None:
    """Nothing is lost, so nothing waits."""
    told = story(PROJECTING, cluster("a"), pick_all())
    told.run(0)

    outcome = told.put(member("a"), member("b")).run(10)

    assert () == outcome.faults
    assert ["a", "b"] == seen(told)["MemberCluster"]


def test_what_the_same_pass_moves_away_holds_no_switch() -> None:
    """Else the pass after it would switch, at the same moment."""
    told = story(PROJECTING, member("a"), member("b"), deployment(), only_on("a"))
    told.run(0)

    outcome = told.put(cluster("b"), only_on("b")).run(10)

    assert () == outcome.faults
    assert ["b"] == seen(told)["Cluster"]
    assert () == told.run(0).changes


def only_on(name: str) -> Body:
    """A policy that chooses one cluster."""
    return policy(placement={"clusterAffinity": {"clusterNames": [name]}})


def test_where_nothing_is_placed_nothing_waits() -> None:
    """A repository that begins with one API goes on with two."""
    told = story(PROJECTING, cluster("a"), policy(), deployment())
    told.run(0)

    assert () == told.put(member("c")).run(10).faults
    assert ["c"] == seen(told)["MemberCluster"]


def test_a_quantity_that_cannot_be_read_is_a_fault_of_that_cluster() -> None:
    """The others are seen as before."""
    odd = {**cluster("a"), "status": {"resourceSummary": {"allocatable": {"cpu": "much"}}}}
    told = story(PROJECTING, odd, cluster("b"))

    assert ["b"] == seen(told)["MemberCluster"]
    assert {"Cluster.cluster.karmada.io a"} == {one.subject for one in told.world().faults}


def test_a_cluster_that_cannot_say_what_it_serves_serves_everything() -> None:
    """A ManagedCluster with a status tells of no APIs; Karmada places there all the same."""
    well = condition("ManagedClusterConditionAvailable", ClusterReadiness("True", "", "", ""))
    known = {**managed("a"), "status": {"conditions": [well], "allocatable": {"cpu": "4"}}}
    told = story(PROJECTING, known, policy(), deployment())
    told.run(0)

    assert {"a": 2} == told.placed()


INPUTS = Rules(load_schemas(), ADMISSIONS, KINDS)
OUTPUTS = Rules(load_schemas(), {}, KINDS, status_only=True)

WEB = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s, namespace: n}\n"
WIDGET = "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: %s}\n"
CRD = (
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
    "metadata: {name: widgets.example.org}\n"
    "spec: {group: example.org, names: {kind: Widget}, scope: Namespaced}\n"
)
REBALANCER = (
    "apiVersion: apps.karmada.io/v1alpha1\nkind: WorkloadRebalancer\nmetadata: {name: r}\n"
    "spec: {workloads: [{apiVersion: apps/v1, kind: Deployment, name: a, namespace: n}]}\n"
)


def listed(*documents: str) -> str:
    """A List of these documents."""
    items = ("- " + "\n  ".join(one.strip().splitlines()) + "\n" for one in documents)
    return "apiVersion: v1\nkind: List\nitems:\n" + "".join(items)


CONTENTS = [
    *(WEB % "a", WEB % "b", WIDGET % "a", WIDGET % "b", CRD, REBALANCER, ""),
    *("not: ours\n", "a: [\n"),
    *(WEB % "a" + "---\n" + WEB % "c", WEB % "b" + "---\n" + WEB % "b", WEB % "A", "kind: [1\n"),
    WEB % "a" + "spec: {replicas: two}\n",
    listed(WEB % "a", WEB % "b"),
    listed(REBALANCER, WEB % "c", "kind: Half\n"),
    "apiVersion: work.karmada.io/v1alpha2\nkind: ResourceBinding\nmetadata: {name: a}\n",
]  # fmt: skip
PATHS = ["a.yaml", "b.yaml", "c.yaml", "feedback/m1/a.yaml", "feedback/x.yaml", "deep/d.yaml"]

BINDING = "apiVersion: work.karmada.io/v1alpha2\nkind: ResourceBinding\nmetadata:\n  name: %s\n"
RECORDED = [
    *(BINDING % "a" + "  namespace: n\n", BINDING % "a" + "  namespace: n # why\n", "a: [\n"),
    *(BINDING % "b" + "  namespace: n\n", "", BINDING % "a" + "  uid: '1'\n  namespace: n\n"),
]
FOLDER = "status/resourcebindings.work.karmada.io/n"
OUTPUT_PATHS = [f"{FOLDER}/a.yaml", f"{FOLDER}/b.yaml", "status/strange.yaml"]


def trees(paths: list[str], contents: list[str]) -> st.SearchStrategy[list[dict[str, str]]]:
    """A few trees, one after the other."""
    files = st.dictionaries(st.sampled_from(paths), st.sampled_from(contents))
    return st.lists(files, min_size=2, max_size=5)


def inspected(
    files: Mapping[str, str], rules: Rules, known: Mapping[str, FileValidation]
) -> dict[str, FileValidation]:
    """What files hold; of those that stayed the very same inspection."""
    found = {}
    for path, text in files.items():
        blob = blob_id(text.encode(), like="")
        kept = known.get(path)
        same = kept is not None and kept.blob == blob
        found[path] = kept if same and kept else validate_file(path, blob, text.encode(), rules)
    return found


@LAW
@given(trees(PATHS, CONTENTS))
def test_inputs_that_are_followed_are_surveyed_alike(told: list[dict[str, str]]) -> None:
    """Faults and scopes; kinds follow the manifests."""
    before: dict[str, FileValidation] = {}
    index, kinds = index_inputs((), KINDS), Kinds()
    for files in told:
        after = inspected(files, INPUTS, before)
        index = follow_inputs(index, change_between(before, after, {*before, *after}))
        whole = index_inputs(after.values(), KINDS)
        kinds = kinds.next()

        assert whole == index
        assert Kinds().of(whole.manifests) == kinds.of(index.manifests)
        before = after


@LAW
@given(trees(OUTPUT_PATHS, RECORDED))
def test_outputs_that_are_followed_are_read_alike(told: list[dict[str, str]]) -> None:
    """Readable, canonical, frozen or none of ours."""
    before: dict[str, FileValidation] = {}
    state = read_state((), "status", KINDS)
    for files in told:
        after = inspected(files, OUTPUTS, before)
        state = follow_state(
            state, change_between(before, after, {*before, *after}), "status", KINDS
        )

        assert read_state(after.values(), "status", KINDS) == state
        before = after


MANY_EXAMPLES = pytest.mark.cpu_seconds(60)  # many examples of whole passes

ELSEWHERE = "f" * 40


@MANY_EXAMPLES
@LAW
@given(stories(), objects(), st.integers(0, 15))
def test_a_pass_at_another_commit_decides_the_same(
    told: Story, bodies: list[Body], share: int
) -> None:
    """To the byte, the commit that is named among them."""
    edit(told, bodies, share)
    before, now = told.world(), told.now + timedelta(seconds=1)
    after = replace(told.world(), revision=ELSEWHERE)

    found = carried_over(reconcile(before, now), now, before, after)

    assert found is not None
    assert told_of(reconcile(after, now)) == told_of(found)


@MANY_EXAMPLES
def test_a_world_that_differs_is_decided_anew() -> None:
    """Where a file came, went, or says something else."""
    told = story(cluster(), policy(), deployment())
    before, outcome = told.world(), reconcile(told.world(), NOW)

    told.put(deployment("api"))

    assert carried_over(outcome, NOW, before, told.world()) is None

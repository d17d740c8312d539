"""A pass: mistakes of one object stop it alone, edits of outputs, and work that follows changes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from benchmarks.work_counters import work_after_one_change
from reconciler.core import rebalances
from reconciler.core.dialects import KINDS
from reconciler.core.inputs import validation
from reconciler.core.inputs.validation import Rules
from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.karmada import plan as karmada
from reconciler.dialects.karmada import plan as karmada_fleet
from reconciler.dialects.karmada.api import cluster_taints
from reconciler.dialects.karmada.detector import detect as claims
from reconciler.dialects.karmada.detector import policies
from reconciler.dialects.kubefleet import decide as kubefleet_decide
from reconciler.dialects.kubefleet import plan as kubefleet
from reconciler.dialects.ocm import plan as ocm
from reconciler.dialects.ocm import plan as ocm_drafts
from reconciler.dialects.ocm import plan as ocm_placements
from reconciler.manifests.text.reader import read
from reconciler.model.records import replace
from reconciler.model.world import World
from reconciler.shell.resources import load_schemas
from tests.builders import (
    DYNAMIC,
    Body,
    after,
    cluster,
    configmap,
    deployment,
    divided,
    metadata,
    policy,
    rebalancer,
    schedule_trigger,
    target,
    text,
)
from tests.dialects.kubefleet.fleet import member, placement
from tests.stories import BINDINGS, Story, applied, story

CONTAINED = pytest.mark.usefixtures("contained")

SCORE = re.compile(r" *score.reconciler.dev/.*\n")
HUB = "cluster.open-cluster-management.io"


def managed(name: str, **spec: object) -> Body:
    """A ManagedCluster in the set that the namespace is bound to."""
    return {
        "apiVersion": f"{HUB}/v1",
        "kind": "ManagedCluster",
        "metadata": metadata(name),
        "spec": {"hubAcceptsClient": True, **spec},
    }


def asked(name: str) -> Body:
    """A Placement of OCM."""
    return {
        "apiVersion": f"{HUB}/v1beta1",
        "kind": "Placement",
        "metadata": metadata(name, "default"),
        "spec": {},
    }


def changed_placement(name: str) -> Body:
    """A Placement of OCM that asks for one cluster."""
    return {**asked(name), "spec": {"numberOfClusters": 1}}


BOUND: Body = {
    "apiVersion": f"{HUB}/v1beta2",
    "kind": "ManagedClusterSetBinding",
    "metadata": metadata("default", "default"),
    "spec": {"clusterSet": "default"},
}


def fleet() -> Story:
    """Something of every kind, "bad" and "good" of each, decided by a pass."""
    told = story(
        *(cluster(name) for name in ("a", "bad")),
        *(member(name) for name in ("fa", "fbad")),
        *(managed(name) for name in ("ma", "mbad")),
        BOUND,
        policy("good", placement={"clusterAffinity": {"clusterNames": ["a"]}}),
        *(deployment(name) for name in ("bad", "good")),
        *(asked(name) for name in ("bad", "good")),
        *(placement(None, name=name) for name in ("bad", "good")),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata("default")},
    )
    told.run(0)
    return told


@dataclass(frozen=True)
class Case:
    """A function that meets a mistake where an argument is about an object of this name.

    `edits` are what people change; outputs with one of `kept` in their path stay as they were.
    """

    module: Any
    function: str
    bad: str
    edits: tuple[Body, ...]
    subject: str
    kept: tuple[str, ...]


SCALED = (deployment("bad", replicas=7), deployment("good", replicas=7))
BINDING, FLEETS = "default/bad-deployment", "clusterresourceplacements.placement"
PLACED, PLACED_GOOD = "default/bad", "default/good"
CASES = {
    "karmada-binding": Case(
        karmada,
        "decide",
        "bad-deployment",
        SCALED,
        "ResourceBinding.work.karmada.io default/bad-deployment",
        (BINDING,),
    ),
    "karmada-workload": Case(
        claims, "draft_binding", "bad", SCALED, "Deployment.apps default/bad", (BINDING,)
    ),
    "karmada-template": Case(
        claims, "template_of", "bad", SCALED, "Deployment.apps default/bad", (BINDING,)
    ),
    "karmada-policy": Case(
        policies,
        "decode_policy",
        "good",
        (policy("good", placement={}), cluster("new")),
        "PropagationPolicy.policy.karmada.io default/good",
        ("resourcebindings.work",),
    ),
    "karmada-cluster": Case(
        cluster_taints,
        "decode_cluster",
        "bad",
        (cluster("bad", region="north"), *SCALED),
        "Cluster.cluster.karmada.io bad",
        (),
    ),
    "karmada-cluster-in-use": Case(
        karmada_fleet,
        "admit_cluster",
        "a",
        (cluster("a", region="north"), *SCALED),
        "Cluster.cluster.karmada.io a",
        ("resourcebindings.work",),
    ),
    "ocm-placement": Case(
        ocm_placements,
        "decide",
        "bad",
        (managed("mc"),),
        "Placement.cluster.open-cluster-management.io default/bad",
        (PLACED,),
    ),
    "ocm-draft": Case(
        ocm_drafts,
        "draft_of",
        "bad",
        (managed("mc"), changed_placement("bad"), changed_placement("good")),
        "Placement.cluster.open-cluster-management.io default/bad",
        (PLACED,),
    ),
    "ocm-cluster": Case(
        ocm,
        "admit_cluster",
        "mbad",
        (managed("mbad", leaseDurationSeconds=5), managed("mc")),
        "ManagedCluster.cluster.open-cluster-management.io mbad",
        (PLACED, PLACED_GOOD),
    ),
    "kubefleet-placement": Case(
        kubefleet_decide,
        "repair_drift",
        "bad",
        (member("fc"),),
        "ClusterResourcePlacement.placement.kubernetes-fleet.io bad",
        (f"{FLEETS}.kubernetes-fleet.io/bad", "/bad-"),
    ),
    "kubefleet-cluster": Case(
        kubefleet,
        "admit_cluster",
        "fbad",
        (member("fbad", labels={"x": "y"}), member("fc")),
        "MemberCluster.cluster.kubernetes-fleet.io fbad",
        ("placement.kubernetes-fleet.io",),
    ),
    "rebalancer": Case(
        rebalances,
        "_ask",
        "bad",
        (
            rebalancer("bad", target(name="good")),
            schedule_trigger("t", target(name="good")),
        ),
        "WorkloadRebalancer.apps.karmada.io bad",
        ("workloadrebalancers.apps.karmada.io/bad",),
    ),
}


def break_for(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the mistake."""
    whole = getattr(case.module, case.function)
    marks = (f"name='{case.bad}'", f"'name': '{case.bad}'")

    def stops(*arguments: object, **named: object) -> object:
        told = [repr(one)[:300] for one in arguments if not isinstance(one, World)]
        if any(mark in text for text in told for mark in marks):
            raise KeyError({1, 2}, "nobody thought of it")
        return whole(*arguments, **named)

    monkeypatch.setattr(case.module, case.function, stops)


def told_of(told: Story) -> dict[str, str]:
    """The outputs but for what is recorded of the pass itself, and the scores of a choice.

    OCM's Balance counts what others have chosen.
    """
    records = ("status/reconciler.yaml", "status/faults.yaml")
    return {path: SCORE.sub("", data) for path, data in told.outputs.items() if path not in records}


@CONTAINED
@pytest.mark.parametrize("name", CASES)
def test_a_mistake_stops_its_object_only(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps its outputs, all else is as without it, and nothing flaps until it is mended."""
    case = CASES[name]
    told = fleet().put(*case.edits)
    calm = replace(told, files=dict(told.files))
    before = told_of(told)
    with monkeypatch.context() as broken:
        break_for(case, broken)
        first = told.run(1)
        again = told.run(2)
    calm.run(1)

    expected = {
        path: before.get(path, "") if any(part in path for part in case.kept) else data
        for path, data in told_of(calm).items()
    }
    expected = {path: data for path, data in expected.items() if data}
    assert [(case.subject, "internal-error")] == [(f.subject, f.rule) for f in first.faults]
    assert [case.subject] == [trace.fault.subject for trace in first.traces]
    assert "KeyError" in first.traces[0].text
    assert "nobody thought" not in told.files["status/faults.yaml"]
    assert expected == told_of(told)
    assert () == again.changes
    told.run(3)
    assert "status/faults.yaml" not in told.files


@CONTAINED
@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_met_alike_with_and_without_a_memo(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 10."""
    case = CASES[name]
    told = fleet()
    memo = Memo()
    reconcile(told.world(), told.now, memo=memo)
    told.put(*case.edits)
    break_for(case, monkeypatch)
    for seconds in (60, 61, 400):
        world = told.world()
        cold = reconcile(world, after(seconds))

        assert cold == reconcile(world, after(seconds), memo=memo)
        told.files = applied(told.files, cold)


@CONTAINED
@pytest.mark.parametrize("error", [MemoryError(), OSError("disk")])
def test_what_belongs_to_no_object_boundaryes_through(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the pass fails, and is tried again."""
    told = fleet().put(*SCALED)

    def stops(*_: object) -> None:
        raise error

    monkeypatch.setattr(karmada, "decide", stops)

    with pytest.raises(type(error)):
        told.run(1)


@CONTAINED
def test_a_reader_that_raises_stops_its_file_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last good version of the file stays in force."""
    told = fleet()
    before = told_of(told)
    whole = read

    def stops(data: bytes, path: str) -> object:
        if b"unlucky" in data:
            raise RecursionError
        return whole(data, path)

    monkeypatch.setattr("reconciler.core.inputs.validation.read", stops)
    told.put({**deployment("bad"), "unlucky": 1})
    outcome = told.run(1)

    assert ["internal-error"] == [fault.rule for fault in outcome.faults]
    assert ["RecursionError"] == [trace.text.splitlines()[-1] for trace in outcome.traces]
    assert before == told_of(told)


@CONTAINED
def test_a_rule_that_raises_stops_its_document_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault says where the document begins."""

    def stops(body: Body) -> tuple[()]:
        raise ValueError(body)

    data = text_of_both()
    rules = Rules(load_schemas(), {("apps", "Deployment"): stops}, KINDS)
    found = validation.validate_file("x.yaml", "", data, rules)

    assert ["settings"] == [document.identity.name for document in found.documents]
    assert [("internal-error", 3)] == [(one.fault.rule, one.fault.line) for one in found.broken]
    assert ["bad"] == [one.identity.name for one in found.broken if one.identity is not None]


def text_of_both() -> bytes:
    """A file of two documents."""
    return text(configmap(), deployment("bad")).encode()


WEB = f"{BINDINGS}/default/web-deployment.yaml"


def edited(told: Story, old: str, new: str) -> Story:
    """Replace a text in the binding of web."""
    assert old in told.files[WEB]
    told.files[WEB] = told.files[WEB].replace(old, new)
    return told


def placed_story() -> Story:
    """Web with four replicas on a and b, divided."""
    told = story(
        cluster("a"),
        cluster("b"),
        policy(placement={"replicaScheduling": divided()}),
        deployment(replicas=4),
    )
    told.run(0)
    assert {"a": 2, "b": 2} == told.placed()
    return told


def test_an_edit_of_clusters_is_the_previous_assignment() -> None:
    """It stays where nothing asks for another one, and is reported once."""
    told = edited(placed_story(), "replicas: 2", "replicas: 1")
    told = edited(told, "- name: a\n    replicas: 1", "- name: a\n    replicas: 3")
    outcome = told.run(10)

    assert {"a": 3, "b": 1} == told.placed()
    assert [WEB] == [told.world().outputs[key].origin.path for key in outcome.edited]
    assert () == told.run(11).edited


def test_an_edit_that_does_not_add_up_is_completed() -> None:
    """Replicas are missing, so the scheduler is asked, from the edited assignment on."""
    told = edited(placed_story(), "  - name: b\n    replicas: 2\n", "")
    outcome = told.run(10)

    assert 4 == sum(told.placed().values())
    assert 1 == len(outcome.edited)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("replicas: 4", "replicas: 40", id="replicas-wanted"),
        pytest.param("kind: Deployment\n    name", "kind: Another\n    name", id="owner"),
        pytest.param("schedulerName: default-scheduler", "schedulerName: none", id="scheduler"),
        pytest.param("policy.karmada.io/name: p\n", "policy.karmada.io/name: q\n", id="claim"),
        pytest.param("generation: 1", "generation: 1\n  finalizers: [x]", id="finalizer"),
        pytest.param(
            "    reconciler.dev/placed", "    x: note\n    reconciler.dev/placed", id="note"
        ),
    ],
)
def test_any_other_edit_is_restored(old: str, new: str) -> None:
    """The clusters do not move, and nobody is told of a decision."""
    told = placed_story()
    told.run(60)
    before = told.files[WEB]
    outcome = edited(told, old, new).run(100)

    assert ((), ()) == (outcome.edited, outcome.decisions)
    assert ungenerated(before) == ungenerated(told.files[WEB])


def ungenerated(content: str) -> str:
    """A file without generations: an edit of the spec and its restoration are two."""
    return re.sub(r"[gG]eneration: \d+", "", content)


def test_a_revert_of_a_decision_is_a_rollback() -> None:
    """The earlier file comes back whole, its digest with it: nothing is left to do."""
    told = placed_story()
    before = told.files[WEB]
    told.put(policy(placement={"replicaScheduling": DYNAMIC}))
    told.run(10)
    told.files[WEB] = before
    told.run(20)

    assert {"a": 2, "b": 2} == told.placed()


def test_a_removed_output_is_written_again() -> None:
    """As for a workload that is new."""
    told = placed_story()
    del told.files[WEB]
    told.run(10)

    assert {"a": 2, "b": 2} == told.placed()


COUNTED_PASSES = pytest.mark.cpu_seconds(
    60
)  # six passes over two repositories, one of them counted

MORE = 1.02  # a pass counts the digits of a moment, and the like


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """What one changed workload costs among 25, and among 200."""
    folder = tmp_path_factory.mktemp("work")
    small = work_after_one_change(folder / "small", 60, clusters=10)
    large = work_after_one_change(folder / "large", 410, clusters=10)
    return small, large


@COUNTED_PASSES
def test_one_binding_is_decided(work: tuple[Mapping[str, int], Mapping[str, int]]) -> None:
    """Once, once without the edit to see that it was the cause, and once to see that nothing moves.

    It and the record of the pass are written. Each draft is made anew by tests, to compare the two.
    """
    _, large = work

    assert {"drafted": 2 * 2, "decided": 3, "encoded": 2, "hashed": 1} == {
        name: count for name, count in large.items() if name != "calls"
    }


@COUNTED_PASSES
def test_work_does_not_grow_with_the_repository(
    work: tuple[Mapping[str, int], Mapping[str, int]],
) -> None:
    """From the commit to the outcome, in calls of any function."""
    small, large = work

    assert large["calls"] <= small["calls"] * MORE

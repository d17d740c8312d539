"""What nobody foresaw in one object stops that object alone; law 11."""

import re
from dataclasses import dataclass, replace
from typing import Any

import pytest

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
from reconciler.model.world import World
from reconciler.shell.resources import load_schemas
from tests.builders import (
    Body,
    after,
    cluster,
    configmap,
    deployment,
    metadata,
    policy,
    rebalancer,
    schedule_trigger,
    target,
    text,
)
from tests.dialects.kubefleet.fleet import member, placement
from tests.stories import Story, applied, story

pytestmark = pytest.mark.usefixtures("contained")

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

"""What a pass looks at again: each kind of change, and nothing that it does not concern."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.karmada import plan
from reconciler.dialects.karmada.decide import Surroundings, decide
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.object_pass import Part
from reconciler.model.identity import ObjectKey
from tests.builders import (
    DYNAMIC,
    Body,
    cluster,
    configmap,
    configuration,
    deployment,
    policy,
    selector,
    taint,
)
from tests.dialects.karmada.test_work_reports import work
from tests.followed import linked
from tests.stories import Story, applied, story

AWAY = taint("gone", "NoExecute")
REPORT: Body = {
    **deployment("web", replicas=4),
    "status": {"availableReplicas": 4, "observedGeneration": 1},
}
DIVIDED: Body = {"replicaScheduling": DYNAMIC}
WIDE = policy("wide", selectors=[selector(name="loose")], placement=DIVIDED)


def fleet() -> Story:
    """Divided and duplicated workloads, one with what it needs, and one that no policy wants."""
    needing = policy(
        "needing", selectors=[selector(name="needy")], placement=DIVIDED, propagateDeps=True
    )
    dividing = policy("web", selectors=[selector(name="web")], placement=DIVIDED)
    everywhere = policy("every", selectors=[selector(name="every")], placement={})
    here: Body = {"clusterAffinity": {"clusterNames": ["a"]}, **DIVIDED}
    staying = policy("here", selectors=[selector(name="here")], placement=here)
    there: Body = {"clusterAffinity": {"clusterNames": ["z"]}, **DIVIDED}
    waiting = policy("stuck", selectors=[selector(name="stuck")], placement=there)
    names = ("web", "every", "here", "needy", "loose", "stuck")
    return story(
        *(cluster(name) for name in "abc"),
        *(deployment(name, replicas=4) for name in names),
        needing,
        dividing,
        everywhere,
        staying,
        waiting,
        configmap("settings"),
    )


def drop(path: str) -> Callable[[Story], None]:
    """Take a file away."""

    def edit(told: Story) -> None:
        del told.files[path]

    return edit


def put(*bodies: Body, path: str = "") -> Callable[[Story], None]:
    """Write objects."""

    def edit(told: Story) -> None:
        told.put(*bodies, path=path)

    return edit


def moved_by_hand(told: Story) -> None:
    """A person moves a workload, in its binding."""
    path = "status/resourcebindings.work.karmada.io/default/here-deployment.yaml"
    told.files[path] = told.files[path].replace("- name: a\n", "- name: b\n")


CASES: dict[str, tuple[Callable[[Story], None], set[str]]] = {
    "scaled": (put(deployment("web", replicas=6)), {"web"}),
    "relabelled": (put(deployment("loose", replicas=5)), set()),
    "policy-selects": (put(WIDE), {"loose"}),
    "policy-edited": (
        put(policy("web", selectors=[selector(name="web")], placement={})),
        {"web"},
    ),
    "policy-gone": (drop("propagationpolicy/default/web.yaml"), {"web"}),
    "workload-gone": (drop("deployment/default/web.yaml"), set()),
    "report": (put(REPORT, path="feedback/a/web.yaml"), {"web"}),
    "work-reported": (put(work("a", deployment("web")), path="feedback/a/work.yaml"), {"web"}),
    "edited-by-hand": (moved_by_hand, {"here"}),
    "cluster-tainted": (put(cluster("b", taints=[AWAY])), {"web", "every", "needy", "stuck"}),
    "cluster-joins": (put(cluster("d")), {"every", "stuck"}),
    "cluster-gone": (drop("cluster/c.yaml"), {"web", "every", "needy", "stuck"}),
    "settings": (
        put(configuration(feedback={"assumeAfterSeconds": 5})),
        {"web", "every", "here", "needy", "stuck"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_only_what_a_change_concerns_is_decided(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what comes of it is what comes of deciding everything."""
    edit, concerned = CASES[name]
    told, memo, world = fleet(), Memo(), None
    for _ in range(4):
        world = linked(told.world(), world)
        told.files = applied(told.files, reconcile(world, told.now, memo=memo))
        told.now += timedelta(seconds=100)
    world = linked(told.world(), world)
    reconcile(world, told.now, memo=memo)
    edit(told)
    world = linked(told.world(), world)
    cold = reconcile(world, told.now)
    decided: set[ObjectKey] = set()

    def noted(draft: Draft, demand: RescheduleTrigger | None, around: Surroundings) -> Part:
        decided.add(draft.key)
        return decide(draft, demand, around)

    monkeypatch.setattr(plan, "decide", noted)
    warm = reconcile(world, told.now, memo=memo)

    assert replace(cold, explanations={}) == replace(warm, explanations={})
    names = {key.name.removesuffix("-deployment") for key in decided}
    assert concerned == names - {"settings-configmap"}


def test_a_pass_that_was_broken_off_leaves_nothing_half_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No memory belongs to no object: the next pass decides as one that remembers nothing."""
    told, memo, world = fleet(), Memo(), None
    world = linked(told.world(), world)
    told.files = applied(told.files, reconcile(world, told.now, memo=memo))
    told.now += timedelta(seconds=100)
    told.put(deployment("web", replicas=6), deployment("here", replicas=7))
    world = linked(told.world(), world)

    def spent(draft: Draft, demand: RescheduleTrigger | None, around: Surroundings) -> Part:
        if draft.key.name == "web-deployment":
            raise MemoryError
        return decide(draft, demand, around)

    with monkeypatch.context() as broken:
        broken.setattr(plan, "decide", spent)
        with pytest.raises(MemoryError):
            reconcile(world, told.now, memo=memo)
    cold = reconcile(world, told.now)

    assert replace(cold, explanations={}) == replace(
        reconcile(world, told.now, memo=memo), explanations={}
    )

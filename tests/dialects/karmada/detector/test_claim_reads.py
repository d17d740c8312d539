"""What claims and bindings read of others: each kind of read is recorded, none in vain.

A change that one kind of read tells of is found by a pass that remembers, and is overlooked if that
kind is not recorded.
"""

from collections.abc import Callable

import pytest

from reconciler.core.reconcile import reconcile
from reconciler.dialects.karmada.detector import detect
from reconciler.dialects.karmada.detector.detect import ClaimTable
from reconciler.model.identity import ObjectKey
from tests.builders import DYNAMIC, Body, cluster, deployment, policy, selector, taint
from tests.dialects.recorded_reads import Changes, RememberedStory, after_the_change, overlook
from tests.stories import Story, story

DIVIDED: Body = {"replicaScheduling": DYNAMIC}
TEAM = {"team": "a"}
BY_LABEL = selector(labelSelector={"matchLabels": TEAM})
ON_A: Body = {"clusterAffinity": {"clusterNames": ["a"]}, **DIVIDED}
TO_B: Body = {"clusterAffinity": {"clusterNames": ["b"]}, **DIVIDED}


def unclaimed() -> Story:
    """Workloads that no policy wants."""
    return story(cluster("a"), cluster("b"), *map(of_team, ("web", "job")), deployment("other"))


def of_team(name: str) -> Body:
    """A workload with a label."""
    return deployment(name, labels=TEAM)


def placed() -> Story:
    """One workload on one cluster, by its name."""
    return unclaimed().put(policy("web", selectors=[selector(name="web")], placement=ON_A))


def everywhere() -> Story:
    """One workload on whatever cluster there is."""
    return unclaimed().put(policy("web", selectors=[selector(name="web")], placement={}))


def put(*bodies: Body) -> Callable[[Story], object]:
    """Write objects."""
    return lambda told: told.put(*bodies)


def moved_by_hand(told: Story) -> None:
    """A person moves a workload, in its binding."""
    path = "status/resourcebindings.work.karmada.io/default/web-deployment.yaml"
    told.files[path] = told.files[path].replace("- name: a\n", "- name: b\n")


CHANGES: Changes = {
    "policies": (unclaimed, put(policy("team", selectors=[BY_LABEL], placement=ON_A))),
    "name": (placed, put(cluster("a", taints=[taint("gone", "NoExecute")]))),
    "any": (everywhere, put(cluster("c"))),
}
OWN: Changes = {
    "name of a workload": (
        unclaimed,
        put(policy("web", namespace="", selectors=[selector(name="web")], placement=ON_A)),
    ),
    "binding": (placed, moved_by_hand),
}


@pytest.mark.parametrize("kind", [*CHANGES, *OWN])
def test_a_change_is_found(kind: str) -> None:
    """By what the claim, or the binding, read."""
    warm, cold = after_the_change({**CHANGES, **OWN}, kind)

    assert cold.changes
    assert cold.changes == warm.changes


@pytest.mark.parametrize("kind", CHANGES)
def test_each_kind_of_read_is_needed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is not recorded, the change is overlooked."""
    overlook(kind, monkeypatch)
    warm, cold = after_the_change(CHANGES, kind)

    assert cold.changes
    assert cold.changes != warm.changes


@pytest.mark.parametrize("kind", OWN)
def test_what_a_workload_is_found_by_is_needed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name, and that of its binding."""
    monkeypatch.setattr(detect, "_names", lambda _: ())
    monkeypatch.setattr(ClaimTable, "wanting", lambda *_: frozenset[ObjectKey]())
    warm, cold = after_the_change(OWN, kind)

    assert cold.changes
    assert cold.changes != warm.changes


def test_a_policy_that_waited_makes_room_when_it_goes() -> None:
    """It claimed nothing, and kept the others from claiming."""
    waiting = policy(
        "first",
        selectors=[selector(name="web")],
        placement=ON_A,
        priority=9,
        dependentOverrides=["missing"],
    )
    told = RememberedStory(
        unclaimed().put(waiting, policy("next", selectors=[selector(name="web")], placement=TO_B))
    )
    del told.told.files["propagationpolicy/default/first.yaml"]
    warm, cold = told.advance(), reconcile(told.told.world(), told.told.now)

    assert cold.decisions
    assert cold.changes == warm.changes


def test_a_policy_by_label_concerns_who_has_the_label() -> None:
    """Others of the kind are not looked at."""
    told = RememberedStory(unclaimed())
    told.told.put(policy("team", selectors=[BY_LABEL], placement=ON_A))
    [memory] = [found for api, found in told.memo.dialects.items() if api.name == "karmada"]
    looked_at: set[str] = set()
    real = ClaimTable.replace

    def noted(table: ClaimTable, gone: set[ObjectKey], came: object) -> None:
        looked_at.update(key.name for key in gone if key.kind == "Deployment")
        real(table, gone, came)  # type: ignore[arg-type]  # as it is given

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(memory.memory.claims.table), "replace", noted)  # type: ignore[attr-defined]  # Karmada's
        told.advance()

    assert {"job", "web"} == looked_at

"""What a placement reads of others: each kind of read is recorded, and none is recorded in vain.

A change that one kind of read tells of is found by a pass that remembers, and is overlooked if that
kind is not recorded.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from reconciler.core.changes import Outcome
from reconciler.core.memo import Memo
from reconciler.core.reconcile import reconcile
from reconciler.dialects.kubefleet import reads
from reconciler.dialects.read_index import Question
from reconciler.model.identity import ObjectKey
from tests.builders import Body, deployment
from tests.dialects.kubefleet.fleet import EAST, fixed, member, pick, placement
from tests.dialects.kubefleet.test_reports import report
from tests.followed import linked
from tests.stories import Story, applied, story

MANY = [f"c{number:02}" for number in range(24)]
"""More clusters than a record of a decision names."""
IN_THE_EAST = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "clusterSelectorTerms": [{"labelSelector": {"matchLabels": EAST}}]
    }
}


def by_label() -> Story:
    """A placement in the east; one cluster of many is there."""
    wanted = pick(1, affinity={"clusterAffinity": IN_THE_EAST})
    clusters = [member(name, labels=EAST if name == "c05" else {}) for name in MANY]
    return story(*clusters, placement({**wanted, "numberOfClusters": 2}), deployment())


def by_name() -> Story:
    """A placement on two clusters, one of which is not there yet."""
    return story(member("a"), placement(fixed("a", "z")), deployment())


def everywhere() -> Story:
    """A placement on all clusters."""
    return story(member("a"), placement(), deployment())


def reported(told: Story) -> None:
    """A cluster says that its copy does not run."""
    told.put(report(0), path="feedback/a/web.yaml")


CHANGES: Mapping[str, tuple[Callable[[], Story], Callable[[Story], object]]] = {
    "label": (by_label, lambda told: told.put(member("c23", labels=EAST))),
    "cluster": (by_name, lambda told: told.put(member("z"))),
    "names of clusters": (by_label, lambda told: told.put(member("b"))),
    "fleet": (everywhere, lambda told: told.put(member("b"))),
    "reports": (everywhere, reported),
}


def after_the_change(kind: str) -> tuple[Outcome, Outcome]:
    """What a pass says after a change, with a memory of those before, and without."""
    begin, change = CHANGES[kind]
    told, memo, world = begin(), Memo(), None
    for _ in range(4):
        world = linked(told.world(), world)
        told.files = applied(told.files, reconcile(world, told.now, memo=memo))
        told.now += timedelta(seconds=100)
    change(told)
    world = linked(told.world(), world)
    return reconcile(world, told.now, memo=memo), reconcile(world, told.now)


def but(kind: str, questions: Iterator[Question]) -> Iterator[Question]:
    """All questions but those of one kind."""
    return (one for one in questions if not (isinstance(one, tuple) and one[0] == kind))


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_found(kind: str) -> None:
    """By what the placement read."""
    warm, cold = after_the_change(kind)

    assert cold.changes
    assert cold.changes == warm.changes


@pytest.mark.parametrize("kind", CHANGES)
def test_each_kind_of_read_is_needed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is not recorded, the change is overlooked."""
    real: Any = reads.clusters_read

    def clusters_read(decoded: Any, outputs: Mapping[ObjectKey, Body]) -> Iterator[Question]:
        return but(kind, real(decoded, outputs))

    def reports(_key: ObjectKey) -> Question:
        return "reports", object()

    monkeypatch.setattr(reads, "clusters_read", clusters_read)
    if kind == "reports":
        monkeypatch.setattr(reads, "reports", reports)
    warm, cold = after_the_change(kind)

    assert cold.changes
    assert cold.changes != warm.changes


def test_a_cluster_elsewhere_concerns_nobody() -> None:
    """It has other labels, and the record does not name it."""
    told, memo, world = by_label(), Memo(), None
    for _ in range(4):
        world = linked(told.world(), world)
        told.files = applied(told.files, reconcile(world, told.now, memo=memo))
        told.now += timedelta(seconds=100)
    told.put(member("c22", labels={"region": "west"}))
    [memory] = [found for one, found in memo.dialects.items() if one.name == "kubefleet"]
    asked: list[ObjectKey] = []
    with pytest.MonkeyPatch.context() as patch:
        parts = memory.memory.parts  # type: ignore[attr-defined]  # KubeFleet's
        patch.setattr(type(parts), "unsettle", lambda _self, keys: asked.extend(keys))
        reconcile(linked(told.world(), world), told.now, memo=memo)

    assert [] == asked

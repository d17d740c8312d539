"""What placements and sets read of others: each kind of read is recorded, none in vain.

A change that one kind of read tells of is found by a pass that remembers, and is overlooked if that
kind is not recorded.
"""

from collections.abc import Mapping

import pytest

from reconciler.model.identity import ObjectKey
from tests.builders import Body
from tests.dialects.ocm.worlds import (
    BY_SCORE,
    GROUP,
    binding,
    body,
    cluster,
    cluster_set,
    fleet,
    placement,
    replica_set,
    score,
    succeed,
)
from tests.dialects.recorded_reads import Changes, RememberedStory, after_the_change, overlook
from tests.stories import Story, story

STEADY: Mapping[str, object] = {
    "mode": "Exact",
    "configurations": [{"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}}],
}


def steady(*more: Body) -> Story:
    """A placement that counts no decisions of others."""
    return story(cluster_set(), binding(), placement(prioritizerPolicy=STEADY), *more)


def two_of_three() -> Story:
    """Two clusters of the set, one of which is not there yet."""
    return steady(cluster("a"))


def unbound() -> Story:
    """A set that is not there yet."""
    return steady(cluster("a"), binding("t"), in_set("b", "t"))


def in_set(name: str, of: str) -> Body:
    """A cluster of another set."""
    return body("ManagedCluster", name, labels={f"{GROUP}/clusterset": of}, spec={"taints": []})


def of_all() -> Story:
    """A placement on whatever cluster there is, by a set that takes all."""
    return story(binding("global"), placement(prioritizerPolicy=STEADY), cluster("a"))


def told_by_score(*names: str) -> Story:
    """One cluster of some, by a score."""
    scores = (score(name, 9 - number) for number, name in enumerate(names))
    wanted = placement(numberOfClusters=1, prioritizerPolicy=BY_SCORE)
    return story(cluster_set(), binding(), wanted, *map(cluster, names), *scores)


def balanced() -> Story:
    """Two placements, the later of which counts what the earlier has."""
    one = placement("p", numberOfClusters=1, prioritizerPolicy=STEADY)
    exact = {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Balance"}}
    policy = {"mode": "Exact", "configurations": [exact]}
    other = placement("q", numberOfClusters=1, prioritizerPolicy=policy)
    return story(cluster_set(), binding(), one, other, cluster("a"), cluster("b"))


def on_b(told: Story) -> None:
    """The earlier placement can go to b only."""
    in_b = {"labelSelector": {"matchExpressions": [{"key": "b", "operator": "Exists"}]}}
    predicates = [{"requiredClusterSelector": in_b}]
    wanted = placement("p", numberOfClusters=1, prioritizerPolicy=STEADY, predicates=predicates)
    told.put(wanted)


def labelled_b() -> Story:
    """Cluster b has a label of its own."""
    told = balanced()
    found = cluster("b")
    labels = {f"{GROUP}/clusterset": "s", "b": "true"}
    return told.put({**found, "metadata": {"name": "b", "labels": labels}})


def with_set() -> Story:
    """A set of ManifestWorks on all clusters of its placement."""
    return fleet("a", "b").put(replica_set(), placement(prioritizerPolicy=STEADY))


def bound_later(told: Story) -> None:
    """A second set is bound in the namespace of the placement."""
    told.put(binding("t"))


CHANGES: Changes = {
    "label": (two_of_three, lambda told: told.put(cluster("b"))),
    "fleet": (of_all, lambda told: told.put(cluster("b"))),
    "set": (unbound, lambda told: told.put(cluster_set("t"))),
    "bindings": (lambda: steady(cluster_set("t"), cluster("a"), in_set("b", "t")), bound_later),
    "scores": (lambda: told_by_score("a", "b"), lambda told: told.put(score("b", 50))),
    "all that is decided": (labelled_b, on_b),
    "placement": (with_set, lambda told: told.put(cluster("c"))),
    "reports": (with_set, lambda told: succeed(told, "a")),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_found(kind: str) -> None:
    """By what the placement, or the set, read."""
    warm, cold = after_the_change(CHANGES, kind)

    assert cold.changes
    assert cold.changes == warm.changes


@pytest.mark.parametrize("kind", CHANGES)
def test_each_kind_of_read_is_needed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is not recorded, the change is overlooked."""
    overlook(kind, monkeypatch)
    warm, cold = after_the_change(CHANGES, kind)

    assert cold.changes
    assert cold.changes != warm.changes


def looked_at(told: RememberedStory) -> set[ObjectKey]:
    """What a pass decides anew of placements and sets."""
    [memory] = [found for one, found in told.memo.dialects.items() if one.name == "ocm"]
    tables = [memory.memory.parts, memory.memory.set_parts]  # type: ignore[attr-defined]  # OCM's
    before = [dict(table._settled) for table in tables]
    told.advance()
    return {
        key
        for table, known in zip(tables, before, strict=True)
        for key, one in known.items()
        if table._settled.get(key) is not one
    }


def test_a_cluster_of_another_set_concerns_nobody() -> None:
    """Neither does a score of it."""
    told = RememberedStory(two_of_three())
    told.told.put(in_set("z", "t"), score("z", 1))

    assert set() == looked_at(told)


def test_a_pass_without_a_change_looks_at_nothing() -> None:
    """Neither at placements nor at sets."""
    told = RememberedStory(with_set())

    assert set() == looked_at(told)


def test_whom_another_moves_before_is_looked_at_in_the_same_round() -> None:
    """And no other placement is: the one before does not count decisions."""
    told = RememberedStory(labelled_b())
    on_b(told.told)

    assert {"p", "q"} == {key.name for key in looked_at(told)}

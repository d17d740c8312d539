"""Law 10 for placements: a memo over a chain of passes changes nothing."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.core.changes import DeleteFile, WriteFile
from reconciler.core.reconcile import Memo, reconcile
from reconciler.model.body import Body
from tests.bounded import examples
from tests.dialects.ocm.test_laws import hubs
from tests.dialects.ocm.worlds import (
    GROUP,
    at,
    binding,
    chosen,
    cluster,
    cluster_set,
    key_of,
    placement,
    world,
)
from tests.followed import linked

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes

HARMS = st.sampled_from((("", ""), ("", ""), ("clusterName: a", "clusterName: c"), ("ns1", "ns1 ")))
STEPS = st.lists(
    st.tuples(hubs(), st.integers(0, 255), st.integers(1, 400), HARMS), min_size=1, max_size=6
)


class Followed:
    """A memo, and the world of its last pass, from which the next one follows."""

    def __init__(self) -> None:
        """Begin with neither."""
        self.memo, self.world = Memo(), world([])


def passed(
    documents: list[Body], files: dict[str, str], now: datetime, known: Followed
) -> tuple[dict[str, str], datetime | None]:
    """A pass with a memo, held against one without: the files it leaves, and when to look again."""
    known.world = linked(world(documents, files), known.world)
    warm = reconcile(known.world, now, memo=known.memo)

    assert reconcile(world(documents, files), now) == warm
    after = dict(files)
    for change in warm.changes:
        match change:
            case WriteFile():
                after[change.path] = change.content
            case DeleteFile():
                del after[change.path]
    return after, warm.recheck_at


def mixed(before: list[Body], after: list[Body], chosen_bits: int) -> list[Body]:
    """Some documents of the one hub, the rest of the other."""
    fresh = {key_of(document): document for document in after}
    kept = {key_of(document): document for document in before}
    keys = sorted(fresh.keys() | kept.keys())
    picked = {key for number, key in enumerate(keys) if chosen_bits >> number % 8 & 1}
    found = [fresh.get(key) if key in picked else kept.get(key) for key in keys]
    return [document for document in found if document is not None]


@settings(deadline=None, max_examples=examples(60))
@given(start=hubs(), steps=STEPS)
def test_a_memo_changes_nothing(
    start: list[Body], steps: list[tuple[list[Body], int, int, tuple[str, str]]]
) -> None:
    """Whatever changes on the hub, one object or all, and whenever the passes run."""
    memo, documents, now = Followed(), start, at(0)
    files: dict[str, str] = {}
    for after, bits, seconds, (old, new) in steps:
        files, _ = passed(documents, files, now, memo)
        _, until = passed(documents, files, now, memo)
        if until is not None:
            for offset in (-1, 0, 1):
                passed(documents, files, until + timedelta(seconds=offset), memo)
        for path in sorted(files)[:2]:
            files[path] = files[path].replace(old, new) if old else files[path]
        documents = mixed(documents, after, bits)
        now += timedelta(seconds=seconds)
    passed(documents, files, now, memo)


def by(name: str) -> Body:
    """A prioritizer policy of one built-in score."""
    coordinate = {"type": "BuiltIn", "builtIn": name}
    return {"mode": "Exact", "configurations": [{"scoreCoordinate": coordinate, "weight": 1}]}


def test_a_decision_before_changes_the_balance_of_one_after() -> None:
    """Only p was moved, by hand, yet q is decided anew: it counts what p has chosen."""
    hub = [cluster_set(), binding(), cluster("a"), cluster("b")]
    hub.append(placement("p", numberOfClusters=1, prioritizerPolicy=by("Steady")))
    hub.append(placement("q", numberOfClusters=1, prioritizerPolicy=by("Balance")))
    memo = Followed()
    files, _ = passed(hub, {}, at(0), memo)
    assert (["a"], ["b"]) == (chosen(files, "p"), chosen(files, "q"))

    files, _ = passed(hub, files, at(1), memo)
    path = f"status/placementdecisions.{GROUP}/ns1/p-decision-1.yaml"
    files[path] = files[path].replace("clusterName: a", "clusterName: b")
    files, _ = passed(hub, files, at(1000), memo)

    assert (["b"], ["a"]) == (chosen(files, "p"), chosen(files, "q"))

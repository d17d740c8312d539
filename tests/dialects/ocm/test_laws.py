"""Laws of whole passes over placements: settled, timed, deterministic, with a memo or without."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.core.changes import DeleteFile, WriteFile
from reconciler.core.reconcile import Memo, reconcile
from reconciler.model.body import Body
from tests.bounded import examples
from tests.dialects.ocm.worlds import (
    BY_SCORE,
    GROUP,
    at,
    binding,
    chosen,
    cluster,
    cluster_set,
    key_of,
    placement,
    run,
    score,
    world,
)
from tests.stories import linked

NAMES = ("a", "b", "c")
SECONDS = st.integers(1, 90)


@st.composite
def hubs(draw: st.DrawFn) -> list[Body]:
    """A hub of three clusters and two placements."""
    documents = [cluster_set(), binding()]
    for name in NAMES:
        effects = draw(st.lists(st.sampled_from(["NoSelect", "NoSelectIfNew"]), max_size=1))
        documents.append(cluster(name, *({"key": "k", "effect": effect} for effect in effects)))
        if draw(st.booleans()):
            until = (at(0) + timedelta(seconds=draw(SECONDS))).isoformat()
            documents.append(score(name, draw(st.integers(-3, 3)), validUntil=until))
    for name in ("p", "q"):
        seconds = draw(st.none() | SECONDS)
        spec: dict[str, object] = {"numberOfClusters": draw(st.integers(1, 3))}
        if draw(st.booleans()):
            spec["prioritizerPolicy"] = {**BY_SCORE, "mode": draw(st.sampled_from(MODES))}
        if draw(st.booleans()):
            tolerated = {"key": "k", "operator": "Exists", "tolerationSeconds": seconds}
            spec["tolerations"] = [tolerated]
        documents.append(placement_of(name, spec))
    return documents


MODES = ("Exact", "Additive")


def placement_of(name: str, spec: dict[str, object]) -> Body:
    """A placement of this spec."""
    return {**placement(name), "spec": spec}


@settings(deadline=None, max_examples=examples(60))
@given(before=hubs(), after=hubs(), later=st.integers(1, 400))
def test_pass_settles_and_foresees_time(before: list[Body], after: list[Body], later: int) -> None:
    """A second pass changes nothing, nor does one before the moment that the second one names."""
    files, _ = run(before, {}, at(0))
    files, _ = run(after, files, at(later))
    _, again = run(after, files, at(later))

    assert () == again.changes
    if again.recheck_at is not None:
        assert again.recheck_at > at(later)
        assert () == run(after, files, again.recheck_at - timedelta(seconds=1))[1].changes
    else:
        assert () == run(after, files, at(10**6))[1].changes


@settings(deadline=None, max_examples=examples(30))
@given(documents=hubs(), data=st.data())
def test_order_of_documents_does_not_matter(documents: list[Body], data: st.DataObject) -> None:
    """Shuffled inputs give equal files."""
    shuffled = data.draw(st.permutations(documents))

    assert run(documents, {}, at(0))[0] == run(shuffled, {}, at(0))[0]


MANY_EXAMPLES = pytest.mark.cpu_seconds(60)  # many examples of whole passes

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


@MANY_EXAMPLES
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


@MANY_EXAMPLES
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

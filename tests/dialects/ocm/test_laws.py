"""Laws of whole passes over placements: settled, timed, deterministic."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.model.body import Body
from tests.bounded import examples
from tests.dialects.ocm.worlds import (
    BY_SCORE,
    at,
    binding,
    cluster,
    cluster_set,
    placement,
    run,
    score,
)

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

"""Clusters ranked by scores that add-ons report, where the configuration allows it."""

from collections.abc import Mapping

import pytest

from reconciler.dialects.kubefleet.plan import KubeFleet
from reconciler.dialects.scores import score_question
from reconciler.model.decision import CauseKind
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import settings_in
from tests.builders import after, configuration, deployment, rebalancer, text_of
from tests.dialects.kubefleet.fleet import GROUP, PLACEMENT, member, pick, placement, targets
from tests.dialects.kubefleet.test_explain import KEY, answers, explained
from tests.dialects.ocm.worlds import score
from tests.dialects.recorded_reads import Changes, after_the_change
from tests.stories import Story, story

ON = configuration(scores={"extend": True})
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SORTER = {"name": "score.reconciler.dev/r.s", "sortOrder": "Descending"}
PREFER_SCORE = {
    "affinity": {
        "clusterAffinity": {PREFERRED: [{"weight": 10, "preference": {"propertySorter": SORTER}}]}
    }
}
TARGET = {"apiVersion": f"{GROUP}/v1beta1", "kind": PLACEMENT, "name": "web"}


def scored(values: Mapping[str, int], *, number: int = 1, on: bool = True) -> Story:
    """Three clusters, some with a score, and a placement on the best."""
    scores = [score(name, value) for name, value in values.items()]
    told = story(
        *map(member, "abc"), *scores, placement(pick(number, **PREFER_SCORE)), deployment()
    )
    return told.put(ON) if on else told


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        pytest.param({"a": 30, "b": 10, "c": 0}, ["a"], id="the-greatest"),
        pytest.param({"a": -50, "c": -20}, ["b"], id="one-that-is-missing-counts-as-0"),
        pytest.param({"a": 0}, ["c"], id="equal-ones-say-nothing"),
    ],
)
def test_a_placement_takes_the_best_by_score(
    scores: Mapping[str, int], expected: list[str]
) -> None:
    """Then the greater name."""
    told = scored(scores)
    told.run(0)

    assert expected == targets(told)


def test_without_the_setting_it_is_a_property_that_no_cluster_has() -> None:
    """As for a hub: nothing is refused, and nothing is ranked by it."""
    told = scored({"a": 30}, on=False)
    told.run(0)

    assert (["c"], ()) == (targets(told), told.world().faults)


def test_a_score_counts_until_it_has_run_out() -> None:
    """Its last moment included."""
    for seconds, expected in ((60, ["a"]), (61, ["b"])):
        told = scored({"b": 10}).put(score("a", 30, validUntil=text_of(after(60))))
        told.run(seconds)

        assert expected == targets(told)


def test_a_score_alone_moves_nothing() -> None:
    """A property that changes has no cluster picked anew either."""
    told = scored({"a": 30})
    told.run(0)
    told.run(1)
    told.put(score("a", 0), score("c", 90))

    assert ["a"] == targets(told)
    assert () == told.run(2).decisions
    assert ["a"] == targets(told)


def test_what_wants_more_clusters_is_ranked_by_the_scores_of_now() -> None:
    """One that lacks clusters waits for the moment at which a score has run out."""
    told = scored({"a": 30}, number=4).put(score("b", 5, validUntil=text_of(after(60))))
    told.run(0)

    assert after(61) == told.run(1).recheck_at
    told.put(placement(pick(3, **PREFER_SCORE)))
    told.run(2)
    assert after(61) != told.run(3).recheck_at


def test_a_rebalance_takes_the_best_of_now() -> None:
    """And names the scores as what it took beside."""
    told = scored({"a": 30})
    told.run(0)
    told.put(score("c", 90), rebalancer("demo", TARGET))
    [decision] = [one for one in told.run(60).decisions if one.before != one.after]

    assert {CauseKind.REBALANCED, CauseKind.SCORES_CHANGED} == decision.cause.kinds
    assert ["c"] == [key.namespace for one in decision.cause.also for key in one.sources]


def test_why_tells_the_score_of_each_cluster() -> None:
    """Those that are missing, and those that have run out."""
    told = scored({"a": 30}).put(score("b", 10, validUntil=text_of(after(-1))))
    found = answers(explained(told))

    assert {
        "a": "score r/s is 30",
        "b": "score r/s has run out, counts as 0",
        "c": "score r/s is not reported, counts as 0",
    } == {name: one.note for name, one in found.items()}


@pytest.mark.parametrize(("number", "reads"), [(4, [KEY]), (1, [])])
def test_a_placement_that_lacks_clusters_reads_the_scores(
    number: int, reads: list[ObjectKey]
) -> None:
    """It is looked at when one changes; one that has all its clusters is not."""
    told = scored({"a": 30}, number=number)
    parts = KubeFleet()
    told.run(0)
    world, settings = told.world(), settings_in(told.world())
    parts.prepare(world, settings, told.now).plan({}, frozenset(), {})

    assert set(reads) == parts.memory.parts.asking(score_question("r"))


def test_a_changed_score_is_found() -> None:
    """By what a pass remembers as well as by what it looks at anew."""
    changes: Changes = {
        "scores": (lambda: scored({"a": 30}, number=4), lambda told: told.put(score("c", 50)))
    }
    warm, cold = after_the_change(changes, "scores")

    assert cold == warm

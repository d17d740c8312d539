"""Scores in the record: what a decision was made by stands beside it, and is told."""

from reconciler.core.message import commit_message
from reconciler.manifests.text.reader import read
from reconciler.model.decision import ScorePart
from reconciler.model.fields import mapping
from tests.builders import NOTHING
from tests.dialects.ocm.worlds import (
    BY_SCORE,
    GROUP,
    at,
    binding,
    cluster,
    cluster_set,
    placement,
    run,
    score,
)

POLICY = {**BY_SCORE, "mode": "Additive"}
HUB = (cluster_set(), binding(), placement(numberOfClusters=1, prioritizerPolicy=POLICY))
FLEET = (*HUB, cluster("a"), cluster("b"))


def scores(files: dict[str, str]) -> dict[str, str]:
    """The scores that the first decision object tells."""
    path = f"status/placementdecisions.{GROUP}/ns1/p-decision-1.yaml"
    metadata = mapping(read(files[path].encode(), path).documents[0].body, "metadata")
    found = mapping(metadata, "annotations")
    return {key: str(found[key]) for key in found if key.startswith("score.")}


def test_decision_carries_the_parts_of_its_scores() -> None:
    """Weight times score of each prioritizer, for the chosen clusters only."""
    files, outcome = run([*FLEET, score("a", 1), score("b", 9)], {}, at(0))
    [decision] = outcome.decisions

    parts = (ScorePart("Balance", 100), ScorePart("Steady", 0), ScorePart("AddOn/r/s", 9))
    assert {"b": parts} == decision.scores
    assert {
        "score.reconciler.dev/b": "109 = Balance 1 x 100 + Steady 1 x 0 + AddOn/r/s 1 x 9"
    } == scores(files)


def test_commit_message_tells_the_total() -> None:
    """One line a decision, the best first."""
    _, outcome = run([*FLEET, score("a", 1), score("b", 9)], {}, at(0))
    message = commit_message(outcome, NOTHING, now=at(0), version="0")

    assert "- ns1/p: nowhere -> b: created; score b 109\n" in message


def test_new_scores_without_a_move_change_nothing() -> None:
    """What is recorded is what the decision was made by, however scores went on."""
    files, _ = run([*FLEET, score("a", 1), score("b", 9)], {}, at(0))
    _, outcome = run([*FLEET, score("a", 2), score("b", 50)], files, at(1000))

    assert () == outcome.changes


def test_move_renews_the_scores() -> None:
    """The period is over, so the better cluster is taken, with its scores."""
    files, _ = run([*FLEET, score("a", 1), score("b", 9)], {}, at(0))
    documents = [*HUB[:2], cluster("a"), cluster("b"), score("a", 99), score("b", -99)]
    files, _ = run([*documents, HUB[2]], files, at(1000))

    assert ["score.reconciler.dev/a"] == list(scores(files))


def test_choice_without_prioritizers_has_a_total_of_nothing() -> None:
    """Exact without configurations scores nobody."""
    hub = [cluster_set(), binding(), cluster("a"), placement(prioritizerPolicy={"mode": "Exact"})]

    assert {"score.reconciler.dev/a": "0"} == scores(run(hub, {}, at(0))[0])

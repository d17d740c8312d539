"""Scores come in thousands and every second; what a repository sees of them is little."""

from datetime import timedelta

from tests.dialects.ocm.worlds import (
    BY_SCORE,
    GROUP,
    at,
    binding,
    chosen,
    cluster,
    cluster_set,
    placement,
    run,
    score,
)

HUB = (cluster_set(), binding(), placement(numberOfClusters=1, prioritizerPolicy=BY_SCORE))
NAMES = [f"c{i:04d}" for i in range(1000)]


def test_thousand_scores_in_one_commit_are_one_pass() -> None:
    """A thousand new files move one placement once, or change nothing at all."""
    hub = [*HUB, *map(cluster, NAMES)]
    files, _ = run([*hub, *(score(name, i % 50) for i, name in enumerate(NAMES))], {}, at(0))
    assert ["c0049"] == chosen(files)

    same = [*hub, *(score(name, i % 50 - 9) for i, name in enumerate(NAMES))]
    assert () == run(same, files, at(1000))[1].changes
    other = [*hub, *(score(name, 50 - i % 50) for i, name in enumerate(NAMES))]
    moved, outcome = run(other, files, at(1000))

    assert (["c0000"], 1) == (chosen(moved), len(outcome.decisions))
    assert [
        f"status/placementdecisions.{GROUP}/ns1/p-decision-1.yaml",
        f"status/placements.{GROUP}/ns1/p.yaml",
        "status/reconciler.yaml",
    ] == [change.path for change in outcome.changes]


def test_scores_of_every_second_move_once_a_period() -> None:
    """Five minutes of scores that favour another cluster each second, valid for ten seconds."""
    hub = [*HUB, cluster("a"), cluster("b")]
    files, _ = run([*hub, score("a", 1), score("b", 0)], {}, at(0))
    commits = moves = 0
    for second in range(1, 301):
        until = (at(second) + timedelta(seconds=10)).isoformat()
        ahead = "ab"[second % 2]
        scores = [score(name, 9 if name == ahead else 0, validUntil=until) for name in "ab"]
        files, outcome = run([*hub, *scores], files, at(second))
        commits += bool(outcome.changes)
        moves += len(outcome.decisions)

    assert (0, 0) == (commits, moves)
    late = [score("a", 0), score("b", 9)]
    files, outcome = run([*hub, *late], files, at(301))
    assert (["b"], 1) == (chosen(files), len(outcome.decisions))
    assert () == run([*hub, score("a", 99), late[1]], files, at(302))[1].changes


def test_missing_scores_are_reported_once() -> None:
    """No object, no item of that name, and one that ran out: told as long as it is so."""
    missing = {**score("b", 1), "status": {"scores": [{"name": "other", "value": 7}]}}
    expired = score("c", 5, validUntil="2020-01-01T00:00:00Z")
    hub = [*HUB, *map(cluster, "abcd"), missing, expired, score("d", -1)]
    files, outcome = run(hub, {}, at(0))

    assert ["a"] == chosen(files)
    assert [
        "the score AddOn/r/s has run out for c, it counts as 0",
        "the score AddOn/r/s is not reported for a, b, it counts as 0",
    ] == [fault.message for fault in outcome.faults]
    assert () == run(hub, files, at(1))[1].changes
    assert () == run(hub, files, at(5000))[1].changes

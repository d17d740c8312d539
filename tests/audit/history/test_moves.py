"""Moves by the hour and parts over time: counted from what commits moved, back from the present."""

from datetime import UTC, datetime, timedelta

import pytest

from reconciler.audit.history.moves import (
    ClusterMoves,
    CommitMoves,
    ObjectMoves,
    cluster_over_time,
    commit_moves,
    differences,
    moves_by_hour,
    object_over_time,
)
from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName, ObjectKey

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
WEB, BOX = (
    ObjectKey("work.karmada.io", "ResourceBinding", "default", name) for name in ("web", "box")
)


def placed(**counts: int) -> Placed:
    """Return where something is."""
    return tuple((ClusterName(name), count) for name, count in sorted(counts.items()))


def moved(key: ObjectKey, before: Placed, after: Placed) -> tuple[ObjectMoves, ...]:
    """Return what one commit moved of one object."""
    return differences({key: before}, {key: after})


def commit(minutes: int, found: tuple[ObjectMoves, ...] | None) -> CommitMoves:
    """Return a commit so many minutes before noon."""
    return commit_moves(f"{minutes:040}", NOON - timedelta(minutes=minutes), found)


NEWEST_FIRST = (
    commit(5, moved(WEB, placed(a=2, b=1), placed(b=3))),
    commit(30, moved(BOX, placed(), placed(a=0))),
    commit(70, moved(WEB, placed(), placed(a=2, b=1))),
)


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        pytest.param("", [(0, 0, 0), (3, 0, 0), (2, 2, 1)], id="all"),
        pytest.param("a", [(0, 0, 0), (2, 0, 0), (0, 2, 1)], id="a"),
        pytest.param("b", [(0, 0, 0), (1, 0, 0), (2, 0, 0)], id="b"),
        pytest.param("c", [(0, 0, 0), (0, 0, 0), (0, 0, 0)], id="none"),
    ],
)
def test_moves_are_counted_by_the_hour(cluster: str, expected: list[tuple[int, int, int]]) -> None:
    """The oldest hour first; copies of an object without replicas are counted apart."""
    found = moves_by_hour(NEWEST_FIRST, NOON - timedelta(minutes=1), 3, cluster)

    assert expected == [(one.came, one.left, one.apart) for one in found]
    assert [NOON - timedelta(hours=back) for back in (3, 2, 1)] == [one.begins for one in found]


def test_an_hour_leads_to_its_newest_commit_that_moved_something() -> None:
    """The one of `b` at the end; on `a`, too, since that one took it from there."""
    found = moves_by_hour(NEWEST_FIRST, NOON - timedelta(minutes=1), 3, "b")

    assert ["", f"{70:040}", f"{5:040}"] == [one.newest for one in found]


def test_a_commit_of_which_nothing_is_known_is_counted_as_such() -> None:
    """It is no hour without moves."""
    [found] = moves_by_hour([commit(5, None)], NOON - timedelta(minutes=1), 1)

    assert (0, 0, 1) == (found.came, found.left, found.unknown)


def test_where_an_object_was_is_told_back_from_the_present() -> None:
    """Each step with what it had from then on; those of other objects are none."""
    found = object_over_time(WEB, placed(b=3), NEWEST_FIRST)

    assert {} == found.before
    assert [{"a": 2, "b": 1}, {"b": 3}] == [one.parts for one in found.steps]
    assert NOON - timedelta(minutes=70) == found.since


def test_nothing_is_told_of_what_was_before_an_unknown_commit() -> None:
    """What it moved would be missing in all that is older."""
    found = object_over_time(WEB, placed(b=3), (NEWEST_FIRST[0], commit(9, None), *NEWEST_FIRST))

    assert {"a": 2, "b": 1} == found.before
    assert 1 == len(found.steps)


@pytest.mark.parametrize(
    ("now", "before", "parts"),
    [
        pytest.param(ClusterMoves(objects=1), 0, [2, 2, 0], id="replicas"),
        pytest.param(ClusterMoves(objects=2), 1, [2], id="objects"),
    ],
)
def test_what_a_cluster_had_is_told_in_replicas_or_objects(
    now: ClusterMoves, before: int, parts: list[int]
) -> None:
    """In objects where none had replicas to count."""
    commits = NEWEST_FIRST if len(parts) > 1 else NEWEST_FIRST[1:2]
    found, in_replicas = cluster_over_time("a", now, commits)

    assert (len(parts) > 1, {"a": before}) == (in_replicas, found.before)
    assert [{"a": count} for count in parts] == [one.parts for one in found.steps]

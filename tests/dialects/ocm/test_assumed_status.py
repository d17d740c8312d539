"""What is assumed of silent clusters: never written, told to whoever reads it, counted with."""

from datetime import datetime

import pytest

from reconciler.audit.fleet.assumed_outputs import as_of
from tests.builders import Body, after, configuration, text_of
from tests.dialects.ocm.sets import (
    SHOP,
    STATUS,
    fleet,
    progressive,
    replica_set,
    report,
    settings_map,
    succeed,
    templates,
)
from tests.older_outputs import older_outputs
from tests.stories import Story


def shop(*names: str, strategy: Body | None = None, seconds: int | None = 60) -> Story:
    """A set that goes to some clusters, placed now."""
    told = fleet(*names).put(replica_set(strategy=strategy))
    told.put(configuration(feedback={"assumeAfterSeconds": seconds}))
    told.run(0)
    return told


def shown(told: Story, at: datetime) -> Body:
    """The set as it is at a moment."""
    return as_of(told.world(), at).outputs[SHOP].body


def test_it_is_shown_as_older_releases_wrote_it() -> None:
    """To the letter, whoever looks when."""
    told, old = shop("a", "b"), shop("a", "b")
    old.files |= older_outputs("ocm")

    assert told.output(STATUS) == shown(told, after(59))
    for at in (after(60), after(9_000)):
        assert old.output(STATUS) == shown(told, at)


@pytest.mark.parametrize(
    ("names", "named"), [("a", "a"), ("abcd", "a, b, c and 1 more")], ids=["one", "many"]
)
def test_it_says_of_which_clusters_it_is_assumed(names: str, named: str) -> None:
    """Of many by the first names."""
    assert f"assumed of {named}, which did not report" in str(shown(shop(*names), after(60)))


def test_nothing_is_written_for_it_and_no_pass_waits_for_it() -> None:
    """All clusters have got it."""
    told = shop("a", "b")
    before = dict(told.files)
    outcome = told.run(1)

    assert (None, ()) == (outcome.recheck_at, outcome.waits)
    assert () == told.run(90_000).changes
    assert before == told.files
    assert "ssumed" not in told.files[STATUS]


def test_nothing_is_assumed_where_that_is_switched_off() -> None:
    """At no moment."""
    told = shop("a", seconds=None)

    assert told.output(STATUS) == shown(told, after(90_000))


def test_a_rollout_that_waits_goes_on_at_the_assumed_moment() -> None:
    """To the second; what it counted with is in no file."""
    told = shop("a", "b", "c", strategy=progressive())
    for seconds, reached, next_seconds in (
        (59, "a", 60),
        (60, "ab", 120),
        (119, "ab", 120),
        (120, "abc", None),
        (180, "abc", None),
    ):
        outcome = told.run(seconds)
        moment = None if next_seconds is None else after(next_seconds)

        assert [*reached] == sorted(templates(told))
        assert "ssumed" not in told.files[STATUS]
        assert moment == outcome.recheck_at
        assert ([] if moment is None else [moment]) == [wait.until for wait in outcome.waits]
    assert "assumed of a, b, c, which did not report" in str(shown(told, after(180)))


def test_a_new_template_counts_anew() -> None:
    """From when each cluster got it."""
    told = shop("a", "b")
    told.put(replica_set(settings_map("2"), strategy=progressive())).run(100)
    told.run(160)

    assert "AssumedAsExpected" not in str(shown(told, after(219)))
    found = str(shown(told, after(220)))
    assert "assumed of a, b, which did not report" in found
    assert text_of(after(220)) in found


def test_clusters_that_report_are_not_assumed_about() -> None:
    """Of two the silent one is; what the other one says counts."""
    told = shop("a", "b")
    succeed(told, "a").run(30)

    assert "assumed of b, which did not report" in str(shown(told, after(60)))
    report(told, "a", Applied="True", Available="False", Progressing="False").run(61)
    assert "assumed of b, which did not report" in str(shown(told, after(61)))
    assert "AssumedAsExpected" not in str(shown(told, after(61)))


def test_what_an_older_release_wrote_of_it_stays_while_it_holds() -> None:
    """So an upgrade rewrites nothing, until something else is known."""
    told = shop("a", "b")
    told.files |= older_outputs("ocm")
    before = dict(told.files)

    assert () == told.run(61).changes
    assert () == told.run(90_000).changes
    assert before == told.files
    assert told.output(STATUS) == shown(told, told.now)

    told.put(configuration(feedback={"assumeAfterSeconds": None})).run()
    assert "ssumed" not in told.files[STATUS]

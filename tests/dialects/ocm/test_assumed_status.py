"""What is assumed of silent clusters: never written, told to whoever reads it, counted with."""

from datetime import datetime

import pytest

from reconciler.audit.fleet.assumed_outputs import as_of
from reconciler.model.world import RULES, WRITES_ASSUMED
from tests.builders import Body, after, configuration
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
from tests.stories import Story


def shop(
    *names: str, strategy: Body | None = None, rules: int = RULES, seconds: int | None = 60
) -> Story:
    """A set that goes to some clusters, placed now."""
    told = fleet(*names).put(replica_set(strategy=strategy))
    told.put(configuration(feedback={"assumeAfterSeconds": seconds}))
    told.rules = rules
    told.run(0)
    return told


def shown(told: Story, at: datetime) -> Body:
    """The set as it is at a moment."""
    return as_of(told.world(), at).outputs[SHOP].body


@pytest.mark.parametrize("names", ["a", "ab", "abcd"])
def test_it_is_shown_as_older_rules_wrote_it(names: str) -> None:
    """To the letter, whoever looks when."""
    old, told = shop(*names, rules=WRITES_ASSUMED), shop(*names)
    old.run(60)

    assert "AssumedAsExpected" in old.files[STATUS]
    assert told.output(STATUS) == shown(told, after(59))
    for at in (after(60), after(9_000)):
        assert old.output(STATUS) == shown(told, at)


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
    """To the second, as by older rules; what it counted with is in no file."""
    stories = [
        shop("a", "b", "c", strategy=progressive(), rules=rules)
        for rules in (WRITES_ASSUMED, RULES)
    ]
    for seconds in (59, 60, 119, 120, 180):
        old, new = (told.run(seconds) for told in stories)

        assert templates(stories[0]) == templates(stories[1])
        assert "ssumed" not in stories[1].files[STATUS]
        if seconds < 120:
            assert (old.recheck_at, old.waits) == (new.recheck_at, new.waits)
    assert ["a", "b", "c"] == sorted(templates(stories[1]))
    assert (None, ()) == (new.recheck_at, new.waits)
    assert stories[0].output(STATUS)["status"] == shown(stories[1], after(180))["status"]


def test_a_new_template_counts_anew() -> None:
    """From when each cluster got it."""
    stories = [shop("a", "b", rules=rules) for rules in (WRITES_ASSUMED, RULES)]
    for told in stories:
        told.put(replica_set(settings_map("2"), strategy=progressive())).run(100)
        told.run(160)
        told.run(220)

    assert stories[0].output(STATUS)["status"] == shown(stories[1], after(220))["status"]


def test_clusters_that_report_are_not_assumed_about() -> None:
    """Of two the silent one is; what the other one says counts."""
    told = shop("a", "b")
    succeed(told, "a").run(30)

    assert "assumed of b, which did not report" in str(shown(told, after(60)))
    report(told, "a", Applied="True", Available="False", Progressing="False").run(61)
    assert "assumed of b, which did not report" in str(shown(told, after(61)))
    assert "AssumedAsExpected" not in str(shown(told, after(61)))


def test_older_rules_wrote_it_and_what_they_wrote_stays_while_it_holds() -> None:
    """So a change of rules rewrites nothing, until something else is known."""
    told = shop("a", "b", rules=WRITES_ASSUMED)
    told.run(60)
    before, told.rules = dict(told.files), RULES

    assert () == told.run(61).changes
    assert () == told.run(90_000).changes
    assert before == told.files
    assert told.output(STATUS) == shown(told, told.now)

    told.put(configuration(feedback={"assumeAfterSeconds": None})).run()
    assert "ssumed" not in told.files[STATUS]

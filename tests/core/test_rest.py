"""A rest after a move, in all three APIs: left alone by what recurs, and never moved back."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from reconciler.audit.advice import advise
from reconciler.audit.gains import AdviceRequest, Goal, WhyNot
from reconciler.manifests.admission import read_note
from reconciler.model.fields import mapping
from reconciler.rebalance.target import LAST_MOVE
from tests.builders import Body, after, cluster, rebalancer, schedule_trigger, taint, target
from tests.core.test_make_before_break import ALL, SAFE, away, begun, hear, trigger_status
from tests.dialects.kubefleet.fleet import GROUP as FLEET
from tests.dialects.kubefleet.fleet import member
from tests.dialects.ocm import worlds as ocm
from tests.stories import Story
from tests.three_apis import ALL as ALL_THREE
from tests.three_apis import LABELS, STATUS, all_away, by_team

RESTS: Body = {"restSeconds": 1000}
NOTED = (
    "status/resourcebindings.work.karmada.io/default/web-deployment.yaml",
    f"status/placements.{ocm.GROUP}/ns1/p.yaml",
    f"status/clusterresourceplacements.{FLEET}/fleet-web.yaml",
)
RETURNS = ("beta", "alpha")
RECURS = rebalancer(
    "nightly", ttl=None, schedule="*/5 * * * *", selector={"labelSelector": {"matchLabels": LABELS}}
)
SAID = "it rests until 2026-11-20T12:16:50Z: WorkloadRebalancer demo moved it"


def rested() -> Story:
    """Everything has gone where it likes it best, at second 10; then that is full again.

    What Karmada places puts up with that, and likes it there as before.
    """
    told = all_away().put(by_team(limits=RESTS))
    told.run(10)
    full = {"key": "full", "value": "", "effect": "NoSelectIfNew"}
    told.put(cluster("alpha", taints=[taint()], status=STATUS), ocm.cluster("alpha", full))
    told.put(member("gamma", taints=[{"key": "full", "effect": "NoSchedule"}])).run(20)
    return told


def notes(told: Story) -> list[Mapping[str, object]]:
    """The last move of each object that is there."""
    there = (told.output(path) for path in NOTED if path in told.files)
    metadata = (mapping(one, "metadata") for one in there)
    return [read_note(str(mapping(one, "annotations").get(LAST_MOVE, ""))) for one in metadata]


def places(told: Story, field: str) -> list[list[str]]:
    """The clusters of each object before or after its last move."""
    return [sorted(cast(Body, note[field])) for note in notes(told)]


def results(told: Story, name: str) -> list[tuple[str, str]]:
    """Result of each object, and why it failed or was left alone."""
    items = cast(Sequence[Mapping[str, str]], told.rebalancer(name)["observedWorkloads"])
    return [(one.get("result", ""), one.get("reason", one.get("note", ""))) for one in items]


def test_a_move_with_a_rest_is_noted() -> None:
    """From where to where, whose, and until when; without a rest nothing is."""
    told = rested()

    assert [["beta"], ["beta"], ["alpha"]] == places(told, "from")
    assert [["alpha"], ["alpha"], ["gamma"]] == places(told, "to")
    assert ["2026-11-20T12:16:50Z"] * 3 == [one["until"] for one in notes(told)]
    plain = all_away().put(by_team())
    plain.run(10)
    assert LAST_MOVE not in "".join(plain.outputs.values())


def test_what_recurs_leaves_alone_what_rests() -> None:
    """It is done with it for this run, and says why."""
    told = all_away().put(by_team(limits=RESTS))
    told.run(10)
    told.put(RECURS).run(20)
    told.run(301)

    assert [("Successful", SAID)] * 3 == results(told, "nightly")


@pytest.mark.parametrize("limits", [None, RESTS], ids=["plain", "with-a-rest"])
def test_nothing_is_moved_back_while_it_rests(limits: Body | None) -> None:
    """Whoever asks: it would oscillate, and is told so."""
    told = rested().put(by_team("back", limits=limits))
    told.run(30)

    oscillates = [("Failed", f"it would oscillate back to {name}: {SAID}") for name in RETURNS]
    assert [("Successful", ""), *oscillates] == results(told, "back")
    assert [["alpha"], ["alpha"], ["gamma"]] == places(told, "to")


def test_a_trigger_moves_nothing_back_while_it_rests() -> None:
    """It gives that up, and what is left of its targets is triggered; afterwards it may."""
    told = rested().put(schedule_trigger("back", *ALL_THREE))
    told.run(30)

    oscillates = [f"given up: it would oscillate back to {name}: {SAID}" for name in RETURNS]
    assert ("Failed", oscillates) == trigger_status(told, "back")
    told.run(40)
    assert ("Failed", oscillates) == trigger_status(told, "back")
    told.drop(schedule_trigger("back", *ALL_THREE)).run(1010)
    told.put(schedule_trigger("back", *ALL_THREE)).run(1020)
    assert ("Success", []) == trigger_status(told, "back")


def test_what_a_trigger_has_moved_rests() -> None:
    """It is noted as its move, and a rebalancer leaves it alone."""
    told = all_away().put(schedule_trigger("first", *ALL_THREE, limits=RESTS))
    told.run(10)
    said = "it rests until 2026-11-20T12:16:50Z: ScheduleTrigger first moved it"
    assert [["alpha"], ["alpha"], ["gamma"]] == places(told, "to")
    told.put(RECURS).run(20)
    told.run(301)

    assert [("Successful", said)] * 3 == results(told, "nightly")


def test_what_a_trigger_makes_before_it_breaks_rests() -> None:
    """Its next step goes on all the same."""
    told = away().put(schedule_trigger("first", target(), limits={**SAFE, **RESTS}))
    told.run(10)
    for second in (20, 30, 40, 50):
        hear(told, "a").run(second)
    assert ({"a": 4}, ("Success", [])) == (told.placed(), trigger_status(told, "first"))

    note = notes(told)[0]
    assert ({"b": 4}, {"a": 4}) == (note["from"], note["to"])


def test_advice_leaves_alone_what_rests() -> None:
    """And says of what would go back that it would oscillate; what it advises may have a rest."""
    told = rested()
    every = frozenset({Goal.AFFINITY, Goal.SPREAD, Goal.ROOM})
    advice = advise(told.world(), after(30), AdviceRequest(goals=every, name="advice"))
    rests = [(one.why, one.detail) for one in advice.others if one.why is WhyNot.RESTS]
    assert (WhyNot.RESTS, f"it would oscillate back to beta: {SAID}") in rests
    request = AdviceRequest(goals=every, name="advice", rest_seconds=60)
    body = advise(all_away().world(), after(10), request).body

    assert {"restSeconds": 60} == mapping(body or {}, "spec")["limits"]


def test_after_the_rest_it_may_go_back() -> None:
    """The note stays until the next move with a rest."""
    told = rested()
    told.put(by_team("back", limits=RESTS)).run(1010)

    assert [("Successful", "")] * 3 == results(told, "back")
    assert [["alpha"], *([name] for name in RETURNS)] == places(told, "to")


def test_a_move_off_a_cluster_is_not_undone_while_it_rests() -> None:
    """The next rebalance would bring it home at once."""
    told = begun(ALL)
    hear(told, "a").run(20)
    hear(told, "a").put(rebalancer("off", leaving=["a"], limits={**ALL, **RESTS})).run(30)
    hear(told, "b").run(40)
    assert {"b": 4} == told.placed()
    told.put(rebalancer("home")).run(50)

    rest = "it rests until 2026-11-20T12:17:10Z: WorkloadRebalancer off moved it"
    assert ({"b": 4}, [("Failed", f"it would oscillate back to a: {rest}")]) == (
        told.placed(),
        results(told, "home"),
    )


def test_what_a_failing_cluster_has_moved_has_no_rest() -> None:
    """It is not where the move put it any more."""
    told = rested()
    told.put(cluster("alpha", taints=[taint("down", "NoExecute")], status=STATUS)).run(30)
    assert {"beta": 2} == told.placed()
    told.put(cluster("alpha", status=STATUS), by_team("back")).run(200)

    assert "Successful" in dict(results(told, "back"))

"""Where a schedule afresh would put an object is where a rebalancer puts it that names it alone."""

import pytest

from reconciler.audit.advice import FreshSchedule, schedule_all_afresh
from reconciler.audit.fleet.placed import placed_on
from reconciler.audit.previews.edits import put
from reconciler.core.reconcile import Memo, reconcile
from reconciler.core.rounds import next_world
from reconciler.model.identity import ObjectKey
from reconciler.rebalance.rebalancer_files import encode_reference
from reconciler.rebalance.target import REBALANCER, PresentPlace
from tests.builders import after, configuration, deployment, rebalancer
from tests.stories import Story
from tests.three_apis import all_away

pytestmark = pytest.mark.cpu_seconds(30)  # many whole passes

DEMAND = ObjectKey(*REBALANCER, "", "one")


def asked(told: Story) -> dict[str, FreshSchedule]:
    """Name of each object to where it would be, by the memo of a pass at rest."""
    world, memo = told.world(), Memo()
    reconcile(world, after(10), memo=memo)
    return {one.reference.name: one for one in schedule_all_afresh(world, after(10), memo)}


@pytest.mark.parametrize("name", ["web", "large", "p", "fleet-web"])
def test_it_is_where_a_rebalancer_of_the_object_alone_puts_it(name: str) -> None:
    """In each API, also where not all replicas have room."""
    told = all_away().put(deployment("large", replicas=500))
    told.run(5)
    one, world = asked(told)[name], told.world()
    demand = rebalancer("one", encode_reference(one.reference))
    left = next_world(world, reconcile(put(world, {DEMAND: demand}), after(10)))

    assert one.place is not None
    assert (one.place.before, one.place.after) == (
        placed_on(world, one.key),
        placed_on(left, one.key),
    )


@pytest.mark.parametrize("replicas", [2, 500])
def test_what_is_whole_has_no_more_parts_afresh(replicas: int) -> None:
    """What a target says of its present place holds of the place that it would have."""
    told, seen = all_away().put(deployment("web", replicas=replicas)), dict[str, bool]()
    told.run(5)
    for one in asked(told).values():
        present = presents(told)[one.key]
        assert one.place is not None
        seen[one.reference.name] = present is not None and present.whole
        if present is not None:
            assert (present.placed, present.group) == (one.place.before, one.place.groups[0])
            more = sum(max(count, 1) for _, count in one.place.after)
            assert not present.whole or more <= sum(max(count, 1) for _, count in present.placed)

    assert {"web": replicas == 2, "p": False, "fleet-web": True} == seen


def presents(told: Story) -> dict[ObjectKey, PresentPlace | None]:
    """Where each object says that it is, as a question about all of them is told."""
    world, memo, found = told.world(), Memo(), dict[ObjectKey, PresentPlace | None]()
    reconcile(world, after(10), memo=memo)

    def take(key: ObjectKey, present: PresentPlace) -> bool:
        found[key] = present
        return False

    schedules = schedule_all_afresh(world, after(10), memo, take)
    assert {one.key for one in schedules if one.content} == found.keys()
    return {one.key: found.get(one.key) for one in schedules}


def test_asking_leaves_what_passes_remember_as_it_was() -> None:
    """A pass with the same memo afterwards has nothing to do, and says what one without it says."""
    world, memo = all_away().world(), Memo()
    first = reconcile(world, after(10), memo=memo)
    schedule_all_afresh(world, after(10), memo)

    assert first == reconcile(world, after(10), memo=memo) == reconcile(world, after(10))
    put_in = put(world, {DEMAND: rebalancer("one")})
    assert reconcile(put_in, after(11), memo=memo) == reconcile(put_in, after(11))


def test_nothing_is_asked_where_everything_is_suspended() -> None:
    """No pass decides anything there."""
    told = all_away().put(configuration(suspend=True), path="reconciler.yaml")

    assert {} == asked(told)

"""Affected objects: asking them answers as asking all does, and who shares room is not alone."""

from datetime import timedelta

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from reconciler.audit.fleet.copy_counts import CountedWorld, count_copies, is_final
from reconciler.audit.previews.foresight import foresee
from reconciler.audit.previews.preview import look_ahead
from reconciler.core.asked import AskedAlone, SettledWorld, is_settled_after, passes_since
from reconciler.core.ledger import shares_room
from reconciler.core.reconcile import reconcile
from reconciler.dialects.contract import DependsOnOthers
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World
from tests.builders import Body, cluster, configuration, deployment, policy, selector
from tests.core.cell_fleets import CellFleet
from tests.core.test_law_asked_alone import CELLS, PLAIN, files
from tests.core.test_laws import LAW
from tests.dialects.karmada.test_protected_room import room
from tests.stories import Story, applied, story
from tests.strategies import HARMS, edit, harm, objects, report, reported

MANY_EXAMPLES = pytest.mark.cpu_seconds(60)  # many examples of whole passes

DELIVERS = "ReconcilerConfiguration"
NEVER = configuration(feedback={"assumeAfterSeconds": None})


def settled_in(told: Story) -> SettledWorld | None:
    """What is known once a pass has written what it had to, `None` while time brings more."""
    for _ in range(3):
        outcome = reconcile(told.world(), told.now)
        told.files = applied(told.files, outcome)
        told.now += timedelta(seconds=90)
        if is_settled_after(outcome):
            return SettledWorld(world=told.world(), at=told.now - timedelta(seconds=90))
    return None


def hold_since(settled: SettledWorld, world: World, told: Story) -> bool:
    """Hold what the affected objects say to what all say; return whether they could be asked."""
    whole = reconcile(world, told.now)
    found = passes_since(settled, told.now, world)
    assert foresee(world, told.now) == foresee(world, told.now, settled=settled)
    assert look_ahead(settled.world, world, told.now) == look_ahead(
        settled.world, world, told.now, settled=settled
    )
    counts = count_copies(settled.world, told.now)
    counted = CountedWorld(world=settled.world, counts=counts, at=told.now)
    assert is_final(settled.world, counts)
    assert count_copies(world, told.now) == count_copies(world, told.now, counted)
    if found is None:
        return False
    _, part = found[0][0]
    assert whole.decisions == part.decisions
    assert whole.recheck_at == part.recheck_at
    assert whole.waits == part.waits
    return True


@MANY_EXAMPLES
@LAW
@given(
    objects(), objects(), st.integers(0, 15), st.sampled_from(HARMS), st.integers(0, 20), reported
)
def test_what_may_move_since_says_what_all_say(
    before: list[Body],
    after: list[Body],
    number: int,
    how: str,
    place: int,
    told_by_cluster: tuple[str, Body] | None,
) -> None:
    """Whatever is edited, harmed, added or reported, and whatever cannot be placed."""
    told = Story().put(*before, NEVER)
    settled = settled_in(told)
    if settled is None:
        event("not settled")
        return
    if number % 3:
        edit(told, after, number)
    if number % 2:
        harm(told, how, place)
    if number % 5 == 0:
        report(told, told_by_cluster)

    event(f"asked alone: {hold_since(settled, told.world(), told)}")


@MANY_EXAMPLES
@LAW
@given(objects(), st.integers(1, 100_000))
def test_once_settled_time_alone_brings_nothing(bodies: list[Body], later: int) -> None:
    """For ever, and nobody is told again of what cannot be placed."""
    told = Story().put(*bodies, NEVER)
    settled = settled_in(told)
    if settled is None:
        event("not settled")
        return

    outcome = reconcile(settled.world, settled.at + timedelta(seconds=later))

    assert () == outcome.changes
    assert () == outcome.decisions
    assert outcome.recheck_at is None


@MANY_EXAMPLES
@pytest.mark.parametrize(
    ("fleet", "change"),
    [
        pytest.param(fleet, change, id=f"{name}-{change}")
        for name, fleet in PLAIN.items()
        for change in ("replicas", "image", "placement", "replica set", "resource")
        if change in fleet.changes
    ],
)
def test_of_a_settled_fleet_only_what_changed_is_asked(fleet: CellFleet, change: str) -> None:
    """Also once a later pass has written what it decided of it."""
    told = Story(files=files(fleet.files(CELLS)))
    told.files = {path: one for path, one in told.files.items() if DELIVERS not in one}
    told.put(NEVER)
    settled = settled_in(told)
    assert settled is not None
    told.files |= files(fleet.changes[change])

    assert hold_since(settled, told.world(), told)
    told.files = applied(told.files, reconcile(told.world(), told.now))
    told.now += timedelta(seconds=1)
    assert hold_since(settled, told.world(), told)


@MANY_EXAMPLES
def test_what_cannot_be_placed_is_settled_too() -> None:
    """It was told of; another workload is asked by itself."""
    nowhere = policy(
        "none",
        selectors=[selector("Deployment", name="big")],
        placement={"clusterAffinity": {"clusterNames": ["nowhere"]}},
    )
    everywhere = policy("p", selectors=[selector("Deployment", name="web")])
    told = story(cluster("a"), nowhere, everywhere, deployment("big"), deployment("web"), NEVER)
    settled = settled_in(told)
    assert settled is not None
    told.put(deployment("web", replicas=5))

    assert hold_since(settled, told.world(), told)
    assert ["default/web"] == [
        one.subject for one in foresee(told.world(), told.now, settled=settled)
    ]


@MANY_EXAMPLES
def test_a_cluster_that_changed_concerns_all() -> None:
    """Then whole passes answer."""
    told = story(cluster("a"), policy("p", selectors=[selector("Deployment")]), deployment(), NEVER)
    settled = settled_in(told)
    assert settled is not None
    told.put(cluster("b"))

    assert passes_since(settled, told.now, told.world()) is None
    assert not hold_since(settled, told.world(), told)


@MANY_EXAMPLES
def test_before_it_was_settled_nothing_is_known() -> None:
    """A question may be about an earlier moment."""
    told = story(cluster("a"), policy("p", selectors=[selector("Deployment")]), deployment(), NEVER)
    settled = settled_in(told)
    assert settled is not None

    assert passes_since(settled, settled.at - timedelta(seconds=1), told.world()) is None
    assert passes_since(settled, settled.at, told.world()) is not None


ON = configuration(capacity={"protect": True})
WEB = ObjectKey("work.karmada.io", "ResourceBinding", "default", "web-deployment")


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        pytest.param([room("a", "4")], False, id="off"),
        pytest.param([ON, cluster("a")], False, id="declared"),
        pytest.param(
            [ON, cluster("a", status={"kubernetesVersion": "v1"})], False, id="no-capacity"
        ),
        pytest.param([ON, cluster("a"), room("b", "4")], True, id="one-has-a-limit"),
    ],
)
def test_room_is_shared_where_a_cluster_has_a_limit(bodies: list[Body], expected: bool) -> None:  # noqa: FBT001  # a row
    """What others get counts there, and nowhere else."""
    told = story(*bodies, policy(), deployment())
    world = told.world()

    assert expected == shares_room(world)
    assert expected == isinstance(AskedAlone().part(world, WEB), DependsOnOthers)

"""What adoption says of the passes to come is what they do, at once and within the hour."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.reconcile import reconcile
from reconciler.core.rounds import next_world, world_after
from reconciler.imports.adoption import Adoption
from reconciler.model.body import Body
from reconciler.model.decision import Decision, Placed
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import format_moment
from reconciler.model.world import World
from tests.builders import NOW
from tests.imports.hubs import live
from tests.imports.imported import adopt_into, import_into, propagated
from tests.imports.karmada_hub import karmada_hub
from tests.imports.kubefleet_hub import kubefleet_hub
from tests.imports.ocm_hub import ocm_hub

Hub = Callable[[int], list[Body]]
HUBS: dict[Hub, str] = {karmada_hub: "NoExecute", ocm_hub: "NoSelect", kubefleet_hub: "NoSchedule"}
"""Each hub with an effect of taints that it knows."""

CLUSTERS = 10
AT, END = NOW + timedelta(seconds=1), NOW + timedelta(seconds=3601)
USAGE = {"type": "AddOn", "addOn": {"resourceName": "usage", "scoreName": "cpu"}}
BY_USAGE = {"mode": "Exact", "configurations": [{"scoreCoordinate": USAGE, "weight": 1}]}


def tainted(cluster: Body, effect: str, since: datetime) -> Body:
    """Return a cluster that got a taint."""
    taint = {"key": "maintenance", "effect": effect, "timeAdded": format_moment(since)}
    return {**cluster, "spec": {**mapping(cluster, "spec"), "taints": [taint]}}


def with_spec(export: Sequence[Body], kind: str, fields: Body) -> list[Body]:
    """Return an export in which the objects of a kind say something else, too."""
    return [
        {**one, "spec": {**mapping(one, "spec"), **fields}} if one["kind"] == kind else one
        for one in export
    ]


def adopted(export: Sequence[Body]) -> tuple[World, Adoption]:
    """Return a repository that was empty with an export imported and adopted."""
    wanted = propagated(export)
    adoption = adopt_into({}, export, wanted)
    return world_after(import_into({}, export, wanted).world, adoption.outputs, (), ()), adoption


def passes(world: World) -> Iterator[tuple[datetime, tuple[Decision, ...]]]:
    """Yield the moments of the passes of the hour with what they decide, as a daemon runs them."""
    at = AT
    while True:
        outcome = reconcile(world, at)
        yield at, outcome.decisions
        if outcome.recheck_at is None or outcome.recheck_at > END:
            return
        world, at = next_world(world, outcome), outcome.recheck_at


Move = tuple[ObjectKey, Placed, Placed]


def moved(decisions: Sequence[Decision]) -> list[Move]:
    """Return what decisions move."""
    return [(one.key, one.before, one.after) for one in decisions if one.before != one.after]


@st.composite
def exports(draw: st.DrawFn) -> list[Body]:
    """Draw a hub where some objects are gone, some clusters tainted, some scores reported."""
    hub = draw(st.sampled_from(sorted(HUBS, key=lambda one: one.__name__)))
    export = hub(3)
    gone = draw(st.sets(st.integers(0, len(export) - 1), max_size=4))
    struck = draw(st.sets(st.integers(0, CLUSTERS - 1), max_size=4))
    minutes = draw(st.sampled_from((0, 1, 4, 200)))
    tolerated = draw(st.sampled_from((None, 60, 600)))
    export = [
        tainted(body, HUBS[hub], NOW - timedelta(minutes=minutes)) if place in struck else body
        for place, body in enumerate(export)
        if place not in gone
    ]
    if hub is ocm_hub and tolerated is not None:
        toleration = {"operator": "Exists", "tolerationSeconds": tolerated}
        export = with_spec(export, "Placement", {"tolerations": [toleration]})
    if hub is ocm_hub and draw(st.booleans()):
        export = [*with_spec(export, "Placement", {"prioritizerPolicy": BY_USAGE}), score()]
    return export


def score() -> Body:
    """Return a score by which one cluster comes before all others."""
    return live(
        "cluster.open-cluster-management.io/v1alpha1",
        "AddOnPlacementScore",
        "usage",
        namespace="member9",
        status={"scores": [{"name": "cpu", "value": 100}]},
    )


@pytest.mark.cpu_seconds(40)
@given(exports())
def test_what_is_foreseen_is_what_passes_do(export: list[Body]) -> None:
    """The next pass moves and places what is told, and the later ones of the hour the rest."""
    world, adoption = adopted(export)
    (_, first), *later = passes(world)
    told = {one.key for one in adoption.coming}
    again = {key for _, decisions in later for key, _, _ in moved(decisions)}

    assert moved(first) == sorted(moved((*adoption.moves, *adoption.new)))
    assert again - {key for key, _, _ in moved(first)} <= told <= again


@pytest.mark.parametrize(("seconds", "expected"), [(600, 1), (7200, 0)])
def test_a_toleration_that_ends_within_the_hour_is_told(seconds: int, expected: int) -> None:
    """With its moment; one that ends later is not."""
    toleration = {"operator": "Exists", "tolerationSeconds": seconds}
    export = with_spec(ocm_hub(1), "Placement", {"tolerations": [toleration]})
    _, adoption = adopted([tainted(export[0], "NoSelect", NOW), *export[1:]])
    ends = [NOW + timedelta(seconds=seconds)] * expected

    assert ((), ends) == (adoption.moves, [one.at for one in adoption.coming])


def test_scores_that_will_move_something_are_told() -> None:
    """After the period in which they wait."""
    _, adoption = adopted(
        [*with_spec(ocm_hub(1), "Placement", {"prioritizerPolicy": BY_USAGE}), score()]
    )
    (coming,) = adoption.coming

    assert NOW + timedelta(seconds=300) == coming.at
    assert "member9" in dict(coming.after or ())


def test_what_is_placed_anew_is_told_where_nothing_is_adopted() -> None:
    """A hub without decisions leaves all of it to the first pass."""
    export = [body for body in karmada_hub(2) if body["kind"] != "ResourceBinding"]
    _, adoption = adopted(export)

    assert (0, 2) == (len(adoption.moves), len(adoption.new))

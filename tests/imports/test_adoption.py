"""Adoption: a thousand live objects of each API become state, and nothing moves."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import cache

import pytest

from reconciler.core.changes import WriteFile
from reconciler.core.reconcile import reconcile
from reconciler.core.rounds import world_after
from reconciler.imports.adoption import Adoption, adopt
from reconciler.imports.importers import Wanted
from reconciler.imports.plan import decisions_among
from reconciler.manifests.paths import RECORD
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.moments import format_moment
from reconciler.model.world import World
from tests.builders import NOW
from tests.imports.hubs import THEN, karmada_hub, kubefleet_hub, live, objects, ocm_hub
from tests.imports.imported import ABSENCE, OUTPUT_RULES, import_into, texts

Hub = Callable[[int], list[Body]]
WANTED = Wanted(workloads=frozenset({"deployments"}), adopt=True)
AHEAD = "2031-01-01T00:00:00Z"
THOUSAND = [
    pytest.param(karmada_hub, 500, id="karmada"),
    pytest.param(ocm_hub, 500, id="ocm"),
    pytest.param(kubefleet_hub, 200, id="kubefleet"),
]
FEW = [pytest.param(hub.values[0], 3, id=hub.id) for hub in THOUSAND]


def adopted(export: Sequence[Body]) -> tuple[World, Adoption]:
    """Return a repository that was empty with everything imported and adopted."""
    world = import_into({}, export, WANTED).world
    adoption = adopt(world, decisions_among(objects(export)), NOW, OUTPUT_RULES, ABSENCE)
    return world_after(world, adoption.outputs, (), ()), adoption


@cache
def hub_of(hub: Hub, count: int) -> tuple[World, Adoption]:
    """Return what a hub comes to; several tests ask for the same."""
    return adopted(hub(count))


@pytest.mark.parametrize(("hub", "count"), THOUSAND)
def test_the_first_pass_moves_nothing(hub: Hub, count: int) -> None:
    """It decides on nothing, reports no edit, and no fault."""
    world, adoption = hub_of(hub, count)
    outcome = reconcile(world, NOW)

    assert ((), (), ()) == (outcome.decisions, outcome.edited, outcome.faults)
    assert () == adoption.moves


@pytest.mark.parametrize(("hub", "count"), THOUSAND)
def test_no_pass_of_the_first_hour_writes_anything(hub: Hub, count: int) -> None:
    """What is adopted is as a pass leaves it, and waits for nothing."""
    world, _ = hub_of(hub, count)
    for seconds in (1, 90, 3600):
        outcome = reconcile(world, NOW + timedelta(seconds=seconds))

        assert ((), (), ()) == (outcome.changes, outcome.decisions, outcome.faults)
        assert outcome.recheck_at is None


@pytest.mark.parametrize(("hub", "count"), THOUSAND)
def test_a_second_import_changes_nothing(hub: Hub, count: int) -> None:
    """Neither files of people nor state."""
    export = hub(count)
    world, _ = hub_of(hub, count)
    files = texts(import_into({}, export, WANTED))
    again = import_into(files, export, WANTED)
    adoption = adopt(
        world, decisions_among(objects(export)), NOW + timedelta(seconds=60), OUTPUT_RULES, ABSENCE
    )

    assert ({}, {}) == (again.files, adoption.outputs)


@pytest.mark.parametrize(("hub", "count"), THOUSAND)
def test_every_live_decision_is_state(hub: Hub, count: int) -> None:
    """Nothing of the hub is left behind, and every file of it is understood."""
    world, adoption = hub_of(hub, count)

    assert ({}, frozenset()) == (adoption.left, adoption.kept)
    assert RECORD in world.outputs


@pytest.mark.parametrize(("hub", "count"), FEW)
def test_what_would_be_decided_otherwise_is_listed(hub: Hub, count: int) -> None:
    """Each object with a reason for every cluster that differs."""
    _, adoption = hub_of(hub, count)
    assert count == len(adoption.otherwise)
    first = adoption.otherwise[0]
    differing = {name for name, _ in set(first.live) ^ set(first.afresh)}

    assert sorted(differing) == sorted(first.why)
    assert all(first.why.values())


@pytest.mark.parametrize(("hub", "count"), FEW)
def test_what_a_pass_decided_is_never_overwritten(hub: Hub, count: int) -> None:
    """A repository that has state keeps it."""
    export = hub(count)
    world = import_into({}, export, WANTED).world
    outcome = reconcile(world, NOW)
    keys = [m.key for m in hub_of(hub, count)[0].outputs.values()]
    outputs = {
        key: read(change.content.encode(), change.path).documents[0].body
        for change in outcome.changes
        if isinstance(change, WriteFile)
        for key in [key for key in keys if change.path.endswith(f"/{key.name}.yaml")][:1]
    }
    later = world_after(world, outputs, (), ())
    found = adopt(later, decisions_among(objects(export)), NOW, OUTPUT_RULES, ABSENCE)

    assert not found.outputs.keys() & outputs.keys()


def test_the_last_scheduling_stays_when_it_was() -> None:
    """So a rebalancer of the hub that is done asks for nothing again."""
    world, _ = hub_of(karmada_hub, 3)
    moments = [
        text(mapping(one.body, "status"), "lastScheduledTime")
        for key, one in world.outputs.items()
        if "web-" in key.name
    ]

    assert [THEN] * 3 == moments


@pytest.mark.parametrize("hub", [hub.values[0] for hub in FEW], ids=["karmada", "ocm", "kubefleet"])
@pytest.mark.parametrize("ahead", [False, True])
def test_nothing_is_older_than_its_hub_says_nor_younger_than_now(hub: Hub, *, ahead: bool) -> None:
    """Objects keep the moment at which a hub made them; one whose clock is ahead made them now."""
    export: list[Body] = hub(2)
    if ahead:
        export = [
            {**one, "metadata": {**mapping(one, "metadata"), "creationTimestamp": AHEAD}}
            for one in export
        ]
    world, _ = adopted(export)
    created = {
        text(mapping(one.body, "metadata"), "creationTimestamp") for one in world.outputs.values()
    }

    assert AHEAD not in created
    assert created <= {"", format_moment(NOW), *(() if ahead else (THEN,))}


def test_a_cluster_that_is_down_is_told_before_the_first_pass() -> None:
    """What the first pass moves all the same is listed: here a cluster was removed."""
    export = [body for body in kubefleet_hub(10) if body["kind"] != "MemberCluster"]
    clusters = [body for body in kubefleet_hub(10) if body["kind"] == "MemberCluster"]
    _, adoption = adopted([*clusters[1:], *export])
    leaving = [move for move in adoption.moves if "member1" in dict(move.before)]

    assert 2 == len(adoption.moves) == len(leaving)


def test_scores_wait_for_the_next_period() -> None:
    """A decision of a hub that newer scores would move stays for `resyncSeconds`, then it moves."""
    coordinate = {"type": "AddOn", "addOn": {"resourceName": "usage", "scoreName": "cpu"}}
    policy = {
        "mode": "Exact",
        "configurations": [{"scoreCoordinate": coordinate, "weight": 1}],
    }
    score = live(
        "cluster.open-cluster-management.io/v1alpha1",
        "AddOnPlacementScore",
        "usage",
        namespace="member9",
        status={"scores": [{"name": "cpu", "value": 100}]},
    )
    export = [
        {**body, "spec": {**mapping(body, "spec"), "prioritizerPolicy": policy}}
        if body["kind"] == "Placement"
        else body
        for body in ocm_hub(1)
    ]
    world, _ = adopted([*export, score])
    at_once = reconcile(world, NOW + timedelta(seconds=1)).decisions
    (later,) = reconcile(world, NOW + timedelta(seconds=300)).decisions

    assert () == at_once
    assert "member9" in dict(later.after)

"""Law 14: one object asked alone is told what the whole pass says, or that it takes that."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import cast

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from reconciler.audit.previews.foresight import foresee, foresee_alone
from reconciler.core import stated
from reconciler.core.asked import AskedAlone
from reconciler.core.dialects import DIALECTS
from reconciler.core.reconcile import reconcile
from reconciler.model.records import replace
from tests.builders import (
    Body,
    cluster,
    configmap,
    configuration,
    deployment,
    policy,
    rebalancer,
    selector,
    target,
    text,
)
from tests.core import test_make_before_break as divided
from tests.core.asked.held_alone import decided_in, hold_alone
from tests.core.cell_fleets import KARMADA, KUBEFLEET, OPEN_CLUSTER_MANAGEMENT, CellFleet
from tests.core.test_laws import LAW
from tests.dialects.kubefleet import test_make_before_break as fleet
from tests.dialects.ocm import test_make_before_break as hub
from tests.dialects.ocm.test_decide import HUB_OF_TWO as HUB
from tests.dialects.ocm.test_laws import hubs
from tests.dialects.ocm.worlds import BY_SCORE, placement, progressive, replica_set
from tests.stories import Story, applied, story
from tests.strategies import HARMS, READS_SETTINGS, harm, stories

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes

CELLS = 3
PLAIN: Mapping[str, CellFleet] = {
    "karmada": KARMADA,
    "ocm": OPEN_CLUSTER_MANAGEMENT,
    "kubefleet": KUBEFLEET,
}
SETS: Sequence[Sequence[Body]] = (
    [],
    [replica_set()],
    [replica_set(strategy=progressive(), placements=["p", "q", "nowhere"])],
)


def begun_on_a_hub() -> Story:
    """A step of a placement that does not count the decisions of others."""
    steady = {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}}
    told = hub.away()
    policy = {"mode": "Exact", "configurations": [steady]}
    told.put(placement(numberOfClusters=1, prioritizerPolicy=policy)).run(5)
    told.put(rebalancer("demo", hub.P, limits=hub.ALL, ttl=None)).run(10)
    assert ["a"] == hub.beside(told)
    return told


@pytest.mark.parametrize("withdrawn", [False, True], ids=["asked-for", "withdrawn"])
@pytest.mark.parametrize(
    "begun", [divided.begun, fleet.begun, begun_on_a_hub], ids=["karmada", "kubefleet", "hub"]
)
def test_a_step_is_told_alone_as_together(begun: Callable[[], Story], *, withdrawn: bool) -> None:
    """Or others have a say: who asks for it, and what is to be ready."""
    told = begun()
    if withdrawn:
        (path,) = [path for path in told.files if path.startswith("workloadrebalancer/")]
        del told.files[path]
    told.now += timedelta(seconds=10)

    hold_alone(told.world(), told.now, AskedAlone())


@LAW
@given(stories())
def test_asked_alone_equals_asked_together(told: Story) -> None:
    """Whatever a repository holds, before the next pass and after it, and whatever was asked."""
    asking = AskedAlone()
    for _ in range(2):
        world = told.world()
        depending = hold_alone(world, told.now, asking)
        event(f"alone: {len(decided_in(world)) - len(depending)}, {len(depending)} not")
        told.files = applied(told.files, reconcile(world, told.now))


def unbalanced(bodies: list[Body]) -> list[Body]:
    """The same hub, where no placement counts the decisions of others."""
    policy_of = {"prioritizerPolicy": BY_SCORE}
    return [
        {**one, "spec": {**cast(Body, one["spec"]), **policy_of}}
        if one["kind"] == "Placement"
        else one
        for one in bodies
    ]


def files(bodies: Mapping[str, Body]) -> dict[str, str]:
    """The files of a fleet."""
    return {path: text(body) for path, body in bodies.items()}


@LAW
@given(hubs(), hubs(), st.sampled_from(SETS), st.integers(1, 90), st.integers(0, 20))
def test_hubs_too(
    before: list[Body], after: list[Body], sets: Sequence[Body], later: int, number: int
) -> None:
    """Placements of Open Cluster Management, and sets of ManifestWorks that refer to them."""
    told, asking = story(*sets), AskedAlone()
    change = unbalanced if number % 4 else list
    for bodies in (before, after, []):
        told.put(*change(bodies))
        depending = hold_alone(told.world(), told.now, asking)
        event(f"{len(depending)} not alone")
        told.run()
        harm(told, HARMS[number % len(HARMS)], number)
        told.now += timedelta(seconds=later)


@pytest.mark.parametrize("fleet", PLAIN.values(), ids=PLAIN)
def test_in_a_plain_fleet_every_object_is_answered_alone(fleet: CellFleet) -> None:
    """New, settled, and after each change of people; what an edit takes is counted with all."""
    told, asking = Story(files=files(fleet.files(CELLS))), AskedAlone()
    most = 1  # placement that an edit lets go of a cluster
    for change in ({}, {}, *fleet.changes.values()):
        told.files |= files(change)
        world = told.world()
        assert len(decided_in(world)) >= CELLS * 10
        left = hold_alone(world, told.now, asking)
        assert {*left.values()} <= {"what an edit takes is counted together"}
        assert len(left) <= most
        told.run()


@pytest.mark.parametrize("fleet", PLAIN.values(), ids=PLAIN)
def test_what_comes_is_foreseen_alone(fleet: CellFleet) -> None:
    """The moments of one object tell what those of all tell of it."""
    told, asking, foreseen = Story(files=files(fleet.files(CELLS))), AskedAlone(), 0
    for change in ({}, {}, fleet.changes["taint"], fleet.changes["rebalancer"]):
        told.files |= files(change)
        world = told.world()
        whole = foresee(world, told.now)
        foreseen += len(whole)
        for key in sorted(decided_in(world)):
            alone = foresee_alone(world, told.now, asking, key)
            assert isinstance(alone, tuple)
            assert [one for one in whole if one.key == key] == [
                one for one in alone if one.key == key
            ]
        told.run()
    assert foreseen


def depending(told: Story) -> dict[str, str]:
    """Why objects of a repository are not answered alone, by their names."""
    found = hold_alone(told.world(), told.now, AskedAlone())
    return {key.name: reason for key, reason in found.items()}


ROOM: Iterable[Body] = (cluster("a"), cluster("b"))


def test_objects_that_want_one_name_are_asked_together() -> None:
    """Who has the binding depends on who had it."""
    other = {**deployment(), "apiVersion": "example.org/v1"}
    told = story(*ROOM, policy(), deployment()).put(other, path="b.yaml")

    assert {
        "web-deployment": "Deployment.apps default/web and Deployment.example.org default/web "
        "want a binding of the same name"
    } == depending(told)


def test_what_others_need_is_asked_together() -> None:
    """It goes where those go that need it."""
    web = deployment()
    reading = {**web, "spec": {**web["spec"], **READS_SETTINGS}}  # type: ignore[dict-item]  # a mapping
    told = story(*ROOM, policy(propagateDeps=True), reading, configmap())

    assert {
        "settings-configmap": "Deployment.apps default/web needs its object, and may have it follow"
    } == depending(told)
    told.run()
    told.drop(reading)
    assert {"settings-configmap", "web-deployment"} == depending(told).keys()


def test_a_cluster_without_file_is_told_to_those_that_it_had() -> None:
    """It counts as leaving until no binding names it; whoever was not there does not hear of it."""
    only_a, only_c = ({"clusterAffinity": {"clusterNames": [name]}} for name in "ac")
    on_a = policy("only-a", selectors=[selector(name="api")], placement=only_a)
    nowhere = policy("nowhere", selectors=[selector(name="new")], placement=only_c)
    told = story(*ROOM, policy(), on_a, nowhere, deployment(), deployment("api"))
    told.run()
    told.drop(cluster("b"))

    assert {} == depending(told)
    told.put(deployment("api", replicas=5), deployment("new"))
    assert {} == depending(told)
    outcome = reconcile(told.world(), told.now, asked=decided_in(told.world()))
    heard = {
        key.name: [one.cluster for one in explain().clusters]
        for key, explain in outcome.explanations.items()
    }
    assert {"api-deployment": ["a"], "new-deployment": ["a"], "web-deployment": ["a", "b"]} == heard
    new = {one.key.name: one for one in outcome.decisions}["new-deployment"]
    assert (["a"], True) == ([*new.rejected], new.problem.startswith("0/1 clusters are available"))


def test_what_an_edit_takes_is_counted_together() -> None:
    """Whether it is too much depends on all others."""
    told = story(*ROOM, policy(), deployment())
    told.run()
    told.put(policy(placement={"clusterAffinity": {"clusterNames": ["nowhere"]}}))

    assert {"web-deployment": "what an edit takes is counted together"} == depending(told)


def test_removals_are_counted_together() -> None:
    """Whether the brake holds one back depends on all."""
    told = story(*ROOM, policy(), deployment(), deployment("api"))
    told.run()
    told.drop(deployment())

    assert {"web-deployment": "removals are counted together"} == depending(told)


def test_batches_are_asked_together_and_other_rebalances_are_not() -> None:
    """A batch is so many replicas of all targets."""
    told = story(*ROOM, policy(selectors=[selector()]), deployment(), deployment("api"))
    told.run()
    told.put(rebalancer("demo", target(), target(name="api")))
    assert {} == depending(told)

    told.put(rebalancer("demo", target(), target(name="api"), limits={"maxMoves": 1}))
    reason = "WorkloadRebalancer demo moves its targets in batches"
    assert {"web-deployment": reason, "api-deployment": reason} == depending(told)
    for _ in range(2):
        told.run()
        told.now += timedelta(seconds=60)
    assert {} == depending(told)  # it is finished, and says so until it is removed


def test_what_is_counted_within_an_hour_is_asked_together() -> None:
    """Only what a rebalancer names; the rest moves without being counted."""
    told = story(*ROOM, policy(), deployment(), deployment("api"))
    told.put(configuration(safety={"maxRebalancedReplicasPerHour": 1}))
    told.run()
    told.put(rebalancer("demo", target()))

    reason = "all that is rebalanced within an hour is counted together"
    assert {"web-deployment": reason} == depending(told)


def test_where_decisions_are_balanced_all_are_counted() -> None:
    """By default; a placement that says otherwise is asked alone."""
    told = story(*HUB, placement("p"), placement("q", prioritizerPolicy=BY_SCORE), replica_set())

    reason = "its prioritizer Balance counts the decisions of all placements"
    assert {"p": reason, "shop": reason} == depending(told)


def test_an_api_that_does_not_say_what_it_reads_is_asked_as_a_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A new API is answered rightly before anybody thinks of this."""
    told = story(*ROOM, policy(), deployment())
    unstated = tuple(replace(one, statement=lambda: None) for one in DIALECTS)
    monkeypatch.setattr(stated, "DIALECTS", unstated)
    monkeypatch.setattr(stated, "dialect_of", lambda _: unstated[0])

    assert {"web-deployment": "it is not told what a ResourceBinding reads"} == depending(told)

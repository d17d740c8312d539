"""Laws of KubeFleet's placements, on generated fleets."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import cast

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from reconciler.core.reconcile import reconcile
from reconciler.dialects.kubefleet.api.names import PLACEMENT_GROUP
from reconciler.dialects.kubefleet.view.files import snapshot_file
from reconciler.manifests.text.emitter import encode
from reconciler.model.identity import ObjectKey
from tests.bounded import examples
from tests.builders import Body, rebalancer
from tests.dialects.kubefleet.fleet import (
    PLACEMENT,
    budget,
    eviction,
    member,
    pick,
    placement,
    specs_of,
    states,
)
from tests.fleets import MEMBERS, fleets, members, namespace
from tests.stories import Story, applied, story

LAW = settings(
    max_examples=examples(60),
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TARGET = {"apiVersion": f"{PLACEMENT_GROUP}/v1beta1", "kind": PLACEMENT, "name": "web"}


@st.composite
def placed(draw: st.DrawFn) -> Story:
    """A fleet after a pass or two, changed in between."""
    told = story(*draw(fleets()))
    told.run(0)
    kinds = ("MemberCluster", f"{PLACEMENT}DisruptionBudget", f"{PLACEMENT}Eviction")
    told.put(*(body for body in draw(fleets()) if body["kind"] in kinds))
    told.run(draw(st.sampled_from((1, 60, 400))))
    return told


@LAW
@given(placed())
def test_every_cluster_is_explained(told: Story) -> None:
    """Picked, or turned away by a filter, or ranked behind; and asking changes nothing."""
    told.now += timedelta(seconds=1)
    world = told.world()
    keys = {key for key in world.inputs if key.kind == PLACEMENT}
    asked = reconcile(world, told.now, asked=frozenset(keys))

    assert reconcile(world, told.now).changes == asked.changes
    assert keys == set(asked.explanations)
    names = sorted(key.name for key in world.inputs if key.kind == "MemberCluster")
    for explain in asked.explanations.values():
        explanation = explain()
        clusters = explanation.clusters
        if clusters:
            assert set(names) <= {str(answer.cluster) for answer in clusters}
        for answer in clusters:
            told_why = answer.picked or answer.verdicts or answer.rank is not None
            satisfied = "none is picked" in " ".join(explanation.steps)
            assert told_why or satisfied or "the lowest scores go" in " ".join(explanation.steps)


@LAW
@given(placed())
def test_a_shortage_is_told(told: Story) -> None:
    """A PickN with fewer clusters than it wants says so in its Scheduled condition."""
    world = told.world()
    for key, manifest in world.inputs.items():
        if key.kind != PLACEMENT or key not in world.outputs:
            continue
        policy = cast(Body, cast(Body, manifest.body["spec"]).get("policy") or {})
        status = cast(Body, world.outputs[key].body["status"])
        conditions = cast(Sequence[Mapping[str, str]], status["conditions"])
        own = [o.body for k, o in world.outputs.items() if k.kind.endswith("Binding")]
        specs = [cast(Mapping[str, str], body["spec"]) for body in own]
        staying = [
            spec
            for spec in specs
            if spec["schedulingPolicySnapshotName"].startswith(f"{key.name}-")
            and spec["state"] != "Unscheduled"
        ]
        if policy.get("placementType") == "PickN":
            short = len(staying) < cast(int, policy["numberOfClusters"])
            assert ("False" if short else "True") == conditions[0]["status"]


@LAW
@given(placed())
def test_a_rebalance_lasts(told: Story) -> None:
    """The pass after it decides nothing, and the clusters are those of a fresh placement."""
    told.put(rebalancer("demo", TARGET))
    told.run()
    after = told.run()

    assert () == tuple(d for d in after.decisions if d.before != d.after)
    if ObjectKey(PLACEMENT_GROUP, PLACEMENT, "", "web") in told.world().inputs and not after.faults:
        fresh = Story(files=dict(told.inputs), now=told.now)
        fresh.files = applied(fresh.files, reconcile(fresh.world(), told.now))
        assert staying(fresh) == staying(told)


def staying(told: Story) -> set[str]:
    """The clusters of the placement that are not leaving."""
    specs = [s for s in specs_of(told) if s["schedulingPolicySnapshotName"].startswith("web-")]
    return {spec["targetCluster"] for spec in specs if spec["state"] != "Unscheduled"}


@LAW
@given(st.lists(st.integers(0, 4), min_size=1, max_size=3), st.data())
def test_a_scale_out_moves_nothing(numbers: list[int], data: st.DataObject) -> None:
    """What is placed stays placed however many more are wanted, whoever joins."""
    told = story(*(data.draw(members(name)) for name in MEMBERS[:2]))
    known: set[str] = set()
    for number, step in enumerate(sorted(numbers)):
        told.put(placement(pick(step)))
        told.run(number * 100)
        gone = {
            name
            for name in known
            if "deletionTimestamp" in told.files.get(f"membercluster/{name}.yaml", "")
        }
        assert known - gone <= set(states(told))
        known = staying(told)
        told.put(data.draw(members(MEMBERS[2 + number % 2])))


@LAW
@given(
    st.integers(1, 4),
    st.sampled_from(
        (
            ({"maxUnavailable": 1}, lambda number: number - 1),
            ({"minAvailable": 2}, lambda number: min(number, 2)),
            ({"minAvailable": "50%"}, lambda number: (number + 1) // 2),
            ({}, lambda number: number),
        )
    ),
    st.lists(st.sampled_from(MEMBERS), unique=True),
)
def test_evictions_leave_what_the_budget_wants(
    number: int, limit: tuple[Body, Callable[[int], int]], names: list[str]
) -> None:
    """Exactly: as many are executed as it allows, and then nothing is left to do."""
    told = story(*map(member, MEMBERS), placement(pick(number)), namespace())
    told.run(0)
    told.run(100)  # by now all counts as available
    before, (limits, least) = staying(told), limit
    taken = [member(name, taints=[{"key": "drain", "effect": "NoSchedule"}]) for name in names]
    told.put(budget(limits), *taken, *(eviction(name, name=name) for name in names))
    told.run(100)

    asked = before & set(names)
    assert max(number - len(asked), least(number)) == len(before & staying(told))
    assert () == reconcile(told.world(), told.now).changes


def test_a_snapshot_reads_the_same_however_its_labels_came_about() -> None:
    """What was restored from parts is the file that was written once."""
    key = ObjectKey("placement.kubernetes-fleet.io", "ClusterResourceSnapshot", "", "x-0-snapshot")
    names = ("kubernetes-fleet.io/resource-index", "kubernetes-fleet.io/parent-CRP")
    files = {
        encode(snapshot_file(key, {"metadata": {"labels": dict.fromkeys(order, "0")}}, "now"))
        for order in (names, names[::-1])
    }

    assert 1 == len(files)

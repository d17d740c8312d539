"""A KubeFleet hub without webhooks: nobody wrote a policy, and its snapshots hold none."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest

from reconciler.core.changes import WriteFile
from reconciler.core.reconcile import reconcile
from reconciler.core.rounds import world_after
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import encoded_hash
from reconciler.imports.adoption import adopt
from reconciler.imports.importers import Wanted
from reconciler.imports.plan import decisions_among
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World
from tests.builders import NOW
from tests.imports.hubs import objects
from tests.imports.imported import ABSENCE, OUTPUT_RULES, import_into
from tests.imports.kubefleet_hub import kubefleet_hub

GROUP = "placement.kubernetes-fleet.io"
PLACEMENT = ObjectKey(GROUP, "ClusterResourcePlacement", "", "apps-0000")
ADOPTED = ObjectKey(GROUP, "ClusterSchedulingPolicySnapshot", "", "apps-0000-2")
FOLLOWING = ADOPTED._replace(name="apps-0000-3")
LATER = NOW + timedelta(seconds=1)


def adopted_hub() -> World:
    """Return a repository with a hub of one placement imported and adopted."""
    export = kubefleet_hub(1, policy=None)
    world = import_into({}, export, Wanted(adopt=True)).world
    found = adopt(world, decisions_among(objects(export)), NOW, OUTPUT_RULES, ABSENCE)
    return world_after(world, found.outputs, (), ())


def written_after(world: World) -> Mapping[ObjectKey, Body]:
    """Return the files of a world after a pass."""
    outcome = reconcile(world, LATER)
    found = {
        change.path: read(change.content.encode(), change.path).documents[0].body
        for change in outcome.changes
        if isinstance(change, WriteFile)
    }
    known = {one.key: found.get(one.origin.path, one.body) for one in world.outputs.values()}
    fresh = [body for path, body in found.items() if path.endswith(f"/{FOLLOWING.name}.yaml")]
    return {**known, FOLLOWING: fresh[0]} if fresh else known


def with_policy(world: World, policy: Body) -> World:
    """Return a world whose placement got a policy."""
    manifest = world.inputs[PLACEMENT]
    spec = {**mapping(manifest.body, "spec"), "policy": policy}
    edited = replace(manifest, held={**manifest.body, "spec": spec})
    return replace(world, inputs={**world.inputs, PLACEMENT: edited})


def edited_snapshot(world: World, spec: Body) -> World:
    """Return a world in which a person edited the spec of the adopted snapshot."""
    manifest = world.outputs[ADOPTED]
    edited = replace(manifest, held={**manifest.body, "spec": spec})
    return replace(world, outputs={**world.outputs, ADOPTED: edited})


def test_a_snapshot_without_a_policy_stays() -> None:
    """The first pass neither schedules anew nor replaces it: no policy and none are the same."""
    world = adopted_hub()
    after = written_after(world)

    assert () == reconcile(world, LATER).decisions
    assert FOLLOWING not in after
    assert {"policyHash": encoded_hash(None)} == after[ADOPTED]["spec"]


def test_bindings_stay_with_the_snapshot_that_decided_them() -> None:
    """All ten, whose decisions nobody took again."""
    after = written_after(adopted_hub())
    named = [
        mapping(body, "spec")["schedulingPolicySnapshotName"]
        for key, body in after.items()
        if key.kind == "ClusterResourceBinding"
    ]

    assert ["apps-0000-2"] * 10 == named


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param({"placementType": "PickAll"}, id="the-default-written-out"),
        pytest.param(
            {"placementType": "PickAll", "tolerations": [{"key": "gpu", "operator": "Exists"}]},
            id="tolerations",
        ),
    ],
)
def test_a_policy_that_is_written_is_a_new_snapshot(policy: Body) -> None:
    """As upstream has it, whose hash of no policy differs from every other."""
    after = written_after(with_policy(adopted_hub(), policy))

    assert policy == mapping(after[FOLLOWING], "spec")["policy"]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"policyHash": ""}, id="the-hash-is-gone"),
        pytest.param(
            {"policy": {"placementType": "PickFixed"}, "policyHash": encoded_hash(None)},
            id="a-policy-came",
        ),
    ],
)
def test_an_edit_of_such_a_snapshot_is_restored(spec: Body) -> None:
    """What is left of it says that it held none."""
    after = written_after(edited_snapshot(adopted_hub(), spec))

    assert {"policyHash": encoded_hash(None)} == after[ADOPTED]["spec"]
    assert FOLLOWING not in after

"""ClusterTaintPolicies in passes: taints come and go by conditions, and are remembered."""

import json
import re
from collections.abc import Sequence

import pytest

from reconciler.core.reconcile import Memo, reconcile
from reconciler.manifests.admission import TAINTS_ADDED_AT
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from tests.builders import cluster, cluster_status, deployment, policy
from tests.core.test_memo_law import told_of
from tests.stories import Story, applied, story

RECORD = "status/clusters.cluster.karmada.io/{}.yaml"
SLOW = {"key": "slow", "effect": "NoSchedule"}
NOTE = "reconciler.dev/policy-taints"


def condition(kind: str, status: str) -> Body:
    """A condition of a cluster."""
    moment = "2026-01-01T00:00:00Z"
    return {
        "type": kind,
        "status": status,
        "reason": "Told",
        "message": "",
        "lastTransitionTime": moment,
    }


def with_disk(name: str, status: str, taints: Sequence[Body] = ()) -> Body:
    """A ready cluster whose disk is in some state."""
    ready = cluster_status()
    conditions = [*ready["conditions"], condition("DiskPressure", status)]  # type: ignore[misc]  # a list
    return cluster(name, taints=taints, status={**ready, "conditions": conditions})


def taint_policy(name: str = "slow", taint: Body = SLOW, **spec: object) -> Body:
    """A policy that taints clusters under pressure until that is over."""
    match = {"conditionType": "DiskPressure", "operator": "In"}
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "ClusterTaintPolicy",
        "metadata": {"name": name},
        "spec": {
            "taints": [taint],
            "addOnConditions": [{**match, "statusValues": ["True"]}],
            "removeOnConditions": [{**match, "statusValues": ["False"]}],
            **spec,
        },
    }


def kept(told: Story, name: str = "a") -> Body:
    """What the status file of a cluster keeps of policies."""
    path = RECORD.format(name)
    if path not in told.files:
        return {}
    annotations = mapping(mapping(told.output(path), "metadata"), "annotations")
    found: Body = json.loads(text(annotations, NOTE) or "{}")
    return found


def placed_of(told: Story, name: str) -> set[str]:
    """Where a workload is."""
    return set(told.placed(f"{name}-deployment"))


def test_a_taint_comes_and_goes_with_a_condition() -> None:
    """What comes meanwhile goes elsewhere; what was there stays."""
    told = story(with_disk("a", "True"), with_disk("b", "False"), policy(), taint_policy())
    told.put(deployment("early"))
    told.run(0)
    assert {"b"} == placed_of(told, "early")
    assert ["slow"] == [one["key"] for one in kept(told)["added"]]  # type: ignore[attr-defined]  # a list

    told.put(with_disk("a", "False"), deployment("late"))
    told.run(60)

    assert {} == kept(told)
    assert {"a", "b"} == placed_of(told, "late")


def test_a_taint_stays_when_its_condition_merely_ceases() -> None:
    """So does one whose policy goes; its date is that of its coming."""
    told = story(with_disk("a", "True"), with_disk("b", "False"), policy(), taint_policy())
    told.run(0)
    first = kept(told)

    told.put(with_disk("a", "Unknown"), deployment())
    told.run(60)
    told.drop(taint_policy())
    told.run(120)

    assert first == kept(told)
    assert {"b"} == placed_of(told, "web")


def test_a_taint_that_a_person_wrote_goes_too() -> None:
    """In the file of the person it stays; taken out there, nothing of it is kept."""
    told = story(with_disk("a", "False", [SLOW]), policy(), deployment(), taint_policy())
    told.run(0)

    assert {"a"} == placed_of(told, "web")
    assert {"removed": ["slow:NoSchedule"]} == kept(told)
    assert "slow" in told.files["cluster/a.yaml"]

    told.put(with_disk("a", "False"))
    told.run(60)

    assert {} == kept(told)


def test_a_declared_cluster_has_no_condition_to_go_by() -> None:
    """Its manifest has no status."""
    always = [{"conditionType": "Ready", "operator": "NotIn", "statusValues": ["True"]}]
    told = story(cluster("a"), policy(), deployment(), taint_policy(addOnConditions=always))
    told.run(0)

    assert {"a"} == placed_of(told, "web")
    assert {} == kept(told)


def test_a_policy_is_for_the_clusters_that_it_targets() -> None:
    """By their names here."""
    told = story(with_disk("a", "True"), with_disk("b", "True"), policy(), deployment())
    told.put(taint_policy(targetClusters={"clusterNames": ["b"]}))
    told.run(0)

    assert {"a"} == placed_of(told, "web")


@pytest.mark.parametrize(
    "garbled", ["", "[]", '{"added": 1}', '{"added": [{"key": 1}], "removed": 2}']
)
def test_what_a_person_garbled_is_put_right(garbled: str) -> None:
    """The taint comes again."""
    told = story(with_disk("a", "True"), policy(), taint_policy())
    told.run(0)
    path = RECORD.format("a")
    garbage = f"    {NOTE}: {json.dumps(garbled)}"
    line = re.compile(rf"^    {NOTE}: .*$", re.MULTILINE)
    told.files[path], count = line.subn(garbage, told.files[path])
    assert 1 == count
    told.run(60)

    assert ["slow"] == [one["key"] for one in kept(told)["added"]]  # type: ignore[attr-defined]  # a list


def test_passes_with_a_memory_taint_as_those_without() -> None:
    """Whatever comes and goes."""
    memo, told = Memo(), story(with_disk("b", "False"), policy(), deployment())
    changes = (
        [with_disk("a", "True"), taint_policy()],
        [deployment("api")],
        [with_disk("a", "False")],
        [taint_policy(addOnConditions=[])],
        [with_disk("a", "True", [SLOW])],
    )
    for change in changes:
        told.put(*change)
        for _ in range(2):
            world = told.world()
            warm = reconcile(world, told.now, memo=memo)

            assert told_of(reconcile(world, told.now)) == told_of(warm)
            told.files = applied(told.files, warm)
            told.now = told.now.replace(minute=told.now.minute + 1)
    assert TAINTS_ADDED_AT in told.files[RECORD.format("a")]

"""Lists in a repository: what a pass makes of their items, and what stays in them."""

from collections.abc import Sequence
from datetime import timedelta
from typing import cast

import pytest

from reconciler.audit.previews.foresight import foresee
from reconciler.core.changes import Outcome
from tests.builders import (
    Body,
    after,
    cluster,
    configmap,
    deployment,
    policy,
    rebalancer,
    schedule_trigger,
    target,
    text,
)
from tests.dialects.kubefleet.fleet import files, member, placement
from tests.stories import REBALANCERS, Story, story

TRIGGERS = "status/scheduletriggers.policy.karmada.io"
EXPIRED = (
    "its time to live is over; it stands in a List, from which nothing is cut out, so a person "
    "removes it"
)


def listed(*items: Body, kind: str = "List", api_version: str = "v1") -> str:
    """A file that holds a List of these objects."""
    return text({"apiVersion": api_version, "kind": kind, "items": list(items)})


def with_list(told: Story, *items: Body) -> Story:
    """A repository with one more file, a List."""
    told.files["list.yaml"] = listed(*items)
    return told


def said(told: Story, path: str = f"{REBALANCERS}/demo.yaml") -> list[tuple[str, str, str]]:
    """Type, status and message of the conditions of a rebalancer or trigger."""
    status = cast(Body, told.output(path)["status"])
    conditions = cast(Sequence[Body], status.get("conditions", ()))
    return [(str(c["type"]), str(c["status"]), str(c["message"])) for c in conditions]


def test_a_fleet_in_one_list_is_placed() -> None:
    """Cluster, policy and workload as items."""
    told = with_list(story(), cluster(), policy(), deployment())

    assert () == told.run(0).faults
    assert {"a": 2} == told.placed()


def test_clusters_without_a_kind_are_clusters() -> None:
    """The list of one kind says it."""
    bare = {key: value for key, value in cluster().items() if key not in ("apiVersion", "kind")}
    told = story(policy(), deployment())
    told.files["list.yaml"] = listed(
        bare, kind="ClusterList", api_version="cluster.karmada.io/v1alpha1"
    )
    told.run(0)

    assert {"a": 2} == told.placed()


def test_an_item_that_becomes_wrong_stays_as_it_was() -> None:
    """The last good version is in force, as of any document; the others change."""
    told = with_list(story(cluster(), policy()), deployment(), deployment("api"))
    told.run(0)
    with_list(told, {**deployment(), "metadata": 7}, deployment("api", replicas=5))
    wrong = told.run(1).faults

    assert [("list.yaml", "/items/0/metadata")] == [(one.path, one.field) for one in wrong]
    assert {"a": 2} == told.placed()


def test_an_item_that_is_taken_out_is_removed() -> None:
    """As a document that is taken out of a file."""
    told = with_list(story(cluster(), policy()), deployment())
    told.run(0)
    with_list(told)
    told.run(1)

    assert [] == [path for path in told.outputs if "web-deployment" in path]


def test_an_object_is_written_once() -> None:
    """Also within one List; each fault is at its item."""
    told = with_list(story(), configmap(), configmap())
    found = told.run(0).faults

    assert [("/items/0", "identity-duplicate"), ("/items/1", "identity-duplicate")] == [
        (fault.field, fault.rule) for fault in found
    ]


def test_a_report_of_a_cluster_may_be_a_list() -> None:
    """What kubectl prints there of all Deployments."""
    told = story(cluster(), policy(), deployment())
    told.run(0)
    status = {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "updatedReplicas": 2}
    told.files["feedback/a/all.yaml"] = listed({**deployment(), "status": status})
    told.run(1)

    assert '"readyReplicas": 2' in str(told.binding()["status"]).replace("'", '"')


def test_a_finished_rebalancer_in_a_list_is_marked_expired() -> None:
    """Nothing is cut out, the other items and every byte of the file stay."""
    told = with_list(story(cluster(), policy()), rebalancer(ttl=30), deployment())
    before = told.files["list.yaml"]
    assert after(30) == told.run(0).recheck_at
    assert [] == said(told)
    outcome = told.run(30)

    assert () == outcome.removals
    assert [("Expired", "True", EXPIRED)] == said(told)
    assert before == told.files["list.yaml"]


def unchanged(outcome: Outcome) -> bool:
    """Whether a pass has nothing to write, and nothing to wait for."""
    return outcome.changes == () and outcome.recheck_at is None


@pytest.mark.parametrize("seconds", [1, 1000])
def test_one_that_is_marked_is_ignored(seconds: int) -> None:
    """The next passes have nothing to do."""
    told = with_list(story(cluster(), policy()), rebalancer(ttl=0), deployment())
    told.run(0)
    told.run(100)

    assert unchanged(told.run(100 + seconds))


def test_one_that_was_marked_goes_when_it_leaves_the_list() -> None:
    """In a document of its own it is removed as any other one."""
    told = with_list(story(cluster(), policy(), deployment()), rebalancer(ttl=0))
    told.run(0)
    del told.files["list.yaml"]
    told.put(rebalancer(ttl=0), path="own.yaml").run(1)

    assert "own.yaml" not in told.files
    assert f"{REBALANCERS}/demo.yaml" not in told.files


def test_one_that_was_marked_runs_again_when_its_spec_changes() -> None:
    """A workload that an edit adds is rebalanced; then it is marked anew."""
    told = with_list(
        story(cluster(), policy(), deployment(), deployment("api")), rebalancer(ttl=30)
    )
    told.run(0)
    told.run(30)
    more = rebalancer("demo", target(), target(name="api"), ttl=30)
    with_list(told, more).run(100)
    observed = cast(Sequence[Body], told.rebalancer()["observedWorkloads"])

    assert ["Successful", "Successful"] == [one.get("result") for one in observed]
    assert [] == said(told)
    told.run(130)
    assert [("Expired", "True", EXPIRED)] == said(told)


def test_what_is_coming_is_the_mark_and_no_removal() -> None:
    """Nothing is cut out of a List."""
    told = with_list(story(cluster(), policy(), deployment()), rebalancer(ttl=30))
    told.run(0)

    found = foresee(told.world(), told.now + timedelta(seconds=1))

    assert ["its status says Expired"] == [one.what for one in found]


def test_a_mark_by_hand_is_taken_back() -> None:
    """Its time is not over, so the output is put right."""
    told = with_list(story(cluster(), policy(), deployment()), rebalancer(ttl=30))
    told.run(0)
    path = f"{REBALANCERS}/demo.yaml"
    before = told.files[path]
    condition = (
        '  conditions:\n  - type: Expired\n    status: "True"\n    reason: InList\n'
        '    message: m\n    lastTransitionTime: "2026-11-20T12:00:00Z"\n'
    )
    told.files[path] = before.replace("status:\n", f"status:\n{condition}")
    told.run(1)

    assert before == told.files[path]


def test_a_trigger_in_a_list_is_marked_expired() -> None:
    """What failed is tried no more."""
    trigger = schedule_trigger(
        "demo", target(name="gone"), autoCleanAfterMinutes=1, retryAfterSeconds=3600
    )
    told = with_list(story(cluster(), policy(), deployment()), trigger)
    told.run(0)
    told.run(60)

    assert [("Expired", "True", EXPIRED)] == said(told, f"{TRIGGERS}/demo.yaml")
    told.put(deployment("gone"))
    assert f"{TRIGGERS}/demo.yaml" not in [change.path for change in told.run(61).changes]


def test_a_snapshot_says_where_in_a_list_a_resource_stands() -> None:
    """The file, the document in it, and the item."""
    told = with_list(story(member("a"), placement()), deployment())
    told.run(0)
    (snapshot,) = files(told, "clusterresourcesnapshots")

    assert "'pointer': '/items/0'" in str(snapshot)
    assert () == told.run(1).faults

"""What clusters have of a decision: delivered, reported or assumed, waiting for what, suspended."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

import pytest

from reconciler.audit.fleet.assumed_outputs import as_of
from reconciler.audit.fleet.copies import CopiesOf, DeliveredCopy
from reconciler.audit.fleet.copy_counts import (
    CopyCounts,
    CountedWorld,
    count_copies,
    files_text,
    report_text,
)
from reconciler.audit.fleet.suspensions import Suspensions, suspenders_of
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import decode_record
from reconciler.manifests.admission import SUSPEND
from reconciler.model.identity import ObjectKey
from tests.builders import (
    NOW,
    Body,
    after,
    cluster,
    cluster_status,
    configmap,
    configuration,
    deployment,
    metadata,
    policy,
    rebalancer,
    taint,
    target,
    text,
    text_of,
)
from tests.core.test_staged_deliveries import RECORD, managed, staged_delivery
from tests.delivery.test_transports import FOLDERS
from tests.dialects.kubefleet.fleet import GROUP as FLEET
from tests.dialects.kubefleet.fleet import fixed, member, placement, stage, strategy
from tests.dialects.ocm import worlds
from tests.dialects.ocm.worlds import SHOP, progressive, replica_set, settings_map, succeed
from tests.golden import older_outputs
from tests.stories import BINDINGS, Story, story

WEB = ObjectKey("work.karmada.io", "ResourceBinding", "default", "web-deployment")
CRP = ObjectKey(FLEET, "ClusterResourcePlacement", "", "web")
SILENT: Body = {"assumeAfterSeconds": None}
ONE_BY_ONE: Body = {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
FILE = "default/deployments.apps/web.yaml"


def karmada(*, delivery: Body | None = FOLDERS, feedback: Body = SILENT) -> Story:
    """A Deployment on two clusters, after one pass."""
    told = story(cluster("a"), cluster("b"), policy(), deployment(replicas=2))
    told.put(configuration(delivery=delivery, feedback=feedback))
    told.run(0)
    return told


def report(told: Story, name: str, ready: int) -> Story:
    """Let a cluster report so many of two replicas."""
    counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas"), ready)
    status = {**counts, "updatedReplicas": ready, "observedGeneration": 1}
    body = {
        **deployment(replicas=2),
        "metadata": metadata("web", "default", generation=1),
        "status": status,
    }
    told.files[f"feedback/{name}/web.yaml"] = text(body)
    return told


def copies(told: Story, key: ObjectKey = WEB) -> dict[str, DeliveredCopy]:
    """Cluster to what it has."""
    return {one.status.cluster: one for one in CopiesOf(told.world(), told.now)(key)}


def delivered(told: Story, key: ObjectKey = WEB) -> dict[str, list[str]]:
    """Cluster to what is said of its files."""
    return {name: [files_text(one) for one in c.files] for name, c in copies(told, key).items()}


def reported(told: Story, key: ObjectKey = WEB) -> dict[str, str]:
    """Cluster to what is said of its report."""
    return {name: report_text(one.status) for name, one in copies(told, key).items()}


def waits(told: Story, key: ObjectKey = WEB) -> dict[str, str]:
    """Cluster to what it waits for."""
    return {name: one.status.waits_for for name, one in copies(told, key).items()}


def test_what_is_delivered_is_told_with_its_file() -> None:
    """One a cluster."""
    assert {name: [f"delivery/{name}/{FILE}"] for name in "ab"} == delivered(karmada())


def test_every_transport_is_told_of() -> None:
    """The list of clusters, too."""
    told = karmada(delivery={"folders": {}, "decisions": {}})
    path = "decisions/resourcebindings.work.karmada.io/default/web-deployment.json"

    assert [path, f"delivery/a/{FILE}"] == delivered(told)["a"]


def test_without_a_transport_nothing_is_delivered() -> None:
    """What is reported is told all the same."""
    told = karmada(delivery=None)

    assert ([], False) == (delivered(told)["a"], copies(told)["a"].is_delivered)
    assert "no report yet" == reported(told)["a"]


def test_what_no_pass_has_delivered_yet_is_told() -> None:
    """As after the transport was merged."""
    told = karmada(delivery=None).put(configuration(delivery=FOLDERS, feedback=SILENT))

    assert ["not delivered: no pass has delivered there yet"] == delivered(told)["a"]


def test_what_an_edit_would_change_is_told() -> None:
    """The file is there, of an earlier pass."""
    told = karmada().put(deployment(replicas=2, labels={"tier": "new"}))
    expected = f"delivery/a/{FILE}, as it was: the next pass writes it"

    assert [expected] == delivered(told)["a"]


def test_suspended_passes_are_told() -> None:
    """No pass will write it."""
    told = karmada().put(deployment(replicas=2, labels={"tier": "new"}))
    told.put(configuration(delivery=FOLDERS, feedback=SILENT, suspend=True))

    assert [f"delivery/a/{FILE}, as it was: passes are suspended"] == delivered(told)["a"]


def test_a_delivery_that_is_held_back_says_by_which_digest_it_goes_on() -> None:
    """As the fault does."""
    told = karmada(delivery=None)
    told.files["delivery/a/mine.yaml"] = "kind: Mine\n"
    told.put(configuration(delivery=FOLDERS, feedback=SILENT)).run()
    found = delivered(told)["a"][0]

    assert found.startswith("not delivered: held back: `allow: sha256:")


def test_what_cannot_be_rendered_is_told() -> None:
    """With the reason; what is there stays."""
    told = story(cluster("a"), policy(selectors=[{"apiVersion": "v1", "kind": "Secret"}]))
    secret = {**configmap("s"), "kind": "Secret", "data": {"x": "eA=="}}
    told.put(secret, configuration(delivery=FOLDERS)).run(0)
    key = WEB._replace(name="s-secret")

    why = "Secret.core default/s is a Secret in the clear, which is not delivered"
    assert [f"not delivered: {why}"] == delivered(told, key)["a"]


def test_health_is_told_with_what_is_ready() -> None:
    """As the cluster reports it."""
    told = report(report(karmada(), "a", 2), "b", 1)
    told.run()

    assert {"a": "healthy (2 of 2 ready)", "b": "unhealthy (1 of 2 ready)"} == reported(told)


def test_what_is_assumed_says_so() -> None:
    """A minute after it was placed."""
    told = karmada(feedback={"assumeAfterSeconds": 60})
    told.run(61)

    assert {"a": "no report, assumed healthy", "b": "no report, assumed healthy"} == reported(told)


def evicted() -> Story:
    """A Deployment that leaves a for b, which is silent."""
    told = story(cluster("a"), cluster("b", taints=[{"key": "x", "effect": "NoSchedule"}]))
    told.put(policy(), deployment(replicas=2))
    told.put(configuration(delivery=FOLDERS, feedback=SILENT)).run(0)
    tainted = cluster("a", taints=[{"key": "down", "effect": "NoExecute"}])
    told.put(tainted, cluster("b")).run()
    return told


def test_a_copy_that_is_left_says_for_what_it_waits() -> None:
    """The one that takes over is silent."""
    told = evicted()

    assert {"b": "", "a": "it to be healthy on b"} == waits(told)
    assert [f"delivery/a/{FILE}, kept as it was"] == delivered(told)["a"]


def test_what_the_brake_on_removals_holds_says_by_which_digest_it_goes() -> None:
    """Twelve of twelve are more than the limit."""
    names = [f"web-{number}" for number in range(12)]
    told = story(cluster("a"), policy(), *(deployment(name) for name in names))
    told.put(configuration(delivery=FOLDERS)).run(0)
    told.drop(*(deployment(name) for name in names)).run()
    key = WEB._replace(name="web-3-deployment")

    assert waits(told, key)["a"].startswith("`allow: sha256:")


def test_the_brake_holds_nothing_that_is_still_there() -> None:
    """A Secret that is refused does not wait for a digest."""
    names = [f"web-{number}" for number in range(12)]
    secrets: Body = {"apiVersion": "v1", "kind": "Secret"}
    told = story(cluster("a"), policy(), policy("s", selectors=[secrets]))
    told.put(*(deployment(name) for name in names))
    told.put({**configmap("s"), "kind": "Secret", "data": {"x": "eA=="}})
    told.put(configuration(delivery=FOLDERS)).run(0)
    rules = {one.rule for one in told.drop(*(deployment(name) for name in names)).run().faults}

    assert "removal-braked" in rules
    assert {"a": ""} == waits(told, WEB._replace(name="s-secret"))


def test_a_rollout_of_kubefleet_waits_for_clusters_before_it() -> None:
    """The second cluster keeps the old content, which is what is to be there."""
    told = story(member("a"), member("b"), placement(fixed("a", "b"), strategy=ONE_BY_ONE))
    told.put(deployment(), configuration(delivery=FOLDERS, feedback={"assumeAfterSeconds": 60}))
    told.run(0)
    told.run(100)
    told.put(deployment(labels={"tier": "new"})).run()

    assert {"a": "", "b": "it to be available on a"} == waits(told, CRP)
    assert [f"delivery/b/{FILE}"] == delivered(told, CRP)["b"]
    assert "no report, assumed healthy (an earlier version)" == reported(told, CRP)["b"]


def test_a_rollout_of_a_set_waits_for_clusters_before_it() -> None:
    """One at a time."""
    told = worlds.fleet("a", "b").put(
        replica_set(), configuration(delivery=FOLDERS, feedback=SILENT)
    )
    told.run(0)
    told.put(replica_set(settings_map("2"), strategy=progressive())).run()

    assert {"a": "", "b": "it to be up to date on a"} == waits(told, SHOP)
    assert {"a": "no report yet", "b": "no report yet (an earlier template)"} == (
        reported(told, SHOP)
    )


def test_a_cluster_that_has_nothing_yet_waits_for_its_turn() -> None:
    """It was decided, and is not reached."""
    told = worlds.fleet("a", "b").put(replica_set(strategy=progressive()))
    told.put(configuration(delivery=FOLDERS, feedback=SILENT)).run(0)
    works = decode_record(told.output(worlds.STATUS)).works

    assert ["a"] == [one.cluster for one in works]
    assert ["not delivered yet"] == delivered(told, SHOP)["b"]


def test_a_set_that_is_reported_is_healthy() -> None:
    """As its ManifestWork says."""
    told = worlds.fleet("a").put(replica_set(), configuration(delivery=FOLDERS, feedback=SILENT))
    told.run(0)
    succeed(told, "a").run()

    assert {"a": "healthy"} == reported(told, SHOP)


def test_nothing_is_assumed_of_a_set_while_a_run_brings_its_template_to_clusters() -> None:
    """Neither of those that are held nor of those that were given it and say nothing."""
    told = story(worlds.cluster_set(), worlds.binding(), worlds.placement())
    told.put(managed("a", "canary"), managed("b", "prod"), configuration(delivery=FOLDERS))
    told.put(strategy(stage("canary"), stage("prod")), replica_set())
    told.put(staged_delivery(selector={"kind": "ManifestWorkReplicaSet"})).run(0)
    assert CopyCounts(0, 0, 0, 2, 0) == count_copies(told.world(), after(90))

    told.put(replica_set(settings_map("2"))).run(120)
    world, late = told.world(), after(9_000)

    assert ["no report yet"] * 2 == [
        report_text(one) for one in CopiesOf(world, late).statuses(SHOP)
    ]
    assert world.outputs[SHOP].body == as_of(world, late).outputs[SHOP].body

    del told.files[RECORD]
    unstaged = told.world()
    known = CountedWorld(world=unstaged, counts=count_copies(unstaged, late), at=late)
    assert CopyCounts(0, 0, 0, 2, 0) == known.counts
    assert [CopyCounts(0, 0, 0, 0, 2)] * 2 == [
        count_copies(world, late, one) for one in (None, known)
    ]


def test_copies_are_counted_but_for_those_that_are_left() -> None:
    """By what is known of them."""
    told = report(karmada(), "a", 1)
    told.run()
    found = count_copies(told.world(), told.now)
    left = count_copies(evicted().world(), NOW)

    assert (2, 1, 1) == (found.copies, found.unhealthy, found.silent)
    assert 1 == left.copies


def test_on_a_cluster_that_is_down_nothing_counts_as_healthy() -> None:
    """Neither what it reported before it failed, nor what would be assumed of its silence."""
    told = web("a", "b", seconds=0)
    before = told.world()
    told.put(cluster("a", status=cluster_status("False")))
    known = CountedWorld(world=before, counts=count_copies(before, after(60)), at=after(60))
    found = [count_copies(told.world(), after(60), one) for one in (None, known)]

    assert CopyCounts(0, 0, 0, 2, 0) == known.counts
    assert [CopyCounts(0, 0, 0, 1, 0, 1)] * 2 == found
    assert {"a": "at risk: the cluster is not ready", "b": "no report, assumed healthy"} == {
        one.status.cluster: report_text(one.status)
        for one in CopiesOf(told.world(), after(60))(WEB)
    }


def test_what_is_on_another_branch_is_asked_of_that_branch() -> None:
    """One that is not there is told."""
    told = karmada(delivery={"folders": {"branch": "fleet"}})
    expected = "not delivered: the branch fleet is not in this repository"

    assert [expected] == delivered(told)["a"]


BINDING_FILE = f"{BINDINGS}/default/web-deployment.yaml"
ASSUMED = {"applied": True, "health": "Healthy"}


def web(*names: str, seconds: int | None = 60) -> Story:
    """A Deployment, placed now."""
    told = story(*map(cluster, names), policy(), deployment())
    told.put(configuration(feedback={"assumeAfterSeconds": seconds}))
    told.run(0)
    return told


def shown(told: Story, at: datetime) -> Body:
    """The status of the binding as it is at a moment."""
    return cast(Body, as_of(told.world(), at).outputs[WEB].body["status"])


def applied(status: Body) -> Mapping[str, str]:
    """Its condition FullyApplied."""
    conditions = cast(Sequence[Mapping[str, str]], status["conditions"])
    return next(one for one in conditions if one["type"] == "FullyApplied")


def aggregated(status: Body) -> dict[str, Body]:
    """What is told of each cluster."""
    listed = cast(Sequence[Body], status.get("aggregatedStatus", ()))
    return {str(one["clusterName"]): {k: one[k] for k in ASSUMED} for one in listed}


@pytest.mark.parametrize("seconds", [0, 60])
def test_silent_clusters_are_assumed_healthy_without_a_pass(seconds: int) -> None:
    """From that second on, not earlier; the moment does not depend on who looks when."""
    told = web("a", "b", seconds=seconds)
    due = after(seconds)
    for at in (due, after(9_000)):
        status = shown(told, at)

        assert {"a": ASSUMED, "b": ASSUMED} == aggregated(status)
        assert ("True", "FullyAppliedAssumed", text_of(due)) == (
            applied(status)["status"],
            applied(status)["reason"],
            applied(status)["lastTransitionTime"],
        )
    if seconds:
        assert told.binding()["status"] == shown(told, after(seconds - 1))


def test_of_one_object_the_same_is_assumed_as_of_all() -> None:
    """What nobody asks about stays as it is written."""
    told = web("a", "b")
    whole, one, none = (as_of(told.world(), after(60), only) for only in (None, (WEB,), ()))

    assert whole.outputs[WEB].body == one.outputs[WEB].body
    assert told.world().outputs[WEB].body == none.outputs[WEB].body


def test_nothing_is_written_for_it_and_no_pass_waits_for_it() -> None:
    """The file says for whom is waited, as long as nobody reports."""
    told = web("a")
    before = dict(told.files)

    assert told.run(30).recheck_at is None
    assert () == told.run(90_000).changes
    assert before == told.files
    assert ("False", "AwaitingFeedback") == (
        told.condition("FullyApplied")["status"],
        told.condition("FullyApplied")["reason"],
    )


def test_nothing_is_assumed_where_that_is_switched_off() -> None:
    """At no moment."""
    told = web("a", seconds=None)

    assert told.binding()["status"] == shown(told, after(90_000))


def test_the_assumption_counts_anew_for_a_new_cluster_only() -> None:
    """The clusters that were there keep their moment; what follows has that of the last one."""
    told = web("a")
    told.put(cluster("b"), deployment(replicas=2)).run(30)

    assert {"a": ASSUMED} == aggregated(shown(told, after(89)))
    assert "No report yet from b" == applied(shown(told, after(89)))["message"]
    assert text_of(after(90)) == applied(shown(told, after(500)))["lastTransitionTime"]


def test_a_cluster_that_reports_is_not_assumed_about() -> None:
    """It is as it says, and the others are assumed."""
    told = web("a", "b")
    status = {"replicas": 2, "readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1}
    body = {**deployment(), "metadata": metadata("web", "default"), "status": status}
    told.files["feedback/a/web.yaml"] = text(body)
    told.run(30)

    assert {"a": {"applied": True, "health": "Unhealthy"}, "b": ASSUMED} == (
        aggregated(shown(told, after(60)))
    )
    message = applied(shown(told, after(60)))["message"]
    assert "b are assumed to have applied it 60 s after they were chosen" == message


def test_an_eviction_that_waits_for_health_ends_at_the_assumed_moment() -> None:
    """That is when a pass looks again, and all that is written is the end of the eviction."""
    told = web("a")
    told.put(cluster("a", taints=[taint(effect="NoExecute")]), cluster("b"))

    assert after(160) == told.run(100).recheck_at
    outcome = told.run(160)

    assert outcome.recheck_at is None
    assert {} == aggregated(cast(Body, told.binding()["status"]))
    assert "gracefulEvictionTasks" not in cast(Body, told.binding()["spec"])


def test_what_an_older_release_wrote_of_it_stays_while_it_holds() -> None:
    """So an upgrade rewrites nothing, until something else is known."""
    told = web("a", "b")
    told.files |= older_outputs("karmada")
    written = told.binding()

    assert "FullyAppliedAssumed" == told.condition("FullyApplied")["reason"]
    assert () == told.run(61).changes
    assert () == told.run(90_000).changes
    assert cast(Body, written["status"]) == shown(told, told.now)

    told.put(configuration(feedback={"assumeAfterSeconds": None})).run()
    assert "AwaitingFeedback" == told.condition("FullyApplied")["reason"]


def test_an_assumption_that_a_person_writes_early_does_not_stand() -> None:
    """It is taken back, as every other edit of the status."""
    told = web("a")
    item = {"clusterName": "a", "applied": True, "health": "Healthy"}
    status = {**cast(Body, told.binding()["status"]), "aggregatedStatus": [item]}
    told.files[BINDING_FILE] = text({**told.binding(), "status": status})
    told.run(59)

    assert {} == aggregated(cast(Body, told.binding()["status"]))


SUSPENDED = {SUSPEND: "true"}


def annotated(body: Body) -> Body:
    """Return a manifest that suspends."""
    return {**body, "metadata": {**body["metadata"], "annotations": SUSPENDED}}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("more", "count"),
    [
        pytest.param((), 0, id="nothing"),
        pytest.param((annotated(deployment()),), 2, id="workload"),
        pytest.param((annotated(policy()),), 3, id="policy"),
        pytest.param((annotated(deployment()), annotated(policy())), 3, id="both"),
        pytest.param((configuration(suspend=True),), 4, id="everything"),
    ],
)
def test_one_object_asked_alone_is_suspended_as_among_all(
    more: tuple[Body, ...], count: int
) -> None:
    """Of every input and output: its workload, its policy, everything."""
    told = story(cluster("a"), policy(), deployment(), rebalancer("all", target()))
    told.run(0)
    told.put(*more)
    world = told.world()
    every = Suspensions(world)
    found = {key: suspenders_of(world, key) for key in {*world.inputs, *world.outputs}}

    assert {key: every.of(key) for key in found} == found
    assert count <= sum(bool(one) for one in found.values())

"""What clusters have of a decision: delivered, reported, waiting for what."""

from reconciler.audit.fleet.copies import CopiesOf, DeliveredCopy
from reconciler.audit.fleet.copy_counts import count_copies, files_text, report_text
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import decode_record
from reconciler.model.identity import ObjectKey
from tests.builders import (
    NOW,
    Body,
    cluster,
    configmap,
    configuration,
    deployment,
    metadata,
    policy,
    text,
)
from tests.delivery.test_folders import FOLDERS
from tests.dialects.kubefleet.fleet import GROUP as FLEET
from tests.dialects.kubefleet.fleet import fixed, member, placement
from tests.dialects.ocm import sets
from tests.dialects.ocm.sets import SHOP, progressive, replica_set, settings_map, succeed
from tests.stories import Story, story

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
    told = sets.fleet("a", "b").put(replica_set(), configuration(delivery=FOLDERS, feedback=SILENT))
    told.run(0)
    told.put(replica_set(settings_map("2"), strategy=progressive())).run()

    assert {"a": "", "b": "it to be up to date on a"} == waits(told, SHOP)
    assert {"a": "no report yet", "b": "no report yet (an earlier template)"} == (
        reported(told, SHOP)
    )


def test_a_cluster_that_has_nothing_yet_waits_for_its_turn() -> None:
    """It was decided, and is not reached."""
    told = sets.fleet("a", "b").put(replica_set(strategy=progressive()))
    told.put(configuration(delivery=FOLDERS, feedback=SILENT)).run(0)
    works = decode_record(told.output(sets.STATUS)).works

    assert ["a"] == [one.cluster for one in works]
    assert ["not delivered yet"] == delivered(told, SHOP)["b"]


def test_a_set_that_is_reported_is_healthy() -> None:
    """As its ManifestWork says."""
    told = sets.fleet("a").put(replica_set(), configuration(delivery=FOLDERS, feedback=SILENT))
    told.run(0)
    succeed(told, "a").run()

    assert {"a": "healthy"} == reported(told, SHOP)


def test_copies_are_counted_but_for_those_that_are_left() -> None:
    """By what is known of them."""
    told = report(karmada(), "a", 1)
    told.run()
    found = count_copies(told.world(), told.now)
    left = count_copies(evicted().world(), NOW)

    assert (2, 1, 1) == (found.copies, found.unhealthy, found.silent)
    assert 1 == left.copies


def test_what_is_on_another_branch_is_asked_of_that_branch() -> None:
    """One that is not there is told."""
    told = karmada(delivery={"folders": {"branch": "fleet"}})
    expected = "not delivered: the branch fleet is not in this repository"

    assert [expected] == delivered(told)["a"]

"""Static assignments: what clusters get of a quota, and what their reports come to."""

from reconciler.core.reconcile import Memo, reconcile
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from tests.builders import cluster, configuration, quota, text
from tests.core.test_memo_law import told_of
from tests.stories import Story, applied, story

FOLDERS: Body = {"folders": {}}
FILE = "delivery/{}/default/resourcequotas/quota.yaml"
STATUS = "status/federatedresourcequotas.policy.karmada.io/default/quota.yaml"


def assignment(name: str, cpu: str) -> Body:
    """What one cluster may use."""
    return {"clusterName": name, "hard": {"cpu": cpu}}


def assigned(*assignments: Body) -> Body:
    """A quota with static assignments."""
    return quota(overall={"cpu": "10"}, staticAssignments=list(assignments))


def delivered(*bodies: Body, delivery: Body = FOLDERS) -> Story:
    """Two clusters, and folders for them."""
    told = story(cluster("a"), cluster("b"), configuration(delivery=delivery), *bodies)
    told.run(0)
    return told


def body_at(told: Story, path: str) -> Body:
    """The body of a delivered file."""
    [document] = read(told.files[path].encode(), path).documents
    return document.body


def report(told: Story, name: str, used: Body, hard: Body) -> None:
    """Have a cluster report its ResourceQuota."""
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "quota", "namespace": "default"},
        "status": {"hard": hard, "used": used},
    }
    told.files[f"feedback/{name}/quota.yaml"] = text(body)


def test_a_cluster_gets_the_resource_quota_that_is_assigned_to_it() -> None:
    """Others get none, nor does one that is not there."""
    told = delivered(assigned(assignment("a", "6"), assignment("gone", "1")))

    found = body_at(told, FILE.format("a"))

    assert ("v1", "ResourceQuota") == (found["apiVersion"], found["kind"])
    assert {"hard": {"cpu": "6"}} == found["spec"]
    assert "true" == mapping(mapping(found, "metadata"), "labels")["karmada.io/managed"]
    assert [FILE.format("a")] == [path for path in told.files if "/resourcequotas/" in path]


def test_it_comes_with_its_cluster_changes_and_goes_with_the_assignment() -> None:
    """A pass that remembers delivers the same as one that does not."""
    told, memo = delivered(assigned(assignment("a", "6"), assignment("c", "4"))), Memo()
    kept = []
    for body in (
        cluster("c"),
        assigned(assignment("a", "5"), assignment("c", "4")),
        assigned(assignment("c", "4")),
    ):
        told.put(body)
        world = told.world()
        outcome = reconcile(world, told.now, memo=memo)
        assert told_of(reconcile(world, told.now)) == told_of(outcome)
        told.files = applied(told.files, outcome)
        kept.append(
            {
                name: mapping(body_at(told, FILE.format(name)), "spec")["hard"]
                for name in ("a", "b", "c")
                if FILE.format(name) in told.files
            }
        )

    assert [
        {"a": {"cpu": "6"}, "c": {"cpu": "4"}},
        {"a": {"cpu": "5"}, "c": {"cpu": "4"}},
        {"c": {"cpu": "4"}},
    ] == kept


def test_what_clusters_report_is_added_up() -> None:
    """Of those that have an assignment; without enforcement that is what is used."""
    told = story(cluster("a"), cluster("b"), cluster("c"))
    told.put(assigned(assignment("b", "4"), assignment("a", "6")))
    report(told, "a", used={"cpu": "1500m", "requests.memory": "1Gi"}, hard={"cpu": "6"})
    report(told, "b", used={"cpu": "2", "requests.memory": "512Mi"}, hard={"cpu": "4"})
    report(told, "c", used={"cpu": "9"}, hard={"cpu": "9"})
    told.run(0)

    assert {
        "overall": {"cpu": "10"},
        "overallUsed": {"cpu": "3500m", "requests.memory": "1536Mi"},
        "aggregatedStatus": [
            {
                "clusterName": "a",
                "hard": {"cpu": "6"},
                "used": {"cpu": "1500m", "requests.memory": "1Gi"},
            },
            {
                "clusterName": "b",
                "hard": {"cpu": "4"},
                "used": {"cpu": "2", "requests.memory": "512Mi"},
            },
        ],
    } == told.output(STATUS)["status"]


def test_a_work_names_the_quota_that_it_is_of() -> None:
    """Upstream's controllers look for it by these labels."""
    works: Body = {"works": {"hubsWithoutControllers": True}}
    told = delivered(assigned(assignment("a", "6")), delivery=works)

    [path] = [one for one in told.files if one.startswith("works/") and "/quota-" in one]
    labels = mapping(mapping(body_at(told, path), "metadata"), "labels")

    assert "default" == labels["federatedresourcequota.karmada.io/namespace"]
    assert "quota" == labels["federatedresourcequota.karmada.io/name"]

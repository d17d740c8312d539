"""From live objects to files: what counts, where it goes, and what is left alone."""

import pytest

from reconciler.imports.importers import Wanted
from reconciler.model.body import Body
from tests.builders import configmap
from tests.imports.hubs import THEN, condition, live, workload
from tests.imports.imported import DEPLOYMENTS, fates, import_into, texts
from tests.imports.karmada_hub import karmada_hub
from tests.imports.kubefleet_hub import kubefleet_hub

CLUSTER = karmada_hub(0)[0]
POLICY = karmada_hub(0)[-1]
AS_WRITTEN = """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata:
  name: member1
spec:
  apiEndpoint: https://member1.example.com:6443
  syncMode: Push
status:
  apiEnablements:
  - groupVersion: apps/v1
    resources:
    - name: deployments
      kind: Deployment
  conditions:
  - lastTransitionTime: "2026-01-05T08:00:00Z"
    message: all is well
    reason: AsItShould
    status: "True"
    type: Ready
  resourceSummary:
    allocatable:
      cpu: "64"
      memory: "256Gi"
      pods: "330"
    allocated:
      cpu: "12"
      memory: "31Gi"
      pods: "97"
"""
COMMENTED = """\
# Two clusters, by hand.
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata:
  name: other  # not in the export
spec: {syncMode: Push}
---
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata:
  name: member1   # in Frankfurt
  annotations:
    reconciler.dev/suspend: 'true'
spec:
  # by Ada
  syncMode: 'Push'
  region: eu-west  # goes
  secretRef: {namespace: karmada-cluster, name: member1}
"""


def changed(body: Body, **parts: object) -> Body:
    """Return an object with other parts."""
    return {**body, **parts}


def with_cpu(allocatable: str) -> Body:
    """Return the cluster with other room."""
    status = CLUSTER["status"]
    assert isinstance(status, dict)
    summary = {**status["resourceSummary"], "allocatable": {"cpu": allocatable}}
    return changed(CLUSTER, status={**status, "resourceSummary": summary})


def test_only_what_counts_is_written() -> None:
    """Nothing that a server made, no address of a secret, no versions; in one order."""
    plan = import_into({}, [CLUSTER])

    assert {"clusters/member1.yaml": AS_WRITTEN} == texts(plan)


def test_an_object_is_brought_up_to_date_where_it_stands() -> None:
    """Its comments, its neighbours, and the fields that do not count stay as they are."""
    plan = import_into({"clusters/all.yaml": COMMENTED}, [CLUSTER])
    written = texts(plan)["clusters/all.yaml"]
    head, tail = COMMENTED.split("  region: eu-west  # goes\n")

    assert ["clusters/all.yaml"] == list(plan.files)
    assert written.startswith(head + tail)
    assert written.endswith('      pods: "97"\n')


def test_what_has_not_changed_is_not_written() -> None:
    """Server-made fields, heartbeats, order of keys and comments are no changes."""
    commented = f"# by Ada\n{AS_WRITTEN}"
    plan = import_into({"clusters/a.yaml": commented}, [CLUSTER])

    assert ([("member1", "unchanged")], {}) == (fates(plan), plan.files)


@pytest.mark.parametrize(
    ("cpu", "percent", "expected"),
    [
        pytest.param("61", 5, "unchanged", id="within"),
        pytest.param("60", 5, "updated", id="beyond"),
        pytest.param("61", 0, "updated", id="none-allowed"),
        pytest.param("64000m", 0, "unchanged", id="the-same-amount-in-other-words"),
    ],
)
def test_capacity_has_a_tolerance(cpu: str, percent: int, expected: str) -> None:
    """So many percent of what the file says; more is a change."""
    files = texts(import_into({}, [with_cpu("64")]))
    plan = import_into(files, [with_cpu(cpu)], Wanted(tolerance_percent=percent))

    assert [("member1", expected)] == fates(plan)


def test_a_heartbeat_is_no_change() -> None:
    """Its moment stays as the file has it."""
    member = kubefleet_hub(0)[0]
    files = texts(import_into({}, [member]))
    status = member["status"]
    assert isinstance(status, dict)
    agent = {**status["agentStatus"][0], "lastReceivedHeartbeat": "2026-02-02T00:00:00Z"}
    plan = import_into(files, [changed(member, status={**status, "agentStatus": [agent]})])

    assert [("member1", "unchanged")] == fates(plan)


def test_a_heartbeat_counts_where_heartbeats_do() -> None:
    """With `inventory.heartbeats: enforce` silence makes a cluster ineligible."""
    member = kubefleet_hub(0)[0]
    enforce = (
        "apiVersion: reconciler.dev/v1alpha1\nkind: ReconcilerConfiguration\n"
        "metadata: {name: fleet}\nspec: {inventory: {heartbeats: enforce}}\n"
    )
    files = {**texts(import_into({}, [member])), "reconciler.yaml": enforce}
    status = member["status"]
    assert isinstance(status, dict)
    agent = {**status["agentStatus"][0], "lastReceivedHeartbeat": "2026-02-02T00:00:00Z"}
    plan = import_into(files, [changed(member, status={**status, "agentStatus": [agent]})])

    assert [("member1", "updated")] == fates(plan)


def test_a_cluster_that_never_reported_is_not_declared_ready() -> None:
    """A file without any status is a declaration; a live cluster without one is not ready."""
    silent = {name: value for name, value in CLUSTER.items() if name != "status"}

    assert (
        "status:\n  conditions: []\n" in texts(import_into({}, [silent]))["clusters/member1.yaml"]
    )


def test_two_objects_of_one_name_get_two_files() -> None:
    """The second names its kind."""
    plan = import_into({}, [CLUSTER, kubefleet_hub(0)[0]])

    assert ["clusters/member1-membercluster.yaml", "clusters/member1.yaml"] == sorted(plan.files)


def test_workloads_come_only_if_asked_for() -> None:
    """Then without status and claims."""
    web = workload("web", 2, annotations={"propagationpolicy.karmada.io/name": "all"})
    path = "workloads/default/web-deployment.yaml"

    assert [("web", "skipped")] == fates(import_into({}, [web], Wanted()))
    assert [path] == list(import_into({}, [web]).files)
    assert "status" not in texts(import_into({}, [web]))[path]
    assert "propagationpolicy" not in texts(import_into({}, [web]))[path]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param(
            live("v1", "Secret", "s", namespace="default", data={"a": "YQ=="}),
            "a Secret in plain must not come into Git; encrypt it first",
            id="secret",
        ),
        pytest.param(
            live(
                "apps/v1",
                "ReplicaSet",
                "web-1",
                metadata={"ownerReferences": [{"kind": "Deployment", "controller": True}]},
            ),
            "another object made it",
            id="owned",
        ),
        pytest.param(
            live("v1", "Pod", "p"), "what a cluster has; --cluster says of which", id="pod"
        ),
        pytest.param(
            live("apps.karmada.io/v1alpha1", "WorkloadRebalancer", "r"),
            "it would run once more; it belongs to the control plane that ran it",
            id="rebalancer",
        ),
        pytest.param(
            live("placement.kubernetes-fleet.io/v1beta1", "ClusterStagedUpdateRun", "r"),
            "it would run once more; it belongs to the control plane that ran it",
            id="staged-update",
        ),
        pytest.param(
            live("placement.kubernetes-fleet.io/v1beta1", "ClusterResourcePlacementEviction", "e"),
            "it would run once more; it belongs to the control plane that ran it",
            id="eviction",
        ),
        pytest.param(
            live("work.karmada.io/v1alpha2", "ResourceBinding", "b"),
            "a decision; --adopt makes it state",
            id="decision",
        ),
    ],
)
def test_what_is_no_file_is_skipped_with_its_reason(body: Body, why: str) -> None:
    """Whatever workloads were asked for."""
    plan = import_into({}, [body], Wanted(workloads=frozenset({"all"})))

    assert [("skipped", why)] == [(str(one.became), one.why) for one in plan.objects]


def test_what_no_pass_would_take_is_not_written() -> None:
    """The sentence names the field."""
    broken = changed(POLICY, spec={"resourceSelectors": [], "placement": {"nonsense": 1}})
    plan = import_into({}, [broken])

    assert ([("all", "failed")], {}) == (fates(plan), {})
    assert plan.objects[0].why.startswith("/spec/")


def test_a_file_that_cannot_be_edited_is_left_alone() -> None:
    """An anchor that others refer to would change them, too."""
    shared = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  labels: &own {app: web}\n"
        "spec:\n  replicas: 1\n  selector: {matchLabels: *own}\n"
        "  template: {metadata: {labels: *own}}\n"
    )
    plan = import_into({"web.yaml": shared}, [workload("web", 2, labels={"app": "shop"})])

    assert [("web", "failed")] == fates(plan)
    assert plan.objects[0].why.endswith("edit it by hand")


def test_json_stays_json() -> None:
    """A file of that name is written as such."""
    head = '{"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", '
    text = f'{head}"metadata": {{"name": "member1"}}, "spec": {{"syncMode": "Pull"}}}}'
    plan = import_into({"c.json": text}, [CLUSTER])

    assert texts(plan)["c.json"].startswith('{\n  "apiVersion"')
    assert '"syncMode": "Push"' in texts(plan)["c.json"]


def test_an_item_of_a_list_is_brought_up_to_date_there() -> None:
    """The other items stay."""
    text = "apiVersion: v1\nkind: List\nitems:\n"
    for name in ("other", "member1"):
        text += (
            "- apiVersion: cluster.karmada.io/v1alpha1\n  kind: Cluster\n"
            f"  metadata: {{name: {name}}}\n  spec: {{syncMode: Pull}}\n"
        )
    written = texts(import_into({"all.yaml": text}, [CLUSTER]))["all.yaml"]

    assert written.startswith(text[: text.index("{name: member1}")])
    assert "  spec: {syncMode: Push, apiEndpoint:" in written


def test_a_member_reports_of_the_workloads_of_the_repository() -> None:
    """Their status becomes feedback; workloads that are not ours are none of our business."""
    files = texts(import_into({}, [workload("web", 2)]))
    status = {"replicas": 2, "conditions": [condition("Available", lastUpdateTime=THEN)]}
    export = [changed(workload(name, 2), status=status) for name in ("web", "other")]
    plan = import_into(files, export, Wanted(cluster="member1"))
    path = "feedback/member1/default/web-deployment.yaml"
    again = import_into({**files, **texts(plan)}, export, Wanted(cluster="member1"))

    assert [path] == list(plan.files)
    assert "generation: 3\nspec:\n  replicas: 2\nstatus:\n" in texts(plan)[path]
    assert "lastUpdateTime" not in texts(plan)[path]
    assert {} == again.files
    assert DEPLOYMENTS.cluster == ""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(workload("web", 2), "created", id="a-workload"),
        pytest.param(configmap(), "skipped", id="what-has-no-health"),
    ],
)
def test_a_status_that_is_empty_is_reported_of_what_has_health(body: Body, expected: str) -> None:
    """Nothing runs of it yet; silence would be taken for health after a while."""
    files = texts(
        import_into({}, [body], Wanted(workloads=frozenset({"configmaps", "deployments"})))
    )
    plan = import_into(files, [changed(body, status={})], Wanted(cluster="member1"))

    assert [expected] == [one.became for one in plan.objects]


def going(body: Body) -> Body:
    """Return an object that is being deleted."""
    metadata = body["metadata"]
    assert isinstance(metadata, dict)
    return changed(body, metadata={**metadata, "deletionTimestamp": THEN, "finalizers": ["x.org"]})


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(POLICY, ("skipped", "it is being deleted"), id="policy"),
        pytest.param(workload("web", 2), ("skipped", "it is being deleted"), id="workload"),
        pytest.param(CLUSTER, ("created", ""), id="cluster"),
    ],
)
def test_what_is_being_deleted_is_left_out(body: Body, expected: tuple[str, str]) -> None:
    """Nothing would ever end that here; of a cluster it is a state, which counts."""
    plan = import_into({}, [going(body)])

    assert [expected] == [(one.became, one.why) for one in plan.objects]
    assert (expected[0] == "created") == bool(plan.files)


def test_the_file_of_what_is_being_deleted_is_for_a_person_to_remove() -> None:
    """It stays as it is."""
    files = texts(import_into({}, [POLICY]))
    plan = import_into(files, [going(POLICY)])
    (path,) = files

    assert {} == plan.files
    assert [("gone", f"it is being deleted; if that is meant, remove it from {path}")] == [
        (one.became, one.why) for one in plan.objects
    ]


def test_a_placement_of_everything_is_taken_over() -> None:
    """Its spec is empty, and must be there."""
    group = "cluster.open-cluster-management.io"
    body = live(f"{group}/v1beta1", "Placement", "all", namespace="apps", spec={})
    plan = import_into({}, [body])
    again = import_into(texts(plan), [body])

    assert [("all", "created")] == fates(plan)
    assert ([("all", "unchanged")], {}) == (fates(again), again.files)


def test_what_is_gone_from_there_is_told_and_stays() -> None:
    """Only of kinds that were listed whole; a person removes files."""
    files = texts(import_into({}, karmada_hub(0)))
    listed = frozenset({("cluster.karmada.io", "Cluster")})
    plan = import_into(files, [CLUSTER], Wanted(listed=listed))
    gone = [one for one in plan.objects if one.became == "gone"]

    assert [f"member{number}" for number in (10, 2, 3, 4, 5, 6, 7, 8, 9)] == [
        one.key.name for one in gone
    ]
    assert {} == plan.files
    assert "gone" not in {fate for _, fate in fates(import_into(files, [CLUSTER]))}


def test_a_report_on_what_a_member_no_longer_has_is_told() -> None:
    """It would count as healthy for ever."""
    listed = frozenset({("apps", "Deployment")})
    wanted = Wanted(cluster="member1", listed=listed)
    files = texts(import_into({}, [workload("web", 2)]))
    reported = {**files, **texts(import_into(files, [workload("web", 2)], wanted))}
    plan = import_into(reported, [], wanted)

    assert [("web", "gone")] == fates(plan)

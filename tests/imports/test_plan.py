"""From live objects to files: what counts, where it goes, what is left alone or behind, and why."""

from collections.abc import Sequence

import pytest

from reconciler.imports.importers import Wanted
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.records import replace
from tests.builders import configmap
from tests.imports.hubs import THEN, condition, karmada_hub, kubefleet_hub, live, ocm_hub, workload
from tests.imports.imported import DEPLOYMENTS, adopt_into, fates, import_into, propagated, texts

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


OWN = Wanted(cluster="member1")
REPORT = "feedback/member1/cluster.yaml"


def test_a_member_reports_itself_beside_the_file_of_people() -> None:
    """The file stays as it is; the report has a status, and follows as a file would."""
    files = texts(import_into({}, [CLUSTER]))
    report = texts(import_into(files, [with_cpu("65")], OWN))
    again = import_into({**files, **report}, [with_cpu("66")], OWN)
    more = import_into({**files, **report}, [with_cpu("128")], OWN)

    assert [REPORT] == list(report)
    assert "spec" not in report[REPORT]
    assert 'cpu: "65"' in report[REPORT]
    assert {} == again.files
    assert 'cpu: "128"' in texts(more)[REPORT]


def test_in_place_a_member_is_brought_up_to_date_in_its_file() -> None:
    """As an import of a control plane does, whatever lies over it."""
    files = texts(import_into({}, [CLUSTER]))
    files |= texts(import_into(files, [with_cpu("65")], OWN))
    (path,) = files.keys() - {REPORT}

    for wanted in (replace(OWN, in_place=True), Wanted()):
        assert [path] == list(import_into(files, [with_cpu("128")], wanted).files)


def test_a_score_of_a_member_is_reported_beside_it() -> None:
    """Of another cluster it becomes a file of people."""
    version = "cluster.open-cluster-management.io/v1alpha1"
    status = {"scores": [{"name": "free", "value": 7}]}
    scores = [
        live(version, "AddOnPlacementScore", "disk", namespace=name, status=status)
        for name in ("member1", "member2")
    ]
    plan = import_into({}, scores, OWN)

    assert ["feedback/member1/scores/disk.yaml", "scores/member2/disk.yaml"] == sorted(plan.files)


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


RBAC = "rbac.authorization.k8s.io/v1"
FLEET = "kubernetes-fleet.io"
SECRET = live("v1", "Secret", "token", namespace="default", data={"a": "YQ=="})
PLAIN = "its Secret is not in the repository: a Secret in plain must not come into Git; encrypt it "
OWNED = {"ownerReferences": [{"kind": "Shop", "name": "web", "uid": "1", "controller": True}]}


def named(body: Body, **metadata: object) -> Body:
    """Return an object with something else in its metadata; `None` takes it out."""
    kept = {**mapping(body, "metadata"), **metadata}
    return {**body, "metadata": {name: one for name, one in kept.items() if one is not None}}


def binding_of(body: Body, **metadata: object) -> list[Body]:
    """Return a hub of Karmada whose one binding is of a workload that is not in the export."""
    *clusters, _, binding = karmada_hub(1)
    own = mapping(body, "metadata")
    reference = {"apiVersion": body["apiVersion"], "kind": body["kind"], "name": own["name"]}
    if "namespace" in own:
        reference["namespace"] = own["namespace"]
    spec = {**mapping(binding, "spec"), "resource": reference}
    return [*clusters, named({**binding, "spec": spec}, **metadata)]


def left(files: dict[str, str], export: Sequence[Body], wanted: Wanted | None = None) -> set[str]:
    """Return why anything of an export is left."""
    return set(adopt_into(files, export, wanted or propagated(export)).left.values())


@pytest.mark.parametrize(
    ("export", "expected"),
    [
        pytest.param(
            binding_of(workload("web", 4)),
            "its Deployment is not in the repository: the export has none of that name",
            id="gone-from-the-hub",
        ),
        pytest.param(
            binding_of(live(RBAC, "ClusterRole", "system:node"), namespace=None),
            "its ClusterRole is not in the repository: every API server has it by itself",
            id="built-in",
        ),
        pytest.param(
            [
                *binding_of(live(RBAC, "ClusterRole", "view"), namespace=None),
                live(RBAC, "ClusterRole", "view"),
            ],
            "its ClusterRole is not in the repository: every API server has it by itself",
            id="built-in-that-is-there",
        ),
        pytest.param(binding_of(SECRET), f"{PLAIN}first", id="secret-that-was-not-asked-for"),
        pytest.param([*binding_of(SECRET), SECRET], f"{PLAIN}first", id="secret"),
        pytest.param(
            [
                *binding_of(named(workload("web", 4), namespace="kube-system")),
                named(workload("web", 4), namespace="kube-system"),
            ],
            "its Deployment is not in the repository: its namespace is the control plane's own",
            id="reserved",
        ),
        pytest.param(
            [*binding_of(workload("web", 4)), named(workload("web", 4), **OWNED)],
            "its Deployment is not in the repository: another object made it",
            id="owned",
        ),
        pytest.param(
            [
                *karmada_hub(1)[:-1],
                named(karmada_hub(1)[-1], deletionTimestamp=THEN),
            ],
            "it is being deleted",
            id="binding-that-is-deleted",
        ),
        pytest.param(
            [one for one in ocm_hub(1) if one["kind"] != "Placement"],
            "its Placement is not in the repository: the export has none of that name",
            id="decision-without-placement",
        ),
        pytest.param(
            [*ocm_hub(1)[:-1], named(ocm_hub(1)[-1], labels={})],
            "it has no label cluster.open-cluster-management.io/placement, which says whose it is",
            id="decision-of-nobody",
        ),
        pytest.param(
            [one for one in kubefleet_hub(1) if one["kind"] != "ClusterResourcePlacement"],
            "its ClusterResourcePlacement is not in the repository: "
            "the export has none of that name",
            id="fleet-without-placement",
        ),
        pytest.param(
            [*kubefleet_hub(1)[:-1], named(kubefleet_hub(1)[-1], labels={})],
            f"it has no label {FLEET}/parent-CRP, which says whose it is",
            id="fleet-binding-of-nobody",
        ),
        pytest.param(
            [*kubefleet_hub(1)[:-1], named(kubefleet_hub(1)[-1], deletionTimestamp=THEN)],
            "it is being deleted",
            id="fleet-binding-that-is-deleted",
        ),
    ],
)
def test_a_decision_is_left_for_the_reason_that_is_so(export: list[Body], expected: str) -> None:
    """And for no other."""
    assert {expected} == left({}, export)


def snapshot(**labels: str) -> Body:
    """Return another snapshot of the resources of the placement of a hub."""
    return live(
        "placement.kubernetes-fleet.io/v1beta1",
        "ClusterResourceSnapshot",
        "apps-0000-other",
        metadata={
            "labels": {
                f"{FLEET}/parent-CRP": "apps-0000",
                **{f"{FLEET}/{name.replace('_', '-')}": value for name, value in labels.items()},
            }
        },
        spec={"selectedResources": []},
    )


@pytest.mark.parametrize(
    ("export", "expected"),
    [
        pytest.param(
            [*kubefleet_hub(1), snapshot(resource_index="4")], "it is not the latest", id="earlier"
        ),
        pytest.param(
            [*kubefleet_hub(1), snapshot(resource_index="5")],
            "what the repository has for its placement takes fewer snapshots",
            id="one-part-more",
        ),
        pytest.param(
            [
                *(one for one in kubefleet_hub(1) if one["kind"] != "ClusterResourceSnapshot"),
                snapshot(resource_index="5"),
            ],
            "none of the snapshots of its placement is labelled as the latest",
            id="none-is-the-latest",
        ),
    ],
)
def test_a_snapshot_is_left_for_the_reason_that_is_so(export: list[Body], expected: str) -> None:
    """What is in force has another name."""
    assert {expected} == left({}, export)


def test_a_workload_that_nobody_asked_for_is_named_as_such() -> None:
    """The reason says what takes it."""
    why = "its Deployment is not in the repository: a workload; --workloads takes it"

    assert {why} == left({}, karmada_hub(2), Wanted(adopt=True))


def test_a_workload_that_could_not_be_written_is_named_as_such() -> None:
    """Here something else stands where its file would go."""
    path = "workloads/default/web-0000-deployment.yaml"
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"
    why = f"{path} is there, and holds something else; mend or move it first"

    assert {f"its Deployment is not in the repository: {why}"} == left(
        {path: other}, karmada_hub(1)
    )


def test_a_decision_that_no_pass_could_read_is_left_with_all_of_its_placement() -> None:
    """The sentence names the field."""
    *rest, placement, decision = ocm_hub(1)
    status = {**mapping(placement, "status"), "conditions": [condition("Told", status="Perhaps")]}
    (why,) = left({}, [*rest, {**placement, "status": status}, decision])

    assert why.startswith("no pass could read Placement apps-0000: /status/conditions/0/status: ")


def test_what_clusters_would_lose_is_told() -> None:
    """What a placement has on its clusters goes with the first delivery, if nobody imports it."""
    hub = kubefleet_hub(1)
    nothing, everything = Wanted(adopt=True), Wanted(workloads=frozenset({"deployments"}))
    taken = "clusterresourceplacement/apps-0000 has it on its clusters, where delivery would take"

    told = adopt_into({}, hub, nothing).left
    (why,) = (why for key, why in told.items() if key.kind == "Deployment")

    assert why.startswith(f"{taken} it away: it is not in the repository: ")
    assert [] == [key for key in adopt_into({}, hub, everything).left if key.kind == "Deployment"]


NOT_NAMED = "no policy, placement or decision names its kind; --workloads takes it"
BUILT_IN = "every API server has it by itself"
RESERVED = "its namespace is the control plane's own"


def config_map(name: str, namespace: str = "default") -> Body:
    """Return a ConfigMap."""
    return live("v1", "ConfigMap", name, namespace=namespace, data={"a": "1"})


def namespace(name: str) -> Body:
    """Return a Namespace."""
    return live("v1", "Namespace", name, spec={"finalizers": ["kubernetes"]})


def with_policy(spec: Body) -> list[Body]:
    """Return a hub of Karmada whose policy says something else, too."""
    return [
        {**one, "spec": {**mapping(one, "spec"), **spec}}
        if one["kind"] == "PropagationPolicy"
        else one
        for one in karmada_hub(1)
    ]


def became(hub: list[Body], *others: Body) -> dict[str, str]:
    """Return what becomes of objects beside those of a hub: its file, or why it has none."""
    keys = {(one["kind"], mapping(one, "metadata")["name"]) for one in others}
    plan = import_into({}, [*hub, *others], propagated([*hub, *others]))
    return {
        one.key.name: one.path or one.why
        for one in plan.objects
        if (one.key.kind, one.key.name) in keys
    }


SELECTS_ROLES = with_policy({"resourceSelectors": [{"apiVersion": RBAC, "kind": "ClusterRole"}]})


@pytest.mark.parametrize(
    ("hub", "other", "expected"),
    [
        pytest.param(
            karmada_hub(1),
            workload("other", 1),
            "workloads/default/other-deployment.yaml",
            id="of-the-kind-of-a-policy",
        ),
        pytest.param(
            SELECTS_ROLES,
            live(RBAC, "ClusterRole", "reader"),
            "workloads/reader-clusterrole.yaml",
            id="cluster-scoped",
        ),
        pytest.param(
            SELECTS_ROLES,
            workload("other", 1),
            "workloads/default/other-deployment.yaml",
            id="of-the-kind-of-a-binding",
        ),
        pytest.param(SELECTS_ROLES, live(RBAC, "ClusterRole", "system:node"), BUILT_IN, id="role"),
        pytest.param(karmada_hub(1), config_map("settings"), NOT_NAMED, id="of-no-named-kind"),
        pytest.param(karmada_hub(1), namespace("shop"), NOT_NAMED, id="namespace-of-nothing"),
        pytest.param(karmada_hub(1), namespace("karmada-es-member1"), RESERVED, id="execution"),
        pytest.param(karmada_hub(1), namespace("kube-system"), BUILT_IN, id="kube-system"),
        pytest.param(
            kubefleet_hub(1),
            namespace("shop"),
            "workloads/shop-namespace.yaml",
            id="of-the-kind-of-a-placement",
        ),
        pytest.param(kubefleet_hub(1), namespace("fleet-member-member1"), RESERVED, id="member"),
        pytest.param(
            kubefleet_hub(1),
            workload("other", 1),
            "workloads/default/other-deployment.yaml",
            id="of-a-kind-in-a-snapshot",
        ),
        pytest.param(
            karmada_hub(1),
            {**workload("other", 1), "metadata": {"name": "other", "namespace": "fleet-shop"}},
            "workloads/fleet-shop/other-deployment.yaml",
            id="reserved-by-another-api",
        ),
        pytest.param(ocm_hub(1), workload("other", 1), NOT_NAMED, id="beside-placements-of-ocm"),
    ],
)
def test_what_becomes_of_an_object_beside_a_hub(
    hub: list[Body], other: Body, expected: str
) -> None:
    """Its file, or why it has none."""
    assert [expected] == list(became(hub, other).values())


def test_what_every_server_has_is_left_out_of_the_kinds_that_are_taken() -> None:
    """Each namespace has its own of these."""
    hub = with_policy({"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap"}]})
    found = became(hub, config_map("kube-root-ca.crt"), config_map("settings"))

    assert {
        "kube-root-ca.crt": BUILT_IN,
        "settings": "workloads/default/settings-configmap.yaml",
    } == found


def test_what_is_taken_brings_its_namespace() -> None:
    """Others stay on the hub."""
    shop = {**workload("other", 1), "metadata": {"name": "other", "namespace": "shop"}}
    found = became(karmada_hub(1), shop, namespace("shop"), namespace("pay"))

    assert ("workloads/shop-namespace.yaml", NOT_NAMED) == (found["shop"], found["pay"])


def test_a_policy_brings_its_priority_class() -> None:
    """Without it the policy could not be applied."""
    named = {"priorityClassSource": "KubePriorityClass", "priorityClassName": "urgent"}
    classes = (
        live("scheduling.k8s.io/v1", "PriorityClass", name, value=7) for name in ("urgent", "slow")
    )
    found = became(with_policy({"schedulePriority": named}), *classes)

    assert {"urgent": "workloads/urgent-priorityclass.yaml", "slow": NOT_NAMED} == found


def test_what_a_placement_selected_is_taken_though_no_snapshot_holds_it() -> None:
    """Its status lists that."""
    *clusters, _ = kubefleet_hub(0)
    placement = live(
        "placement.kubernetes-fleet.io/v1beta1",
        "ClusterResourcePlacement",
        "roles",
        spec={"resourceSelectors": [{"group": "", "kind": "Namespace", "version": "v1"}]},
        status={"selectedResources": [{"group": "batch", "version": "v1", "kind": "CronJob"}]},
    )
    job = live("batch/v1", "CronJob", "nightly", namespace="default", spec={})

    assert ["workloads/default/nightly-cronjob.yaml"] == list(
        became([*clusters, placement], job).values()
    )


def test_a_placement_brings_its_envelopes() -> None:
    """They are content, though of an API that is read here."""
    envelope = live(
        "placement.kubernetes-fleet.io/v1beta1",
        "ResourceEnvelope",
        "settings",
        namespace="default",
        data={"a.yaml": config_map("settings")},
    )

    assert {"settings": "workloads/default/settings.yaml"} == became(kubefleet_hub(1), envelope)


def test_a_secret_in_plain_is_refused_wherever_it_stands() -> None:
    """Here in a set of ManifestWorks, which becomes a file otherwise."""
    named = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    secret = {**named, "data": {"a": "YQ=="}}
    carrier = live(
        "work.open-cluster-management.io/v1alpha1",
        "ManifestWorkReplicaSet",
        "shop",
        namespace="default",
        spec={
            "placementRefs": [{"name": "apps-0000"}],
            "manifestWorkTemplate": {"workload": {"manifests": [secret]}},
        },
    )

    assert {"shop": "a Secret in plain must not come into Git; encrypt it first"} == became(
        ocm_hub(1), carrier
    )

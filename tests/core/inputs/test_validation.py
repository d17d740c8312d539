"""What an API server accepts is accepted, what it refuses is refused, in Lists and when stored."""

import json
import pickle
from collections.abc import Callable, Sequence
from copy import deepcopy
from datetime import timedelta
from typing import Any, cast

import pytest

from reconciler.audit.previews.foresight import foresee
from reconciler.core.changes import Outcome
from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.stored import decode_validations, encode_validation, is_storable
from reconciler.core.inputs.validation import FileValidation, Rules, validate_file
from reconciler.model.body import TOGETHER, Held, StoredBody, read_body
from reconciler.model.records import replace
from reconciler.shell.resources import load_schemas
from tests.builders import (
    Body,
    after,
    cluster,
    configmap,
    deployment,
    metadata,
    policy,
    rebalancer,
    schedule_trigger,
    selector,
    target,
    text,
)
from tests.dialects.kubefleet.fleet import files, member, placement
from tests.stories import REBALANCERS, Story, story

CLUSTER = """
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: east}
spec: {syncMode: Push}
"""
MEMBER = """
apiVersion: cluster.kubernetes-fleet.io/v1beta1
kind: MemberCluster
metadata: {name: east}
spec:
  identity: {kind: User, name: east}
"""
POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web, namespace: default}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: web}
"""
PLACEMENT = """
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterResourcePlacement
metadata: {name: web}
spec:
  resourceSelectors:
  - {group: "", version: v1, kind: Namespace, name: web}
"""
HUB_PLACEMENT = """
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: web, namespace: apps}
spec:
"""
SAME_KEY = """
  taints:
  - {key: site, value: a, effect: NoSchedule}
  - {key: site, value: b, effect: NoSchedule}
"""
OVERFLOW = """
  placement:
    clusterAffinities:
    - affinityName: own
      clusterNames: [east]
      overflowAffinities:
      - {affinityName: any, labelSelector: {}}
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Aggregated
"""
OVERFLOW_FROM_ALL = OVERFLOW.replace("clusterNames: [east]", "labelSelector: {}")
OPERATOR = """
  placement:
    clusterTolerations:
    - {key: site, operator: Same, value: a}
"""
SERVICE_IMPORT = """
  failover:
    application: {decisionConditions: {}}
"""
HALF_A_CORE = """
status:
  resourceSummary:
    allocatable: {cpu: 0.5}
"""


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(CLUSTER.replace("east}", 'east, namespace: ""}'), id="empty-namespace"),
        pytest.param(POLICY.replace("default", '""'), id="empty-namespace-of-a-namespaced-kind"),
        pytest.param(MEMBER + SAME_KEY, id="taints-that-differ-in-value-only"),
        pytest.param(PLACEMENT + "  policy: {placementType: PickFixed}", id="fixed-to-no-cluster"),
        pytest.param(POLICY + OVERFLOW, id="empty-labels-in-overflow"),
        pytest.param(POLICY + OVERFLOW_FROM_ALL, id="overflow-from-empty-labels"),
        pytest.param(
            POLICY.replace("apps/v1", "multicluster.x-k8s.io/v1alpha1").replace(
                "Deployment", "ServiceImport"
            )
            + SERVICE_IMPORT,
            id="service-import-propagates-dependencies",
        ),
        pytest.param(
            POLICY + "  propagateDeps: true\n  failover: {application: {}}",
            id="failover-without-conditions",
        ),
        pytest.param(
            CLUSTER.replace("Push", "Push, resourceModels: [{grade: 0}]"),
            id="models-without-ranges",
        ),
        pytest.param(CLUSTER + HALF_A_CORE, id="fraction-of-a-quantity"),
        pytest.param(POLICY + OPERATOR, id="unknown-operator-of-a-toleration"),
        pytest.param(POLICY + "  priority: 2.0", id="whole-number-of-karmada"),
        pytest.param(MEMBER + "  heartbeatPeriodSeconds: 60.0", id="whole-number-of-kubefleet"),
        pytest.param(HUB_PLACEMENT + "  numberOfClusters: 2.0", id="whole-number-of-ocm"),
        pytest.param(PLACEMENT + "  strategy: {rollingUpdate: {maxSurge: 1.0}}", id="or-a-share"),
    ],
)
def test_it_takes_effect(document: str) -> None:
    """No fault is told."""
    assert () == Story({"a.yaml": document}).world().faults


def test_a_whole_number_with_a_point_is_decided_by() -> None:
    """`numberOfClusters: 2.0` wants two clusters, in a pass, too."""
    repository = Story({"a.yaml": HUB_PLACEMENT + "  numberOfClusters: 2.0"})
    repository.run(0)
    outcome = repository.run(60)

    assert ((), ()) == (outcome.faults, outcome.traces)


FAILOVER = "  propagateDeps: true\n  failover: {application: {decisionConditions: {}, %s}}"
BY_CLUSTER = "{spreadByField: cluster, maxGroups: 1}"
MODELS = (
    "{grade: 0, ranges: [{name: cpu, min: 0, max: 1}]},"
    "{grade: 1, ranges: [{name: cpu, min: 2, max: 4}]}"
)
SELECTED_TWICE = """
  - {group: "", version: v1, kind: Namespace, name: a,
     selectionScope: NamespaceWithResourceSelectors}
"""
SCORES = """
apiVersion: cluster.open-cluster-management.io/v1alpha1
kind: AddOnPlacementScore
metadata: {name: cpu, namespace: east}
status: {scores: [{name: a, value: 1}, {name: a, value: 2}]}
"""
CONDITION = """{type: A, status: 'True', reason: R, message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z'}"""
CONDITIONS = f"  numberOfClusters: 1\nstatus: {{conditions: [{CONDITION}, {CONDITION}]}}"


def affinity(name: str) -> str:
    """Workloads that are kept together by a label."""
    return f"  placement: {{workloadAffinity: {{affinity: {{groupByLabelKey: '{name}'}}}}}}"


def strategy(written: str) -> str:
    """A strategy of a placement of KubeFleet."""
    return f"{PLACEMENT}  strategy: {{{written}}}"


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        pytest.param(
            POLICY.replace("kind: Deployment", "kind: Deployment, namespace: other"),
            "policy-selector-namespace",
            id="selector-in-another-namespace",
        ),
        *(
            pytest.param(
                POLICY + FAILOVER % f"gracePeriodSeconds: {seconds}, purgeMode: {mode}",
                "policy-grace-period",
                id=f"grace-period-{seconds}-{mode}",
            )
            for seconds, mode in ((5, "Directly"), (5, "Never"), (0, "Gracefully"))
        ),
        pytest.param(
            POLICY
            + (FAILOVER % "").replace(
                "decisionConditions: {}", "decisionConditions: {tolerationSeconds: -1}"
            ),
            "policy-toleration-seconds",
            id="negative-toleration",
        ),
        pytest.param(
            POLICY + OVERFLOW.replace("Aggregated", "Weighted"),
            "policy-overflow-division",
            id="overflow-of-static-weights",
        ),
        pytest.param(
            POLICY + OVERFLOW.replace("any", "own"), "policy-overflow-unique", id="overflow-name"
        ),
        pytest.param(
            POLICY + OVERFLOW.replace("[east]", "[]"), "policy-overflow-primary", id="no-primary"
        ),
        pytest.param(
            f"{POLICY}  placement: {{spreadConstraints: [{BY_CLUSTER}, {BY_CLUSTER}]}}",
            "policy-spread-unique",
            id="two-constraints-by-cluster",
        ),
        pytest.param(POLICY + affinity("a b"), "policy-label-key", id="group-by-no-label"),
        pytest.param(
            POLICY
            + FAILOVER % "statePreservation: {rules: [{aliasLabelName: a b, jsonPath: '{.x}'}]}",
            "policy-label-key",
            id="alias-that-is-no-label",
        ),
        pytest.param(CLUSTER.replace("Push", "Both"), "cluster-sync-mode", id="sync-mode"),
        pytest.param(CLUSTER.replace("east", "e.ast"), "cluster-name", id="name-with-a-dot"),
        pytest.param(CLUSTER.replace("east", "e" * 49), "cluster-name", id="long-name"),
        *(
            pytest.param(CLUSTER.replace("Push", f"Push, {name}: a b"), "cluster-location", id=name)
            for name in ("provider", "region", "zone")
        ),
        pytest.param(
            CLUSTER.replace("Push", "Push, zone: a, zones: [b]"), "cluster-zones", id="zone-twice"
        ),
        pytest.param(
            CLUSTER.replace("Push", "Push, taints: [{key: a b, effect: NoSchedule}]"),
            "cluster-taint-key",
            id="taint",
        ),
        pytest.param(
            CLUSTER.replace("Push", f"Push, resourceModels: [{MODELS}]"),
            "cluster-models",
            id="models-with-a-gap",
        ),
        *(
            pytest.param(CLUSTER.replace("Push", f"Push, {name}: x"), "cluster-address", id=name)
            for name in ("apiEndpoint", "proxyURL")
        ),
        pytest.param(
            PLACEMENT + SELECTED_TWICE + "  - {group: '', version: v1, kind: Namespace, name: b}",
            "placement-namespace-single",
            id="namespaces-beside-the-chosen-one",
        ),
        pytest.param(
            strategy("reportBackStrategy: {type: Mirror}"),
            "placement-report-destination",
            id="mirror-without-destination",
        ),
        pytest.param(
            strategy("type: External, rollingUpdate: {}"),
            "placement-strategy-external",
            id="external-with-limits",
        ),
        pytest.param(MEMBER.replace("east", "e" * 64), "cluster-name", id="member-name"),
        pytest.param(SCORES, "list-key", id="scores-of-one-name"),
        pytest.param(
            HUB_PLACEMENT + CONDITIONS,
            "list-key",
            id="conditions-of-one-type",
        ),
    ],
)
def test_it_is_refused(document: str, rule: str) -> None:
    """The fault names the rule."""
    assert rule in [fault.rule for fault in Story({"a.yaml": document}).world().faults]


RULES = Rules(load_schemas(), ADMISSIONS, KINDS)
NULL_LABEL: dict[str, Any] = {"labelSelector": {"matchLabels": {"app": None}}}
OCM = "cluster.open-cluster-management.io/v1beta1"
FLEET = "placement.kubernetes-fleet.io/v1beta1"

IN_SELECTORS = [
    pytest.param(
        policy(selectors=[selector(**NULL_LABEL)]),
        "/spec/resourceSelectors/0/labelSelector/matchLabels/app",
        id="karmada",
    ),
    pytest.param(
        {
            "apiVersion": OCM,
            "kind": "Placement",
            "metadata": metadata("p", "default"),
            "spec": {"predicates": [{"requiredClusterSelector": NULL_LABEL}]},
        },
        "/spec/predicates/0/requiredClusterSelector/labelSelector/matchLabels/app",
        id="ocm",
    ),
    pytest.param(
        {
            "apiVersion": FLEET,
            "kind": "ClusterResourcePlacement",
            "metadata": metadata("p"),
            "spec": {
                "resourceSelectors": [
                    {"group": "", "version": "v1", "kind": "Namespace", **NULL_LABEL}
                ]
            },
        },
        "/spec/resourceSelectors/0/labelSelector/matchLabels/app",
        id="kubefleet",
    ),
]


def read(body: Body) -> FileValidation:
    """Inspect a file that holds one object."""
    return validate_file("x.yaml", "", json.dumps(body, indent=1).encode(), RULES)


@pytest.mark.parametrize(("body", "pointer"), IN_SELECTORS)
def test_a_null_in_a_selector_is_refused_where_it_stands(body: Body, pointer: str) -> None:
    """Without the entry more would be selected."""
    found = read(body)

    assert () == found.documents
    assert [(pointer, "schema-type")] == [(b.fault.field, b.fault.rule) for b in found.broken]
    lines = json.dumps(body, indent=1).splitlines()
    assert '"app": null' in lines[found.broken[0].fault.line - 1]


@pytest.mark.parametrize(("body", "pointer"), IN_SELECTORS)
def test_a_null_in_a_selector_stops_no_other_object(body: Body, pointer: str) -> None:
    """A pass reports it and places the rest."""
    told = story(body, deployment(), policy("other"))
    outcome = told.run(0)

    assert [pointer] == [fault.field for fault in outcome.faults]
    assert "status/resourcebindings.work.karmada.io/default/web-deployment.yaml" in told.files


def test_a_null_in_a_plain_field_is_dropped_before_decoding() -> None:
    """Judged and decoded alike: as if it were not written."""
    written = policy(placement={"clusterAffinity": {"clusterNames": None}})
    plain = policy(placement={"clusterAffinity": {}})

    assert read(plain).documents[0].body == read(written).documents[0].body


def test_a_null_of_a_workload_passes_through() -> None:
    """Its content is its member cluster's to judge."""
    body = {**deployment(), "spec": {"replicas": 1, "paused": None, "template": {"a": None}}}

    assert body == read(body).documents[0].body


def test_a_null_with_a_meaning_stays() -> None:
    """`null` says never there."""
    body: Body = {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": "ReconcilerConfiguration",
        "metadata": metadata("reconciler"),
        "spec": {"feedback": {"assumeAfterSeconds": None}, "suspend": None},
    }

    assert {"feedback": {"assumeAfterSeconds": None}} == read(body).documents[0].body["spec"]


@pytest.mark.parametrize("value", [None, 1, True, {}, []])
@pytest.mark.parametrize("kind", ["Namespace", "ConfigMap"])
@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_a_label_that_is_no_text_is_the_fault_of_its_object(
    field: str, kind: str, value: object
) -> None:
    """Not of what selects it."""
    body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "shop", field: {"tier": value}}}
    found = read(body)

    assert [(f"/metadata/{field}/tier", "workload-metadata")] == [
        (b.fault.field, b.fault.rule) for b in found.broken
    ]


def test_a_namespace_with_a_numeric_label_is_the_fault_not_the_placement() -> None:
    """The placement that selects it is decided without it."""
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "shop", "labels": {"tier": 1}},
    }
    placement: Body = {
        "apiVersion": FLEET,
        "kind": "ClusterResourcePlacement",
        "metadata": metadata("p"),
        "spec": {
            "resourceSelectors": [
                {
                    "group": "",
                    "version": "v1",
                    "kind": "Namespace",
                    "labelSelector": {"matchLabels": {"tier": "1"}},
                }
            ]
        },
    }
    outcome = story(namespace, placement).run(0)

    assert ["/metadata/labels/tier"] == [fault.field for fault in outcome.faults]


ODD = {**configmap("odd"), "data": {"é": "a\u2028b", "empty": "", "null": "null", "yes": "yes"}}
NUMBERS = {**deployment("numbers"), "odd": [1, 1.5, -0.0, True, None, 10**60, [], {}]}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "YQ=="}}


def found_in(written: str, path: str = "x.yaml") -> FileValidation:
    """What is found in a file."""
    return validate_file(path, "b" * 40, written.encode(), RULES)


def restored(*files: FileValidation) -> list[FileValidation]:
    """What comes back of files."""
    stored = [(file.path, file.blob, encode_validation(file)) for file in files]
    return list(decode_validations(stored, {}))


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(text(policy()), id="a policy"),
        pytest.param(text(policy(), configmap(), deployment()), id="several documents"),
        pytest.param(text({"not": "ours"}), id="another program's file"),
        pytest.param("", id="an empty file"),
        pytest.param(text(ODD), id="odd characters"),
        pytest.param(text(NUMBERS), id="numbers"),
        pytest.param(
            text({"apiVersion": "v1", "kind": "List", "items": [configmap("a"), configmap("b")]}),
            id="items of a List",
        ),
    ],
)
def test_a_file_comes_back(written: str) -> None:
    """Documents, identities and places are the same to the type; only the text is not stored."""
    file = found_in(written)
    expected = [replace(file, data=b"")]

    assert is_storable(file, KINDS)
    assert repr(expected) == repr(restored(file))


def test_equal_texts_are_one_in_memory() -> None:
    """Keys and values that stand in many documents take memory once."""
    one, two = restored(found_in(text(deployment("a"))), found_in(text(deployment("b"))))
    first, second = (file.documents[0].body for file in (one, two))

    assert list(map(id, first)) == list(map(id, second))
    assert first["apiVersion"] is second["apiVersion"]


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("kind: [\n", id="syntax"),
        pytest.param(text({**deployment(), "spec": {"replicas": "two"}}), id="schema"),
        pytest.param(text(configmap(), SECRET), id="a Secret"),
        pytest.param(
            text({"apiVersion": "v1", "kind": "List", "items": [SECRET]}), id="a Secret in a List"
        ),
        pytest.param(text(rebalancer("r", target())), id="a rebalancer that a pass may remove"),
    ],
)
def test_some_files_are_never_stored(written: str) -> None:
    """Faults are told from the file itself, and secret values stay in the repository."""
    assert not is_storable(found_in(written), KINDS)


def test_a_body_is_decoded_when_it_is_read() -> None:
    """Once, with its neighbours, and the very same one each time; names need no body."""
    many = TOGETHER + 1
    files = restored(*(found_in(text(deployment("a"))) for _ in range(many)))
    held = [file.documents[0].held for file in files]

    assert "a" == files[0].documents[0].identity.name
    assert [False] * many == list(map(is_read, held))
    assert files[0].documents[0].body is files[0].documents[0].body
    assert [True] * TOGETHER + [False] == list(map(is_read, held))


@pytest.mark.parametrize(
    "copied",
    [deepcopy, lambda held: pickle.loads(pickle.dumps(held))],  # noqa: S301  # its own
    ids=["copied", "sent"],
)
@pytest.mark.parametrize("read_before", [False, True], ids=["stored", "read"])
def test_a_stored_body_is_copied_and_sent(
    copied: Callable[[Held], Held], *, read_before: bool
) -> None:
    """Alone, read or not, and equal to what it was copied from and to the body itself."""
    expected = found_in(text(deployment("a"))).documents[0].body
    held = restored(found_in(text(deployment("a"))))[0].documents[0].held
    if read_before:
        read_body(held)
    found = copied(held)

    assert read_before == is_read(found)
    assert expected == read_body(found) == read_body(held)
    assert held == found


def is_read(held: Held) -> bool:
    """Whether a body was decoded."""
    return not isinstance(held, StoredBody) or held._body is not None


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

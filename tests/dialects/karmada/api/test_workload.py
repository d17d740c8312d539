"""Workloads: what a replica needs, where replicas stand in any kind, and what members are given."""

import re
from pathlib import Path

import pytest

from reconciler.dialects.karmada.api.workload import (
    BUILT_IN,
    UPSTREAM_ONLY,
    CustomKinds,
    ReplicaRequirements,
    VersionedKind,
    demand_of,
    spelled,
)
from reconciler.dialects.karmada.binding.replicas import pruned, revised
from reconciler.errors import UserError
from reconciler.model.fields import mapping
from tests.audit.test_references import told
from tests.builders import DYNAMIC, Body, cluster, configuration, policy
from tests.shell.fleet import ROOT
from tests.stories import Story, story


def container(**resources: object) -> Body:
    """A container with these resources."""
    return {"name": "main", "resources": resources}


def demand(pod: object, replicas: object = 1) -> ReplicaRequirements | None:
    """The demand of a Deployment with this pod."""
    return demand_of(
        "apps/v1", "Deployment", {"spec": {"replicas": replicas, "template": {"spec": pod}}}
    )


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        pytest.param("500m", "500m", id="text"),
        pytest.param(2, "2", id="integer"),
        pytest.param(0.5, "500m", id="decimal"),
        pytest.param("1e-4", "1m", id="rounded-up"),
    ],
)
def test_quantities_may_be_numbers(amount: object, expected: str) -> None:
    """YAML has no quotes to tell them apart."""
    pod = {"containers": [container(requests={"cpu": amount})]}

    assert ReplicaRequirements(1, {"resourceRequest": {"cpu": expected}}) == demand(pod)


@pytest.mark.parametrize("amount", ["much", "", None, True, [], "-1", 0])
def test_what_is_no_quantity_counts_as_absent(amount: object) -> None:
    """The member cluster judges it."""
    assert ReplicaRequirements(1, None) == demand(
        {"containers": [container(requests={"cpu": amount})]}
    )


@pytest.mark.parametrize("pod", [None, "?", [], {"containers": "?"}, {"containers": [7, None]}])
def test_content_that_is_no_pod_asks_for_nothing(pod: object) -> None:
    """Nothing raises."""
    assert ReplicaRequirements(1, None) == demand(pod)


@pytest.mark.parametrize("replicas", [-1, 2**31, "3", 1.5, True, None])
def test_replicas_that_no_api_server_admits_count_zero(replicas: object) -> None:
    """A pass must not stop for one workload."""
    assert ReplicaRequirements(0, None) == demand({}, replicas)


def test_limits_fill_requests_and_init_containers_count_alone() -> None:
    """The greater of the sum and each init container, plus the overhead."""
    pod = {
        "containers": [
            container(limits={"cpu": "1", "memory": "1Gi"}, requests={"cpu": "200m"}),
            container(requests={"cpu": "300m"}),
        ],
        "initContainers": [container(requests={"cpu": "700m"})],
        "overhead": {"cpu": "50m"},
    }

    assert ReplicaRequirements(1, {"resourceRequest": {"cpu": "750m", "memory": "1Gi"}}) == demand(
        pod
    )


def test_kinds_without_replicas_have_no_demand() -> None:
    """Also known kinds of another version."""
    assert demand_of("v1", "ConfigMap", {}) is None
    assert demand_of("apps/v1beta1", "Deployment", {"spec": {"replicas": 3}}) is None


def test_a_priority_class_is_no_requirement() -> None:
    """It stands in the pod template, and says nothing about what a replica needs."""
    pod = {
        "priorityClassName": "high",
        "containers": [{"name": "web", "resources": {"requests": {"cpu": "1"}}}],
    }
    body = {"spec": {"replicas": 2, "template": {"spec": pod}}}
    found = demand_of("apps/v1", "Deployment", body)

    assert found is not None
    assert {"resourceRequest": {"cpu": "1"}} == found.requirements


DOCS = ROOT / "docs" / "repository.md"
PODS: Body = {"spec": {"containers": [{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]}}
SHARD: Body = {
    "apiVersion": "db.example.org/v1",
    "kind": "Shard",
    "specReplicasPath": ".spec.size",
    "podTemplatePath": ".spec.pod",
}


def custom(api_version: str, kind: str, **spec: object) -> Body:
    """A workload of a custom kind."""
    metadata = {"name": "one", "namespace": "default"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def nested(path: tuple[str, ...], value: object) -> Body:
    """A value at a path."""
    first, *rest = path
    return {first: nested(tuple(rest), value) if rest else value}


def merged(one: Body, other: Body) -> Body:
    """Two objects as one, the other's values first."""
    both = {
        name: merged(value, other[name])  # type: ignore[arg-type]  # what these tests build
        if isinstance(value, dict) and isinstance(other.get(name), dict)
        else other.get(name, value)
        for name, value in one.items()
    }
    return {**other, **both}


def divided(kind: Body, *settings: Body) -> Story:
    """A custom workload that a policy divides over two clusters."""
    selecting = {"apiVersion": kind["apiVersion"], "kind": kind["kind"]}
    placement: Body = {"replicaScheduling": DYNAMIC}
    dividing = policy(selectors=[selecting], placement=placement)
    return story(cluster("a"), cluster("b"), kind, dividing, *settings)


def shares(told_story: Story, kind: str) -> dict[str, object]:
    """Cluster to replicas, as the binding has them."""
    clusters = mapping(told_story.binding(f"one-{kind}"), "spec")["clusters"]
    assert isinstance(clusters, list)
    return {item["name"]: item.get("replicas") for item in clusters}


@pytest.mark.parametrize("named", sorted(BUILT_IN.rows), ids=lambda named: named.kind)
def test_each_built_in_row_finds_replicas_and_pods(named: VersionedKind) -> None:
    """The number at its path, the requests of the pod in its template."""
    row = BUILT_IN.rows[named]
    body = merged(
        nested(row.replicas, 7), {} if row.template is None else nested((*row.template, "x"), 0)
    )
    if row.template:
        body = merged(body, nested(row.template, PODS))
    elif row.template is not None:
        body = merged(body, PODS)

    requirements = {"resourceRequest": {"cpu": "1", "memory": "1Gi"}}
    expected = ReplicaRequirements(7, None if row.template is None else requirements)
    assert expected == demand_of(*named, body)
    assert row.default == demand_of(*named, {}).replicas  # type: ignore[union-attr]  # it has a row


def test_the_table_of_the_documentation_is_the_built_in_one() -> None:
    """Row by row."""
    rows = re.findall(r"^\| (\S+) (\S+) \| `(\S+)` \| (\d+) \| ", DOCS.read_text(), re.MULTILINE)

    assert [
        (*named, spelled(row.replicas), str(row.default))
        for named, row in sorted(BUILT_IN.rows.items())
    ] == rows


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, 2, id="one-of-each"),
        pytest.param({"jobManager": {"replicas": 2}, "taskManager": {"replicas": 3}}, 5, id="sum"),
        pytest.param(
            {
                "job": {"parallelism": 5},
                "flinkConfiguration": {"taskmanager.numberOfTaskSlots": "2"},
            },
            4,
            id="slots",
        ),
    ],
)
def test_a_flink_deployment_counts_both_managers(spec: Body, expected: int) -> None:
    """Task managers follow from parallelism and slots, rounded up, where they are not written."""
    found = demand_of("flink.apache.org/v1beta1", "FlinkDeployment", {"spec": spec})

    assert ReplicaRequirements(expected, None) == found


def test_a_flink_pod_is_as_large_as_the_larger() -> None:
    """Of each resource the most; nodes as the common template says."""
    spec: Body = {
        "jobManager": {"resource": {"cpu": 1, "memory": "2Gi"}},
        "taskManager": {"resource": {"cpu": 2.5, "memory": "1Gi"}},
        "podTemplate": {
            "spec": {"nodeSelector": {"disk": "ssd"}, "affinity": {"nodeAffinity": {}}}
        },
    }
    found = demand_of("flink.apache.org/v1beta1", "FlinkDeployment", {"spec": spec})

    assert found is not None
    assert found.requirements == {
        "nodeClaim": {"nodeSelector": {"disk": "ssd"}},
        "resourceRequest": {"cpu": "2500m", "memory": "2Gi"},
    }


def test_a_rollout_is_divided() -> None:
    """Without a row it would go whole to each cluster."""
    rollout = divided(custom("argoproj.io/v1alpha1", "Rollout", replicas=4))
    rollout.run(0)

    assert {"a": 2, "b": 2} == shares(rollout, "rollout")


def test_rows_beyond_upstream_can_be_left_out() -> None:
    """A hub copies a Rollout whole to each cluster, and divides a CloneSet."""
    settings = configuration(karmada={"builtInInterpreters": "upstream"})
    rollout = divided(custom("argoproj.io/v1alpha1", "Rollout", replicas=4), settings)
    clone_set = divided(custom("apps.kruise.io/v1alpha1", "CloneSet", replicas=4), settings)
    rollout.run(0)
    clone_set.run(0)

    assert {"a": None, "b": None} == shares(rollout, "rollout")
    assert {"a": 2, "b": 2} == shares(clone_set, "cloneset")


def test_a_row_of_the_repository_is_used_at_the_next_pass() -> None:
    """Before it the kind has no replicas."""
    shard = divided(custom("db.example.org/v1", "Shard", size=4))
    shard.run(0)
    assert {"a": None, "b": None} == shares(shard, "shard")

    shard.put(configuration(karmada={"interpreters": [SHARD]}))
    shard.run(100)
    assert {"a": 2, "b": 2} == shares(shard, "shard")


def test_replicas_that_are_no_number_keep_the_binding() -> None:
    """The fault stands at the workload, and names the field of the row."""
    settings = configuration(karmada={"interpreters": [SHARD]})
    shard = divided(custom("db.example.org/v1", "Shard", size=4), settings)
    shard.run(0)
    shard.put(custom("db.example.org/v1", "Shard", size="six"))
    [fault] = shard.run(100).faults

    assert ("workload-replicas", "/spec/size") == (fault.rule, fault.field)
    assert "Shard.db.example.org default/one" == fault.subject
    assert {"a": 2, "b": 2} == shares(shard, "shard")


def test_validate_finds_replicas_that_are_no_number(tmp_path: Path) -> None:
    """At the field's line, before anything is merged."""
    rollout = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata:\n  name: a\n"
        "  namespace: default\nspec:\n  replicas: x\n"
    )

    assert ["r.yaml:7 workload-replicas"] == told(tmp_path, {"r.yaml": rollout})


def test_a_script_whose_kind_has_a_row_of_the_repository_is_not_warned_of(tmp_path: Path) -> None:
    """One whose kind has a built-in row is: the script may say something else."""
    script = (
        "apiVersion: config.karmada.io/v1alpha1\nkind: ResourceInterpreterCustomization\n"
        "metadata: {name: s}\nspec:\n  target: {apiVersion: argoproj.io/v1alpha1, kind: Rollout}\n"
        "  customizations:\n    replicaResource: {luaScript: x}\n"
    )
    row = (
        "apiVersion: reconciler.dev/v1alpha1\nkind: ReconcilerConfiguration\nmetadata: {name: f}\n"
        "spec:\n  karmada:\n    interpreters:\n    - apiVersion: argoproj.io/v1alpha1\n"
        "      kind: Rollout\n      specReplicasPath: .spec.replicas\n"
    )

    assert ["s.yaml:7 interpreter-script"] == told(tmp_path / "1", {"s.yaml": script})
    assert [] == told(tmp_path / "2", {"s.yaml": script, "reconciler.yaml": row})


def test_a_kind_has_one_row(tmp_path: Path) -> None:
    """Which of two would count is nowhere said; another version is another kind."""
    row = "    - apiVersion: a.org/{}\n      kind: A\n      specReplicasPath: .spec.size\n"
    text = (
        "apiVersion: reconciler.dev/v1alpha1\nkind: ReconcilerConfiguration\nmetadata: {name: f}\n"
        "spec:\n  karmada:\n    interpreters:\n"
    )
    rows = "".join(map(row.format, ("v1", "v2", "v1")))

    assert ["reconciler.yaml:13 list-key"] == told(tmp_path, {"reconciler.yaml": text + rows})


@pytest.mark.parametrize(
    "spec", ["x", "[1]", "{target: 3}", "{target: {kind: [a]}, customizations: 7}"]
)
def test_a_script_that_names_no_kind_is_warned_of_all_the_same(tmp_path: Path, spec: str) -> None:
    """No schema judges it, so anything may stand there."""
    script = (
        "apiVersion: config.karmada.io/v1alpha1\nkind: ResourceInterpreterCustomization\n"
        f"metadata: {{name: s}}\nspec: {spec}\n"
    )

    assert ["s.yaml:2 interpreter-script"] == told(tmp_path, {"s.yaml": script})


CLONE_SET = ("apps.kruise.io/v1alpha1", "CloneSet")
BROADCAST_JOB = ("apps.kruise.io/v1alpha1", "BroadcastJob")
CONTROLLER = ("v1", "ReplicationController")
DEPLOYMENT = ("apps/v1", "Deployment")
PYTORCH_JOB = ("kubeflow.org/v1", "PyTorchJob")


def written(kind: tuple[str, str], spec: object) -> Body:
    """A manifest of a kind with this spec."""
    return {"apiVersion": kind[0], "kind": kind[1], "spec": spec}


@pytest.mark.parametrize(
    ("kind", "spec", "expected", "rows"),
    [
        pytest.param(DEPLOYMENT, {}, {}, BUILT_IN, id="absent-field-of-a-deployment-stays-absent"),
        pytest.param(DEPLOYMENT, {"replicas": 9}, {"replicas": 2}, BUILT_IN, id="deployment"),
        pytest.param(
            CLONE_SET, {}, {"replicas": 2}, BUILT_IN, id="absent-field-of-a-row-is-written"
        ),
        pytest.param(
            CLONE_SET, {"replicas": None}, {"replicas": 2}, BUILT_IN, id="null-of-a-row-is-replaced"
        ),
        pytest.param(
            BROADCAST_JOB,
            {"parallelism": "50%"},
            {"parallelism": 2},
            BUILT_IN,
            id="text-of-a-row-is-replaced",
        ),
        pytest.param(
            PYTORCH_JOB,
            {"pytorchReplicaSpecs": {}},
            {"pytorchReplicaSpecs": {}},
            BUILT_IN,
            id="what-would-hold-them-is-absent",
        ),
        pytest.param(CONTROLLER, {"replicas": 9}, {"replicas": 2}, BUILT_IN, id="row-of-ours"),
        pytest.param(
            CONTROLLER, {"replicas": 9}, {"replicas": 9}, UPSTREAM_ONLY, id="no-row-of-upstream"
        ),
    ],
)
def test_replicas_are_written(
    kind: tuple[str, str], spec: Body, expected: Body, rows: CustomKinds
) -> None:
    """Native kinds change a number that is there, rows write it."""
    assert written(kind, expected) == revised(written(kind, spec), 2, rows)


@pytest.mark.parametrize(
    ("kind", "spec", "told"),
    [
        pytest.param(DEPLOYMENT, {"replicas": "9"}, "`spec.replicas` must be a whole", id="text"),
        pytest.param(CLONE_SET, "none", "`spec` must be a mapping", id="spec-of-a-row"),
    ],
)
def test_other_types_are_refused(kind: tuple[str, str], spec: object, told: str) -> None:
    """The field is named."""
    with pytest.raises(UserError, match=told):
        revised(written(kind, spec), 2, BUILT_IN)


def job(**spec: object) -> Body:
    """A Job, as a file has it."""
    body: Body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}}
    return {**body, "spec": {"template": {"spec": {"containers": []}}, **spec}}


def labelled(labels: object) -> Body:
    """The template of a Job with these labels."""
    return {"metadata": {"labels": labels}, "spec": {}}


def account(*secrets: str) -> Body:
    """A ServiceAccount that names these Secrets."""
    named = [{"name": name} for name in secrets]
    return {"kind": "ServiceAccount", "metadata": {"name": "bot"}, "secrets": named}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param(
            job(template=labelled({"job-name": "once", "tier": 3})),
            "spec.template.metadata.labels.tier",
            id="label-of-the-template-is-a-number",
        ),
        pytest.param(
            job(template=labelled({"tier": None})),
            "spec.template.metadata.labels",
            id="label-of-the-template-is-null",
        ),
        pytest.param(
            job(template=labelled(None)),
            "spec.template.metadata.labels",
            id="labels-of-the-template-are-null",
        ),
        pytest.param(
            job(selector={"matchLabels": {"controller-uid": True}}),
            "spec.selector.matchLabels.controller-uid",
            id="label-that-goes-is-a-flag",
        ),
        pytest.param(
            job(manualSelector=True, template=labelled({"tier": 3})),
            "spec.template.metadata.labels.tier",
            id="labels-are-kept-and-one-is-a-number",
        ),
        pytest.param(job(manualSelector="yes"), "spec.manualSelector", id="flag-is-a-text"),
        pytest.param(job(parallelism="3"), "spec.parallelism", id="number-is-a-text"),
        pytest.param(job(backoffLimit=2**31), "spec.backoffLimit", id="number-is-too-great"),
        pytest.param(job(template=[]), "spec.template", id="mapping-is-a-list"),
        pytest.param(
            job(template={"spec": {"containers": [{"image": 3}]}}),
            "spec.template.spec.containers/0.image",
            id="image-is-a-number",
        ),
    ],
)
def test_job_of_other_types_is_not_delivered(body: Body, told: str) -> None:
    """The field is named."""
    with pytest.raises(UserError, match=f"^`{told}` must be "):
        pruned(body)


@pytest.mark.parametrize(
    ("secrets", "kept"),
    [
        pytest.param(("bot-token-a", "mine", "bot-token-b"), ["mine"], id="apart"),
        pytest.param(
            ("bot-token-a", "bot-token-b", "mine", "bot-token-c"),
            ["bot-token-b", "mine"],
            id="second-of-two-neighbours-stays",
        ),
        pytest.param(
            ("bot-token-a", "bot-token-b", "bot-token-c"),
            ["bot-token-b"],
            id="second-of-three-neighbours-stays",
        ),
    ],
)
def test_tokens_of_an_account_go(secrets: tuple[str, ...], kept: list[str]) -> None:
    """As upstream's loop has it, which passes over the entry after each that goes."""
    assert account(*kept) == pruned(account(*secrets))


def test_an_address_that_is_no_text_stays() -> None:
    """Upstream reads it as a text, or not at all."""
    service: Body = {"kind": "Service", "spec": {"clusterIP": 5, "clusterIPs": ["10.0.0.1"]}}

    assert service == pruned(service)

"""What clusters would refuse of a single workload, and what they would not."""

import copy
import gzip
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reconciler.audit.workloads import check_workloads
from reconciler.cli.validate import check
from reconciler.core.dialects import KINDS
from reconciler.manifests.references import _key_of
from reconciler.manifests.schemas.kubernetes import KubernetesKinds
from reconciler.model.identity import RepositoryLayout
from reconciler.model.records import replace
from reconciler.model.world import Fault
from reconciler.shell.reading.checked import FolderSource
from reconciler.shell.resources import load_kubernetes
from tests.builders import Body, cluster, manifest
from tests.shell.fleet import ROOT
from tests.stories import world

DIGEST = "sha256:" + "0" * 64
WHOLE: Body = {"type": "integer"}
CONTAINER: Body = {"name": "web", "image": "registry.example.org/web:1.0"}


def workload(
    kind: str = "Deployment", pod: Body | None = None, namespace: str = "shop", **spec: object
) -> Body:
    """Return a workload that each cluster takes, but for what is given."""
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [CONTAINER], **(pod or {})},
    }
    selector = {} if kind == "Job" else {"selector": {"matchLabels": {"app": "web"}}}
    group = "batch" if kind == "Job" else "apps"
    return {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {**selector, "template": template, **spec},
    }


def container(**fields: object) -> Body:
    """Return a pod of one container with these fields."""
    return {"containers": [{**CONTAINER, **fields}]}


def plain(kind: str, **parts: object) -> Body:
    """Return an object of the core group."""
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "web"}, **parts}


def kinds_of(version: str = "") -> KubernetesKinds:
    """Return what a version of Kubernetes serves."""
    kinds = load_kubernetes(version)
    assert kinds is not None
    return kinds


def refused(*bodies: Body, kinds: KubernetesKinds | None = None) -> list[Fault]:
    """Return what is said of workloads."""
    written = {one.key: one for one in map(manifest, bodies)}
    found = check_workloads(written, {}, kinds or kinds_of())
    return [one.fault for one in found]


@pytest.mark.parametrize(
    ("body", "rule", "pointer", "expected"),
    [
        pytest.param(
            workload(pod=container(imagePullPolice="Always")),
            "schema-unknown-field",
            "/spec/template/spec/containers/0/imagePullPolice",
            'Did you mean "imagePullPolicy"?',
            id="field",
        ),
        pytest.param(
            workload(pod=container(env=[{"name": "PORT", "value": 8080}])),
            "schema-type",
            "/spec/template/spec/containers/0/env/0/value",
            "Put it in quotes.",
            id="number-for-text",
        ),
        pytest.param(
            workload(pod=container(ports=[{"containerPort": "80"}])),
            "schema-type",
            "/spec/template/spec/containers/0/ports/0/containerPort",
            "Write 80 without quotes.",
            id="text-for-number",
        ),
        pytest.param(
            workload(pod=container(imagePullPolicy="always")),
            "schema-enum",
            "/spec/template/spec/containers/0/imagePullPolicy",
            "Always, IfNotPresent or Never.",
            id="value",
        ),
        pytest.param(
            workload(pod={"containers": [CONTAINER, CONTAINER]}),
            "list-key",
            "/spec/template/spec/containers/1",
            "One item for each name.",
            id="name-twice",
        ),
        pytest.param(
            workload(selector={"matchLabels": {"app": "wbe"}}),
            "workload-selector",
            "/spec/selector",
            "the same labels in selector and spec.template.metadata.labels",
            id="selector",
        ),
        pytest.param(
            workload(pod=container(volumeMounts=[{"name": "data", "mountPath": "/data"}])),
            "workload-volume",
            "/spec/template/spec/containers/0/volumeMounts/0/name",
            "a volume of this name",
            id="volume",
        ),
        pytest.param(
            workload("Job"),
            "workload-restart",
            "/spec/template/spec/restartPolicy",
            "OnFailure or Never",
            id="restart-by-default",
        ),
        pytest.param(
            workload(pod=container(image="Registry.example.org/Web")),
            "workload-image",
            "/spec/template/spec/containers/0/image",
            "REGISTRY/NAME:TAG in lower case, without blanks or quotes in it",
            id="image",
        ),
        pytest.param(
            workload(pod=container(resources={"requests": {"memory": "512m"}})),
            "workload-amount",
            "/spec/template/spec/containers/0/resources/requests/memory",
            "did you mean 512Mi?",
            id="thousandths-of-bytes",
        ),
        pytest.param(
            workload(pod=container(resources={"requests": {"cpu": 250, "memory": "256Mi"}})),
            "workload-amount",
            "/spec/template/spec/containers/0/resources/requests/cpu",
            "did you mean 250m?",
            id="whole-processors",
        ),
        pytest.param(
            plain("ConfigMap", data={"debug": True}),
            "schema-type",
            "/data/debug",
            "Put it in quotes.",
            id="settings",
        ),
        pytest.param(
            {**plain("PodDisruptionBudget"), "apiVersion": "policy/v1beta1"},
            "workload-version",
            "/apiVersion",
            "policy/v1",
            id="dropped-version",
        ),
        pytest.param(
            {**plain("Ingress"), "apiVersion": "extensions/v1beta1"},
            "workload-version",
            "/apiVersion",
            "networking.k8s.io/v1",
            id="dropped-group",
        ),
        pytest.param(
            workload(pod=container(ports=[{"containerPort": "${PORT}"}])),
            "workload-variable",
            "/spec/template/spec/containers/0/ports/0/containerPort",
            "the value itself, or a Flux Kustomization with postBuild.substitute on each cluster",
            id="variable",
        ),
    ],
)
def test_what_a_cluster_would_refuse(body: Body, rule: str, pointer: str, expected: str) -> None:
    """One finding, at the field, with what would be right."""
    found = [(one.rule, one.field, one.expected) for one in refused(body)]

    assert [(rule, pointer, expected)] == found


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(workload(), id="plain"),
        pytest.param(workload(pod={"nodeSelector": None}), id="null"),
        pytest.param(workload(replicas=2.0), id="number-without-remainder"),
        pytest.param(workload(pod=container(imagePullPolicy="")), id="empty-text"),
        pytest.param(workload(pod=container(image="web:${TAG}")), id="variable-in-text"),
        pytest.param(workload(pod=container(image=f"h:5000/a/b_c-d@{DIGEST}")), id="digest"),
        pytest.param({**workload(), "status": {"anything": 1}}, id="status"),
        pytest.param({**workload(), "apiVersion": "example.org/v1"}, id="kind-of-others"),
        pytest.param(
            workload(
                "StatefulSet",
                pod=container(volumeMounts=[{"name": "data", "mountPath": "/data"}]),
                serviceName="web",
                volumeClaimTemplates=[{"metadata": {"name": "data"}}],
            ),
            id="claim-template",
        ),
        pytest.param(plain("Secret", data={"token": "YWJj\nZGVm\n"}), id="base64-in-lines"),
        pytest.param(
            {**plain("Secret", data={"token": "ENC[AES256_GCM,data:x]"}), "sops": {"mac": "x"}},
            id="encrypted",
        ),
        pytest.param(
            workload(pod=container(resources={"requests": {"cpu": 64, "memory": "512Gi"}})),
            id="large",
        ),
    ],
)
def test_what_a_cluster_takes(body: Body) -> None:
    """Nothing is said of it."""
    assert [] == refused(body)


def test_an_older_version_is_held_against_itself() -> None:
    """A field that came later is none there, a kind that went later is one."""
    paused = workload("Job", pod={"restartPolicy": "Never"}, managedBy="example.org/queue")
    scaler = {
        "apiVersion": "autoscaling/v2beta2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "web"}},
    }

    assert ["workload-version"] == [one.rule for one in refused(paused, scaler)]
    old = refused(paused, scaler, kinds=kinds_of("v1.25.4"))
    assert ["schema-unknown-field"] == [one.rule for one in old]


def definition(schema: Body) -> Body:
    """Return a CRD of widgets."""
    whole = {"type": "object", "properties": {"spec": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.org"},
        "spec": {
            "group": "example.org",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": whole},
                }
            ],
        },
    }


def widget(**spec: object) -> Body:
    """Return a widget."""
    return {
        "apiVersion": "example.org/v1",
        "kind": "Widget",
        "metadata": {"name": "a"},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("schema", "spec", "rules"),
    [
        pytest.param({"size": WHOLE}, {"size": 3}, [], id="right"),
        pytest.param({"size": WHOLE}, {"size": "b"}, ["schema-type"], id="type"),
        pytest.param({"size": WHOLE}, {"sise": 3}, ["schema-unknown-field"], id="field"),
        pytest.param({"size": {"enum": ["a", "b"]}}, {"size": "c"}, ["schema-enum"], id="value"),
        pytest.param(
            {"port": {"x-kubernetes-int-or-string": True}}, {"port": "http"}, [], id="either"
        ),
        pytest.param(
            {"size": {"type": "integer", "minimum": -1}}, {"size": -5}, ["schema-range"], id="bound"
        ),
        pytest.param({"a": {"items": {"minLength": 1.5, "type": [3]}}}, {"a": [1]}, [], id="odd"),
        pytest.param(
            {"name": {"type": "string", "pattern": "(a+)+$"}}, {"name": "b"}, [], id="pattern"
        ),
        pytest.param({"size": {"type": "whatever"}}, {"size": 1}, [], id="no-type"),
        pytest.param(
            {"any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            {"any": {"a": 1}},
            [],
            id="open",
        ),
    ],
)
def test_a_crd_of_the_repository_judges_its_objects(
    schema: Body, spec: Body, rules: list[str]
) -> None:
    """By the structural part of its schema, and closed as an API server prunes."""
    crd = definition({"type": "object", "properties": schema})

    assert rules == [one.rule for one in refused(crd, widget(**spec))]


def test_a_field_with_a_default_need_not_be_given() -> None:
    """An API server sets it before it asks."""
    fields = {"a": {"type": "string", "default": "x"}, "b": {"type": "string"}}
    crd = definition({"type": "object", "properties": fields, "required": ["a", "b", "b"]})

    assert ["schema-required"] == [one.rule for one in refused(crd, widget())]
    assert [] == refused(crd, widget(b="y"))


def test_a_crd_that_is_none_judges_nothing() -> None:
    """What is wrong is said of it alone."""
    crd = {**definition({}), "spec": {"group": "example.org", "versions": 3}}

    assert {"CustomResourceDefinition"} == {
        one.subject.partition(".")[0] for one in refused(crd, widget(a=1))
    }


def spoken(*bodies: Body) -> list[tuple[str, str, str]]:
    """Return what workloads say of each other in vain: object, rule, and what would be right."""
    written = world(*bodies)
    found = [one.fault for one in check_workloads(written.inputs, {}, kinds_of(), written)]
    return [(one.subject.partition(".")[0], one.rule, one.expected) for one in found]


def service(**selector: str) -> Body:
    """Return a Service of pods with these labels."""
    spec = {"selector": selector, "ports": [{"port": 80, "targetPort": "http"}]}
    return placed(plain("Service", spec=spec))


def placed(body: Body, namespace: str = "shop") -> Body:
    """Return an object in a namespace."""
    metadata = body["metadata"]
    assert isinstance(metadata, dict)
    return {**body, "metadata": {**metadata, "namespace": namespace}}


def settings(name: str = "settings", kind: str = "ConfigMap") -> Body:
    """Return settings of one key."""
    named = {**plain(kind), "metadata": {"name": name}}
    return placed({**named, "data": {"currency": "RVVS"}})


def reading(field: str, **reference: object) -> Body:
    """Return a workload with a variable from somewhere else."""
    return workload(pod=container(env=[{"name": "A", "valueFrom": {field: reference}}]))


HTTP = container(ports=[{"name": "http", "containerPort": 80}])
OPERATED = placed({**plain("Database"), "apiVersion": "example.org/v1"})


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        pytest.param([workload(pod=HTTP), service(app="web")], [], id="right"),
        pytest.param(
            [workload(pod=HTTP), service(app="wbe")],
            [
                (
                    "Service",
                    "workload-selects-nothing",
                    "did you mean Deployment web, whose pods have app=web?",
                )
            ],
            id="slip-of-a-label",
        ),
        pytest.param(
            [workload(pod=HTTP), service(app="database")],
            [
                (
                    "Service",
                    "workload-selects-nothing",
                    "labels that the pods of a workload here have",
                )
            ],
            id="no-such-pods",
        ),
        pytest.param(
            [workload(pod=HTTP), service(app="database"), OPERATED], [], id="pods-of-an-operator"
        ),
        pytest.param([service(app="web")], [], id="pods-elsewhere"),
        pytest.param(
            [workload(), service(app="web")],
            [("Service", "workload-port", "a port of this name")],
            id="port",
        ),
        pytest.param(
            [settings(), reading("configMapKeyRef", name="setings", key="currency")],
            [("Deployment", "workload-reference-unknown", 'did you mean "settings"?')],
            id="settings",
        ),
        pytest.param(
            [settings(), reading("configMapKeyRef", name="settings", key="curency")],
            [("Deployment", "workload-reference-unknown", 'did you mean "currency"?')],
            id="key",
        ),
        pytest.param(
            [settings(), reading("configMapKeyRef", name="x", key="y", optional=True)],
            [],
            id="optional",
        ),
        pytest.param([reading("configMapKeyRef", name="x", key="y")], [], id="none-is-here"),
        pytest.param(
            [settings(), OPERATED, reading("configMapKeyRef", name="x", key="y")],
            [],
            id="settings-of-an-operator",
        ),
        pytest.param(
            [settings("token", "Secret"), reading("secretKeyRef", name="other", key="y")],
            [],
            id="secret-made-elsewhere",
        ),
        pytest.param(
            [settings("token", "Secret"), reading("secretKeyRef", name="tokne", key="y")],
            [("Deployment", "workload-reference-unknown", 'did you mean "token"?')],
            id="slip-of-a-secret",
        ),
        pytest.param(
            [workload(), workload(namespace="team-a"), workload(namespace="defualt")],
            [("Deployment", "workload-reference-unknown", 'did you mean "default"?')],
            id="namespace",
        ),
    ],
)
def test_what_workloads_say_of_each_other(
    bodies: list[Body], expected: list[tuple[str, str, str]]
) -> None:
    """Reported where it is most likely a mistake, and nowhere else."""
    assert expected == spoken(*bodies)


@pytest.mark.parametrize(
    ("clusters", "rules"),
    [
        pytest.param(["16", "32"], ["workload-room"], id="all-tell"),
        pytest.param(["16", ""], [], id="one-does-not"),
        pytest.param(["16", "400"], [], id="one-has-it"),
        pytest.param([], [], id="none"),
    ],
)
def test_more_than_any_cluster_has(clusters: list[str], rules: list[str]) -> None:
    """Where every cluster says how much it has."""
    pod = container(resources={"requests": {"cpu": 250, "memory": "512Gi"}})
    fleet = [
        cluster(f"c{number}", status=status(cpu) if cpu else None)
        for number, cpu in enumerate(clusters)
    ]

    assert rules == [rule for _, rule, _ in spoken(workload(pod=pod), *fleet)]


def status(cpu: str) -> Body:
    """Return what a cluster says that it has."""
    return {"resourceSummary": {"allocatable": {"cpu": cpu, "memory": "1Ti"}}}


RICH = workload(
    "StatefulSet",
    pod={
        "volumes": [{"name": "settings", "configMap": {"name": "settings"}}],
        **container(
            ports=[{"name": "http", "containerPort": 80}],
            env=[{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "b", "key": "c"}}}],
            envFrom=[{"secretRef": {"name": "d"}}],
            resources={"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
            volumeMounts=[{"name": "data", "mountPath": "/data"}],
            livenessProbe={"httpGet": {"path": "/", "port": "http"}},
        ),
    },
    serviceName="web",
    volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": {"accessModes": ["x"]}}],
)
ODD: tuple[object, ...] = (
    None,
    -1,
    True,
    "",
    "${X}",
    [],
    {},
    [[1]],
    {"name": [1]},
    [{"name": [1]}],
)


def places_in(value: object, place: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Yield the place of each value below one."""
    parts: Iterable[tuple[object, object]] = ()
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    for name, inner in parts:
        yield (*place, name)
        yield from places_in(inner, (*place, name))


def with_odd(body: Body, place: tuple[object, ...], odd: object) -> Body:
    """Return an object with another value at a place."""
    changed = copy.deepcopy(body)
    parent: Any = changed
    for name in place[:-1]:
        parent = parent[name]
    parent[place[-1]] = odd
    return changed


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(RICH, id="workload"),
        pytest.param(service(app="web"), id="service"),
        pytest.param(definition({"type": "object", "properties": {"a": WHOLE}}), id="crd"),
    ],
)
def test_whatever_stands_there_stops_nothing(body: Body) -> None:
    """Each field in its turn holds what nobody expects; all else is judged all the same."""
    alone = {**service(app="db"), "metadata": {"name": "alone", "namespace": "shop"}}
    beside = [manifest(one) for one in (workload(), settings(), alone, widget(a=1))]
    about = world(workload())
    for place in places_in(body["spec"]):
        for odd in ODD:
            changed = manifest(with_odd(body, ("spec", *place), odd))
            inputs = {one.key: one for one in (*beside, changed)}
            found = check_workloads(inputs, {}, kinds_of(), replace(about, inputs=inputs))

            assert "workload-selects-nothing" in {one.fault.rule for one in found}


RECORDED = [
    *sorted((ROOT / "fixtures/hubs").glob("*.json.gz")),
    *sorted((ROOT / "fixtures/hubs").glob("*.bundle")),
    *sorted(
        one
        for api in ("karmada", "kubefleet", "ocm")
        for one in (ROOT / "fixtures" / api).iterdir()
    ),
    ROOT / "fixtures/exports",
]


def recorded_in(place: Path, folder: Path) -> Path:
    """Return a folder with what was recorded."""
    if place.suffix == ".gz":
        (folder / place.stem).write_bytes(gzip.decompress(place.read_bytes()))
        return folder
    if place.suffix == ".bundle":
        subprocess.run(
            ["git", "clone", "-q", "-b", "story", str(place), folder / "hub"], check=True
        )
        return folder / "hub"
    return place


def is_of_workload(fault: Fault) -> bool:
    """Return whether something is said of what no API here reads."""
    subject = _key_of(fault.subject)
    content = fault.rule.startswith(("workload-", "schema-", "list-key"))
    return content and subject is not None and subject.group not in KINDS.groups


@pytest.mark.parametrize("place", RECORDED, ids=lambda one: "/".join(one.parts[-3:-1]))
def test_of_what_clusters_took_nothing_is_said(place: Path, tmp_path: Path) -> None:
    """Recorded hubs, and the stories of three APIs, hold workloads that clusters run."""
    source = FolderSource(recorded_in(place, tmp_path), RepositoryLayout())

    findings = check(source, (), references=True, forced=False).findings

    said = [one.fault for one in findings if is_of_workload(one.fault)]
    assert [] == [(one.path, one.message) for one in said]

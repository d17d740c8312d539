"""Manifests and worlds for tests: keyword arguments, the dullest defaults."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import cast

from reconciler.core.admissions import ADMISSIONS
from reconciler.core.changes import DeleteFile, Outcome, WriteFile
from reconciler.core.inspect import Inspection, Rules, inspect
from reconciler.core.intake import DELETABLE, Earlier, compose, earlier_versions, read_state, survey
from reconciler.core.reconcile import reconcile
from reconciler.core.record import LastPass, last_pass
from reconciler.manifests.paths import blob_id
from reconciler.manifests.selection import selects
from reconciler.model.identity import ObjectKey, Origin, group_of
from reconciler.model.world import Manifest, World
from reconciler.shell.resources import load_schemas

Body = Mapping[str, object]

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
NOT_READY = "cluster.karmada.io/not-ready"
BINDINGS = "status/resourcebindings.work.karmada.io"
REBALANCERS = "status/workloadrebalancers.apps.karmada.io"


def metadata(name: str, namespace: str = "", **more: object) -> dict[str, object]:
    """Metadata; what is empty is left out."""
    scope = {"namespace": namespace} if namespace else {}
    return {"name": name, **scope, **{key: value for key, value in more.items() if value}}


def cluster(
    name: str = "a",
    *,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Body] = (),
    region: str = "",
    status: Body | None = None,
    leaving: bool = False,
) -> Body:
    """A declared cluster; with `leaving` it is being deleted."""
    spec: dict[str, object] = {"syncMode": "Push"}
    spec |= {"taints": list(taints)} if taints else {}
    spec |= {"region": region} if region else {}
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": metadata(
            name, labels=labels, deletionTimestamp="2026-11-20T00:00:00Z" if leaving else ""
        ),
        "spec": spec,
        **({} if status is None else {"status": status}),
    }


def cluster_status(
    ready: str = "True", *, since: datetime = NOW, cpu: str = "100", pods: int = 100
) -> Body:
    """A status with a Ready condition, the common APIs, and room."""
    kinds = {"apps/v1": ("Deployment",), "v1": ("ConfigMap",)}
    kinds["rbac.authorization.k8s.io/v1"] = ("ClusterRole",)
    return {
        "conditions": [
            {
                "type": "Ready",
                "status": ready,
                "reason": "Told",
                "message": "",
                "lastTransitionTime": text_of(since),
            }
        ],
        "apiEnablements": [
            {"groupVersion": version, "resources": [{"kind": kind, "name": ""} for kind in found]}
            for version, found in kinds.items()
        ],
        "resourceSummary": {"allocatable": {"cpu": cpu, "memory": "1Ti", "pods": str(pods)}},
    }


def taint(key: str = "spot", effect: str = "NoSchedule", *, at: datetime | None = None) -> Body:
    """A taint, dated if `at` is given."""
    return {"key": key, "effect": effect, **({"timeAdded": text_of(at)} if at else {})}


def selector(kind: str = "Deployment", *, name: str = "", **more: object) -> Body:
    """A resource selector; known kinds get their API version."""
    versions = {"Deployment": "apps/v1", "ClusterRole": "rbac.authorization.k8s.io/v1"}
    named = {"name": name} if name else {}
    return {"apiVersion": versions.get(kind, "v1"), "kind": kind, **named, **more}


def policy(
    name: str = "p",
    *,
    namespace: str = "default",
    selectors: Sequence[Body] = (),
    placement: Body | None = None,
    **spec: object,
) -> Body:
    """A PropagationPolicy for all Deployments; without a namespace a cluster-wide one."""
    kind = "PropagationPolicy" if namespace else "ClusterPropagationPolicy"
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": kind,
        "metadata": metadata(name, namespace),
        "spec": {
            "resourceSelectors": list(selectors) or [selector()],
            **({} if placement is None else {"placement": placement}),
            **spec,
        },
    }


def cluster_policy(name: str = "cp", **rest: object) -> Body:
    """A ClusterPropagationPolicy for all Deployments."""
    return policy(name, namespace="", **rest)  # type: ignore[arg-type]  # passed on as they are


def divided(preference: str = "Weighted", **more: object) -> Body:
    """Replica scheduling that divides."""
    return {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": preference,
        **more,
    }


DYNAMIC: Body = divided(weightPreference={"dynamicWeight": "AvailableReplicas"})


def groups(*names: Sequence[str], **more: object) -> Body:
    """A placement with one affinity group a sequence of cluster names: g0, g1, ..."""
    affinities = [
        {"affinityName": f"g{number}", "clusterNames": list(found)}
        for number, found in enumerate(names)
    ]
    return {"clusterAffinities": affinities, **more}


def deployment(
    name: str = "web",
    *,
    replicas: int = 2,
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    cpu: str = "",
) -> Body:
    """A Deployment with one container."""
    resources = {"resources": {"requests": {"cpu": cpu}}} if cpu else {}
    container = {"name": "main", "image": "example.org/web", **resources}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(name, namespace, labels=labels),
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [container]}}},
    }


def configmap(name: str = "settings", *, namespace: str = "default") -> Body:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(name, namespace)}


def cluster_role(name: str = "reader") -> Body:
    """A ClusterRole."""
    version = "rbac.authorization.k8s.io/v1"
    return {"apiVersion": version, "kind": "ClusterRole", "metadata": metadata(name)}


def target(kind: str = "Deployment", name: str = "web", namespace: str = "default") -> Body:
    """A workload as a rebalancer names it."""
    version = str(selector(kind)["apiVersion"])
    scope = {"namespace": namespace} if namespace else {}
    return {"apiVersion": version, "kind": kind, "name": name, **scope}


def rebalancer(name: str = "demo", *targets: Body, ttl: int | None = None) -> Body:
    """A rebalancer of default/web, or of the targets given."""
    return {
        "apiVersion": "apps.karmada.io/v1alpha1",
        "kind": "WorkloadRebalancer",
        "metadata": metadata(name),
        "spec": {
            "workloads": list(targets) or [target()],
            **({} if ttl is None else {"ttlSecondsAfterFinished": ttl}),
        },
    }


def configuration(**spec: object) -> Body:
    """The configuration of a repository."""
    return {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": "ReconcilerConfiguration",
        "metadata": metadata("main"),
        "spec": spec,
    }


def manifest(body: Body, path: str = "manifest.yaml") -> Manifest:
    """A body as a manifest, its namespace as written."""
    found = cast(Mapping[str, str], body["metadata"])
    group = group_of(str(body["apiVersion"]))
    key = ObjectKey(group, str(body["kind"]), found.get("namespace", ""), found["name"])
    return Manifest(key, Origin(path), body)


def text(*bodies: Body) -> str:
    """A file that holds these documents; JSON is YAML."""
    return "---\n".join(f"{json.dumps(body)}\n" for body in bodies)


def path_of(body: Body) -> str:
    """Where a test puts an object: kind, namespace and name."""
    if body["kind"] == "ReconcilerConfiguration":
        return "reconciler.yaml"
    found = cast(Mapping[str, str], body["metadata"])
    scope = f"{found['namespace']}/" if "namespace" in found else ""
    return f"{body['kind']}/{scope}{found['name']}.yaml".lower()


def text_of(moment: datetime) -> str:
    """A moment as manifests have it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def after(seconds: int) -> datetime:
    """A moment after NOW."""
    return NOW + timedelta(seconds=seconds)


@lru_cache(maxsize=4096)
def _inspected(path: str, data: bytes, is_output: bool) -> Inspection:  # noqa: FBT001  # a cache key
    admissions = {} if is_output else ADMISSIONS
    rules = Rules(load_schemas(), admissions, status_only=is_output)
    return inspect(path, blob_id(data, like=""), data, rules)


@dataclass
class Story:
    """A repository in memory: its files now, and its tree at each pass that committed.

    It does what the shell does with git: composes the world, and puts the changes of a pass into
    the files.
    """

    files: dict[str, str] = field(default_factory=dict)
    trees: dict[str, Mapping[str, str]] = field(default_factory=dict)
    now: datetime = NOW

    def put(self, *bodies: Body, path: str = "") -> "Story":
        """Write each object into its file, or all of them into the one at `path`."""
        if path:
            self.files[path] = text(*bodies)
        else:
            self.files |= {path_of(body): text(body) for body in bodies}
        return self

    def drop(self, *bodies: Body) -> "Story":
        """Remove the files of objects."""
        for body in bodies:
            del self.files[path_of(body)]
        return self

    @property
    def inputs(self) -> dict[str, str]:
        """What people wrote."""
        return {path: data for path, data in self.files.items() if not path.startswith("status/")}

    @property
    def outputs(self) -> dict[str, str]:
        """What passes wrote."""
        return {path: data for path, data in self.files.items() if path.startswith("status/")}

    def world(self) -> World:
        """The world as a pass would find it now."""
        revision = _revision(self.files)
        self.trees[revision] = dict(self.files)
        outputs = [_inspected(path, data.encode(), True) for path, data in self.outputs.items()]
        inputs = [
            _inspected(path, data.encode(), False)
            for path, data in self.inputs.items()
            if selects(path, include=(), exclude=())
        ]
        last = last_pass(read_state(outputs, "status").manifests)
        surveyed = survey(inputs)
        return compose(
            surveyed,
            {path: self._earlier(path, last) for path in surveyed.broken},
            outputs,
            revision=revision,
            output_root="status",
            texts={
                file.path: file.data
                for file in inputs
                if any((d.identity.group, d.identity.kind) in DELETABLE for d in file.documents)
            },
        )

    def _earlier(self, path: str, last: LastPass | None) -> tuple[Earlier, ...]:
        if last is None:
            return ()
        tree = self.trees.get(last.revision, {})
        recorded = _inspected(path, tree[path].encode(), False) if path in tree else None
        versions = [files[path].encode() for files in self.trees.values() if path in files]
        blobs = {blob_id(data, like=""): _inspected(path, data, False) for data in versions}
        return earlier_versions(path, last, recorded, blobs)

    def run(self, seconds: int | None = None) -> Outcome:
        """Run a pass at so many seconds after NOW, or one second after the last one."""
        self.now = self.now + timedelta(seconds=1) if seconds is None else after(seconds)
        outcome = reconcile(self.world(), self.now)
        self.files = applied(self.files, outcome)
        return outcome

    def output(self, path: str) -> Body:
        """The body of an output, by its path below the output root's plural folder."""
        return _inspected(path, self.files[path].encode(), True).documents[0].body

    def binding(self, name: str = "web-deployment", namespace: str = "default") -> Body:
        """The body of a binding."""
        return self.output(f"{BINDINGS}/{namespace}/{name}.yaml")

    def placed(self, name: str = "web-deployment", namespace: str = "default") -> dict[str, int]:
        """Cluster to replicas of a binding."""
        spec = cast(Body, self.binding(name, namespace)["spec"])
        clusters = cast(Sequence[Mapping[str, int]], spec.get("clusters", ()))
        return {str(item["name"]): item.get("replicas", 0) for item in clusters}

    def condition(self, type_: str, name: str = "web-deployment") -> Mapping[str, str]:
        """A condition of a binding."""
        status = cast(Body, self.binding(name)["status"])
        found = cast(Sequence[Mapping[str, str]], status["conditions"])
        return next(item for item in found if item["type"] == type_)

    def rebalancer(self, name: str = "demo") -> Body:
        """The status of a rebalancer."""
        return cast(Body, self.output(f"{REBALANCERS}/{name}.yaml")["status"])


def story(*bodies: Body) -> Story:
    """A repository that holds these objects, each in its file; no pass has run."""
    return Story().put(*bodies)


def world(*bodies: Body) -> World:
    """The world of a repository that holds these objects."""
    return story(*bodies).world()


def applied(files: Mapping[str, str], outcome: Outcome) -> dict[str, str]:
    """The files after the changes of a pass."""
    changed = dict(files)
    for change in outcome.changes:
        match change:
            case WriteFile():
                changed[change.path] = change.content
            case DeleteFile():
                del changed[change.path]
    return changed


def _revision(files: Mapping[str, str]) -> str:
    return hashlib.sha1(json.dumps(files, sort_keys=True).encode()).hexdigest()  # noqa: S324  # an id

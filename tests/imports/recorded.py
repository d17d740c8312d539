"""What real control planes held: exports, and a repository of what was applied to one of them."""

import gzip
import json
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from reconciler.model.body import Body
from tests.imports.hubs import THEN
from tests.shell.fleet import ROOT
from tests.shell.repositories import git

HUBS = ROOT / "fixtures/hubs"


@cache
def recorded(name: str) -> Sequence[Body]:
    """Return the objects of a recording."""
    items: Sequence[Body] = json.loads(gzip.decompress((HUBS / f"{name}.json.gz").read_bytes()))[
        "items"
    ]
    return items


class AppliedFleet:
    """The repository of what was applied to the Karmada hub, step by step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        bundle = str(HUBS / "karmada.bundle")
        command = ["git", "clone", "--quiet", "--bare", "--branch", "story", bundle, str(folder)]
        subprocess.run(command, check=True, capture_output=True)

    def after(self, step: str) -> Mapping[str, str]:
        """Return the files as the pass after a step has left them."""
        subjects = git(self.folder, "log", "--format=%H %s", "story").splitlines()
        [at] = [i for i, line in enumerate(subjects) if line.partition(" ")[2] == step]
        revision = subjects[at - 1].partition(" ")[0]
        names = git(self.folder, "ls-tree", "-r", "--name-only", revision).splitlines()
        told = subprocess.run(
            ["git", "cat-file", "--batch"],
            cwd=self.folder,
            input="".join(f"{revision}:{name}\n" for name in names).encode(),
            check=True,
            capture_output=True,
        ).stdout
        files, begin = {}, 0
        for name in names:
            text = told.index(b"\n", begin) + 1
            size = int(told[begin:text].split()[2])
            files[name] = told[text : text + size].decode()
            begin = text + size + 1
        return files


UIDS = {
    "dep-web-0": "0c5f2a55-5a3f-4d0a-a6f5-6b5cf6d6a1ce",
    "dep-cm-0": "d4197ac6-9428-47e2-936d-d84bb6e17e6e",
    "reader-1": "88ec258b-7645-4cee-9267-68d18d976c4b",
    "shop": "afcaf8ff-b6b8-41f9-a1e5-92c12c719bfe",
}
LISTED = "resourcetemplate.karmada.io/managed-annotations"
LABELS = "resourcetemplate.karmada.io/managed-labels"
COMMON = {
    "app": "dep-web",
    "karmada.io/managed": "true",
    "propagationpolicy.karmada.io/permanent-id": "7e1ac4f1-0230-4bfd-a611-2df92db49830",
    "resourcebinding.karmada.io/permanent-id": "26cefb83-50ee-40e1-9ce1-b6af348d597a",
}
WEB_NOTES = {
    "propagationpolicy.karmada.io/name": "dep",
    "propagationpolicy.karmada.io/namespace": "shop",
    "resourcebinding.karmada.io/name": "dep-web-0-deployment",
    "resourcebinding.karmada.io/namespace": "shop",
    "resourcetemplate.karmada.io/generation": "4",
    LISTED: "propagationpolicy.karmada.io/name,propagationpolicy.karmada.io/namespace,"
    "resourcebinding.karmada.io/name,resourcebinding.karmada.io/namespace,"
    "resourcetemplate.karmada.io/generation,resourcetemplate.karmada.io/managed-annotations,"
    "resourcetemplate.karmada.io/managed-labels,resourcetemplate.karmada.io/uid,"
    "work.karmada.io/conflict-resolution,work.karmada.io/name,work.karmada.io/namespace",
    LABELS: "app,karmada.io/managed,propagationpolicy.karmada.io/permanent-id,"
    "resourcebinding.karmada.io/permanent-id,work.karmada.io/permanent-id",
    "work.karmada.io/conflict-resolution": "abort",
    "work.karmada.io/name": "dep-web-0-7bdd4b4dc7",
}
CONFIG_NOTES = {
    "resourcebinding.karmada.io/name": "dep-cm-0-configmap",
    "resourcebinding.karmada.io/namespace": "shop",
    LISTED: "resourcebinding.karmada.io/name,resourcebinding.karmada.io/namespace,"
    "resourcetemplate.karmada.io/managed-annotations,resourcetemplate.karmada.io/managed-labels,"
    "resourcetemplate.karmada.io/uid,work.karmada.io/conflict-resolution,work.karmada.io/name,"
    "work.karmada.io/namespace",
    LABELS: "karmada.io/managed,resourcebinding.karmada.io/permanent-id,"
    "work.karmada.io/permanent-id",
    "work.karmada.io/conflict-resolution": "abort",
    "work.karmada.io/name": "dep-cm-0-d6ccb4bbd",
}
ROLE_NOTES = {
    "clusterpropagationpolicy.karmada.io/name": "cpp-roles",
    "clusterresourcebinding.karmada.io/name": "reader-1-clusterrole",
    LISTED: "clusterpropagationpolicy.karmada.io/name,clusterresourcebinding.karmada.io/name,"
    "resourcetemplate.karmada.io/managed-annotations,resourcetemplate.karmada.io/managed-labels,"
    "resourcetemplate.karmada.io/uid,work.karmada.io/conflict-resolution,work.karmada.io/name,"
    "work.karmada.io/namespace",
    LABELS: "app,clusterpropagationpolicy.karmada.io/permanent-id,"
    "clusterresourcebinding.karmada.io/permanent-id,karmada.io/managed,"
    "work.karmada.io/permanent-id",
    "work.karmada.io/conflict-resolution": "abort",
    "work.karmada.io/name": "reader-1-7495f77f99",
}
NAMESPACE_NOTES = {
    LISTED: "resourcetemplate.karmada.io/managed-annotations,"
    "resourcetemplate.karmada.io/managed-labels,resourcetemplate.karmada.io/uid,"
    "work.karmada.io/name,work.karmada.io/namespace",
    LABELS: "karmada.io/managed,kubernetes.io/metadata.name,team,work.karmada.io/permanent-id",
    "work.karmada.io/name": "shop-55c4c4674c",
}
WORK_IDS = {
    ("dep-web-0", "member1"): "f7031a2c-a7b7-41f2-a929-57f928817d87",
    ("dep-web-0", "member2"): "4991f5d2-45e5-4f9c-8b2e-487275bd9d75",
    ("dep-cm-0", "member1"): "1884f6e9-e780-4acc-8f07-fd1a6d70d371",
    ("dep-cm-0", "member2"): "cd0fab54-f32c-40df-8560-ec7a6c9be1b2",
    ("reader-1", "member1"): "b5bf9ff1-4db4-4b69-aee0-6d8b37462b57",
    ("shop", "member1"): "56e58f46-c809-4b4c-8e16-eba49ee41647",
    ("shop", "member2"): "928b515d-f909-4288-8689-17d692fcb284",
}


def recorded_bindings() -> list[Body]:
    """Return bindings: of a policy, of a ClusterPropagationPolicy, and of what another needs."""
    config = _binding("dep-cm-0", "ConfigMap", {}, {"resourcebinding.karmada.io/permanent-id": CM})
    needed = {"clusters": _targets(2), "name": "dep-web-0-deployment", "namespace": "shop"}
    return [
        _binding(
            "dep-web-0",
            "Deployment",
            {name: WEB_NOTES[name] for name in POLICY_NOTES},
            {name: value for name, value in COMMON.items() if name.endswith("permanent-id")},
            clusters=_targets(2),
            replicas=4,
            propagateDeps=True,
            placement=PLACEMENT,
        ),
        {**config, "spec": {**_spec_of(config), "requiredBy": [needed]}},
        _binding(
            "reader-1",
            "ClusterRole",
            {"clusterpropagationpolicy.karmada.io/name": "cpp-roles"},
            ROLE_IDS,
            clusters=[{"name": "member1"}],
            placement={"clusterAffinity": {"clusterNames": ["member1"]}},
        ),
    ]


POLICY_NOTES = ("propagationpolicy.karmada.io/name", "propagationpolicy.karmada.io/namespace")
CM = "da6bc26c-132a-458d-b750-545c03208834"
ROLE_IDS = {
    "clusterpropagationpolicy.karmada.io/permanent-id": "5d24a839-afd1-47b2-8832-d81c2da1ccc9",
    "clusterresourcebinding.karmada.io/permanent-id": "a3db8d9e-b95c-4db5-ae98-abf91a7d026c",
}
PLACEMENT = {
    "clusterAffinity": {"clusterNames": ["member1", "member2"]},
    "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
}
API = {
    "Deployment": "apps/v1",
    "ConfigMap": "v1",
    "ClusterRole": "rbac.authorization.k8s.io/v1",
    "Namespace": "v1",
}


def recorded_works() -> list[Body]:
    """Return the Works, as kubectl prints them, with the metadata alone of what they carry."""
    return [
        *(_work("dep-web-0", "Deployment", one, WEB_NOTES, COMMON) for one in BOTH),
        *(_work("dep-cm-0", "ConfigMap", one, CONFIG_NOTES, CONFIG_LABELS) for one in BOTH),
        _work(
            "reader-1",
            "ClusterRole",
            "member1",
            ROLE_NOTES,
            {"app": "reader", "karmada.io/managed": "true", **ROLE_IDS},
        ),
        *(_work("shop", "Namespace", one, NAMESPACE_NOTES, NAMESPACE_LABELS) for one in BOTH),
    ]


BOTH = ("member1", "member2")
CONFIG_LABELS = {"karmada.io/managed": "true", "resourcebinding.karmada.io/permanent-id": CM}
NAMESPACE_LABELS = {
    "karmada.io/managed": "true",
    "kubernetes.io/metadata.name": "shop",
    "team": "shop",
}
NAMES_BINDING = ("resourcebinding.karmada.io/", "clusterresourcebinding.karmada.io/")
"""What a Work has of a manifest's marks: those of its binding, and how conflicts end."""
ON_WORKS = (*NAMES_BINDING, "work.karmada.io/conflict-resolution")


def _work(
    name: str, kind: str, cluster: str, notes: Mapping[str, str], labels: Mapping[str, str]
) -> Body:
    space, own = f"karmada-es-{cluster}", {"work.karmada.io/permanent-id": WORK_IDS[name, cluster]}
    uid = {"resourcetemplate.karmada.io/uid": UIDS[name]}
    scope = {"namespace": "shop"} if kind in ("Deployment", "ConfigMap") else {}
    manifest = {
        "annotations": {**notes, **uid, "work.karmada.io/namespace": space},
        "labels": {**labels, **own},
        "name": name,
        **scope,
    }
    told = {k: v for k, v in notes.items() if k.startswith(ON_WORKS)}
    metadata: dict[str, object] = {
        "creationTimestamp": THEN,
        "finalizers": ["karmada.io/execution-controller"],
        "generation": 1,
        "labels": {**{k: v for k, v in labels.items() if k.startswith(NAMES_BINDING)}, **own},
        "name": notes["work.karmada.io/name"],
        "namespace": space,
        "resourceVersion": "1312",
        "uid": "3aadb887-01cc-43be-9da0-aebc4f0857c9",
    }
    if told:
        metadata["annotations"] = told
    if kind == "Namespace":
        owner = {"apiVersion": "v1", "kind": kind, "name": name, "uid": UIDS[name]}
        metadata["ownerReferences"] = [owner | {"controller": True, "blockOwnerDeletion": True}]
    carried = {"apiVersion": API[kind], "kind": kind, "metadata": manifest}
    return {
        "apiVersion": "work.karmada.io/v1alpha1",
        "kind": "Work",
        "metadata": metadata,
        "spec": {"workload": {"manifests": [carried]}},
    }


def _binding(
    name: str,
    kind: str,
    annotations: Mapping[str, str],
    labels: Mapping[str, str],
    **spec: object,
) -> dict[str, object]:
    scope = {} if kind == "ClusterRole" else {"namespace": "shop"}
    resource = {"apiVersion": API[kind], "kind": kind, "name": name, "uid": UIDS[name], **scope}
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ClusterResourceBinding" if kind == "ClusterRole" else "ResourceBinding",
        "metadata": {
            "annotations": dict(annotations),
            "creationTimestamp": THEN,
            "finalizers": ["karmada.io/binding-controller"],
            "generation": 2,
            "labels": dict(labels),
            "name": f"{name}-{kind.lower()}",
            "resourceVersion": "9148",
            "uid": "1a95a4d6-0679-46a0-b8cd-2deaad150404",
            **scope,
        },
        "spec": {"conflictResolution": "Abort", "resource": resource, **spec},
    }


def _targets(count: int) -> list[Body]:
    return [{"name": f"member{number}", "replicas": 4} for number in range(1, count + 1)]


def _spec_of(binding: Mapping[str, object]) -> Body:
    spec = binding["spec"]
    assert isinstance(spec, Mapping)
    return spec

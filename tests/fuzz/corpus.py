"""The repositories that are mutated: fixtures, example, documentation, each with bystanders.

Bystanders refer to nothing but one another: whatever happens to any other object, their outputs
stay as they are, byte for byte.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from reconciler.manifests.text.reader import read
from tests.builders import Body, cluster, deployment, metadata, policy, text

ROOT = Path(__file__).parent.parent.parent
FENCE = re.compile(r"^ *```yaml\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
APART = "bystander"
HUB = "cluster.open-cluster-management.io"
FLEETS = "kubernetes-fleet.io"
STORAGE = "storage.k8s.io"
SET_LABEL = f"{HUB}/clusterset"


@dataclass(frozen=True, eq=False)
class Repository:
    """Files by path, and which of them are mutated."""

    name: str
    files: Mapping[str, bytes]
    mutated: tuple[str, ...]


BYSTANDERS: tuple[Body, ...] = (
    cluster(APART),
    deployment(APART, namespace=APART),
    policy(APART, namespace=APART, placement={"clusterAffinity": {"clusterNames": [APART]}}),
    {
        "apiVersion": f"{HUB}/v1",
        "kind": "ManagedCluster",
        "metadata": metadata(APART, labels={SET_LABEL: APART}),
        "spec": {"hubAcceptsClient": True},
    },
    {"apiVersion": f"{HUB}/v1beta2", "kind": "ManagedClusterSet", "metadata": metadata(APART)},
    {
        "apiVersion": f"{HUB}/v1beta2",
        "kind": "ManagedClusterSetBinding",
        "metadata": metadata(APART, APART),
        "spec": {"clusterSet": APART},
    },
    {
        "apiVersion": f"{HUB}/v1beta1",
        "kind": "Placement",
        "metadata": metadata(APART, APART),
        "spec": {"clusterSets": [APART]},
    },
    {
        "apiVersion": f"cluster.{FLEETS}/v1beta1",
        "kind": "MemberCluster",
        "metadata": metadata(APART),
        "spec": {"identity": {"kind": "ServiceAccount", "name": APART}},
    },
    {"apiVersion": f"{STORAGE}/v1", "kind": "StorageClass", "metadata": metadata(APART)},
    {
        "apiVersion": f"placement.{FLEETS}/v1beta1",
        "kind": "ClusterResourcePlacement",
        "metadata": metadata(APART),
        "spec": {
            "resourceSelectors": [
                {"group": STORAGE, "version": "v1", "kind": "StorageClass", "name": APART}
            ],
            "policy": {"placementType": "PickFixed", "clusterNames": [APART]},
        },
    },
)
BESIDE: tuple[Body, ...] = (
    cluster("member1"),
    cluster("member2", labels={"env": "prod"}),
    deployment("nginx"),
    policy("beside"),
)
"""What stands beside a manifest of the documentation, so that there is something to be decided."""


@lru_cache(maxsize=1)
def repositories() -> tuple[Repository, ...]:
    """Every repository, in order of their names."""
    found = (*_example(), *_stages(), *_single_files(), *_pages())
    return tuple(sorted(found, key=lambda one: one.name))


def with_bystanders(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """A repository with the bystanders in it."""
    return {**files, "bystanders.yaml": text(*BYSTANDERS).encode()}


def _example() -> Iterator[Repository]:
    files = _files(ROOT / "example-repo")
    yield Repository("example-repo", with_bystanders(files), tuple(files))


def _stages() -> Iterator[Repository]:
    """Each stage of each golden case, outputs of earlier passes included."""
    for folder in sorted((ROOT / "fixtures").rglob("before")):
        files = _files(folder)
        name = folder.parent.relative_to(ROOT).as_posix()
        yield Repository(name, with_bystanders(files), tuple(files))


def _single_files() -> Iterator[Repository]:
    """Each example of a manifest."""
    for path in sorted((ROOT / "fixtures" / "examples").glob("*.yaml")):
        yield _beside(f"fixtures/examples/{path.name}", path.read_bytes())


def _pages() -> Iterator[Repository]:
    """Each YAML of the documentation that holds a manifest."""
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for number, found in enumerate(FENCE.findall(path.read_text(encoding="utf-8"))):
            if "apiVersion" in found:
                name = f"{path.relative_to(ROOT).as_posix()}:{number}"
                yield _beside(name, found.encode())


def _beside(name: str, data: bytes) -> Repository:
    """A repository of one manifest beside others; a configuration stands where it must."""
    bodies = [document.body for document in read(data, "x.yaml").documents]
    kinds = {body.get("kind") for body in bodies}
    path = "reconciler.yaml" if "ReconcilerConfiguration" in kinds else "mutated.yaml"
    files = {"beside.yaml": text(*BESIDE).encode(), path: data}
    return Repository(name, with_bystanders(files), (path,))


def _files(folder: Path) -> dict[str, bytes]:
    """The manifests below a folder."""
    paths = (path for path in sorted(folder.rglob("*")) if path.suffix in (".yaml", ".json"))
    relative = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    return {path: data for path, data in relative.items() if not path.startswith(".")}

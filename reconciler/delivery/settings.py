"""What the repository configures about delivery: by which transports, and where to."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from reconciler.model.fields import flag_or_none, mapping, mapping_or_none, text
from reconciler.model.identity import ClusterName
from reconciler.model.settings import Settings

SECTION = "delivery"
CLUSTER = "{cluster}"
DEFAULT_PATHS: Mapping[str, str] = {
    "folders": "delivery/{cluster}",
    "decisions": "decisions",
    "manifestworks": "manifestworks/{cluster}",
    "works": "works/{cluster}",
}
"""The transports, and the path of each where none is configured."""


@dataclass(frozen=True, slots=True, order=True)
class Destination:
    """Where a transport puts its files.

    Attributes:
        transport: Its name.
        path: With `{cluster}` where each cluster has a folder.
        branch: Another branch than the one that is served, `""` for that one.
    """

    transport: str
    path: str
    branch: str = ""

    @property
    def place(self) -> str:
        """The path; on another branch as git writes it, `BRANCH:PATH`."""
        return f"{self.branch}:{self.path}" if self.branch else self.path

    @property
    def root(self) -> str:
        """The folder above all of its files, which are ours alone."""
        return self.place.partition(CLUSTER)[0].rstrip("/")

    def folder(self, cluster: ClusterName) -> str:
        """Return the folder of a cluster."""
        return self.place.replace(CLUSTER, cluster)

    def holds(self, path: str) -> bool:
        """Return whether a file stands below the root."""
        return path.startswith(f"{self.root}/")

    def cluster_of(self, path: str) -> ClusterName:
        """Return the cluster whose folder a file stands in, `""` if in none.

        >>> Destination("folders", "fleet/{cluster}/apps").cluster_of("fleet/a/apps/x.yaml")
        'a'
        """
        return next(self.clusters_of([path]))

    def clusters_of(self, paths: Iterable[str]) -> Iterator[ClusterName]:
        """Yield for each file the cluster whose folder it stands in, `""` if in none."""
        head, marker, tail = self.place.partition(CLUSTER)
        for path in paths:
            name, _, rest = path.removeprefix(head).partition("/")
            within = marker and path.startswith(head) and f"/{rest}".startswith(f"{tail}/")
            yield ClusterName(name if within else "")


class Folder(NamedTuple):
    """The folder of a cluster at a destination; the cluster is `""` for what is of none."""

    destination: Destination
    cluster: ClusterName

    @property
    def path(self) -> str:
        """Where it is."""
        return self.destination.folder(self.cluster)


def by_folder(
    paths: Collection[str], destinations: Iterable[Destination]
) -> defaultdict[Folder, set[str]]:
    """Return files by the folder of a cluster that they stand in."""
    found: defaultdict[Folder, set[str]] = defaultdict(set)
    for one in destinations:
        root, by_cluster = f"{one.root}/", defaultdict[ClusterName, set[str]](set)
        held = [path for path in paths if path.startswith(root)]
        for path, cluster in zip(held, one.clusters_of(held), strict=True):
            by_cluster[cluster].add(path)
        found.update((Folder(one, cluster), files) for cluster, files in by_cluster.items())
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverySettings:
    """How decisions are delivered; nothing is by default.

    Attributes:
        destinations: The transports in use, sorted.
        kustomization: Whether each folder of a cluster has a kustomization.yaml.
        encrypted_secrets: Whether Secrets that SOPS encrypted are delivered; plain ones never are.
    """

    destinations: tuple[Destination, ...] = ()
    kustomization: bool = True
    encrypted_secrets: bool = False

    @property
    def branches(self) -> tuple[str, ...]:
        """The other branches that are delivered to, sorted."""
        return tuple(sorted({one.branch for one in self.destinations if one.branch}))

    def on(self, branch: str) -> "DeliverySettings":
        """Return what is delivered on one branch, `""` for the one that is served."""
        found = tuple(one for one in self.destinations if one.branch == branch)
        return replace(self, destinations=found)


def decode_delivery(settings: Settings) -> DeliverySettings:
    """Return what a validated configuration says of delivery."""
    body = settings.options.get(SECTION, {})
    found = {name: mapping_or_none(body, name) for name in DEFAULT_PATHS}
    return DeliverySettings(
        destinations=tuple(
            sorted(
                Destination(
                    name, text(one, "path").rstrip("/") or DEFAULT_PATHS[name], text(one, "branch")
                )
                for name, one in found.items()
                if one is not None
            )
        ),
        kustomization=flag_or_none(mapping(body, "folders"), "kustomization") is not False,
        encrypted_secrets=text(body, "secrets") == "encrypted",
    )

"""What the repository configures about delivery, by which transports and where to, and its record.

Delivery goes only to folders of its own, beside everything else. `delivery.yaml` of the outputs
records by what is delivered, where to, and what outlives its decision. Decisions whose objects are
to outlive them are named while they stand, since nothing tells of that once they are gone; files
that stay for that are named until they may go.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from reconciler.manifests.paths import DELIVERY
from reconciler.manifests.secrets import has_values, is_encrypted, is_secret
from reconciler.model.body import Body
from reconciler.model.fields import bodies, flag_or_none, mapping, mapping_or_none, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import dataclass, replace
from reconciler.model.settings import CONFIGURATION_PATH, Settings, settings_in
from reconciler.model.world import Fault, Manifest, World, is_at_or_below

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
    folders: defaultdict[Folder, set[str]] = defaultdict(set)
    for destination in destinations:
        root, by_cluster = f"{destination.root}/", defaultdict[ClusterName, set[str]](set)
        held = [path for path in paths if path.startswith(root)]
        for path, cluster in zip(held, destination.clusters_of(held), strict=True):
            by_cluster[cluster].add(path)
        folders.update(
            (Folder(destination, cluster), files) for cluster, files in by_cluster.items()
        )
    return folders


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
        destinations = tuple(one for one in self.destinations if one.branch == branch)
        return replace(self, destinations=destinations)

    def refusal_of_secret(self, source: ObjectKey, manifest: Body) -> str:
        """Return why a Secret is not delivered, `""` if it is, and for anything else."""
        if not is_secret(manifest) or not has_values(manifest):
            return ""
        if not is_encrypted(manifest):
            return f"{source} is a Secret in the clear, which is not delivered"
        if not self.encrypted_secrets:
            return (
                f"{source} is a Secret, which is only delivered encrypted and where the "
                "configuration says `delivery.secrets: encrypted`"
            )
        return ""


def decode_delivery(settings: Settings) -> DeliverySettings:
    """Return what a validated configuration says of delivery."""
    body = settings.options.get(SECTION, {})
    sections = {name: mapping_or_none(body, name) for name in DEFAULT_PATHS}
    return DeliverySettings(
        destinations=tuple(
            sorted(
                Destination(
                    name, text(one, "path").rstrip("/") or DEFAULT_PATHS[name], text(one, "branch")
                )
                for name, one in sections.items()
                if one is not None
            )
        ),
        kustomization=flag_or_none(mapping(body, "folders"), "kustomization") is not False,
        encrypted_secrets=text(body, "secrets") == "encrypted",
    )


MISPLACED = "delivery-path"


def roots_of(destinations: Iterable[Destination]) -> tuple[str, ...]:
    """Return the folders that are delivery's own, sorted."""
    return tuple(sorted({destination.root for destination in destinations}))


def folders_of_passes(world: World) -> tuple[str, ...]:
    """Return the folders of the branch of outputs that nothing but passes writes to."""
    destinations = decode_delivery(settings_in(world)).destinations
    return (world.output_root, *(one.root for one in destinations if one.root and not one.branch))


def misplaced(destinations: Sequence[Destination], ours: str) -> Fault | None:
    """Return what is wrong with the paths of delivery, `None` if nothing is.

    Each needs a folder that neither holds another one's nor stands in it, nor in `ours`, where
    passes write on that branch.
    """
    taken = [("the output root", ours)]
    for destination in destinations:
        path = f"`{destination.path}`"
        wrong = "" if destination.root else f"{path} must begin with a folder of its own"
        for name, root in taken:
            if destination.root and (
                is_at_or_below(root, destination.root) or is_at_or_below(destination.root, root)
            ):
                wrong = f"{path} and {name} ({root}) must not stand in one another"
        if wrong:
            return Fault.of_file(
                CONFIGURATION_PATH,
                field=f"/spec/{SECTION}/{destination.transport}/path",
                rule=MISPLACED,
                message=wrong,
                expected="a folder that nothing else uses, such as delivery/{cluster}",
            )
        taken.append((f"the path of {destination.transport}", destination.root))
    return None


IDENTITY = ("group", "kind", "namespace", "name")


class OutlivingFile(NamedTuple):
    """A file that stays though no decision wants it, with the object that a cluster reports."""

    path: str
    source: ObjectKey


class Outliving(NamedTuple):
    """The decisions whose files stay once they are gone, and the files that stay by now, sorted."""

    owners: tuple[ObjectKey, ...] = ()
    files: tuple[OutlivingFile, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.owners or self.files)


NOTHING_OUTLIVES = Outliving()


def recorded(outputs: Mapping[ObjectKey, Manifest]) -> tuple[Destination, ...]:
    """Return where earlier passes delivered to, sorted."""
    output = outputs.get(DELIVERY)
    if output is None:
        return ()
    return destinations_in(output.body)


def destinations_in(record: Body) -> tuple[Destination, ...]:
    """Return where a record says that is delivered to, sorted."""
    written = bodies(mapping(record, "status"), "destinations")
    return tuple(sorted(Destination(text(one, "transport"), text(one, "path")) for one in written))


def outliving_in(record: Body | None) -> Outliving:
    """Return what a record says of what outlives decisions."""
    section = mapping(mapping(record or {}, "status"), "outliving")
    return Outliving(
        tuple(sorted(_key(entry) for entry in bodies(section, "owners"))),
        tuple(
            sorted(
                OutlivingFile(text(one, "path"), _key(one)._replace(reporter=text(one, "cluster")))
                for one in bodies(section, "files")
            )
        ),
    )


def delivery_body(
    destinations: Iterable[Destination], outliving: Outliving = NOTHING_OUTLIVES
) -> Body:
    """Return the record of where is delivered to, and of what outlives decisions."""
    status: dict[str, object] = {
        "destinations": [
            {"transport": one.transport, "path": one.path} for one in sorted(destinations)
        ]
    }
    if outliving:
        status["outliving"] = {
            "owners": [_named(key) for key in outliving.owners],
            "files": [
                {"path": file.path, "cluster": file.source.reporter, **_named(file.source)}
                for file in outliving.files
            ],
        }
    return {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": DELIVERY.kind,
        "metadata": {"name": DELIVERY.name},
        "status": status,
    }


def _named(key: ObjectKey) -> Body:
    return {name: getattr(key, name) for name in IDENTITY if getattr(key, name)}


def _key(body: Body) -> ObjectKey:
    return ObjectKey(*(text(body, name) for name in IDENTITY))

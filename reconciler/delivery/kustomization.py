"""The kustomization.yaml of a cluster's folder, which names all manifests in it.

Flux and kustomize read it. It stays where a cluster has nothing, or else nothing would be applied,
and so nothing pruned.
"""

from collections.abc import Callable, Collection, Iterable

from reconciler.delivery.memory import DeliveryMemory
from reconciler.delivery.settings import DeliverySettings, Destination, Folder, by_folder
from reconciler.delivery.transports.profile import TRANSPORTS
from reconciler.manifests.text.emitter import encode
from reconciler.model.identity import ClusterName

FILE = "kustomization.yaml"


def built_as_one(settings: DeliverySettings) -> tuple[Destination, ...]:
    """Return the destinations whose folders a tool builds as one, by whatever kustomization."""
    return tuple(one for one in settings.destinations if TRANSPORTS[one.transport].kustomized)


def kustomized(settings: DeliverySettings) -> tuple[Destination, ...]:
    """Return the destinations whose folders have a kustomization.yaml."""
    return built_as_one(settings) if settings.kustomization else ()


def kustomization_path(folder: Folder) -> str:
    """Return where the kustomization.yaml of a folder stands."""
    return f"{folder.path}/{FILE}"


def kustomized_folder(path: str, settings: DeliverySettings) -> Folder | None:
    """Return the folder whose kustomization.yaml a file is, `None` if it is none."""
    if path.endswith(f"/{FILE}"):
        for destination in kustomized(settings):
            folder = Folder(destination, destination.cluster_of(path))
            if path == kustomization_path(folder):
                return folder
    return None


def kustomize(
    memory: DeliveryMemory,
    settings: DeliverySettings,
    fleet: Collection[ClusterName],
    written: dict[str, str],
    gone: set[str],
    waiting: Collection[Destination],
    blob: Callable[[str], str],
) -> None:
    """Add the kustomization.yaml of each cluster of the fleet, or that still has files.

    Args:
        memory: Which files there are, and of which folders something changed.
        settings: Where is delivered to.
        fleet: All clusters.
        written: The files that are written, path to text; added to.
        gone: The files that go; added to.
        waiting: Where nothing is delivered yet.
        blob: Returns the git id of a text.
    """
    destinations = kustomized(settings)
    came, left = by_folder(written, destinations), by_folder(gone, destinations)
    own = {Folder(one, name) for one in destinations for name in fleet}
    new = {one for one in own if kustomization_path(one) not in memory.kustomizations}
    memory.stirred |= new | came.keys() | left.keys()
    memory.stirred = {one for one in memory.stirred if one.destination in destinations}
    for folder in sorted(memory.stirred):
        files = (memory.folders.get(folder, set()) | came[folder]) - left[folder]
        path = kustomization_path(folder)
        if folder.destination in waiting or not folder.cluster:
            continue
        if files or folder in own:
            text = kustomization_text(folder, files)
            if memory.present.get(path) == blob(text):
                memory.stirred.discard(folder)
            else:
                written[path] = text
        elif path in memory.kustomizations:
            gone.add(path)
    for path in memory.kustomizations - gone:
        known = kustomized_folder(path, settings)
        if known is not None and known not in own and not memory.folders.get(known):
            gone.add(path)


def kustomization_text(folder: Folder, paths: Iterable[str]) -> str:
    """Return the kustomization.yaml of a folder for its manifests.

    It has a name of its own, since kustomize refuses one that says nothing at all.
    """
    return encode(
        {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "metadata": {"name": folder.cluster},
            "resources": sorted(path.removeprefix(f"{folder.path}/") for path in paths),
        }
    )

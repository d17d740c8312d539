"""The kustomization.yaml of a cluster's folder, which names all manifests in it.

Flux and kustomize read it. It stays where a cluster has nothing, or else nothing would be applied,
and so nothing pruned.
"""

from collections.abc import Callable, Collection, Iterable

from reconciler.delivery.memory import DeliveryMemory
from reconciler.delivery.settings import DeliverySettings, Destination, Folder, by_folder
from reconciler.delivery.transports import TRANSPORTS
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


def is_kustomization(path: str) -> bool:
    """Return whether a file is named as kustomize has it."""
    return path.endswith(f"/{FILE}")


def kustomized_folder(path: str, settings: DeliverySettings) -> Folder | None:
    """Return the folder whose kustomization.yaml a file is, `None` if it is none."""
    if is_kustomization(path):
        for destination in kustomized(settings):
            folder = Folder(destination, destination.cluster_of(path))
            if path == kustomization_path(folder):
                return folder
    return None


def kustomize(
    memory: DeliveryMemory,
    settings: DeliverySettings,
    fleet: frozenset[ClusterName],
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
    own = _own_folders(memory, destinations, fleet)
    memory.stirred |= came.keys() | left.keys()
    for folder in sorted(memory.stirred):
        files = (memory.folders.get(folder, set()) | came[folder]) - left[folder]
        path = kustomization_path(folder)
        if folder.destination not in destinations:
            memory.stirred.discard(folder)
        elif folder.destination in waiting or not folder.cluster:
            continue
        elif files or folder in own:
            text = kustomization_text(folder, files)
            if memory.present.get(path) == blob(text):
                memory.stirred.discard(folder)
            else:
                written[path] = text
        elif path in memory.kustomizations:
            gone.add(path)
        else:
            memory.stirred.discard(folder)


def _own_folders(
    memory: DeliveryMemory, destinations: Collection[Destination], fleet: frozenset[ClusterName]
) -> frozenset[Folder]:
    """Return the folders of the clusters that there are; those that came or went are stirred."""
    if memory.kustomized_for != (destinations, fleet):
        own = frozenset(Folder(one, name) for one in destinations for name in fleet)
        lacking = {one for one in own if kustomization_path(one) not in memory.kustomizations}
        memory.stirred |= lacking | (memory.kustomized - own)
        memory.kustomized_for, memory.kustomized = (destinations, fleet), own
    return memory.kustomized


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

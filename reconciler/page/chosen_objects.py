"""Which objects a list shows: by namespace, labels, name and cluster, as `get` chooses them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from reconciler.audit.fleet.decided_objects import DecidedObjects
from reconciler.manifests.label_selector import parse_selector
from reconciler.model.decision import Placed
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import labels_of, selecting
from reconciler.model.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectChoice:
    """What a person asks to see: only what matches all of it; `""` of each is all."""

    namespace: str = ""
    selector: str = ""
    name: str = ""
    cluster: str = ""

    @property
    def words(self) -> dict[str, str]:
        """The parts of an address that say it."""
        return {
            "namespace": self.namespace,
            "selector": self.selector,
            "name": self.name,
            "cluster": self.cluster,
        }


def called(key: ObjectKey) -> str:
    """Return an object as people call it."""
    return f"{key.kind.lower()}/{key.name}"


def namespaces_of(keys: Iterable[ObjectKey]) -> list[str]:
    """Return the namespaces that can be chosen, sorted."""
    return sorted({key.namespace for key in keys if key.namespace})


def chosen(
    world: World,
    placements: Mapping[ObjectKey, Placed],
    choice: ObjectChoice,
    among: Collection[ObjectKey] | None = None,
    *,
    decided: DecidedObjects | None = None,
) -> list[ObjectKey]:
    """Return the objects that are asked for, in the order of their keys.

    Args:
        world: That has them.
        placements: Where everything is in it.
        choice: What is asked for.
        among: Only these, in their order; `None` for all.
        decided: What decisions in the world are about, where somebody has read it before.

    Raises:
        UsageError: The selector is none.
    """
    is_wanted = selecting(parse_selector(choice.selector)) if choice.selector.strip() else None
    about = (decided or DecidedObjects(world)).of
    found = []
    for key in placements if among is None else among:
        if key not in placements or choice.namespace not in ("", key.namespace):
            continue
        if choice.cluster and all(choice.cluster != name for name, _ in placements[key]):
            continue
        if choice.name and choice.name not in called(about(key).person):
            continue
        if is_wanted is not None:
            person = world.inputs.get(about(key).person)
            if person is None or not is_wanted(labels_of(person.body)):
                continue
        found.append(key)
    return found

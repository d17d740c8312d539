"""What `reconciler publish` does: bring what passes published onto a hub, and what is gone off it.

The status of a ClusterProfile is a subresource, which no tool applies that applies files: it is
written here, by server-side apply with a field manager of its own. What we publish and a hub has
differently is applied, profiles before the slices that name them; what is ours and not published
any more is deleted, slices before profiles. What others wrote there is never touched: a conflict
over a field is told, and theirs stays.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import click

from reconciler.cli.options import here
from reconciler.cli.world import load_world
from reconciler.core.record import last_pass
from reconciler.errors import ShellError, UsageError
from reconciler.manifests.paths import folder_of
from reconciler.model.body import Body
from reconciler.model.fields import at, mapping, mappings_of, text
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, field, replace
from reconciler.model.settings import CONFIGURATION_PATH, settings_in
from reconciler.model.text import printable
from reconciler.model.world import World
from reconciler.multicluster.cluster_profile import (
    CLUSTER_PROFILE,
    decode_inventory,
    is_profile_of,
)
from reconciler.multicluster.placement_decision import (
    PLACEMENT_DECISION,
    decode_publishing,
    is_slice_of,
)
from reconciler.shell.processes.kubectl import Kubectl

MANAGER = "reconciler-publish"
"""Who owns the fields that are applied."""
STATUS = "status"
BATCH = 200  # objects that one kubectl applies


@dataclass(slots=True)
class HubChanges:
    """What a hub lacks of what is published, and has too much.

    Attributes:
        applied: Objects whose fields differ, without their status.
        status: Profiles whose status differs.
        deleted: What is ours there and not published any more.
    """

    applied: dict[ObjectKey, Body] = field(default_factory=dict)
    status: dict[ObjectKey, Body] = field(default_factory=dict)
    deleted: list[ObjectKey] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield what is done, a line each, in the order in which it is done."""
        yield from (f"{_named(key)} applied" for key in self.applied)
        yield from (f"{_named(key)} status applied" for key in self.status)
        yield from (f"{_named(key)} deleted" for key in self.deleted)


def run(
    directory: Path,
    /,
    *,
    context: str,
    kubeconfig: Path | None,
    timeout_seconds: float,
    at: str,
    dry_run: bool,
    layout: RepositoryLayout,
) -> int:
    """Compare what is published with what a hub has, and apply the difference.

    Raises:
        UsageError: Nothing is published here, or no pass has run yet: all on the hub would go.
    """
    world = load_world(directory, at, layout)
    if last_pass(world.outputs) is None:
        raise UsageError(
            f"no pass has run at {at}, so everything on the hub would be deleted; name the branch "
            "with the outputs (--at, --output-branch, --output-root)"
        )
    hub = Kubectl(
        context=context,
        kubeconfig=None if kubeconfig is None else here() / kubeconfig,
        timeout_seconds=timeout_seconds,
    )
    places = published_places(world)
    changes = changes_on(
        world, {kind: _live(replace(hub, namespace=place), kind) for kind, place in places.items()}
    )
    for line in changes.lines():
        click.echo(printable(line))
    if not (changes.applied or changes.status or changes.deleted):
        click.echo("nothing to do")
    return 0 if dry_run else _bring(hub, changes)


def published_places(world: World) -> Mapping[Kind, str]:
    """Return the kinds that a repository publishes, each with its namespace.

    Raises:
        UsageError: It publishes none.
    """
    settings = settings_in(world)
    published = {
        CLUSTER_PROFILE: decode_inventory(settings),
        PLACEMENT_DECISION: decode_publishing(settings, ()),
    }
    places = {kind: one.namespace for kind, one in published.items() if one is not None}
    if not places:
        raise UsageError(
            "nothing is published here; set `inventory.publish` or `decisions.publish` below "
            f"`spec` in {CONFIGURATION_PATH}"
        )
    return places


def changes_on(world: World, live: Mapping[Kind, Sequence[Body]]) -> HubChanges:
    """Return what a hub lacks and has too much.

    Args:
        world: With what the last pass published.
        live: By kind what the hub has.
    """
    changes = HubChanges()
    gone: list[ObjectKey] = []
    for kind, objects in live.items():
        there = {_key(kind, one): one for one in objects}
        wanted = {one.key: one.body for one in world.outputs_of_kind(kind)}
        for key, body in wanted.items():
            bare = {name: value for name, value in body.items() if name != STATUS}
            present = there.get(key, {})
            if not _holds(present, bare):
                changes.applied[key] = bare
            status = mapping(body, STATUS)
            if any(mapping(present, STATUS).get(name) != one for name, one in status.items()):
                changes.status[key] = {**_head(body), STATUS: status}
        ours = _ours(world, kind)
        gone = [key for key, one in sorted(there.items()) if key not in wanted and ours(one)] + gone
    changes.deleted = gone
    return changes


def _ours(world: World, kind: Kind) -> Callable[[Body], bool]:
    """Return what says whether an object of a hub is one that we published."""
    settings = settings_in(world)
    inventory, decisions = decode_inventory(settings), decode_publishing(settings, ())

    def is_ours(body: Body) -> bool:
        if kind == CLUSTER_PROFILE:
            return inventory is not None and is_profile_of(body, inventory)
        return decisions is not None and is_slice_of(body, decisions)

    return is_ours


def _holds(present: object, wanted: object) -> bool:
    """Return whether a value has all that is wanted of it; others may have added to mappings."""
    if isinstance(wanted, Mapping):
        return isinstance(present, Mapping) and all(
            name in present and _holds(present[name], value) for name, value in wanted.items()
        )
    return present == wanted


def _live(hub: Kubectl, kind: Kind) -> Sequence[Body]:
    return mappings_of(json.loads(hub.get(folder_of(*kind))).get("items"))


def _key(kind: Kind, body: Body) -> ObjectKey:
    metadata = at(body, "metadata")
    return ObjectKey(*kind, text(metadata, "namespace"), text(metadata, "name"))


def _head(body: Body) -> dict[str, object]:
    metadata = mapping(body, "metadata")
    named = {name: metadata[name] for name in ("name", "namespace")}
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": named}


def _named(key: ObjectKey) -> str:
    return f"{folder_of(*key[:2])}/{key.namespace}/{key.name}"


def _bring(hub: Kubectl, changes: HubChanges) -> int:
    """Apply and delete; what fails is told, and the rest is done all the same."""
    profiles = {key: one for key, one in changes.applied.items() if key[:2] == CLUSTER_PROFILE}
    slices = {key: one for key, one in changes.applied.items() if key not in profiles}
    steps = ((profiles, ""), (changes.status, STATUS), (slices, ""))
    work = [
        partial(hub.apply, batch, MANAGER, subresource=subresource)
        for bodies, subresource in steps
        for batch in _batches(list(bodies.values()))
    ]
    work += [
        partial(hub.delete, folder_of(*key[:2]), key.namespace, key.name) for key in changes.deleted
    ]
    return 1 if sum(map(_fails, work)) else 0


def _batches(bodies: Sequence[Body]) -> Iterator[bytes]:
    """Yield Lists in JSON."""
    for start in range(0, len(bodies), BATCH):
        items = bodies[start : start + BATCH]
        listed = {"apiVersion": "v1", "kind": "List", "items": items}
        yield json.dumps(listed, default=dict).encode()


def _fails(work: Callable[[], None]) -> bool:
    try:
        work()
    except ShellError as error:
        click.echo(printable(f"reconciler: {error}"), err=True)
        return True
    return False

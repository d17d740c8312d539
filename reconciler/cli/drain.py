"""The words of `drain` as edits of clusters and new evictions, and what is left on clusters."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import click

from reconciler.audit.json_shapes import Moment, ObjectJson, object_json
from reconciler.audit.named_object import spelled
from reconciler.audit.previews.edits import cluster_views
from reconciler.cli.cordon import clusters_asked
from reconciler.cli.edits import Edit, EditOptions, NewObject, ObjectEdit, edit_objects
from reconciler.cli.progress import PASSES, doing
from reconciler.core.inputs.world import faces_of
from reconciler.dialects.view import DRAINS, drained_by
from reconciler.errors import UsageError
from reconciler.manifests.edits.changes import cordon_steps
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.rebalance.rebalancer_files import decode_record
from reconciler.rebalance.target import REBALANCER

if TYPE_CHECKING:
    from reconciler.audit.fleet.left_on_clusters import LeftOnCluster
    from reconciler.core.asked import Passes
    from reconciler.model.world import World


FOLDER = "evictions"
TITLES = ("NAMESPACE", "OBJECT", "REPLICAS", "GOES", "WHY IT IS THERE")
NEVER, NONE = "not by itself", "-"


def run(
    directory: Path,
    *,
    words: Sequence[str],
    selector: str | None,
    make_before_break: bool,
    status: bool,
    to: EditOptions,
) -> int:
    """Write what empties clusters, or print what is left on them; return the exit code."""
    chosen = clusters_asked(words, selector)
    if status:
        return _print_left(directory, chosen, to)
    return (_drain_in_steps if make_before_break else _drain)(directory, chosen, to)


def _drain_in_steps(
    directory: Path, chosen: "Callable[[World], list[ObjectKey]]", to: EditOptions
) -> int:
    """Cordon clusters, and have a rebalancer for each move what is there, made before it breaks."""
    from reconciler.cli.new_manifests import path_of

    views = cluster_views()
    workloads: list[ObjectKey] = []

    def wanted(world: "World") -> list[Edit]:
        edits: list[Edit] = []
        for key in chosen(world):
            clusters = views[key.group, key.kind].clusters
            workloads.append(key)
            edits.append(
                ObjectEdit(
                    key=key,
                    steps=cordon_steps(world.inputs[key].body, clusters.cordon),
                    becomes="cordoned",
                    is_already="is cordoned already",
                )
            )
            name, body = rebalancer_off(ClusterName(key.name))
            is_made = any(edit.key == name for edit in edits)  # for its namesake of another API
            if not is_made and not drained_by(world, key, clusters.draining):
                edits.append(NewObject(key=name, path=path_of(name), body=body))
        return edits

    def subject(_: str) -> str:
        return (
            f"Drain {', '.join(f'{key.kind.lower()}/{key.name}' for key in workloads)} step by step"
        )

    return edit_objects(directory, to, wanted, subject, _refused)


def rebalancer_off(cluster: ClusterName) -> tuple[ObjectKey, Body]:
    """Return the rebalancer that moves everything off a cluster, each made before it breaks."""
    key = ObjectKey(*REBALANCER, "", f"drain-{cluster}")
    body = {
        "apiVersion": f"{key.group}/v1alpha1",
        "kind": key.kind,
        "metadata": {"name": key.name, "annotations": {DRAINS: cluster}},
        "spec": {
            "selector": {"onCluster": cluster},
            "leaving": [cluster],
            "limits": {"makeBeforeBreak": {}},
        },
    }
    return key, body


def _refused(merged: "World", passes: "Passes") -> list[str]:
    """Return what the next pass would leave where it is, and why."""
    from reconciler.core.rounds import next_world

    after = next_world(merged, passes[0][1])
    lines = [
        f"stays on {cluster}: {one.reference.kind} {one.reference.name}, since {one.reason}"
        for output in after.outputs_of_kind(REBALANCER)
        for cluster in _drained_clusters(after, output.key)
        for one in decode_record(output.body).workloads
        if one.reason
    ]
    return ["", *lines] if lines else []


def _drained_clusters(world: "World", rebalancer: ObjectKey) -> list[str]:
    """Return the cluster that a rebalancer drains, none if it drains none."""
    manifest = world.inputs.get(rebalancer)
    notes = {} if manifest is None else mapping(mapping(manifest.body, "metadata"), "annotations")
    return [text(notes, DRAINS)] if text(notes, DRAINS) else []


def _drain(directory: Path, chosen: "Callable[[World], list[ObjectKey]]", to: EditOptions) -> int:
    views = cluster_views()
    workloads: list[ObjectKey] = []

    def wanted(world: "World") -> list[Edit]:
        edits: list[Edit] = []
        for key in chosen(world):
            draining = views[key.group, key.kind].clusters.draining
            workloads.append(key)
            edits.append(
                ObjectEdit(
                    key=key,
                    steps=cordon_steps(world.inputs[key].body, draining.taint),
                    becomes="drained",
                    is_already="is drained already",
                )
            )
            for face in faces_of(world, key):
                asked = views[face.group, face.kind].clusters.draining.requests(
                    world, ClusterName(key.name)
                )
                edits += (
                    NewObject(key=name, path=f"{FOLDER}/{name.name}.yaml", body=body)
                    for name, body in asked
                )
        return edits

    def subject(_: str) -> str:
        return f"Drain {', '.join(f'{key.kind.lower()}/{key.name}' for key in workloads)}"

    def told(merged: "World", passes: "Passes") -> list[str]:
        return [line for one in _left(merged, workloads, passes) for line in _shortcomings(one)]

    return edit_objects(directory, to, wanted, subject, told)


def _print_left(
    directory: Path, chosen: "Callable[[World], list[ObjectKey]]", asked: EditOptions
) -> int:
    """Print what is left on clusters; return 0 if that is nothing."""
    from reconciler.cli.printing import print_json
    from reconciler.cli.world import load_world

    writes = asked.dry_run or asked.no_plan or asked.branch is not None
    if writes or asked.author is not None:
        raise UsageError(
            "--status does not write; omit --dry-run, --no-plan, --branch and --author"
        )
    world = load_world(directory, "HEAD", asked.layout)
    left = _left(world, chosen(world))
    if asked.output == "json":
        answer: DrainedJson = {"clusters": [_as_json(world, one) for one in left]}
        print_json(answer)
    else:
        for number, one in enumerate(left):
            if number:
                click.echo()
            _print(world, one)
    return 1 if any(one.left for one in left) else 0


def _left(
    world: "World", clusters: Sequence[ObjectKey], passes: "Passes | None" = None
) -> "list[LeftOnCluster]":
    """Return what is left on clusters from the next pass on."""
    from reconciler.audit.fleet.left_on_clusters import left_on
    from reconciler.cli.previews import moment_in

    with doing(PASSES):
        return left_on(world, clusters, moment_in(world, None), passes)


def _shortcomings(one: "LeftOnCluster") -> list[str]:
    """Return a line for each object that a drain leaves there, or that nothing replaces."""
    lines, name = [], one.cluster.name
    for left in one.left:
        if left.at is None:
            lines.append(f"stays on {name}: {spelled(left.key)}, since {left.why}")
        elif left.lost:
            what = f"{left.lost} of its replicas" if left.replicas else f"its place on {name}"
            lines.append(f"not replaced: {spelled(left.key)} loses {what}")
    return ["", *lines] if lines else []


def _print(world: "World", one: "LeftOnCluster") -> None:
    """Print a cluster, and what is left there."""
    from reconciler.cli.tables import print_table
    from reconciler.model.moments import format_moment
    from reconciler.model.text import printable

    name = spelled(one.cluster)
    count = f"{len(one.left)} object{'' if len(one.left) == 1 else 's'}"
    if not one.left:
        drained = "is drained" if one.drained else "is not drained, but nothing is on it"
        click.echo(printable(f"{name} {drained}" + (": nothing is left" if one.drained else "")))
        return
    state = "is being drained" if one.drained else "is not drained"
    click.echo(printable(f"{name} {state}: {count} left"))
    rows = [
        (
            left.key.namespace or NONE,
            _called(world, left.key),
            str(left.replicas) if left.replicas else NONE,
            NEVER if left.at is None else format_moment(left.at),
            left.why,
        )
        for left in one.left
    ]
    stuck = [n for n, left in enumerate(one.left) if left.at is None]
    print_table(TITLES, rows, bad=stuck if one.drained else ())


def _called(world: "World", key: ObjectKey) -> str:
    """Return what people call an object that a decision bears: the workload, if it has one."""
    from reconciler.audit.fleet.placed import named

    shown = named(world, key)
    return f"{shown.kind.lower()}/{shown.name}"


class LeftObjectJson(TypedDict):
    """An object that is on a cluster."""

    object: Annotated[ObjectJson, "What decisions about it bear."]
    called: Annotated[str, "As people call it."]
    replicas: Annotated[int, "0 where there are none to count."]
    goes: Annotated[Moment | None, "When it goes; `null` if it stays."]
    why: Annotated[str, "What it waits for, or why it stays."]


class DrainedClusterJson(TypedDict):
    """A cluster, and what is left on it."""

    cluster: Annotated[ObjectJson, "Its manifest."]
    drained: Annotated[bool, "Whether it is being drained."]
    left: Annotated[list[LeftObjectJson], "What the next passes have to take off it."]


class DrainedJson(TypedDict):
    """What is left on clusters."""

    clusters: Annotated[list[DrainedClusterJson], "Those that were named or chosen."]


def _as_json(world: "World", one: "LeftOnCluster") -> DrainedClusterJson:
    from reconciler.model.moments import format_moment

    return {
        "cluster": object_json(one.cluster),
        "drained": one.drained,
        "left": [
            {
                "object": object_json(left.key),
                "called": _called(world, left.key),
                "replicas": left.replicas,
                "goes": None if left.at is None else format_moment(left.at),
                "why": left.why,
            }
            for left in one.left
        ],
    }

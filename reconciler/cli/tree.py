"""What hangs on a policy or a placement, as a tree."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NotRequired, TypedDict

import click

from reconciler.audit.fleet.copy_counts import NO_TRANSPORT, CopyJson, copy_json, copy_lines
from reconciler.audit.fleet.placed import carriers_of
from reconciler.audit.fleet.suspensions import Suspensions
from reconciler.audit.fleet.tree import CopyTree, tree_of
from reconciler.audit.json_shapes import (
    ComingJson,
    ObjectJson,
    SuspenderJson,
    coming_json,
    object_json,
    suspender_json,
)
from reconciler.audit.named_object import decided_key, find_object, near, spelled
from reconciler.cli.printing import coming_for, coming_lines, print_json, suspended_lines
from reconciler.cli.selection import AskedObject
from reconciler.cli.world import load_world
from reconciler.core.dialects import dialect_of
from reconciler.dialects.view import TreeNode
from reconciler.errors import UsageError
from reconciler.model.identity import ObjectKey
from reconciler.model.text import printable
from reconciler.model.world import World
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.sources import branch_files
from reconciler.shell.resources import SystemClock
from reconciler.staging.staged_delivery import STAGED_DELIVERY

if TYPE_CHECKING:
    from reconciler.audit.previews.foresight import Coming

GAP = "   "


def run(directory: Path, asked: AskedObject) -> int:
    """Print a tree."""
    world, now = load_world(directory, asked.at, asked.layout), SystemClock().now()
    key, *others = _roots(world, asked.word, asked.namespace)
    if key not in world.inputs and key not in world.outputs:
        missing = "no policy matches it, or no pass has run since"
        if asked.output == "json":
            print_json(_answer([tree_of(world, key, {}, now)], (), Suspensions(world)))
        click.echo(f"nothing is placed as {spelled(key)}; {missing}", err=True)
        return 1
    elsewhere = branch_files(Repository.open(directory), world)
    roots = [tree_of(world, one, elsewhere, now) for one in (key, *others)]
    keys = [*chain.from_iterable(map(CopyTree.keys, roots))]
    coming = coming_for(world, set(keys))
    if asked.output == "json":
        print_json(_answer(roots, coming, Suspensions(world)))
        return 0
    _print(roots, Suspensions(world))
    if any(one.copy is not None and not one.copy.files for root in roots for one in root.all()):
        click.echo(f"\n{NO_TRANSPORT}")
    if held := suspended_lines(world, keys, now):
        click.echo("\n".join(("", *held)))
    if coming:
        click.echo("\n".join(("", *coming_lines(coming))))
    if not any(root.node.children for root in roots):
        click.echo("nothing is placed by it yet", err=True)
    return 0


def _print(roots: Sequence[CopyTree], suspensions: Suspensions) -> None:
    """Print trees below each other, a blank line between."""
    trees = [list(_lines(root, suspensions)) for root in roots]
    width = max(len(name) for lines in trees for name, _ in lines)
    for number, lines in enumerate(trees):
        if number:
            click.echo()
        for name, facts in lines:
            click.echo(f"{name.ljust(width)}{GAP}{facts}".rstrip())


def _roots(world: World, word: str, namespace: str) -> list[ObjectKey]:
    """Return the objects that trees begin at: of a workload its binding, and what else places it.

    Raises:
        UsageError: There is no such object, or nothing can hang on its kind.
    """
    key = _root(world, word, namespace)
    named = find_object(world, word, namespace)
    carriers = [one for one in carriers_of(world, named) if one != key]
    there = key in world.inputs or key in world.outputs
    return [key, *carriers] if there or not carriers else carriers


def _root(world: World, word: str, namespace: str) -> ObjectKey:
    """Return the object that the tree begins at: of a workload its binding, else itself.

    Raises:
        UsageError: There is no such object, or nothing can hang on its kind.
    """
    key = find_object(world, word, namespace)
    if key not in world.inputs and key not in world.outputs:
        raise UsageError(f"there is no {spelled(key)}{near(world, key)}")
    if key[:2] == STAGED_DELIVERY:
        return key
    dialect = dialect_of(key.group)
    if dialect is not None and (key.group, key.kind) in dialect.roots | dialect.concerning:
        return key
    try:
        return decided_key(world, key)
    except UsageError:
        raise UsageError(
            f"a {key.kind} places nothing; name a policy, a placement or a workload"
        ) from None


def _lines(
    tree: CopyTree, suspensions: Suspensions, within: str = "", first: str = "", rest: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield a line for each node: the branch with its name, and what is known of it.

    The namespace is named where it is not that of the node above.
    """
    node, kind, namespace = tree.node, "cluster", ""
    if node.key is not None:
        kind, namespace = node.key.kind.lower(), node.key.namespace
    scope = f" ({namespace})" if namespace not in ("", within) else ""
    suspended = "" if node.key is None else suspensions.fact(node.key)
    notes = ", ".join(filter(None, (suspended, _facts(node))))
    yield f"{first}{printable(f'{kind}/{node.name}{scope}')}", printable(notes)
    for child in tree.children:
        last = child is tree.children[-1]
        below = _branch(rest, last=last)
        yield from _lines(child, suspensions, namespace or within, *below)
    facts = () if tree.copy is None else tuple(copy_lines(tree.copy))
    for number, (title, fact) in enumerate(facts, start=1):
        yield f"{_branch(rest, last=number == len(facts))[0]}{title}", printable(fact)


def _branch(rest: str, *, last: bool) -> tuple[str, str]:
    """Return what stands before a child, and before what hangs on it."""
    return f"{rest}{'└── ' if last else '├── '}", f"{rest}{'    ' if last else '│   '}"


def _facts(node: TreeNode) -> str:
    """Return what is known of a node; of stages that were reached only the last one."""
    reached = [name for name, value in node.facts.items() if value.startswith("True")][:-1]
    facts = [f"replicas: {node.replicas}"] if node.replicas else []
    facts += [f"{name}: {fact}" for name, fact in node.facts.items() if name not in reached]
    return ", ".join(facts)


class NodeJson(TypedDict):
    """An object, or a cluster at the end of a branch.

    One has `object` and `suspendedBy`, the other `cluster`, `replicas` and `copy`.
    """

    object: NotRequired[ObjectJson]
    suspendedBy: NotRequired[Annotated[list[SuspenderJson], "As above."]]
    cluster: NotRequired[Annotated[str, "Its name."]]
    replicas: NotRequired[
        Annotated[int, "0 where there are none to count, and where the object is leaving."]
    ]
    copy: NotRequired[
        Annotated[
            CopyJson | None,
            "What the cluster has of it; `null` of decisions about no content.",
        ]
    ]
    facts: Annotated[dict[str, str], "As above."]
    children: "list[NodeJson]"


class TreeJson(TypedDict):
    """What is placed by an object, and where."""

    object: Annotated[ObjectJson, "What the tree begins at."]
    suspendedBy: Annotated[
        list[SuspenderJson],
        "What suspends it: its own file, that of its policy, or the configuration.",
    ]
    facts: Annotated[
        dict[str, str],
        "What is known of it: conditions, with the reason where they are not as they should be, "
        "or are only assumed.",
    ]
    children: Annotated[list[NodeJson], "Objects under it; empty if nothing is placed by it yet."]
    alsoPlacedBy: Annotated[
        list[NodeJson],
        "Of a workload the placements of other APIs that carry it along.",
    ]
    coming: Annotated[
        list[ComingJson],
        "What passes will do by themselves with anything in the tree.",
    ]


def _answer(
    roots: Sequence[CopyTree], coming: Sequence["Coming"], suspensions: Suspensions
) -> TreeJson:
    """Return the answer for machines."""
    node, *also = (_as_json(root, suspensions) for root in roots)
    return {
        "object": node["object"],
        "suspendedBy": node["suspendedBy"],
        "facts": node["facts"],
        "children": node["children"],
        "alsoPlacedBy": also,
        "coming": [coming_json(one) for one in coming],
    }


def _as_json(tree: CopyTree, suspensions: Suspensions) -> NodeJson:
    """Return a node for machines."""
    node, facts = tree.node, dict(tree.node.facts)
    children = [_as_json(child, suspensions) for child in tree.children]
    if node.key is not None:
        by = [suspender_json(one) for one in suspensions.of(node.key)]
        key = object_json(node.key)
        return {"object": key, "suspendedBy": by, "facts": facts, "children": children}
    return {
        "cluster": node.name,
        "replicas": node.replicas,
        "copy": None if tree.copy is None else copy_json(tree.copy),
        "facts": facts,
        "children": children,
    }

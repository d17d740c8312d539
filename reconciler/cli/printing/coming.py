"""What is coming, as verbs print it: rows about the objects that they are asked about."""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from reconciler.cli.printing.progress import PASSES, doing

if TYPE_CHECKING:
    from datetime import datetime

    from reconciler.audit.previews.foresight import Coming
    from reconciler.core.asked.affected_objects import SettledWorld
    from reconciler.core.memo import Memo
    from reconciler.model.identity import ObjectKey
    from reconciler.model.known_kinds import Kind
    from reconciler.model.world import World

MOST_LINES = 30


def coming_in(
    world: "World", *, memo: "Memo | None" = None, settled: "SettledWorld | None" = None
) -> "tuple[Coming, ...]":
    """Return what passes will do in a world from its last pass on, before the first from now on.

    A moment that is over by now says that no pass has run since.

    Args:
        world: As it is.
        memo: What earlier passes remembered.
        settled: A world in which nothing moves, if one is known.
    """
    from reconciler.audit.previews.foresight import foresee

    with doing(PASSES):
        return foresee(world, _from_on(world), memo=memo, settled=settled)


def coming_for(world: "World", keys: "Collection[ObjectKey]") -> "tuple[Coming, ...]":
    """Return what passes will do with some objects, from the last pass on.

    What is nothing that a decision is about, nor a rebalancer, has nothing coming.
    """
    from reconciler.audit.previews.foresight import foresee_some
    from reconciler.core.dialects import KINDS, PLACED

    asked = {key for key in keys if key[:2] in PLACED or key[:2] in KINDS.removable}
    with doing(PASSES):
        return foresee_some(world, asked, _from_on(world))


def _from_on(world: "World") -> "datetime":
    """Return the moment after the last pass, the present one before the first."""
    from reconciler.core.record import next_moment
    from reconciler.shell.clock import SystemClock

    return next_moment(world, SystemClock().now())


def coming_lines(found: "Sequence[Coming]") -> list[str]:
    """Return what is coming, a line each below a title, the first of many; none if nothing is."""
    if not found:
        return []
    rest = len(found) - MOST_LINES
    more = [f"  and {rest} more; -o json has all"] if rest > 0 else []
    return ["Coming:", *(f"  {line}" for line in sentences(found[:MOST_LINES])), *more]


def sentences(found: "Sequence[Coming]") -> list[str]:
    """Return what is coming in a sentence each, with whom it is about."""
    from reconciler.audit.previews.wording import coming_text
    from reconciler.audit.printable import printable

    return [printable(f"{one.subject}: {coming_text(one)}") for one in found]


def may_come(kind: "Kind") -> bool:
    """Return whether passes do anything with objects of a kind: decide, remove, or place them."""
    from reconciler.core.dialects import CLUSTERS, KINDS, PLACED

    return kind in {*CLUSTERS, *PLACED, *KINDS.removable} or kind[0] not in KINDS.groups


def coming_cells(world: "World", keys: "Sequence[ObjectKey]") -> "dict[ObjectKey, str]":
    """Return what comes first for each object of a kind that passes do anything with."""
    from reconciler.audit.fleet.placed import decision_on
    from reconciler.core.dialects import CLUSTERS, KINDS, PLACED

    asked = [key for key in keys if may_come(key[:2])]
    itself = PLACED | KINDS.removable
    decided = {key: key if key[:2] in itself else decision_on(key) for key in asked}
    if any(key[:2] in CLUSTERS for key in asked):
        found = coming_in(world)
    else:
        found = coming_for(world, {decided[key] or key for key in asked})
    return {key: _cell(found, key, decided[key]) for key in asked}


def _cell(found: "Sequence[Coming]", key: "ObjectKey", decided: "ObjectKey | None") -> str:
    """Return what comes first for an object or a cluster, `<none>` if nothing does."""
    from reconciler.audit.previews.foresight import of_cluster
    from reconciler.core.dialects import CLUSTERS
    from reconciler.manifests.columns import NONE
    from reconciler.model.moments import format_moment

    if (key.group, key.kind) in CLUSTERS:
        told = of_cluster(found, key)
        return NONE if told is None else f"{format_moment(told[0])} {told[1]}"
    return coming_cell(one for one in found if one.key in (key, decided))


def coming_cell(found: "Iterable[Coming]") -> str:
    """Return the first of what comes for one object in a cell, `<none>` if nothing does."""
    from reconciler.manifests.columns import NONE
    from reconciler.model.moments import format_moment

    first = next(iter(found), None)
    return NONE if first is None else f"{format_moment(first.at)} {first.what}"

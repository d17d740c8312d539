"""What several verbs print: JSON for machines, faults, what is coming, what is suspended.

This is the only file that prints answers for machines, except `get` and `render`, which print
manifests. A fault is shown with its place, what is wrong, and what would be right. What is coming
has rows about the objects that a verb is asked about. Each suspension has its file, and what a
resume would move.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypedDict

import click

from reconciler.cli.progress import PASSES, doing
from reconciler.model.text import printable
from reconciler.model.world import Fault, Trace
from reconciler.version import __version__

if TYPE_CHECKING:
    from reconciler.audit.fleet.suspensions import Suspender
    from reconciler.audit.previews.foresight import Coming
    from reconciler.core.asked import SettledWorld
    from reconciler.core.reconcile import Memo
    from reconciler.library.fleet import FleetRepository
    from reconciler.model.identity import ObjectKey
    from reconciler.model.kinds import Kind
    from reconciler.model.world import World


SCHEMA_VERSION = 1
"""Grows when a field of any answer goes, or means something else; docs/json.md has the fields."""


def versioned(answer: Mapping[str, object]) -> dict[str, object]:
    """Return an answer that says by which version of the fields it is to be read."""
    return {"schemaVersion": SCHEMA_VERSION, **answer}


def json_text(answer: Mapping[str, object]) -> str:
    """Return the text of an answer: indented, with a newline at its end."""
    return f"{json.dumps(versioned(answer), indent=2, ensure_ascii=False)}\n"


def print_json(answer: Mapping[str, object]) -> None:
    """Print one answer to standard output."""
    click.echo(json_text(answer), nl=False)


def print_json_line(answer: Mapping[str, object]) -> None:
    """Print one answer of a stream, a line each."""
    click.echo(json.dumps(versioned(answer), ensure_ascii=False))


class VersionJson(TypedDict):
    """Which version this is."""

    version: str


def print_version() -> None:
    """Print the version for machines."""
    answer: VersionJson = {"version": __version__}
    print_json(answer)


def print_faults(faults: Iterable[Fault]) -> None:
    """Print faults to standard error: where, what, and what would be right."""
    for fault in faults:
        click.echo(fault_text(fault), err=True)


def print_traces(traces: Iterable[Trace]) -> None:
    """Print to standard error where the errors of our own come from, for a report of them."""
    for trace in traces:
        click.echo(f"{printable(fault_line(trace.fault))}, trace for a report:", err=True)
        for line in trace.text.splitlines():
            click.echo(f"  {printable(line)}", err=True)


def fault_text(fault: Fault) -> str:
    """Return a fault in one or two lines."""
    first = fault_line(fault)
    if fault.subject:
        first = f"{first} ({fault.subject})"
    lines = [printable(first)]
    if fault.expected:
        lines.append(f"  expected: {printable(fault.expected)}")
    return "\n".join(lines)


def fault_line(fault: Fault) -> str:
    """Return where a fault is and what is wrong."""
    where = f"{fault.path}:{fault.line}:{fault.column}" if fault.line else fault.path
    return f"{where}: {fault.message}"


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


def coming_at(
    fleet: "FleetRepository", world: "World", head: str, *, memo: "Memo | None" = None
) -> "tuple[Coming, ...]":
    """Return the same of a commit, with what is known of the last one in which nothing moved.

    Args:
        fleet: The repository.
        world: That of the commit; it is kept for later questions where nothing moves in it.
        head: The commit, as full hex id.
        memo: What earlier passes remembered.
    """
    from reconciler.cli.world import keep_settled, settled_world
    from reconciler.core.reconcile import Memo

    memo = memo or Memo()
    coming = coming_in(world, memo=memo, settled=settled_world(fleet))
    keep_settled(fleet, world, head, _from_on(world), memo)
    return coming


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
    from reconciler.shell.resources import SystemClock

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
    from reconciler.model.text import printable

    return [printable(f"{one.subject}: {coming_text(one)}") for one in found]


def may_come(kind: "Kind") -> bool:
    """Return whether passes do anything with objects of a kind: decide, remove, or place them."""
    from reconciler.core.dialects import CLUSTERS, KINDS, PLACED

    if kind in {*CLUSTERS, *PLACED, *KINDS.removable}:
        return True
    return kind[0] not in KINDS.groups and kind not in KINDS.owned


def coming_cells(world: "World", keys: "Sequence[ObjectKey]") -> "dict[ObjectKey, str]":
    """Return what comes first for each object of a kind that passes do anything with."""
    from reconciler.core.dialects import CLUSTERS, KINDS, decision_on

    asked = [key for key in keys if may_come(key[:2])]
    decided = {key: key if key[:2] in KINDS.removable else decision_on(key) for key in asked}
    if any(key[:2] in CLUSTERS for key in asked):
        coming = coming_in(world)
    else:
        coming = coming_for(world, {decided[key] or key for key in asked})
    return {key: _cell(coming, key, decided[key]) for key in asked}


def _cell(found: "Sequence[Coming]", key: "ObjectKey", decided: "ObjectKey | None") -> str:
    """Return what comes first for an object or a cluster, `<none>` if nothing does."""
    from reconciler.audit.previews.foresight import of_cluster
    from reconciler.core.dialects import CLUSTERS
    from reconciler.manifests.columns import NONE
    from reconciler.model.moments import format_moment

    if (key.group, key.kind) in CLUSTERS:
        text = of_cluster(found, key)
        return NONE if text is None else f"{format_moment(text[0])} {text[1]}"
    return coming_cell(one for one in found if one.key in (key, decided))


def coming_cell(found: "Iterable[Coming]") -> str:
    """Return the first of what comes for one object in a cell, `<none>` if nothing does."""
    from reconciler.manifests.columns import NONE
    from reconciler.model.moments import format_moment

    first = next(iter(found), None)
    return NONE if first is None else f"{format_moment(first.at)} {first.what}"


def suspended_lines(world: "World", keys: "Iterable[ObjectKey]", now: datetime) -> list[str]:
    """Return what suspends some objects, a line each below a title; none if nothing does.

    Args:
        world: That has them.
        keys: The objects.
        now: Moment of the question.
    """
    from reconciler.audit.fleet.suspensions import Suspensions

    suspensions = Suspensions(world)
    suspenders = dict.fromkeys(one for key in keys for one in suspensions.of(key))
    told = suspender_sentences(world, [*suspenders], now)
    return ["Suspended:", *(f"  {line}" for line in told)] if told else []


def suspender_sentences(
    world: "World", suspenders: "Iterable[Suspender]", now: datetime, memo: "Memo | None" = None
) -> list[str]:
    """Return a sentence for each of what suspends: its file, and what a resume of it would move.

    Args:
        world: As it is.
        suspenders: What suspends.
        now: Moment of the question.
        memo: What earlier passes remembered.
    """
    from reconciler.audit.previews.resumption import resumed_moves, resumed_text
    from reconciler.core.reconcile import Memo
    from reconciler.core.record import next_moment
    from reconciler.model.text import printable

    memo, at = memo or Memo(), next_moment(world, now)
    with doing(PASSES):
        return [
            printable(f"{one.words}: {resumed_text(resumed_moves(world, [one], at, memo))}")
            for one in suspenders
        ]

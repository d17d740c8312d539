"""Whose commit put an object where it is."""

from pathlib import Path
from typing import Annotated, TypedDict

import click

from reconciler.audit.fleet.placed import placed_on
from reconciler.audit.history.decisions import Blame, blame_of
from reconciler.audit.json_shapes import (
    CausedJson,
    ObjectJson,
    PlacementJson,
    event_json,
    object_json,
)
from reconciler.audit.named_object import spelled
from reconciler.cli.printing import print_json
from reconciler.cli.progress import HISTORY, doing
from reconciler.cli.selection import SEVERAL, AskedObject, open_subject
from reconciler.cli.tables import print_table
from reconciler.cli.world import by_whom, nothing_said
from reconciler.library.subject import Subject
from reconciler.model.moments import format_moment
from reconciler.model.text import printable, short_id


class BlamedJson(PlacementJson, CausedJson):
    """A cluster that an object is on, and the decision that put it there."""


class BlameJson(TypedDict):
    """Whose commit put an object where it is."""

    object: Annotated[ObjectJson, "What decisions about it bear: of a workload its binding."]
    clusters: Annotated[list[BlamedJson], "Those that it is on."]


def run(directory: Path, asked: AskedObject) -> int:
    """Print who put an object on each of its clusters."""
    subject = open_subject(directory, asked)
    placed = placed_on(subject.world, subject.key)
    with doing(HISTORY):
        lines = blame_of(subject.events(first=SEVERAL), placed)
    if asked.output == "json":
        clusters: list[BlamedJson] = [
            {"cluster": str(one.cluster), "replicas": one.replicas, **event_json(one.event)}
            for one in lines
        ]
        answer: BlameJson = {"object": object_json(subject.key), "clusters": clusters}
        print_json(answer)
    elif lines:
        _print(lines)
    if not lines:
        click.echo(_on_no_cluster(subject, asked.at), err=True)
        return 1
    return 0


def _on_no_cluster(subject: Subject, at: str) -> str:
    """Return that there is no commit to blame, or the one that took the object off its clusters."""
    last = next((event for event in subject.events() if not event.after), None)
    if last is None:
        return nothing_said(subject, at)
    short = short_id(last.commit.revision)
    problem = "" if last.decision is None else last.decision.problem
    facts = "; ".join(filter(None, (last.why, by_whom(last), problem)))
    where = "is on no cluster" if last.after is not None else "is at an unknown place"
    return printable(f"{spelled(subject.named)} {where} since {short} ({facts})")


def _print(found: list[Blame]) -> None:
    """Print a table, one cluster a row."""
    rows = [
        [
            str(item.cluster),
            str(item.replicas or "-"),
            format_moment(item.event.at),
            short_id(item.event.commit.revision),
            item.event.why,
            by_whom(item.event),
        ]
        for item in found
    ]
    print_table(["CLUSTER", "REPLICAS", "SINCE", "DECISION", "WHY", "BY"], rows)

"""Objects of a kind or of some names, once or as they change."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from reconciler.audit.fleet.assumed_outputs import needs_others
from reconciler.audit.named_object import near
from reconciler.cli.get_output import print_found, print_kinds
from reconciler.cli.get_watch import Watch
from reconciler.cli.kinds import AskedKind, asked_kinds, asks_across
from reconciler.cli.kinds import kinds_present as present_kinds
from reconciler.cli.options import is_template
from reconciler.cli.selection import ObjectSelection, Query, matching, named_key, where_looked
from reconciler.cli.world import fleet_of, note_if_empty
from reconciler.core.dialects import CLUSTERS, KINDS, PLACED
from reconciler.core.inputs.stored import DocumentHead
from reconciler.errors import UsageError
from reconciler.manifests.selectors import parse_selector
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.model.kinds import Kind
from reconciler.model.labels import selecting
from reconciler.model.world import World
from reconciler.shell.git.history import resolve_revision
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.commit_part import CommitHeads
from reconciler.shell.reading.parts import PartReader
from reconciler.shell.reading.sources import branch_files


def run(
    directory: Path,
    query: Query,
    *,
    watch: bool,
    watch_events: bool,
    branch: str | None,
    at: str | None,
    poll_seconds: float,
    layout: RepositoryLayout,
) -> int:
    """Print objects, and go on with those that change if that is asked for."""
    query.check()
    if watch and (at is not None or not query.words):
        raise UsageError("--watch follows a branch: give a KIND, and omit --at")
    if watch and is_template(query.output):
        raise UsageError("--watch prints tables, names, yaml or json; omit the template")
    repository = Repository.open(directory)
    name = branch or (repository.head_branch() if watch else None)
    fleet = fleet_of(Path(), repository, layout)
    head = _revision(repository, name, at)
    if query.words and not watch and query.output != "wide":
        part = _find_in_part(fleet.parts, head, query)
        if part is not None:
            print_found(part.world, part.objects, query, None)
            return 0
    loader = fleet.revisions.loader
    world = loader.load(head)
    note_if_empty(directory, world)
    if not query.words:
        return print_kinds(world, query)
    asked = asked_kinds(world.known, present_kinds(world), query.words, across=True)
    matches = matching(world, asked, query)
    missing = say_what_is_missing(world, matches, query)
    if watch and name is not None:
        Watch(repository, loader, name, asked, query, watch_events).run(poll_seconds)
        return 0
    wide = branch_files(repository, world) if query.output == "wide" else None
    print_found(world, matches, query, wide)
    return 1 if missing else 0


def _revision(repository: Repository, branch: str | None, at: str | None) -> str:
    """Return the commit to look at: a revision, or the head of a branch."""
    if at is not None:
        return resolve_revision(repository, at)
    return repository.head() if branch is None else repository.resolve(branch)


def say_what_is_missing(
    world: World, found: Mapping[AskedKind, Sequence[ObjectKey]], query: ObjectSelection
) -> bool:
    """Say what is not there; return whether any of it was named."""
    named = [name for name in found if name.name and not found[name]]
    for name in named:
        hint = near(world, named_key(world, name, query.namespace))
        click.echo(
            f"no {name.word} named {name.name}{where_looked(world, name, query)}{hint}", err=True
        )
    if not named and not any(found.values()):
        first, *_ = found
        what = ", ".join(dict.fromkeys(name.word for name in found))
        hint = _other_clusters(world, first)
        click.echo(f"no {what}{where_looked(world, first, query)}{hint}", err=True)
    return bool(named)


def _other_clusters(world: World, asked: AskedKind) -> str:
    """Return the clusters of other APIs, where those of one are asked for."""
    if asked.kind not in CLUSTERS:
        return ""
    there = Counter(key.kind for key in world.inputs if (key.group, key.kind) in CLUSTERS)
    listed = ", ".join(
        f"{count} {found.lower()}{'s' if count != 1 else ''}"
        for found, count in sorted(there.items())
    )
    seen = "its API sees" if asked.kind in world.projected else "there are"
    return f"; {seen} {listed}, see top clusters" if listed else ""


class _Found(NamedTuple):
    """A world, or a part of one, and what was asked for in it."""

    world: "World"
    objects: "Mapping[AskedKind, Sequence[ObjectKey]]"


def _find_in_part(reader: PartReader, revision: str, query: Query) -> _Found | None:
    """Return what is asked for, `None` where only the whole world tells.

    That is so where something is missing: what is near it is told then; and where other objects
    tell how one is by now.
    """
    if asks_across(query.words):
        return None  # where they are, outputs of other kinds tell
    heads = reader.heads(revision)
    present = None if heads is None else heads.kinds()
    if heads is None or present is None:
        return None
    try:
        asked = asked_kinds(KINDS, present, query.words)
    except UsageError:
        return None
    if any(needs_others(one.kind) for one in asked):
        return None
    if query.selector is not None and any(one.kind in KINDS.owned & PLACED for one in asked):
        return None  # a decision is selected by the labels of its workload, too
    world = reader.world(revision, heads.part(_names(heads, asked, query)))
    if asked_kinds(world.known, present | present_kinds(world), query.words) != asked:
        return None
    matches = matching(world, asked, query)
    is_complete = all(matches[one] for one in matches if one.name) and any(matches.values())
    return _Found(world, matches) if is_complete else None


def _names(
    heads: "CommitHeads", asked: Sequence[AskedKind], query: Query
) -> "Mapping[Kind, frozenset[str]]":
    """Return the names of all objects that may be asked for, by kind; of no other namespace."""
    selects = None if query.selector is None else selecting(parse_selector(query.selector))

    def may_match(kind: "DocumentHead") -> bool:
        here = query.all_namespaces or kind.namespace in ("", query.namespace)
        return here and (selects is None or kind.labels is None or selects(kind.labels))

    names: dict[Kind, frozenset[str]] = {}
    for kind in asked:
        named = frozenset({kind.name}) if kind.name else heads.names(kind.kind, may_match)
        names[kind.kind] = names.get(kind.kind, frozenset()) | named
    return names

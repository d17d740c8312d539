"""`reconciler get`: objects of the repository, people's and ours, as a table or as manifests."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.objects import complete
from reconciler.cli.objects.query import Query, query_options
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.options import poll_option, read_branch_option
from reconciler.errors import UsageError
from reconciler.model.repository_layout import RepositoryLayout

if TYPE_CHECKING:
    from reconciler.cli.objects.asked_kinds import AskedKind
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World
    from reconciler.shell.git.repository import Repository


@click.command(name="get")
@query_options
@click.option("-w", "--watch", is_flag=True, help="Go on: print each row that a commit changes.")
@click.option(
    "--output-watch-events",
    "watch_events",
    is_flag=True,
    help="With --watch: say whether a row was ADDED, MODIFIED or DELETED.",
)
@read_branch_option
@click.option(
    "--at",
    metavar="REV",
    shell_complete=complete.revisions,
    help="Show them as they were at a revision: main~3, a tag.",
)
@poll_option
@layout_options
@click.pass_obj
def command(
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
    r"""Print objects as the branch has them: what people wrote, and what was decided.

    KIND is singular or plural, short (rb, pp, mcl, crp, deploy, ...), or KIND.GROUP; several are
    separated by commas. Without it the kinds that there are are listed. Values of Secrets are
    hidden unless they are asked for.

    \b
    Examples:
      reconciler get clusters
      reconciler get rb,deploy -A -o wide
      reconciler get deploy shop frontend
      reconciler get rb/shop-deployment pp/shop -o yaml
      reconciler get deploy -l 'team in (shop, web)' --sort-by .spec.replicas
      reconciler get rb --watch
      reconciler get rb -A --at HEAD~5
    \b
    Exit codes: 0 printed, 1 an object that was named is not there, 2 no such kind or revision,
    130 interrupted.
    """
    from reconciler.cli.objects.asked_kinds import asked_kinds
    from reconciler.cli.objects.get_output import print_found
    from reconciler.cli.objects.get_watch import Watch
    from reconciler.cli.objects.kind_list import print_kinds
    from reconciler.cli.objects.query import matching
    from reconciler.cli.objects.world import note_if_empty, open_loader
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.reading.branch_files import branch_files

    query.check()
    if watch and (at is not None or not query.words):
        raise UsageError("--watch follows a branch: give it a KIND, and no --at")
    repository = Repository.open(directory)
    name = branch or (repository.head_branch() if watch else None)
    loader = open_loader(repository, layout)
    head = _revision(repository, name, at)
    world = loader.load(head)
    note_if_empty(directory, world)
    if not query.words:
        return print_kinds(world, query)
    asked = asked_kinds(world, query.words)
    found = matching(world, asked, query)
    missing = _say_what_is_missing(world, found, query)
    if watch and name is not None:
        Watch(repository, loader, name, asked, query, watch_events).run(poll_seconds)
        return 0
    wide = branch_files(repository, world) if query.output == "wide" else None
    print_found(world, found, query, wide)
    return 1 if missing else 0


def _revision(repository: "Repository", branch: str | None, at: str | None) -> str:
    """Return the commit to look at: a revision, or the head of a branch."""
    from reconciler.shell.git.revisions import resolve_revision

    if at is not None:
        return resolve_revision(repository, at)
    return repository.head() if branch is None else repository.resolve(branch)


def _say_what_is_missing(
    world: "World", found: "Mapping[AskedKind, Sequence[ObjectKey]]", query: Query
) -> bool:
    """Say what is not there; return whether any of it was named."""
    from reconciler.audit.named_object import near
    from reconciler.model.identity import ObjectKey

    named = [one for one in found if one.name and not found[one]]
    for one in named:
        scope = query.namespace if world.known.scopes.get(one.kind) is not False else ""
        hint = near(world, ObjectKey(*one.kind, scope, one.name))
        click.echo(f"no {one.word} named {one.name}{_where(world, one, query)}{hint}", err=True)
    if not named and not any(found.values()):
        first, *_ = found
        what = ", ".join(one.word for one in found)
        hint = _other_clusters(world, first)
        click.echo(f"no {what}{_where(world, first, query)}{hint}", err=True)
    return bool(named)


def _where(world: "World", asked: "AskedKind", query: Query) -> str:
    """Return where something was looked for."""
    labels = "" if query.selector is None else f" with {query.selector}"
    everywhere = query.all_namespaces or world.known.scopes.get(asked.kind) is False
    return labels if everywhere else f"{labels} in namespace {query.namespace}"


def _other_clusters(world: "World", asked: "AskedKind") -> str:
    """Return the clusters of other APIs, where those of one are asked for."""
    from reconciler.core.dialects import CLUSTERS

    if asked.kind not in CLUSTERS:
        return ""
    there = Counter(key.kind for key in world.inputs if (key.group, key.kind) in CLUSTERS)
    listed = ", ".join(
        f"{count} {found.lower()}{'s' if count != 1 else ''}"
        for found, count in sorted(there.items())
    )
    return f"; there are {listed}, see top clusters" if listed else ""

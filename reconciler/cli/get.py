"""`reconciler get`: objects of the repository, people's and ours, as a table or as manifests."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import output_option, output_root_option
from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import Body, World

DEFAULT_NAMESPACE = "default"


@click.command(name="get")
@click.argument("kind")
@click.argument("name", required=False)
@click.option("-n", "--namespace", metavar="NS", default=DEFAULT_NAMESPACE, show_default=True)
@click.option("-A", "--all-namespaces", is_flag=True, help="Show objects of all namespaces.")
@output_option("table", "wide", "yaml", "json", "name", says="How to print them.")
@click.option("--no-headers", is_flag=True, help="Leave out the first line of a table.")
@click.option(
    "--branch", metavar="NAME", envvar="RECONCILER_BRANCH", help="Branch to read  [default: HEAD]"
)
@click.option("--at", metavar="REV", help="Show them as they were at a revision: main~3, a tag.")
@click.option("--show-secrets", is_flag=True, help="Print the values of Secrets, too.")
@output_root_option
@click.pass_obj
def command(
    directory: Path,
    *,
    kind: str,
    name: str | None,
    namespace: str,
    all_namespaces: bool,
    output: str,
    no_headers: bool,
    branch: str | None,
    at: str | None,
    show_secrets: bool,
    output_root: str,
) -> int:
    r"""Print objects as the branch has them: what people wrote, and what was decided.

    KIND is singular or plural, short (rb, crb, pp, cpp, wr, deploy, ...), or KIND.GROUP; KIND/NAME
    is one object, as for the other verbs. Values of Secrets are hidden unless they are asked for.

    \b
    Examples:
      reconciler get clusters
      reconciler get rb -A -o wide
      reconciler get resourcebinding nginx-deployment -o yaml
      reconciler get workloadrebalancers
      reconciler get rb -A --at HEAD~5
    """
    if name is None and "/" in kind:
        kind, _, name = kind.partition("/")
    world = _world(directory, branch, at, output_root)
    group, kind_name = _kind(world, kind)
    found = sorted(
        key
        for key in {*world.inputs, *world.outputs}
        if (key.group, key.kind) == (group, kind_name)
        and (name is None or key.name == name)
        and (all_namespaces or key.namespace in ("", namespace))
    )
    if not found:
        everywhere = all_namespaces or world.known.scopes.get((group, kind_name)) is False
        where = "" if everywhere else f" in namespace {namespace}"
        hint = _hint(world, group, kind_name, name)
        click.echo(f"no {kind}{f' named {name}' if name else ''}{where}{hint}", err=True)
        if output == "json" and not name:
            _print_manifests([], output, single=False)
        return 1 if name else 0
    if output == "name":
        for key in found:
            click.echo(f"{key.kind.lower()}{f'.{key.group}' if key.group else ''}/{key.name}")
    elif output in ("yaml", "json"):
        shown = {key: _body(world, key) for key in found}
        if not show_secrets:
            shown = _without_secrets(shown)
        _print_manifests([*shown.values()], output, single=name is not None)
    else:
        _print_rows(
            world,
            found,
            wide=output == "wide",
            headers=not no_headers,
            namespaces=all_namespaces,
        )
    return 0


def _world(directory: Path, branch: str | None, at: str | None, output_root: str) -> "World":
    """Load the world at a revision, or at the head of a branch."""
    from reconciler.cli.world import note_if_empty, open_loader
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.git.revisions import resolve_revision

    repository = Repository.open(directory)
    if at is not None:
        head = resolve_revision(repository, at)
    else:
        head = repository.head() if branch is None else repository.resolve(branch)
    world = open_loader(repository, output_root).load(head)
    note_if_empty(directory, world)
    return world


def _kind(world: "World", word: str) -> tuple[str, str]:
    """Return the group and the kind asked for; one that is known may have no object here."""
    from reconciler.cli.kinds import resolve_kind

    shown = {(key.group, key.kind) for key in (*world.inputs, *world.outputs)}
    kinds = resolve_kind(word, world.known.short, shown | world.known.scopes.keys(), shown)
    if not kinds:
        known = ", ".join(sorted(kind.lower() for _, kind in shown)) or "nothing at all"
        raise UsageError(f'there is no kind "{word}" here; the repository has {known}')
    kinds = kinds if shown.issuperset(kinds) else kinds[:1]
    if len(kinds) > 1:
        choices = ", ".join(f"{kind.lower()}.{group}" for group, kind in kinds)
        raise UsageError(f'"{word}" is ambiguous; name one of {choices}')
    return kinds[0]


def _hint(world: "World", group: str, kind: str, name: str | None) -> str:
    """Return where to look instead: a name that is near, or the clusters of other APIs."""
    from reconciler.cli.objects import near
    from reconciler.core.dialects import CLUSTERS
    from reconciler.model.identity import ObjectKey

    if name:
        return near(world, ObjectKey(group, kind, "", name))
    if (group, kind) not in CLUSTERS:
        return ""
    there = Counter(key.kind for key in world.inputs if (key.group, key.kind) in CLUSTERS)
    listed = ", ".join(
        f"{count} {found.lower()}{'s' if count != 1 else ''}"
        for found, count in sorted(there.items())
    )
    return f"; there are {listed}, see top clusters" if listed else ""


def _body(world: "World", key: "ObjectKey") -> "Body":
    """Return an object as people wrote it, with the status that we keep beside it."""
    written, ours = world.inputs.get(key), world.outputs.get(key)
    if written is None:
        return ours.body if ours is not None else {}
    if ours is None:
        return written.body
    merged = dict(written.body)
    for field in ("metadata", "status"):
        mine, theirs = ours.body.get(field), written.body.get(field)
        if isinstance(mine, dict):
            merged[field] = {**(theirs if isinstance(theirs, dict) else {}), **mine}
    return merged


def _without_secrets(shown: "Mapping[ObjectKey, Body]") -> "dict[ObjectKey, Body]":
    """Hide the values of Secrets, and say so on standard error."""
    from reconciler.manifests.secrets import without_secrets

    kept = {key: without_secrets(key, body) for key, body in shown.items()}
    hidden = sum(kept[key] is not body for key, body in shown.items())
    if hidden:
        secrets = "a Secret are" if hidden == 1 else f"{hidden} Secrets are"
        click.echo(f"the values of {secrets} hidden; --show-secrets prints them", err=True)
    return kept


def _print_manifests(manifests: "Sequence[Body]", output: str, *, single: bool) -> None:
    """Print manifests; several as YAML documents or as a JSON List."""
    from reconciler.manifests.emitter import encode

    if output == "yaml":
        click.echo("---\n".join(encode(body) for body in manifests), nl=False)
    elif single and len(manifests) == 1:
        click.echo(json.dumps(manifests[0], indent=2, ensure_ascii=False))
    else:
        listed = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        click.echo(json.dumps(listed, indent=2, ensure_ascii=False))


def _print_rows(
    world: "World", keys: "Sequence[ObjectKey]", *, wide: bool, headers: bool, namespaces: bool
) -> None:
    """Print a table; the namespace has a column where those of all are asked for."""
    from reconciler.cli.columns import columns_of
    from reconciler.cli.table import print_table
    from reconciler.manifests.columns import Row
    from reconciler.shell.clock import SystemClock

    columns = columns_of(keys[0].group, keys[0].kind, wide=wide)
    namespaced = namespaces and any(key.namespace for key in keys)
    now = SystemClock().now()
    rows = []
    for key in keys:
        origin = (world.inputs.get(key) or world.outputs[key]).origin
        row = Row(_body(world, key), origin.path, now)
        place = [key.namespace] if namespaced else []
        rows.append([*place, key.name, *(show(row) for _, show in columns)])
    titles = [*(["NAMESPACE"] if namespaced else []), "NAME", *(title for title, _ in columns)]
    print_table(titles, rows, headers=headers)

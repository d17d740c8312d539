"""What `get` prints of the objects it found: tables, names, or manifests."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from reconciler.audit.fleet.assumed_outputs import as_of
from reconciler.cli.objects.asked_kinds import asks_across
from reconciler.cli.objects.object_order import in_order
from reconciler.cli.objects.object_tables import Layout, print_tables, typed_name
from reconciler.cli.objects.shown_body import shown_body, without_secrets
from reconciler.cli.options.template_format import COLUMNS, is_template
from reconciler.shell.clock import SystemClock

if TYPE_CHECKING:
    from reconciler.audit.fleet.delivered_copies import Elsewhere
    from reconciler.cli.objects.asked_kinds import AskedKind
    from reconciler.cli.objects.query import Query
    from reconciler.model.body import Body
    from reconciler.model.identity import ObjectKey
    from reconciler.model.known_kinds import Kind
    from reconciler.model.world import World


def print_found(
    world: "World",
    found: "Mapping[AskedKind, Sequence[ObjectKey]]",
    query: "Query",
    wide: "Elsewhere | None",
) -> None:
    """Print objects to standard output, those of each kind together.

    Args:
        world: That has them.
        found: They, as they were asked for.
        query: How to print them.
        wide: For wide tables, what is delivered on other branches.
    """
    kinds = by_kind(world, found, query)
    keys = [key for listed in kinds.values() for key in listed]
    if query.output == "name":
        for key in keys:
            click.echo(typed_name(key))
    elif is_template(query.output):
        single = len(found) == 1 and all(one.name for one in found)
        print_template(_bodies(world, keys, query), query, single=single and len(keys) == 1)
    elif query.output in ("yaml", "json"):
        single = len(found) == 1 and all(one.name for one in found)
        if keys or not single:
            print_manifests(world, keys, query, single=single and len(keys) == 1)
    elif len(kinds) > 1 and asks_across(query.words):
        from reconciler.cli.printing.placements import print_placements

        print_placements(world, keys, query)
    else:
        layout = layout_of(query, several=len({one.kind for one in found}) > 1)
        print_tables(world, kinds, layout, headers=not query.no_headers, wide=wide)


def by_kind(
    world: "World", found: "Mapping[AskedKind, Sequence[ObjectKey]]", query: "Query"
) -> "dict[Kind, list[ObjectKey]]":
    """Return each object once, by kind, in the order that is asked for.

    Raises:
        UsageError: No object has the field to sort by.
    """
    kinds: dict[Kind, dict[ObjectKey, None]] = {}
    for one, keys in found.items():
        kinds.setdefault(one.kind, {}).update(dict.fromkeys(keys))
    if query.sort_by is None:
        return {kind: list(keys) for kind, keys in kinds.items()}
    shown = as_of(world, SystemClock().now())
    bodies = {key: shown_body(shown, key) for keys in kinds.values() for key in keys}
    ordered = in_order(bodies, query.sort_by)
    return {kind: [key for key in ordered if key in keys] for kind, keys in kinds.items()}


def layout_of(query: "Query", *, several: bool) -> Layout:
    """Return what the tables have."""
    return Layout(
        wide=query.output == "wide",
        namespaces=query.all_namespaces,
        kinds=several,
        labels=[key for listed in query.label_columns for key in listed.split(",")],
        all_labels=query.show_labels,
    )


def print_manifests(
    world: "World", keys: "Sequence[ObjectKey]", query: "Query", *, single: bool
) -> None:
    """Print manifests; several as YAML documents or as a JSON List."""
    from reconciler.manifests.text.emitter import encode

    bodies = _bodies(world, keys, query)
    if query.output == "yaml":
        click.echo("---\n".join(encode(body) for body in bodies), nl=False)
    elif single:
        click.echo(json.dumps(bodies[0], indent=2, ensure_ascii=False))
    else:
        click.echo(json.dumps(_listed(bodies), indent=2, ensure_ascii=False))


def print_template(bodies: "Sequence[Body]", query: "Query", *, single: bool) -> None:
    """Print objects by a template: columns of each, or a text of one or of a List of all."""
    from reconciler.cli.printing.table import print_table
    from reconciler.manifests.json_template import (
        column_cell,
        fill_template,
        parse_columns,
        parse_template,
    )

    kind, _, template = query.output.partition("=")
    if kind == COLUMNS.removesuffix("="):
        columns = parse_columns(template)
        rows = [[column_cell(body, path) for _, path in columns] for body in bodies]
        if bodies:
            print_table([title for title, _ in columns], rows, headers=not query.no_headers)
        return
    root = bodies[0] if single else _listed(bodies)
    click.echo(fill_template(parse_template(template), root), nl=False)


def _listed(bodies: "Sequence[Body]") -> "Body":
    """Return several objects as one."""
    return {"apiVersion": "v1", "kind": "List", "items": list(bodies)}


def _bodies(world: "World", keys: "Sequence[ObjectKey]", query: "Query") -> "list[Body]":
    """Return objects as they are shown by now, Secrets without their values if not asked for."""
    present = as_of(world, SystemClock().now())
    shown = {key: shown_body(present, key) for key in keys}
    return [*(shown if query.show_secrets else without_secrets(shown)).values()]

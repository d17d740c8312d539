"""What `get` prints of the objects that it finds: tables, names, manifests, or a template.

Without any word it lists the kinds of which the repository has objects. `--sort-by` orders rows by
what stands at a JSONPath, as kubectl sorts. Policies and placements of all APIs share one table,
with where each has put something.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

import click

from reconciler.audit.fleet.assumed_outputs import as_of
from reconciler.audit.fleet.suspensions import Suspensions
from reconciler.cli.kinds import asks_across
from reconciler.cli.options import COLUMNS, is_template
from reconciler.cli.tables import (
    Layout,
    print_table,
    print_tables,
    shown_body,
    typed_name,
    without_secrets,
)
from reconciler.core.dialects import DIALECTS
from reconciler.errors import UsageError
from reconciler.manifests.columns import NONE
from reconciler.manifests.json_path import check_path, find_path
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import labels_of
from reconciler.model.quantity import parse_quantity
from reconciler.model.text import enumerated
from reconciler.model.world import World
from reconciler.shell.resources import SystemClock

if TYPE_CHECKING:
    from reconciler.audit.fleet.copies import Elsewhere
    from reconciler.cli.kinds import AskedKind
    from reconciler.cli.selection import Query
    from reconciler.model.body import Body
    from reconciler.model.identity import ObjectKey
    from reconciler.model.kinds import Kind
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
    from reconciler.cli.tables import print_table
    from reconciler.manifests.json_path import (
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


def print_kinds(world: "World", query: "Query") -> int:
    """Print each kind with how many objects it has; return the exit code."""
    from reconciler.audit.fleet.placed import present_in
    from reconciler.cli.kinds import present_kinds
    from reconciler.cli.tables import print_table

    counts = Counter((key.group, key.kind) for key in present_in(world))
    listed = present_kinds(world)
    if query.output == "name":
        for one in listed:
            click.echo(one.full_name)
        return 0
    rows = [[one.name, one.short_names, one.api_version, str(counts[one.id])] for one in listed]
    if rows:
        titles = ["NAME", "SHORTNAMES", "APIVERSION", "OBJECTS"]
        print_table(titles, rows, headers=not query.no_headers)
        hint = "name a kind, such as reconciler get " + min((one.word for one in listed), key=len)
    else:
        hint = "there is no object here"
    click.echo(f"{hint}; reconciler api-resources lists all kinds", err=True)
    return 0


Place = tuple[int, int, tuple[tuple[int, int, str], ...]]
"""By what kind of value, by number, by text; comparable with any other."""

_PIECE = re.compile(r"(\d+)|(\D+)")


def check_order(path: str) -> None:
    """Refuse a `--sort-by` that is no JSONPath.

    Raises:
        UsageError: It is none.
    """
    from reconciler.model.text import shown

    try:
        check_path(path)
    except ValueError as error:
        raise UsageError(f"--sort-by {shown(path)} {error}") from None


def in_order(bodies: "Mapping[ObjectKey, Body]", path: str) -> "list[ObjectKey]":
    """Return objects in the order of what stands at a path; equal ones stay as they are.

    What lacks the field comes first, then numbers and quantities by what they amount to, then text
    with the numbers in it by value: `c2` before `c10`.

    Raises:
        UsageError: None of them has the field, so the path may be a slip.

    Source: kubernetes/kubectl pkg/cmd/get/sorter.go `isLess`.
    """
    from reconciler.model.text import shown

    values = {key: next(iter(find_path(body, path)), None) for key, body in bodies.items()}
    if values and all(value is None for value in values.values()):
        raise UsageError(f"--sort-by {shown(path)} must be a field that one of the objects has")
    return sorted(values, key=lambda key: _place(values[key]))


def _place(value: object) -> Place:
    if value is None:
        return (0, 0, ())
    text = str(value)
    try:
        return (1, parse_quantity(text), ())
    except ValueError:
        pieces = (
            (0, int(digits), "") if digits else (1, 0, other)
            for digits, other in _PIECE.findall(text)
        )
        return (2, 0, tuple(pieces))


NAMED = 5  # clusters; all of them in a wide table


def print_placements(world: "World", keys: "Sequence[ObjectKey]", query: "Query") -> None:
    """Print the table, in the order given.

    Args:
        world: That has them.
        keys: Policies and placements.
        query: Which columns there are beside.
    """
    placements, suspensions = _clusters_by_policy(world), Suspensions(world)
    suspended = {key: suspensions.cell(key) for key in keys}
    labels = [label for listed in query.label_columns for label in listed.split(",")]
    titles = [*(["NAMESPACE"] if query.all_namespaces else []), "NAME", "CLUSTERS", "ON"]
    titles += ["SUSPENDED"] if any(suspended.values()) else []
    titles += [label.rpartition("/")[2].upper() for label in labels]
    titles += ["LABELS"] if query.show_labels else []
    rows = []
    for key in keys:
        names = sorted(placements.get(key, ()))
        shown = enumerated(names, len(names) if query.output == "wide" else NAMED)
        cells = [*([key.namespace] if query.all_namespaces else []), typed_name(key)]
        cells += [str(len(names)), shown or NONE]
        cells += [suspended[key] or NONE] if any(suspended.values()) else []
        written = labels_of((world.inputs.get(key) or world.outputs[key]).body)
        cells += [written.get(label, NONE) for label in labels]
        every = ",".join(f"{name}={value}" for name, value in sorted(written.items()))
        rows.append([*cells, *([every or NONE] if query.show_labels else [])])
    print_table(titles, rows, headers=not query.no_headers)


def _clusters_by_policy(world: World) -> Mapping[ObjectKey, AbstractSet[str]]:
    """Return the clusters by policy or placement, as passes wrote them; one without any is absent.

    Those of a policy are the clusters of all that it has claimed.
    """
    clusters: dict[ObjectKey, set[str]] = defaultdict(set)
    for dialect in DIALECTS:
        view = dialect.view()
        for kind in sorted(dialect.placed):
            for manifest in world.outputs_of_kind(dialect.parts.get(kind, kind)):
                owner = view.outputs.policy_of(manifest.body) or view.outputs.owner_of(
                    manifest.key, manifest.body
                )
                names = {name for name, _ in view.outputs.clusters_in(manifest.body)}
                if names:
                    clusters[manifest.key if owner is None else owner] |= names
    return clusters

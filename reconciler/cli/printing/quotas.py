"""What quotas limit, and what is used of that."""

from collections.abc import Iterator
from pathlib import Path

import click

from reconciler.audit.json_shapes import object_json
from reconciler.cli.objects.world import load_world
from reconciler.cli.printing.print_json import print_json
from reconciler.cli.printing.table import print_table
from reconciler.cli.printing.usage import amounts_json
from reconciler.core.dialects import DIALECTS
from reconciler.dialects.quota_usage import QuotaUsage
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.model.world import World

TITLES = ("NAMESPACE", "QUOTA", "RESOURCE", "USED", "FREE", "LIMIT", "REFUSES")


def run(
    directory: Path, *, output: str, no_headers: bool, at: str, layout: RepositoryLayout
) -> int:
    """Print the usage of quotas, one resource a line."""
    found = quotas_of(load_world(directory, at, layout))
    if output == "json":
        print_json({"quotas": [_as_json(one) for one in found]})
        return 0
    if not found:
        click.echo("there is no quota in this repository", err=True)
        return 0
    bad = {number for number, (_, is_over) in enumerate(_lines(found)) if is_over}
    rows = [row for row, _ in _lines(found)]
    print_table(list(TITLES), rows, headers=not no_headers, bad=bad)
    return 0


def quotas_of(world: World) -> list[QuotaUsage]:
    """Return the quotas of all APIs, by key."""
    found = (one for dialect in DIALECTS for one in dialect.view().quotas(world))
    return sorted(found, key=lambda one: one.key)


def _lines(found: list[QuotaUsage]) -> Iterator[tuple[list[str], bool]]:
    """Yield the line of each resource of each quota, and whether more is used than it may be."""
    for one in found:
        for part in one.resources:
            amounts = [part.told(amount) for amount in (part.used, part.free, part.limit)]
            refuses = "yes" if one.refuses else "no"
            row = [one.key.namespace, one.key.name, part.name, *amounts, refuses]
            yield row, part.used > part.limit


def _as_json(one: QuotaUsage) -> dict[str, object]:
    """Return one quota for machines."""
    return {
        "quota": one.key.name,
        "object": object_json(one.key),
        "refuses": one.refuses,
        "limits": amounts_json({part.name: part.limit for part in one.resources}),
        "used": amounts_json({part.name: part.used for part in one.resources}),
        "free": amounts_json({part.name: part.free for part in one.resources}),
    }

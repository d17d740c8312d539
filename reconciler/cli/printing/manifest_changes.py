"""How the manifests of clusters change, as a diff that people read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from reconciler.audit.printable import printable

if TYPE_CHECKING:
    from reconciler.audit.previews.manifest_changes import ManifestChange

COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def print_manifest_changes(changes: "Sequence[ManifestChange]") -> None:
    """Print a diff for each object of each cluster, coloured on a terminal."""
    clusters = {manifest.cluster for manifest in changes}
    objects = f"{len(changes)} object{'s' if len(changes) != 1 else ''}"
    where = f"{len(clusters)} cluster{'s' if len(clusters) != 1 else ''}"
    click.echo(f"\nmanifests: {objects} on {where} change")
    for manifest in changes:
        click.echo()
        for line in manifest.lines:
            click.secho(_shown(line), fg=COLOURS.get(line[:1]))


def _shown(line: str) -> str:
    """Return a line fit for a terminal, its indent kept."""
    sign, rest = line[:1], line[1:]
    bare = rest.lstrip(" ")
    return f"{sign}{' ' * (len(rest) - len(bare))}{printable(bare)}"

"""`reconciler schema`: the schemas, for editors and whatever else reads JSON Schema."""

from pathlib import Path
from typing import Any

import click


@click.command(name="schema")
@click.argument("kind", required=False)
@click.option(
    "--catalog", is_flag=True, help="Print the catalog, in the format of schemastore.org."
)
@click.option(
    "--url",
    metavar="URL",
    help="Where the schemas are served from; the catalog refers to it.",
)
@click.option(
    "--write",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write every schema and the catalog into a folder, ready to be served.",
)
def command(**options: Any) -> int:
    r"""Print the schema of a KIND, or one for all kinds: each document has that of its kind.

    It is JSON Schema draft-07 in one piece, with the descriptions that editors show.

    \b
    Examples:
      reconciler schema > manifests.json
      reconciler schema propagationpolicy
      reconciler schema placement.cluster.open-cluster-management.io
      reconciler schema --write public/schemas --url https://example.org/schemas/
    """
    from reconciler.cli.objects.schema_files import run

    return run(**options)

"""`reconciler explain`: the fields of a kind, as its schema has them."""

from typing import Any

import click

from reconciler.cli.objects import complete


@click.command(name="explain")
@click.argument("word", metavar="KIND[.FIELD...]", shell_complete=complete.read_kinds)
@click.option("--recursive", is_flag=True, help="Print fields of fields, too, by name and type.")
@click.option("--api-version", metavar="GROUP/VERSION", help="Another version than the preferred.")
def command(**options: Any) -> int:
    r"""Print what a field of a kind means: type, default, values, whether it must be there.

    It is told from the schema that manifests are checked with. KIND may have its group:
    crb.work.karmada.io. Lists are passed through: pp.spec.resourceSelectors.kind.

    \b
    Examples:
      reconciler explain pp
      reconciler explain pp.spec.placement.replicaScheduling
      reconciler explain placement.spec --recursive
    \b
    Exit codes: 0 told, 2 no such kind, version or field.
    """
    from reconciler.cli.objects.field_texts import run

    return run(**options)

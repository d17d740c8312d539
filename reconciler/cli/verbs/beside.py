"""`reconciler schema`, `completion` and `version`: the verbs that need no fleet.

`schema` prints the schemas, for editors and whatever else reads JSON Schema. `completion` prints
the script by which a shell completes verbs, options and choices.
"""

from pathlib import Path

import click

from reconciler.cli.options import output_option, runs
from reconciler.cli.printing import print_version
from reconciler.version import __version__


@click.command(name="schema")
@click.argument("kind", required=False)
@click.option("--catalog", is_flag=True, help="Print the catalog in the format of schemastore.org.")
@click.option(
    "--url",
    metavar="URL",
    help="Base URL of the served schemas, for the catalog.",
)
@click.option(
    "--write",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write all schemas and the catalog to a folder, ready to be served.",
)
@runs("reconciler.cli.schema")
def schema_command() -> None:
    r"""Print the schema of a KIND, or a single schema that covers all kinds.

    The output is self-contained JSON Schema draft-07, with descriptions for editors.

    \b
    Examples:
      reconciler schema > manifests.json
      reconciler schema propagationpolicy
      reconciler schema placement.cluster.open-cluster-management.io
      reconciler schema --write public/schemas --url https://example.org/schemas/
    """


SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_RECONCILER_COMPLETE"


@click.command(name="completion")
@click.argument("shell", type=click.Choice(SHELLS), metavar="|".join(SHELLS))
def completion_command(shell: str) -> None:
    r"""Print the completion script for a shell.

    \b
    Examples:
      source <(reconciler completion bash)
      reconciler completion zsh > "${fpath[1]}/_reconciler"
      reconciler completion fish > ~/.config/fish/completions/reconciler.fish
    """
    from click.shell_completion import get_completion_class

    from reconciler.cli.main import cli

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"click does not know the shell {shell}")
    complete = found(cli, {}, "reconciler", VARIABLE)
    # Not `source()`: it runs the user's bash to ask for its version.
    click.echo(complete.source_template % complete.source_vars())


@click.command(name="version")
@output_option("text", "json")
def version_command(output: str) -> int:
    r"""Print the version.

    \b
    Example:
      reconciler version -o json
    """
    if output == "json":
        print_version()
    else:
        click.echo(f"reconciler {__version__}")
    return 0

"""`reconciler completion`: the script by which a shell completes verbs, options and choices."""

import click

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_RECONCILER_COMPLETE"


@click.command(name="completion")
@click.argument("shell", type=click.Choice(SHELLS), metavar="|".join(SHELLS))
def command(shell: str) -> None:
    r"""Print the completion script of a shell.

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

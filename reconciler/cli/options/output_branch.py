"""Which branch has the outputs, where that is not the one of the inputs."""

import click

OUTPUT_BRANCH = "reconciler.output_branch"


def keep_output_branch(
    context: click.Context, _parameter: click.Parameter, output_branch: str | None
) -> None:
    """Keep the name of the branch for what opens repositories."""
    if output_branch is not None:
        from reconciler.shell.git.repository import check_branch

        context.meta[OUTPUT_BRANCH] = check_branch(output_branch)


def output_branch() -> str | None:
    """Return the branch of the outputs, `None` where it is that of the inputs."""
    context = click.get_current_context(silent=True)
    found: str | None = None if context is None else context.meta.get(OUTPUT_BRANCH)
    return found

"""`reconciler demo`: the main job on a scratch repository, with the real daemon."""

from pathlib import Path

import click


@click.command(name="demo")
@click.option(
    "--folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Where the repository is made  [default: a new folder for temporary files]",
)
def command(folder: Path | None) -> int:
    r"""Show the main job: a cluster fails, work moves; it recovers, a rebalancer moves it back.

    It ends with what runs on each cluster. The repository is left for you to look at.

    \b
    Example:
      reconciler demo --folder /tmp/fleet
    """
    from reconciler.cli.story.demo_story import run_story

    run_story(folder, say=click.echo, heading=lambda text: click.echo(click.style(text, bold=True)))
    return 0

"""`reconciler init`: the example repository in a new folder."""

from pathlib import Path

import click

from reconciler.errors import UsageError


@click.command(name="init")
@click.argument("folder", type=click.Path(path_type=Path), metavar="FOLDER")
def command(folder: Path) -> None:
    r"""Write the example repository into FOLDER, which must be new or empty.

    Nothing is committed; its README leads on from there.

    \b
    Example:
      reconciler init fleet && cd fleet && git init && git add . && git commit -m "Start"
    """
    from reconciler.shell.resources import write_example

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f'"{folder}" exists and is not an empty folder; name a new one')
    try:
        write_example(folder)
    except NotADirectoryError:
        raise UsageError(f'"{folder}" lies below a file; name another folder') from None
    click.echo(f"the example repository is in {folder}; its README.md leads through it")

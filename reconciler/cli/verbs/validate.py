"""`reconciler validate`: check manifests, in a repository or in any folder."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.objects import complete
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.outputs import OutputOption

FORMATS = ("text", "json", "junit", "sarif", "github")


@click.command(name="validate")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option(
    "-o",
    "outputs",
    metavar="FORMAT[=FILE]",
    multiple=True,
    type=OutputOption(FORMATS),
    help=f"How to say what is wrong: {', '.join(FORMATS)}; may be given again  [default: text]",
)
@click.option(
    "--fail-level",
    type=click.Choice(["error", "warning", "never"]),
    default="error",
    show_default=True,
    help="What exit code 1 is for.",
)
@click.option("--strict", is_flag=True, help="As --fail-level warning.")
@click.option(
    "--references/--no-references",
    default=None,
    help="Check what manifests say of one another in the whole folder  [default: without PATH]",
)
@click.option(
    "--force-exclude", is_flag=True, help="Leave out a PATH that a check of the folder leaves out."
)
@click.option(
    "--rev",
    metavar="REV",
    shell_complete=complete.revisions,
    help="Check the files of a commit  [default: those on disk, in a bare repository HEAD]",
)
@click.option("-v", "verbose", is_flag=True, help="Say of each file what was found in it.")
@layout_options
@click.pass_obj
def command(directory: Path, /, **options: Any) -> int:
    r"""Check manifests: YAML, schema, and what the documents say of one another.

    Without PATH the whole root is checked, with its reconciler.yaml. A PATH is a file, a folder,
    a glob, or - for standard input; it is judged by itself. Git is not needed. The files are read
    as they are on disk, committed or not, or with --rev as a commit has them.

    \b
    Examples:
      reconciler validate
      reconciler validate policies/nginx.yaml 'workloads/**/*.yaml'
      reconciler -C fleet validate -o github -o sarif=report.sarif
      reconciler validate --rev HEAD~1
      kubectl get clusters -o yaml | reconciler validate -
    \b
    Exit codes: 0 nothing at or above --fail-level, 1 something, or no manifest, 2 a PATH cannot be
    read.
    """
    from reconciler.cli.objects.validation import run

    return run(directory, **options)

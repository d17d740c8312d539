"""`reconciler validate`: check manifests, in a repository or in any folder."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.core.inspect import Inspection
    from reconciler.model.world import Fault


@click.command(name="validate")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="[PATH]...")
@click.option(
    "-o",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to print what is wrong.",
)
@click.option("-v", "verbose", is_flag=True, help="Say of each file what was found in it.")
@click.option(
    "--output-root",
    metavar="DIR",
    envvar="RECONCILER_OUTPUT_ROOT",
    default="status",
    show_default=True,
    help="Folder that the reconciler owns; it is not checked.",
)
@click.pass_obj
def command(
    directory: Path, *, paths: tuple[Path, ...], output: str, verbose: bool, output_root: str
) -> int:
    r"""Check manifests: YAML, schema, and what the documents say of one another.

    Without PATH the whole folder is checked, with its reconciler.yaml. Git is not needed. The
    files are read as they are on disk, committed or not.

    \b
    Examples:
      reconciler validate
      reconciler validate policies/nginx.yaml
      reconciler -C fleet validate -o json
    \b
    Exit codes: 0 all is well, 1 something is wrong, 2 a PATH cannot be read.
    """
    from reconciler.cli.options import check_output_root
    from reconciler.core.survey import survey

    inspections = _inspect(directory, paths, check_output_root(output_root))
    surveyed = survey(inspections)
    faults = sorted(
        fault
        for path, broken in surveyed.broken.items()
        if path not in surveyed.foreign
        for fault, _ in broken
    )
    if verbose:
        _list_files(inspections)
    if output == "json":
        _print_json(faults)
    else:
        _print_text(faults, documents=sum(len(file.documents) for file in inspections))
    return 1 if faults else 0


def _inspect(directory: Path, paths: tuple[Path, ...], output_root: str) -> "list[Inspection]":
    """Read and inspect the files asked for."""
    from reconciler.cli.progress import tracked
    from reconciler.core.admissions import ADMISSIONS
    from reconciler.core.inspect import Rules, inspect
    from reconciler.shell.files import find_manifests, read_file
    from reconciler.shell.resources import load_schemas

    if not directory.is_dir():
        raise UsageError(f'"{directory}" is not a folder')
    rules = Rules(load_schemas(), ADMISSIONS)
    found = find_manifests(directory, paths, output_root=output_root, rules=rules)
    return [
        inspect(path, "", read_file(directory, path), rules) for path in tracked(found, len(found))
    ]


def _list_files(inspections: "Iterable[Inspection]") -> None:
    """Say of each file what was found in it, on standard error."""
    from reconciler.core.inspect import described
    from reconciler.core.message import plain

    for file in inspections:
        names = [described(document.identity) for document in file.documents]
        if file.ignored:
            names.append(f"{file.ignored} ignored, without apiVersion and kind")
        if file.broken and not file.looks_ours:
            names.append("ignored, no manifest")
        click.echo(f"{plain(file.path)}: {plain(', '.join(names)) or 'nothing'}", err=True)


def _print_text(faults: "list[Fault]", *, documents: int) -> None:
    """Print each fault, then the count."""
    from reconciler.cli.faults import fault_text

    for fault in faults:
        click.echo(fault_text(fault))
    if not documents and not faults:
        click.echo("no manifest was found", err=True)
        return
    manifests = f"{documents} manifest{'s' if documents != 1 else ''}"
    wrong = f"{len(faults)} fault{'s' if len(faults) != 1 else ''}"
    click.echo(f"{manifests} valid, {wrong}", err=True)


def _print_json(faults: "list[Fault]") -> None:
    """Print the faults as one JSON list."""
    listed = [
        {
            "path": fault.path,
            "line": fault.line,
            "column": fault.column,
            "field": fault.field,
            "rule": fault.rule,
            "message": fault.message,
            "expected": fault.expected,
            "object": fault.subject,
        }
        for fault in faults
    ]
    click.echo(json.dumps(listed, indent=2))

"""`reconciler validate`: check manifests, in a repository or in any folder."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.objects import complete
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.options import here
from reconciler.cli.options.outputs import Output, OutputOption, check_outputs
from reconciler.errors import UsageError
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.version import __version__

if TYPE_CHECKING:
    from reconciler.audit.findings import Finding
    from reconciler.audit.reports.report import FindingsReport
    from reconciler.cli.objects.checked_files import Checked
    from reconciler.core.inputs.file_validation import FileValidation
    from reconciler.shell.reading.manifest_source import ManifestSource

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
def command(
    directory: Path,
    *,
    paths: tuple[Path, ...],
    outputs: tuple[Output, ...],
    fail_level: str,
    references: bool | None,
    force_exclude: bool,
    rev: str | None,
    verbose: bool,
    layout: RepositoryLayout,
) -> int:
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
    from reconciler.cli.objects.checked_files import check

    check_outputs(outputs)
    checked = check(
        _source(directory, rev, layout),
        paths,
        references=references,
        forced=not force_exclude,
    )
    if verbose:
        _list_files(checked.inspections)
    _print(checked, outputs or (Output("text"),), directory, fail_level)
    failed = any(_matters(finding, fail_level) for finding in checked.findings)
    return 1 if failed or (checked.is_empty and fail_level != "never") else 0


def _source(root: Path, rev: str | None, layout: RepositoryLayout) -> "ManifestSource":
    """Return where the manifests are: on disk, or in a commit."""
    from reconciler.shell.root import is_bare

    if rev is None and not is_bare(root):
        from reconciler.shell.reading.files import FolderSource

        if not root.is_dir():
            raise UsageError(f'"{root}" is not a folder')
        return FolderSource(root, layout, base=here())
    from reconciler.shell.reading.revision_source import RevisionSource

    return RevisionSource.open(
        root, rev or "HEAD", base=here(), layout=layout, variables=_quarantine()
    )


def _quarantine() -> dict[str, str]:
    """Return where git keeps what is pushed, as long as a pre-receive hook may still refuse it."""
    if "GIT_QUARANTINE_PATH" not in os.environ:
        return {}
    names = ("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
    return {name: os.environ[name] for name in names if name in os.environ}


def _matters(finding: "Finding", fail_level: str) -> bool:
    """Return whether a finding is at or above the level that makes the command fail."""
    return fail_level in ("warning", finding.severity)


def _list_files(inspections: "Iterable[FileValidation]") -> None:
    """List what was found in each file, on standard error."""
    from reconciler.audit.printable import printable
    from reconciler.core.inputs.file_validation import described

    for file in inspections:
        names = [described(document.identity) for document in file.documents]
        if file.ignored:
            names.append(f"{file.ignored} ignored, without apiVersion and kind")
        if file.broken and not file.looks_ours:
            names.append("ignored, no manifest")
        click.echo(f"{printable(file.path)}: {printable(', '.join(names)) or 'nothing'}", err=True)


def _print(
    checked: "Checked", outputs: tuple[Output, ...], directory: Path, fail_level: str
) -> None:
    """Write every report that is asked for, then the count to standard error."""
    from reconciler.audit.findings import count
    from reconciler.audit.reports.report import FindingsReport

    report = FindingsReport(
        findings=checked.findings,
        texts={file.path: file.data for file in checked.inspections},
        version=__version__,
        prefix=_prefix(directory),
        warnings_fail=fail_level == "warning",
    )
    for output in outputs:
        output.write(_writer(output.format)(report))
    if checked.unreadable:
        click.echo("references are checked once every document can be read", err=True)
    documents = sum(len(file.documents) for file in checked.inspections)
    if not documents and not checked.findings:
        from reconciler.cli.objects.world import nothing_in

        whole = checked.whole
        click.echo(nothing_in(directory) if whole else "no manifest was found", err=True)
        return
    manifests = f"{documents} manifest{'s' if documents != 1 else ''}"
    click.echo(f"{manifests} valid, {count(checked.findings)}", err=True)


def _writer(name: str) -> "Callable[[FindingsReport], str]":
    """Return what writes a format; each is loaded when it is used."""
    import importlib

    if name == "json":
        return _json
    module = importlib.import_module(f"reconciler.audit.reports.as_{name}")
    writer: Callable[[FindingsReport], str] = getattr(module, f"as_{name}")
    return writer


def _json(report: "FindingsReport") -> str:
    """Return the findings for machines."""
    from reconciler.audit.reports.as_json import findings_json
    from reconciler.cli.printing.print_json import json_text

    return json_text(findings_json(report))


def _prefix(directory: Path) -> str:
    """Return what leads from the current folder to the root that is checked, `""` if nothing does.

    A forge names files from the folder in which its pipeline runs.
    """
    here, root = Path.cwd(), directory.resolve()
    if root == here or not root.is_relative_to(here):
        return ""
    return f"{root.relative_to(here).as_posix()}/"

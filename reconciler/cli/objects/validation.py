"""What is wrong with manifests, in the formats of those who ask."""

import importlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import click

from reconciler.audit.findings import Finding, count
from reconciler.audit.printable import printable
from reconciler.audit.reports.as_json import findings_json
from reconciler.audit.reports.report import FindingsReport
from reconciler.cli.objects.checked_files import Checked, check
from reconciler.cli.objects.world import nothing_in
from reconciler.cli.options.options import here
from reconciler.cli.options.outputs import Output, check_outputs
from reconciler.cli.printing.print_json import json_text
from reconciler.core.inputs.file_validation import FileValidation, described
from reconciler.errors import UsageError
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.shell.reading.files import FolderSource
from reconciler.shell.reading.manifest_source import ManifestSource
from reconciler.shell.root import is_bare
from reconciler.version import __version__


def run(
    directory: Path,
    *,
    paths: tuple[Path, ...],
    outputs: tuple[Output, ...],
    fail_level: str,
    strict: bool,
    references: bool | None,
    force_exclude: bool,
    rev: str | None,
    verbose: bool,
    layout: RepositoryLayout,
) -> int:
    """Check manifests; return the exit code."""
    check_outputs(outputs)
    fail_level = "warning" if strict else fail_level
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


def _source(root: Path, rev: str | None, layout: RepositoryLayout) -> ManifestSource:
    """Return where the manifests are: on disk, or in a commit."""
    if rev is None and not is_bare(root):
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


def _matters(finding: Finding, fail_level: str) -> bool:
    """Return whether a finding is at or above the level that makes the command fail."""
    return fail_level in ("warning", finding.severity)


def _list_files(inspections: Iterable[FileValidation]) -> None:
    """List what was found in each file, on standard error."""
    for file in inspections:
        names = [described(document.identity) for document in file.documents]
        if file.ignored:
            names.append(f"{file.ignored} ignored, without apiVersion and kind")
        if file.broken and not file.looks_ours:
            names.append("ignored, no manifest")
        click.echo(f"{printable(file.path)}: {printable(', '.join(names)) or 'nothing'}", err=True)


def _print(checked: Checked, outputs: tuple[Output, ...], directory: Path, fail_level: str) -> None:
    """Write every report that is asked for, then the count to standard error."""
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
        whole = checked.whole
        click.echo(nothing_in(directory) if whole else "no manifest was found", err=True)
        return
    manifests = f"{documents} manifest{'s' if documents != 1 else ''}"
    click.echo(f"{manifests} valid, {count(checked.findings)}", err=True)


def _writer(name: str) -> Callable[[FindingsReport], str]:
    """Return what writes a format; each is loaded when it is used."""
    if name == "json":
        return _json
    module = importlib.import_module(f"reconciler.audit.reports.as_{name}")
    writer: Callable[[FindingsReport], str] = getattr(module, f"as_{name}")
    return writer


def _json(report: FindingsReport) -> str:
    """Return the findings for machines."""
    return json_text(findings_json(report))


def _prefix(directory: Path) -> str:
    """Return what leads from the current folder to the root that is checked, `""` if nothing does.

    A forge names files from the folder in which its pipeline runs.
    """
    here, root = Path.cwd(), directory.resolve()
    if root == here or not root.is_relative_to(here):
        return ""
    return f"{root.relative_to(here).as_posix()}/"

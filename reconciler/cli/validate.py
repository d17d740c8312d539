"""What is wrong with manifests: which files `validate` reads, what it finds, in which format."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click

from reconciler.audit.findings import Finding, count, finding_of
from reconciler.audit.references import (
    check_kinds,
    check_references,
    not_to_be_checked,
    skipped_links,
)
from reconciler.audit.reports import FindingsReport, findings_json
from reconciler.audit.workloads import check_workloads
from reconciler.cli.options import Output, check_outputs, here
from reconciler.cli.printing import json_text
from reconciler.cli.progress import doing, tracked
from reconciler.cli.world import document_cache, nothing_in
from reconciler.core.dialects import KINDS, PLACED, RUNS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.index import InputIndex, index_inputs
from reconciler.core.inputs.last_known_good import last_known_good
from reconciler.core.inputs.validation import FileValidation, Rules, described, validate_file
from reconciler.core.inputs.world import compose
from reconciler.core.state import StateTree, read_state
from reconciler.errors import UsageError
from reconciler.manifests.paths import NOT_MANIFESTS, blob_id, folder_of, matches_any
from reconciler.manifests.text.raw import Oversized
from reconciler.model.identity import RepositoryLayout
from reconciler.model.records import dataclass, replace
from reconciler.model.text import enumerated, printable
from reconciler.model.world import Fault, Frozen, World
from reconciler.shell.processes.limits import processors
from reconciler.shell.reading.checked import STDIN, FolderSource, ManifestSource
from reconciler.shell.reading.tables import INPUTS
from reconciler.shell.resources import is_bare, load_kubernetes, load_schemas
from reconciler.shell.work.validators import file_validators
from reconciler.version import __version__

RECORDED = {*KINDS.removable, *RUNS}
RECORDS = tuple(sorted(folder_of(*kind) for kind in RECORDED))
"""Folders of what became of the demands that people write."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What was read and what was found.

    `unchecked` is why references that were asked for could not be checked: a document that cannot
    be read may be what they are looking for. `whole` is true if the whole root was asked
    for, `named` if nothing but single files was. `skipped` are files that may hold manifests, but
    for their names.
    """

    inspections: tuple[FileValidation, ...]
    findings: tuple[Finding, ...]
    unchecked: str = ""
    whole: bool = True
    named: bool = False
    skipped: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there was no manifest where some must be: anywhere but in files that were named.

        Hooks name every file that changed, and many hold something else.
        """
        has_any = self.findings or any(file.documents for file in self.inspections)
        return not has_any and not self.named


def check(
    source: ManifestSource,
    paths: Sequence[Path],
    *,
    references: bool | None,
    forced: bool,
    kubernetes: str = "",
) -> Checked:
    """Read the files and check them.

    Args:
        source: Where they are.
        paths: Files, folders and globs asked for; none, or the root, means everything.
        references: Whether to check what manifests say of one another, for which the whole root is
            read; `None` means if all of it is asked for.
        forced: Whether files that are named are checked whatever their names.
        kubernetes: The version of Kubernetes that clusters run, `""` for the newest known,
            `none` if it does not matter what they make of workloads.

    Raises:
        UsageError: A file is not there or cannot be read, or what is asked for makes no sense.
    """
    rules = Rules(load_schemas(), ADMISSIONS, KINDS)
    named = source.find(paths, rules=rules, forced=forced)
    whole = not paths or any(map(source.is_root, paths))
    wanted = whole if references is None else references
    if wanted and STDIN in named.files:
        raise UsageError(
            "--references cannot be combined with -: standard input is not in the folder"
        )
    everything = named.files
    if wanted and not whole:
        rest = source.find((), rules=rules)
        everything = tuple(sorted({*named.files, *rest.files}))
    inspections = _inspect(source, everything, rules)
    index = index_inputs(inspections, KINDS, allowed=named.allowed)
    links = skipped_links(named.links)
    findings = [finding_of(fault) for fault in (*_faults(index), *links, *index.unconfigured)]
    texts = {file.path: file.data for file in inspections}
    findings += check_kinds(index.manifests, texts)
    unchecked, whole_world = "", None
    if wanted:
        world = _world(index, source)
        unchecked = not_to_be_checked(world)
        if not unchecked:
            with doing("Following references"):
                findings += check_references(world, texts, foreseen=True)
            whole_world = world
    kinds = load_kubernetes(kubernetes)
    if kinds is not None:
        findings += check_workloads(index.manifests, texts, kinds, whole_world)
    asked = frozenset((*named.files, *named.links))
    return Checked(
        inspections=tuple(file for file in inspections if file.path in asked),
        findings=tuple(sorted(found for found in findings if found.fault.path in asked)),
        unchecked=unchecked,
        named=bool(paths) and all(map(source.is_file, paths)),
        whole=whole,
        skipped=named.skipped,
    )


def _inspect(source: ManifestSource, paths: Sequence[str], rules: Rules) -> list[FileValidation]:
    """Inspect files, in the order given; those that were parsed before are not parsed again."""
    contents = dict(source.contents(paths))
    pairs = [(path, _blob(data)) for path, data in contents.items()]
    documents = document_cache()
    by_path: dict[str, FileValidation] = {}
    if documents is not None:
        for file in documents.find(INPUTS, pairs):
            data = contents[file.path]
            by_path[file.path] = replace(file, data=b"" if isinstance(data, Oversized) else data)
    rest = [(path, blob, contents[path]) for path, blob in pairs if path not in by_path]
    with file_validators({INPUTS: rules}, len(rest), processes=processors()) as by:
        for file in tracked(by.validate(rest, len(rest), INPUTS), len(rest)):
            by_path[file.path] = file
            if documents is not None:
                documents.add(INPUTS, file)
    return [by_path[path] for path in paths]


def _blob(data: bytes | Oversized) -> str:
    """Return the id that git would give to a content; too large a one has no need of it."""
    return "" if isinstance(data, Oversized) else blob_id(data, like="")


def _faults(index: InputIndex) -> list[Fault]:
    """Return what is wrong with single documents, and between two of one object."""
    return [
        fault
        for path, broken in index.broken.items()
        if path not in index.foreign
        for fault, _ in broken
    ]


def _world(index: InputIndex, source: ManifestSource) -> World:
    """Return the files as a world, with the records of those that files speak of as its outputs.

    Of decisions it is known which there are, not what they say.
    """
    rules = Rules(load_schemas(), {}, KINDS, status_only=True)
    paths = [path for folder in RECORDS for path in source.records(folder)]
    records = [validate_file(path, "", data, rules) for path, data in source.contents(paths)]
    state = read_state(records, source.layout.output_root, KINDS)
    decided = (path for kind in sorted(PLACED) for path in source.records(folder_of(*kind)))
    return compose(
        index,
        last_known_good(index, None),
        StateTree(state.manifests, dict.fromkeys(decided, ""), Frozen(), {}, ()),
        revision="",
        layout=source.layout,
    )


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
    kubernetes: str,
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
        kubernetes=kubernetes,
    )
    if verbose:
        _list_files(checked.inspections)
        for path in checked.skipped:
            click.echo(f"{printable(path)}: skipped for its name", err=True)
    _print(checked, outputs or (Output("text"),), directory, fail_level)
    failed = any(fail_level in ("warning", one.severity) for one in checked.findings)
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
    ).clarified()
    for output in outputs:
        output.write(_writer(output.format)(report))
    if checked.unchecked:
        click.echo(f"cross-references skipped: {checked.unchecked}", err=True)
    if checked.skipped:
        click.echo(skipped_text(checked.skipped), err=True)
    documents = sum(len(file.documents) for file in checked.inspections)
    if not documents and not checked.findings:
        whole = checked.whole
        click.echo(nothing_in(directory) if whole else "no manifest was found", err=True)
        return
    manifests = f"{documents} manifest{'s' if documents != 1 else ''}"
    click.echo(f"{manifests} valid, {count(checked.findings)}", err=True)


NAMED = 3


def skipped_text(paths: Sequence[str]) -> str:
    """Return in a line what is not read for its name, and what to do about it.

    >>> skipped_text(["charts/web/Chart.yaml", "charts/web/values.yaml", "a/kustomization.yaml"])
    'skipped: 1 Helm chart (charts/web), 1 kustomization (a); render them first'
    >>> skipped_text(["policies/new.yaml.txt"])
    'skipped: 1 file of another name (policies/new.yaml.txt); rename it'
    """
    charts = [folder for path in paths for folder in _named_in(path, "Chart.yaml")]
    inside = tuple(f"{folder}/" for folder in charts)
    rest = [path for path in paths if not path.startswith(inside) and path not in inside]
    kustomizations = [folder for path in rest for folder in _named_in(path, "kustomization.yaml")]
    others = [path for path in rest if not _named_in(path, "kustomization.yaml")]
    helm = [path for path in others if matches_any(path, NOT_MANIFESTS)]
    renamed = [path for path in others if path not in helm]
    kinds = {
        "Helm chart": charts,
        "kustomization": kustomizations,
        "file of Helm": helm,
        "file of another name": renamed,
    }
    listed = ", ".join(_counted(name, found) for name, found in kinds.items() if found)
    to_render = charts or kustomizations or helm
    many = "them" if len(charts + kustomizations + others) > 1 else "it"
    what = f"render or rename {many}" if to_render and renamed else f"render {many} first"
    return f"skipped: {listed}; {what if to_render else f'rename {many}'}"


def _named_in(path: str, name: str) -> tuple[str, ...]:
    """Return the folder of a path that ends in a name, nothing for any other."""
    folder, _, last = path.rpartition("/")
    return (printable(folder) or ".",) if last == name else ()


def _counted(noun: str, paths: Sequence[str]) -> str:
    """Return how many there are, and which, in words."""
    first, _, rest = noun.partition(" ")
    plural = noun if len(paths) == 1 else f"{first}s {rest}" if first == "file" else f"{noun}s"
    return f"{len(paths)} {plural} ({enumerated(map(printable, paths), NAMED)})"


def _writer(name: str) -> Callable[[FindingsReport], str]:
    """Return what writes a format; each is loaded when it is used."""
    if name == "json":
        return lambda report: json_text(findings_json(report))
    from reconciler.audit import reports

    writer: Callable[[FindingsReport], str] = getattr(reports, f"as_{name}")
    return writer


def _prefix(directory: Path) -> str:
    """Return what leads from the current folder to the root that is checked, `""` if nothing does.

    A forge names files from the folder in which its pipeline runs.
    """
    here, root = Path.cwd(), directory.resolve()
    if root == here or not root.is_relative_to(here):
        return ""
    return f"{root.relative_to(here).as_posix()}/"

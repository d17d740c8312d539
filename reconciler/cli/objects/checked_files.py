"""What `validate` checks: which files are read, and what is found in them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reconciler.audit.findings import Finding, finding_of
from reconciler.audit.references.check import check_kinds, check_references, is_complete
from reconciler.audit.references.links import skipped_links
from reconciler.cli.options.document_cache import document_cache
from reconciler.cli.printing.progress import doing, tracked
from reconciler.core.dialects import DIALECTS, KINDS, PLACED
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.document_rules import Rules
from reconciler.core.inputs.file_validation import FileValidation, validate_file
from reconciler.core.inputs.input_index import InputIndex, index_inputs
from reconciler.core.inputs.last_known_good import last_known_good
from reconciler.core.inputs.world_composition import compose
from reconciler.core.state import StateTree, read_state
from reconciler.errors import UsageError
from reconciler.manifests.paths import blob_id, folder_of
from reconciler.manifests.text.limits import Oversized
from reconciler.model.frozen import Frozen
from reconciler.model.world import Fault, World
from reconciler.shell.reading.document_cache import INPUTS
from reconciler.shell.reading.files import STDIN
from reconciler.shell.reading.manifest_source import ManifestSource
from reconciler.shell.resources import load_schemas
from reconciler.shell.work.validators import file_validators
from reconciler.shell.work.workers import processors

RECORDED = {*KINDS.removable, *(kind for api in DIALECTS for kind in api.approvable)}
RECORDS = tuple(sorted(folder_of(*kind) for kind in RECORDED))
"""Folders of what became of the demands that people write."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What was read and what was found.

    `unreadable` says that references were asked for and could not be checked, since a document
    cannot be read and may be what they are looking for. `whole` is true if the whole root was asked
    for, `named` if nothing but single files was.
    """

    inspections: tuple[FileValidation, ...]
    findings: tuple[Finding, ...]
    unreadable: bool = False
    whole: bool = True
    named: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there was no manifest where some must be: anywhere but in files that were named.

        Hooks name every file that changed, and many hold something else.
        """
        found = self.findings or any(file.documents for file in self.inspections)
        return not found and not self.named


def check(
    source: ManifestSource,
    paths: Sequence[Path],
    *,
    references: bool | None,
    forced: bool,
) -> Checked:
    """Read the files and check them.

    Args:
        source: Where they are.
        paths: Files, folders and globs asked for; none, or the root, means everything.
        references: Whether to check what manifests say of one another, for which the whole root is
            read; `None` means if all of it is asked for.
        forced: Whether files that are named are checked whatever their names.

    Raises:
        UsageError: A file is not there or cannot be read, or what is asked for makes no sense.
    """
    rules = Rules(load_schemas(), ADMISSIONS, KINDS)
    named = source.find(paths, rules=rules, forced=forced)
    whole = not paths or any(map(source.is_root, paths))
    wanted = whole if references is None else references
    if wanted and STDIN in named.files:
        raise UsageError("--references does not go with -, standard input is no file of the folder")
    everything = named.files
    if wanted and not whole:
        rest = source.find((), rules=rules)
        everything = tuple(sorted({*named.files, *rest.files}))
    inspections = _inspect(source, everything, rules)
    index = index_inputs(inspections, KINDS, allowed=named.allowed)
    findings = [finding_of(fault) for fault in (*_faults(index), *skipped_links(named.links))]
    texts = {file.path: file.data for file in inspections}
    findings += check_kinds(index.manifests, texts)
    unreadable = False
    if wanted:
        world = _world(index, source)
        unreadable = not is_complete(world)
        if not unreadable:
            with doing("Following references"):
                findings += check_references(world, texts)
    asked = frozenset((*named.files, *named.links))
    return Checked(
        inspections=tuple(file for file in inspections if file.path in asked),
        findings=tuple(sorted(found for found in findings if found.fault.path in asked)),
        unreadable=unreadable,
        named=bool(paths) and all(map(source.is_file, paths)),
        whole=whole,
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

"""What `validate` checks: which files are read, and what is found in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reconciler.audit.findings import Finding, finding_of
from reconciler.cli.progress import tracked
from reconciler.core.admissions import ADMISSIONS
from reconciler.core.dialects import KINDS
from reconciler.core.file_validation import FileValidation, Rules, validate_file
from reconciler.core.input_index import InputIndex, index_inputs
from reconciler.core.last_known_good import last_known_good
from reconciler.core.state import StateTree, read_state
from reconciler.core.world_composition import compose
from reconciler.errors import UsageError
from reconciler.manifests.paths import folder_of
from reconciler.model.frozen import Frozen
from reconciler.model.world import Fault, World
from reconciler.shell.files import STDIN, find_manifests, find_records, read_file
from reconciler.shell.resources import load_schemas
from reconciler.shell.validators import file_validators
from reconciler.shell.workers import processors

RECORDS = tuple(sorted(folder_of(*kind) for kind in KINDS.removable))
"""Folders of what became of the demands that people write."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What was read and what was found.

    `unreadable` says that references were asked for and could not be checked, since a document
    cannot be read and may be what they are looking for.
    """

    inspections: tuple[FileValidation, ...]
    findings: tuple[Finding, ...]
    unreadable: bool = False


def check(
    directory: Path,
    paths: Sequence[Path],
    *,
    output_root: str,
    references: bool | None,
    forced: bool,
) -> Checked:
    """Read the files and check them.

    Args:
        directory: The root.
        paths: Files, folders and globs asked for; none, or the root, means everything.
        output_root: Folder that the reconciler owns.
        references: Whether to check what manifests say of one another, for which the whole root is
            read; `None` means if all of it is asked for.
        forced: Whether files that are named are checked whatever their names.

    Raises:
        UsageError: A file is not there or cannot be read, or what is asked for makes no sense.
    """
    if not directory.is_dir():
        raise UsageError(f'"{directory}" is not a folder')
    rules = Rules(load_schemas(), ADMISSIONS, KINDS)
    named = find_manifests(directory, paths, output_root=output_root, rules=rules, forced=forced)
    whole = not paths or any((directory / path).resolve() == directory.resolve() for path in paths)
    wanted = whole if references is None else references
    if wanted and STDIN in named:
        raise UsageError("--references does not go with -, standard input is no file of the folder")
    everything = named
    if wanted and not whole:
        rest = find_manifests(directory, (), output_root=output_root, rules=rules)
        everything = sorted({*named, *rest})
    inspections = _inspect(directory, everything, rules)
    index = index_inputs(inspections, KINDS)
    findings = list(map(finding_of, _faults(index)))
    unreadable = False
    if wanted:
        from reconciler.audit.references.check import check_references, is_complete

        world = _world(index, directory, output_root)
        unreadable = not is_complete(world)
        if not unreadable:
            findings += check_references(world, {file.path: file.data for file in inspections})
    asked = frozenset(named)
    return Checked(
        inspections=tuple(file for file in inspections if file.path in asked),
        findings=tuple(sorted(found for found in findings if found.fault.path in asked)),
        unreadable=unreadable,
    )


def _inspect(directory: Path, paths: Sequence[str], rules: Rules) -> list[FileValidation]:
    """Inspect files, in the order given."""
    files = ((path, "", read_file(directory, path)) for path in paths)
    with file_validators({"": rules}, len(paths), processes=processors()) as by:
        by_path = {
            file.path: file for file in tracked(by.validate(files, len(paths), ""), len(paths))
        }
    return [by_path[path] for path in paths]


def _faults(index: InputIndex) -> list[Fault]:
    """Return what is wrong with single documents, and between two of one object."""
    return [
        fault
        for path, broken in index.broken.items()
        if path not in index.foreign
        for fault, _ in broken
    ]


def _world(index: InputIndex, directory: Path, output_root: str) -> World:
    """Return the files as a world, with the records of rebalancers and triggers as its outputs."""
    rules = Rules(load_schemas(), {}, KINDS, status_only=True)
    records = [
        validate_file(path, "", read_file(directory, path), rules)
        for folder in RECORDS
        for path in find_records(directory, output_root, folder)
    ]
    state = read_state(records, output_root, KINDS)
    return compose(
        index,
        last_known_good(index, None),
        StateTree(state.manifests, {}, Frozen(), frozenset(), ()),
        revision="",
        output_root=output_root,
    )

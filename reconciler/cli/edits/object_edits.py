"""Objects edited in people's files, line by line: the difference, and what it would move."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.audit.named_object import find_object, near, spelled
from reconciler.audit.printable import printable
from reconciler.cli.edits.delivery import Delivery, commit_subject, delivery_options
from reconciler.cli.edits.edited_world import edited_world
from reconciler.cli.edits.file_edits import (
    Edit,
    ObjectEdit,
    RemovedObject,
    edited_bodies,
    edited_files,
    path_of,
)
from reconciler.cli.edits.object_text import print_difference
from reconciler.cli.objects.object_selection import (
    NamedOrChosen,
    ObjectSelection,
    matching,
    where_looked,
)
from reconciler.cli.objects.object_words import all_objects
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.option_group import with_options
from reconciler.cli.options.options import output_option
from reconciler.cli.printing.progress import PASSES, doing
from reconciler.errors import UsageError
from reconciler.model.enumeration import enumerated
from reconciler.model.identity import ObjectKey
from reconciler.model.repository_layout import RepositoryLayout

if TYPE_CHECKING:
    from reconciler.audit.previews.preview import Preview
    from reconciler.cli.objects.asked_kinds import AskedKind
    from reconciler.model.world import World

NAMED = 3  # objects that a subject names


@dataclass(frozen=True, slots=True, kw_only=True)
class EditOptions:
    """Where edits go, and how they are told: the options that these verbs share."""

    dry_run: bool
    output: str
    branch: str | None
    author: str | None
    layout: RepositoryLayout


def edit_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options that say where edits go; the verb gets what `EditOptions` holds."""
    options = (
        click.option("--dry-run", is_flag=True, help="Print the edit and the plan, write nothing."),
        output_option("text", "json"),
        delivery_options,
        layout_options,
    )
    return with_options(function, options)


def find_written(world: "World", words: Sequence[str], namespace: str) -> list[ObjectKey]:
    """Return the objects that words name, each once, all of them written by people.

    Raises:
        UsageError: One is not there, or passes write it.
    """
    keys = []
    for word in words:
        key = find_object(world, word, namespace)
        if key not in world.inputs:
            if key in world.outputs:
                raise UsageError(f"{spelled(key)} is written by passes, which would undo an edit")
            raise UsageError(f"there is no {spelled(key)}{near(world, key)}")
        keys.append(key)
    return list(dict.fromkeys(keys))


def find_chosen(world: "World", selection: NamedOrChosen) -> list[ObjectKey]:
    """Return the objects that are named, or of those that people wrote the ones that are chosen.

    Raises:
        UsageError: One that is named is not there, or passes write it; or there is nothing.
    """
    from reconciler.cli.objects.asked_kinds import asked_kinds, present_kinds

    selection.check()
    if selection.is_named:
        return find_written(world, all_objects(selection.words), selection.namespace)
    asked = asked_kinds(world.known, present_kinds(world), selection.words)
    return written_among(world, matching(world, asked, selection), selection)


def written_among(
    world: "World", found: "Mapping[AskedKind, Sequence[ObjectKey]]", selection: ObjectSelection
) -> list[ObjectKey]:
    """Return those of some objects that people wrote.

    Raises:
        UsageError: There is none.
    """
    keys = [key for listed in found.values() for key in listed if key in world.inputs]
    if keys:
        return keys
    words = ", ".join(dict.fromkeys(one.word for one in found))
    raise UsageError(f"no {words}{where_looked(world, next(iter(found)), selection)}")


def edit_objects(
    directory: Path,
    to: EditOptions,
    wanted: "Callable[[World], Sequence[Edit]]",
    subject: Callable[[str], str],
    told: "Callable[[World], Sequence[str]]" = lambda _: (),
) -> int:
    """Edit objects, say what was edited and what it would move; return the exit code.

    Args:
        directory: The root.
        to: Where the edits go.
        wanted: Returns what is to become of which objects of a world.
        subject: Returns the subject of the commit, given the names of what it edits.
        told: Returns lines that are printed behind the plan, given the world with the edits.
    """
    from reconciler.cli.objects.world import note_if_empty
    from reconciler.shell.git.repository import Repository

    repository = Repository.open(directory)
    base = repository.resolve(repository.head_branch()) if to.branch is not None else ""
    delivery = Delivery(
        directory=directory, repository=repository, base=base, branch=to.branch, author=to.author
    )
    delivery.check()
    world, files = edited_world(delivery, to.layout)
    note_if_empty(directory, world)
    edits = wanted(world)
    before, after = edited_files(world, files, edits)
    changed = {path: data for path, data in after.items() if data != before[path]}
    edited = _edited(delivery, to, world, edits, after) if changed else None
    known = (one for one in edits if isinstance(one, ObjectEdit) and not one.changes)
    said = [f"{spelled(one.key)} {one.is_already}" for one in known]
    if changed and to.dry_run:
        said.append("nothing is written (--dry-run)")
    elif changed:
        keys = (one.key for one in edits if isinstance(one, ObjectEdit) and one.changes)
        names = enumerated((f"{key.kind.lower()}/{key.name}" for key in keys), NAMED)
        said.append(delivery.deliver(changed, commit_subject(subject(names))))
    shown = {path: (before[path], data or b"") for path, data in changed.items()}
    _print(world, to, edits, shown, edited, told)
    for line in said:
        click.echo(printable(line), err=True)
    return 0


@dataclass(frozen=True, slots=True)
class _Edited:
    """The world with the edits, as it was decided otherwise, and what they move."""

    after: "World"
    preview: "Preview"


def _edited(
    delivery: Delivery,
    to: EditOptions,
    world: "World",
    edits: Sequence[Edit],
    files: Mapping[str, bytes | None],
) -> _Edited:
    """Return what objects would move once they are as they shall be.

    Raises:
        UsageError: An object would not be accepted so.
    """
    from reconciler.audit.previews.edits import put, remove
    from reconciler.audit.previews.look_ahead import look_ahead
    from reconciler.cli.edits.what_if import check_accepted, moment_in

    bodies = edited_bodies(world, edits, files)
    gone = [edit.key for edit in edits if isinstance(edit, RemovedObject)]
    check_accepted(world, put(world, bodies))
    present = _decided_world(delivery, to, world)
    merged = remove(gone)(put(present, bodies))
    with doing(PASSES):
        return _Edited(merged, look_ahead(present, merged, moment_in(present, None)))


def _decided_world(delivery: Delivery, to: EditOptions, world: "World") -> "World":
    """Return the world with what passes wrote, wherever that is; `world` has the files of one tree.

    In a repository without a commit nothing was decided yet.
    """
    from reconciler.cli.objects.world import open_fleet

    if to.branch is not None:
        return world
    try:
        delivery.repository.head()
    except UsageError:
        return world
    with open_fleet(delivery.directory, to.layout).sides(base="HEAD") as sides:
        return sides.merged


def _print(
    world: "World",
    to: EditOptions,
    edits: Sequence[Edit],
    changed: Mapping[str, tuple[bytes, bytes]],
    edited: _Edited | None,
    told: "Callable[[World], Sequence[str]]",
) -> None:
    """Print the edits, and what they would move."""
    from reconciler.audit.json_shapes import object_json
    from reconciler.audit.previews.as_json import preview_json
    from reconciler.audit.previews.wording import Heading
    from reconciler.cli.printing.preview import print_preview
    from reconciler.cli.printing.print_json import print_json

    heading = Heading("plan", f"with {', '.join(sorted(changed))} edited")
    if to.output == "json":
        objects = [
            {
                "object": object_json(edit.key),
                "path": path_of(world, edit),
                "becomes": edit.becomes,
                "changes": edit.changes,
            }
            for edit in edits
        ]
        plan = None if edited is None else preview_json(edited.preview, heading)
        print_json({"objects": objects, "files": sorted(changed), "plan": plan})
        return
    for path, (old, new) in sorted(changed.items()):
        print_difference(path, old, new)
    if edited is not None:
        click.echo()
        print_preview(edited.preview, heading, "text")
        for line in told(edited.after):
            click.echo(line)

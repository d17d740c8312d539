"""Objects edited in user files, line by line: the difference, and what it would move.

The edited world is that of the files of the checkout, or that of the branch that is checked out.
The text in which an object stands says whether it may be edited. An edit becomes a change of
files: lines of a document, a new file, or a removed one.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import click

from reconciler.audit.json_shapes import ObjectJson, object_json
from reconciler.audit.named_object import find_object, near, spelled
from reconciler.cli.delivery import Delivery, commit_subject, delivery_options
from reconciler.cli.options import gathered, layout_options, output_option
from reconciler.cli.progress import PASSES, doing
from reconciler.cli.selection import (
    NamedOrChosen,
    ObjectSelection,
    all_objects,
    matching,
    where_looked,
)
from reconciler.errors import UsageError
from reconciler.manifests.edits.documents import cut
from reconciler.manifests.edits.fields import Step, apply_steps
from reconciler.manifests.text.emitter import encode
from reconciler.model.identity import ObjectKey, Origin, RepositoryLayout
from reconciler.model.records import dataclass
from reconciler.model.text import enumerated, printable

if TYPE_CHECKING:
    from reconciler.audit.previews.preview import Preview
    from reconciler.audit.previews.wording import MergedJson
    from reconciler.cli.kinds import AskedKind
    from reconciler.core.asked import Passes, SettledWorld
    from reconciler.model.body import Body
    from reconciler.model.world import Manifest, World


Files = Callable[[str], bytes]
"""Returns what a file holds; `b""` if there is none."""


def edited_world(delivery: Delivery, layout: RepositoryLayout) -> "tuple[World, Files]":
    """Return the world that a change is for, and what its files hold."""
    source = world_on_disk if delivery.branch is None else committed_world
    return source(delivery, layout)


def world_on_disk(delivery: Delivery, layout: RepositoryLayout) -> "tuple[World, Files]":
    """Return what the files of the checkout hold, committed or not."""
    from reconciler.cli.progress import tracked
    from reconciler.cli.world import document_cache
    from reconciler.library.folder import read_folder
    from reconciler.manifests.text.raw import Oversized
    from reconciler.shell.reading.checked import read_file

    directory = delivery.directory
    world = read_folder(
        directory,
        output_root=layout.output_root,
        revision=delivery.base,
        track=tracked,
        documents=document_cache(),
    )

    def content(path: str) -> bytes:
        data = read_file(directory, path) if (directory / path).exists() else b""
        return b"" if isinstance(data, Oversized) else data

    return world, content


def committed_world(delivery: Delivery, layout: RepositoryLayout) -> "tuple[World, Files]":
    """Return what the commit holds that a change is for."""
    from reconciler.cli.world import open_loader
    from reconciler.shell.git.objects import read_file

    repository, head = delivery.repository, delivery.base
    prefix = f"{repository.prefix}/" if repository.prefix else ""
    loader = open_loader(repository, layout)
    return loader.load(head), lambda path: read_file(repository, head, f"{prefix}{path}") or b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectEdit:
    """What is to become of one object that people wrote.

    Attributes:
        key: Which.
        steps: How its document changes, none if it is as it is to be.
        becomes: What it is afterwards, such as `scaled to 5`.
        is_already: What it is if there are no steps.
    """

    key: ObjectKey
    steps: tuple[Step, ...]
    becomes: str
    is_already: str

    @property
    def changes(self) -> bool:
        """Whether anything is to be done."""
        return bool(self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewObject:
    """An object that is to be written into a file of its own, a root-relative path."""

    key: ObjectKey
    path: str
    body: "Body"
    becomes: str = "written"
    changes: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedObject:
    """An object whose document is to be taken out of its file; an empty file goes."""

    key: ObjectKey
    becomes: str = "removed"
    changes: bool = True


Edit = ObjectEdit | NewObject | RemovedObject
Contents = dict[str, bytes | None]
"""Root-relative path to content, `None` for no file."""


def path_of(world: "World", edit: Edit) -> str:
    """Return the file that an edit is about."""
    return edit.path if isinstance(edit, NewObject) else world.inputs[edit.key].origin.path


def edited_files(
    world: "World", files: Files, edits: Sequence[Edit]
) -> tuple[dict[str, bytes], Contents]:
    """Return the files of some objects as they are, and edited.

    Raises:
        UsageError: One cannot be edited, or a new one is there already.
    """
    from reconciler.core.cluster_reports import written_of

    before: dict[str, bytes] = {}
    after: Contents = {}
    for edit in _last_documents_first(world, edits):
        path = path_of(world, edit)
        if isinstance(edit, NewObject):
            if files(path):
                raise UsageError(f'"{path}" already exists; move it away')
            before[path], after[path] = b"", encode(edit.body).encode()
            continue
        manifest = written_of(world, edit.key) or world.inputs[edit.key]
        text = text_around(manifest, spelled(edit.key), files)
        data = after.get(path, text)
        before[path] = text
        if data is not None:
            after[path] = _edited_file(world, edit, path, data)
    return before, after


def _edited_file(
    world: "World", edit: ObjectEdit | RemovedObject, path: str, data: bytes
) -> bytes | None:
    """Return a file after one edit."""
    index = world.inputs[edit.key].origin.index
    try:
        if isinstance(edit, ObjectEdit):
            return apply_steps(data, path, index, edit.steps)
        return cut(data, index) or None
    except ValueError as error:
        raise UsageError(
            f"{path} cannot be edited automatically: {error}; edit it by hand"
        ) from None


def _last_documents_first(world: "World", edits: Sequence[Edit]) -> Iterator[Edit]:
    """Yield edits in their order, then removals from the end of each file to its head.

    So a document keeps its place until it is its turn.
    """
    removals = [edit for edit in edits if isinstance(edit, RemovedObject)]
    yield from (edit for edit in edits if not isinstance(edit, RemovedObject))
    yield from sorted(removals, key=lambda edit: -world.inputs[edit.key].origin.index)


def edited_bodies(
    world: "World", edits: Sequence[Edit], files: Mapping[str, bytes | None]
) -> "dict[ObjectKey, Body]":
    """Return the objects that change as they are in the edited files."""
    from reconciler.manifests.text.reader import read

    bodies = {edit.key: edit.body for edit in edits if isinstance(edit, NewObject)}
    changed = [edit for edit in edits if isinstance(edit, ObjectEdit) and edit.changes]
    gone = {edit.key for edit in edits if isinstance(edit, RemovedObject)}
    for edit in changed:
        origin = world.inputs[edit.key].origin
        before = sum(  # documents of the same file that went from before it
            world.inputs[key].origin.path == origin.path
            and world.inputs[key].origin.index < origin.index
            for key in gone
        )
        documents = read(files[origin.path] or b"", origin.path).documents
        index = origin.index - before
        bodies[edit.key] = next(one.body for one in documents if one.index == index)
    return bodies


NAMED = 3  # objects that a subject names


@dataclass(frozen=True, slots=True, kw_only=True)
class EditOptions:
    """Where edits go, and how they are told: the options that these verbs share."""

    dry_run: bool
    output: str
    branch: str | None
    author: str | None
    layout: RepositoryLayout
    no_plan: bool = False


def edit_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options that say where edits go; the verb gets them as its `to`."""
    options = (
        click.option(
            "--dry-run", is_flag=True, help="Print the edit and the plan without writing."
        ),
        click.option(
            "--no-plan", is_flag=True, help="Omit the plan, which takes most of the time."
        ),
        output_option("text", "json"),
        delivery_options,
        layout_options,
    )
    return gathered(function, "to", EditOptions, options)


def open_edited(directory: Path, to: EditOptions) -> "tuple[Delivery, World, Files]":
    """Return where edits go, the world that they are of, and what its files hold.

    Raises:
        UsageError: Nothing can be written there.
    """
    from reconciler.cli.world import note_if_empty
    from reconciler.shell.git.repository import Repository

    repository = Repository.open(directory)
    base = repository.resolve(repository.head_branch()) if to.branch is not None else ""
    delivery = Delivery(
        directory=directory, repository=repository, base=base, branch=to.branch, author=to.author
    )
    delivery.check()
    world, files = edited_world(delivery, to.layout)
    note_if_empty(directory, world)
    return delivery, world, files


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
                raise UsageError(f"{spelled(key)} is written by passes, which would revert an edit")
            raise UsageError(f"there is no {spelled(key)}{near(world, key)}")
        keys.append(key)
    return list(dict.fromkeys(keys))


def find_chosen(world: "World", selection: NamedOrChosen) -> list[ObjectKey]:
    """Return the objects that are named, or of those that people wrote the ones that are chosen.

    Raises:
        UsageError: One that is named is not there, or passes write it; or there is nothing.
    """
    from reconciler.cli.kinds import asked_kinds
    from reconciler.cli.kinds import kinds_present as present_kinds

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
    told: "Callable[[World, Passes], Sequence[str]]" = lambda _, __: (),
) -> int:
    """Edit objects, say what was edited and what it would move; return the exit code.

    Args:
        directory: The root.
        to: Where the edits go.
        wanted: Returns what is to become of which objects of a world.
        subject: Returns the subject of the commit, given the names of what it edits.
        told: Returns lines that are printed behind the plan, given the world with the edits and
            its next passes.
    """
    delivery, world, files = open_edited(directory, to)
    edits = wanted(world)
    before, after = edited_files(world, files, edits)
    changed = {path: data for path, data in after.items() if data != before[path]}
    edited = _accepted(delivery, to, world, edits, after) if changed else None
    unchanged = (one for one in edits if isinstance(one, ObjectEdit) and not one.changes)
    said = [f"{spelled(one.key)} {one.is_already}" for one in unchanged]
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
    """The world with the edits, as it was decided otherwise, its passes, and what they move."""

    after: "World"
    passes: "Passes"
    preview: "Preview"


def _accepted(
    delivery: Delivery,
    to: EditOptions,
    world: "World",
    edits: Sequence[Edit],
    files: Mapping[str, bytes | None],
) -> _Edited | None:
    """Return what objects would move once they are as they shall be, `None` if nobody asks.

    Raises:
        UsageError: An object would not be accepted so.
    """
    from reconciler.audit.previews.edits import put, remove
    from reconciler.cli.previews import check_accepted

    bodies = edited_bodies(world, edits, files)
    check_accepted(world, put(world, bodies))
    if to.no_plan:
        return None

    from reconciler.audit.previews.edits import at_their_files
    from reconciler.audit.previews.preview import look_ahead, passes_ahead
    from reconciler.cli.previews import moment_in

    gone = [edit.key for edit in edits if isinstance(edit, RemovedObject)]
    present, settled = _decided_world(delivery, to, world)
    merged = remove(gone)(put(present, bodies))
    now = moment_in(present, None)
    with doing(PASSES):
        passes = passes_ahead(present, merged, now, settled)
        preview = look_ahead(present, merged, now, passes=passes)
    places = {
        one.key: Origin(one.path) if isinstance(one, NewObject) else world.inputs[one.key].origin
        for one in edits
        if one.key in bodies
    }
    return _Edited(merged, passes[1], at_their_files(preview, merged, places, files))


def _decided_world(
    delivery: Delivery, to: EditOptions, world: "World"
) -> "tuple[World, SettledWorld | None]":
    """Return the world with what passes wrote, and one in which nothing moves if that is known.

    What passes wrote may be anywhere; `world` has the files of one tree. In a repository without a
    commit nothing was decided yet.
    """
    from reconciler.cli.world import open_fleet

    if to.branch is not None:
        return world, None
    try:
        delivery.repository.head()
    except UsageError:
        return world, None
    with open_fleet(delivery.directory, to.layout).sides(base="HEAD") as sides:
        return sides.merged, sides.settled


class EditedJson(TypedDict):
    """An object that is edited."""

    object: ObjectJson
    path: Annotated[str, "The file that it stands in."]
    becomes: Annotated[str, "What it is after the edit."]
    changes: Annotated[bool, "Whether there is anything to edit."]


class EditsJson(TypedDict):
    """What a verb edits, and what that moves."""

    objects: Annotated[list[EditedJson], "What was named, each once."]
    files: Annotated[list[str], "The files that are edited."]
    plan: Annotated[
        "MergedJson | None",
        "What the next pass would move; `null` where there is nothing to edit, or with "
        "`--no-plan`.",
    ]


def _print(
    world: "World",
    to: EditOptions,
    edits: Sequence[Edit],
    changed: Mapping[str, tuple[bytes, bytes]],
    edited: _Edited | None,
    told: "Callable[[World, Passes], Sequence[str]]",
) -> None:
    """Print the edits, and what they would move."""
    from reconciler.audit.previews.wording import Heading, preview_json
    from reconciler.cli.previews import print_preview
    from reconciler.cli.printing import print_json

    heading = Heading("plan", f"with {', '.join(sorted(changed))} edited")
    if to.output == "json":
        objects: list[EditedJson] = [
            {
                "object": object_json(edit.key),
                "path": path_of(world, edit),
                "becomes": edit.becomes,
                "changes": edit.changes,
            }
            for edit in edits
        ]
        plan = None if edited is None else preview_json(edited.preview, heading)
        answer: EditsJson = {
            "objects": objects,
            "files": sorted(changed),
            "plan": plan,
        }
        print_json(answer)
        return
    for path, (old, new) in sorted(changed.items()):
        print_difference(path, old, new)
    if edited is not None:
        click.echo()
        print_preview(edited.preview, heading, "text")
        for line in told(edited.after, edited.passes):
            click.echo(line)


def text_around(manifest: "Manifest", name: str, files: Files) -> bytes:
    """Return the file that an object stands in, if a verb may edit it there.

    Args:
        manifest: The object, as people wrote it.
        name: What people call it.
        files: What files hold.

    Raises:
        UsageError: It stands in a List, SOPS has a checksum of it, or its file has it no longer: it
            is faulty, and an earlier version is in force.
    """
    from reconciler.manifests.text.reader import read

    path, index = manifest.origin.path, manifest.origin.index
    if manifest.origin.pointer:
        raise UsageError(
            f"{name} is part of a List ({path}, {manifest.origin.pointer}); give it a document "
            "of its own, or edit the List by hand"
        )
    if "sops" in manifest.body:
        raise UsageError(f"{path} is encrypted, and its checksum covers every field; use sops")
    data = files(path)
    body = next((d.body for d in read(data, path).documents if d.index == index), None)
    if body != manifest.body:
        raise UsageError(f"{path} has faults, fix them first; see reconciler validate")
    return data


def print_difference(path: str, before: bytes, after: bytes) -> None:
    """Print an edit of a file, if there is one; a file that has a Secret is not shown."""
    if b"Secret" in before and before != after:
        click.echo(f"{path}: changed; not shown, because the file contains a Secret")
        return
    old, new = (data.decode("utf-8").splitlines() for data in (before, after))
    for line in difflib.unified_diff(old, new, path, path, n=2, lineterm=""):
        safe = "".join(c for c in line if c.isprintable())
        colour = {"+": "green", "-": "red"}.get(line[:1])
        click.echo(click.style(safe, fg=colour) if colour else safe)

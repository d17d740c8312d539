"""Edits of objects as what becomes of files: lines of a document, a new file, one that goes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.audit.named_object import spelled
from reconciler.cli.edits.edited_world import Files
from reconciler.cli.edits.object_text import text_around
from reconciler.errors import UsageError
from reconciler.manifests.edits.document_removal import cut
from reconciler.manifests.edits.steps import Step, apply_steps
from reconciler.manifests.text.emitter import encode
from reconciler.model.identity import ObjectKey

if TYPE_CHECKING:
    from reconciler.model.body import Body
    from reconciler.model.world import World


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
    before: dict[str, bytes] = {}
    after: Contents = {}
    for edit in _last_documents_first(world, edits):
        path = path_of(world, edit)
        if isinstance(edit, NewObject):
            if files(path):
                raise UsageError(f'"{path}" exists; move it away')
            before[path], after[path] = b"", encode(edit.body).encode()
            continue
        known = text_around(world.inputs[edit.key], spelled(edit.key), files)
        data = after.get(path, known)
        before[path] = known
        if data is not None:
            after[path] = _edited(world, edit, path, data)
    return before, after


def _edited(
    world: "World", edit: ObjectEdit | RemovedObject, path: str, data: bytes
) -> bytes | None:
    """Return a file after one edit."""
    index = world.inputs[edit.key].origin.index
    try:
        if isinstance(edit, ObjectEdit):
            return apply_steps(data, path, index, edit.steps)
        return cut(data, index) or None
    except ValueError as error:
        raise UsageError(f"{path} cannot be edited for you: {error}; edit it by hand") from None


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

    found = {edit.key: edit.body for edit in edits if isinstance(edit, NewObject)}
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
        found[edit.key] = next(one.body for one in documents if one.index == index)
    return found

"""Undoing a commit: the files that take it back, written or committed on a new branch."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, TypedDict

import click

from reconciler.audit.history.undo import RestoreRequest, Undo, undo_of
from reconciler.audit.json_shapes import ObjectJson, object_json
from reconciler.audit.named_object import spelled
from reconciler.audit.replay import Replay
from reconciler.cli.delivery import Delivery, commit_subject
from reconciler.cli.printing import print_json
from reconciler.cli.world import open_fleet
from reconciler.core.dialects import KINDS
from reconciler.errors import UsageError
from reconciler.manifests.admission import RESTORE
from reconciler.manifests.edits.documents import update_document
from reconciler.manifests.edits.fields import set_field
from reconciler.manifests.identity import Identity, identify
from reconciler.manifests.text.positions import BrokenItem, Item, unfold
from reconciler.manifests.text.reader import Document, read
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.model.text import printable, short_id
from reconciler.shell.git.history import check_whole, resolve_revision
from reconciler.shell.git.objects import read_blobs, read_file
from reconciler.shell.git.repository import EMPTY_TREES, Repository
from reconciler.shell.reading.checked import read_file as read_from_disk

REQUEST = ("metadata", "annotations", RESTORE)


def run(
    directory: Path,
    /,
    *,
    commit: str,
    also: bool,
    dry_run: bool,
    output: str,
    branch: str | None,
    author: str | None,
    layout: RepositoryLayout,
) -> int:
    """Write what takes a commit back, and say what it takes back and what stays."""
    fleet = open_fleet(directory, layout)
    revisions = fleet.revisions
    repository = revisions.repository
    head = resolve_revision(repository, "HEAD")
    undone = revisions.commit_at(resolve_revision(repository, commit))
    check_whole(repository, [undone.revision])
    delivery = Delivery(
        directory=directory, repository=repository, base=head, branch=branch, author=author
    )
    delivery.check()
    passes = revisions.moved_at(head)
    if layout.apart and passes == EMPTY_TREES[repository.object_format]:
        raise UsageError(
            f'no pass on the branch "{layout.output_branch}" is known here, so it cannot be told '
            "where objects were; fetch that branch, or revert files with git"
        )
    undo = undo_of(undone, head, Replay(revisions), passes=passes, also=also)
    contents = _contents(repository, undo, head)
    if branch is None:
        _check_clean(directory, repository, head, contents)
    said = "nothing is written (--dry-run)"
    if not dry_run:
        subject = commit_subject(f"Undo {short_id(undone.revision)}: {undone.subject}")
        said = delivery.deliver(contents, subject)
    if output == "json":
        print_json(_as_json(undo))
    else:
        _print(undo)
    click.echo(printable(said), err=True)
    return 0


def _contents(repository: Repository, undo: Undo, head: str) -> dict[str, bytes | None]:
    """Return what the files have again, `None` for one that goes, and who is to be restored."""
    blobs = {blob for blob in undo.files.values() if blob is not None}
    found = dict(read_blobs(repository, blobs))
    contents: dict[str, bytes | None] = {}
    for path, blob in undo.files.items():
        content = None if blob is None else found[blob]
        if content is not None and not isinstance(content, bytes):
            raise UsageError(f"{path} was too large to be read before; undo it with git")
        contents[path] = content
    for request in undo.requests:
        if request.path and request.path not in contents:
            place = repository.from_top(request.path)
            contents[request.path] = read_file(repository, head, place)
        _ask(contents, request)
    return contents


def _ask(contents: dict[str, bytes | None], request: RestoreRequest) -> None:
    """Have an object ask to be restored, in the file that has it; one that goes has none."""
    for path, content in contents.items():
        for document in _objects_in(content, path) if content else ():
            if isinstance(document, BrokenItem):
                continue
            identity = identify(document.body, KINDS)
            if not isinstance(identity, Identity) or not _is_about(identity, request.about):
                continue
            try:
                contents[path] = _with_request(content or b"", path, document, request.commit)
            except ValueError as error:
                raise UsageError(
                    f"{path} cannot be edited automatically: {error}; add the annotation "
                    f"{RESTORE}: {request.commit} by hand"
                ) from None
            return


def _objects_in(content: bytes, path: str) -> Iterator[Item]:
    """Yield the objects of a file, items of Lists among them."""
    return unfold(read(content, path).documents, content, KINDS)


def _with_request(content: bytes, path: str, document: Document, commit: str) -> bytes:
    """Return a file in which one of its objects asks to be restored.

    Raises:
        ValueError: It cannot be edited without touching the rest.
    """
    if not document.pointer:
        return set_field(content, path, document.index, REQUEST, commit)
    asking = {"metadata": {"annotations": {RESTORE: commit}}}
    return update_document(content, path, (document.index, document.pointer), {}, asking)


def _is_about(identity: Identity, about: ObjectKey) -> bool:
    """Return whether a document is an object; without a namespace it is in the default one."""
    namespace = identity.namespace or ("default" if about.namespace else "")
    return ObjectKey(identity.group, identity.kind, namespace, identity.name) == about


def _check_clean(
    directory: Path, repository: Repository, head: str, files: Mapping[str, bytes | None]
) -> None:
    """Refuse files of the checkout that are not as they are committed: somebody edits them."""
    for path in files:
        committed = read_file(repository, head, repository.from_top(path))
        present = read_from_disk(directory, path) if (directory / path).exists() else None
        if committed != present:
            raise UsageError(
                f"{path} has changes that are not committed; commit or discard them first, or "
                "give a new branch with --branch"
            )


def _print(undo: Undo) -> None:
    """Print what is taken back, and what stays."""
    commit = undo.commit
    click.echo(printable(f"Undo {short_id(commit.revision)}: {commit.subject}"))
    for path, blob in undo.files.items():
        click.echo(f"  {printable(path)}: {'removed' if blob is None else 'as before'}")
    for request in undo.requests:
        click.echo(f"  {printable(spelled(request.about))}: asks to be restored ({RESTORE})")
    for line in (*undo.objects, *undo.stays):
        click.echo(f"  {printable(str(line))}")


class UndoneJson(TypedDict):
    """A file that is written."""

    path: Annotated[str, "From the root."]
    removed: Annotated[bool, "Whether it goes; else it gets the version of before."]


class ReturnedJson(TypedDict):
    """An object that goes back."""

    subject: Annotated[str, "As people call it."]
    clusters: Annotated[Mapping[str, int], "Cluster to replicas, 0 for what has none."]


class RemainingJson(TypedDict):
    """What is not undone."""

    subject: Annotated[str, "An object as people call it, or the path of a file."]
    why: Annotated[str, "Why, and what to do instead."]


class RequestJson(TypedDict):
    """An object that asks the next pass to restore it, as passes write to another branch."""

    object: Annotated[ObjectJson, "Which."]
    commit: Annotated[str, "The commit whose outputs it goes on from."]


class UndoJson(TypedDict):
    """What an undo brings back, and what not."""

    commit: Annotated[str, "The commit that is undone."]
    files: Annotated[list[UndoneJson], "The files that are written, sorted."]
    requests: Annotated[list[RequestJson], "What the next pass is asked to restore."]
    objects: Annotated[list[ReturnedJson], "The objects that go back with them."]
    stays: Annotated[list[RemainingJson], "What is not undone, and why."]


def _as_json(undo: Undo) -> UndoJson:
    """Return the same for machines."""
    return {
        "commit": undo.commit.revision,
        "files": [{"path": path, "removed": blob is None} for path, blob in undo.files.items()],
        "requests": [
            {"object": object_json(one.about), "commit": one.commit} for one in undo.requests
        ],
        "objects": [{"subject": one.subject, "clusters": dict(one.placed)} for one in undo.objects],
        "stays": [{"subject": one.subject, "why": one.why} for one in undo.stays],
    }

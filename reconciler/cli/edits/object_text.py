"""The text that an object stands in: whether it may be edited, and how an edit is shown."""

import difflib
from typing import TYPE_CHECKING

import click

from reconciler.cli.edits.edited_world import Files
from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.model.world import Manifest


def text_around(manifest: "Manifest", name: str, files: Files) -> bytes:
    """Return the file that an object stands in, if a verb may edit it there.

    Args:
        manifest: The object.
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
            f"{name} stands in a List ({path}, {manifest.origin.pointer}), which only a person "
            "edits; give it a document of its own, or edit it there"
        )
    if "sops" in manifest.body:
        raise UsageError(f"{path} is encrypted, and its checksum covers every field; use sops")
    data = files(path)
    body = next((d.body for d in read(data, path).documents if d.index == index), None)
    if body != manifest.body:
        raise UsageError(f"{path} is faulty, mend it first; see reconciler validate")
    return data


def print_difference(path: str, before: bytes, after: bytes) -> None:
    """Print an edit of a file, if there is one; a file that has a Secret is not shown."""
    if b"Secret" in before and before != after:
        click.echo(f"{path}: changed; hidden, for the file has a Secret")
        return
    old, new = (data.decode("utf-8").splitlines() for data in (before, after))
    for line in difflib.unified_diff(old, new, path, path, n=2, lineterm=""):
        safe = "".join(c for c in line if c.isprintable())
        colour = {"+": "green", "-": "red"}.get(line[:1])
        click.echo(click.style(safe, fg=colour) if colour else safe)

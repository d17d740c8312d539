"""The words of `scale` and `label` as edits of objects."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.cli.edits import EditOptions, ObjectEdit, edit_objects, find_chosen
from reconciler.cli.selection import NamedOrChosen
from reconciler.errors import UsageError
from reconciler.manifests.edits.changes import is_label_change as is_change
from reconciler.manifests.edits.changes import label_steps, parse_label_changes, replica_steps
from reconciler.model.records import replace
from reconciler.model.text import shown

if TYPE_CHECKING:
    from reconciler.model.world import World


def scale(
    directory: Path,
    /,
    *,
    selection: NamedOrChosen,
    replicas: int,
    current: int | None,
    to: EditOptions,
) -> int:
    """Let workloads have so many replicas."""

    def wanted(world: "World") -> list[ObjectEdit]:
        return [
            ObjectEdit(
                key=key,
                steps=replica_steps(world.inputs[key].body, replicas, current),
                becomes=f"scaled to {replicas}",
                is_already=f"has {replicas} replicas already",
            )
            for key in find_chosen(world, selection)
        ]

    return edit_objects(directory, to, wanted, lambda names: f"Scale {names} to {replicas}")


def label(directory: Path, /, *, selection: NamedOrChosen, overwrite: bool, to: EditOptions) -> int:
    """Set and take away labels of objects."""
    objects, changed = split_words(selection.words, is_change, "label", "tier=gold or tier-")
    chosen = replace(selection, words=objects)
    changes, said = parse_label_changes(changed), " ".join(changed)

    def wanted(world: "World") -> list[ObjectEdit]:
        return [
            ObjectEdit(
                key=key,
                steps=label_steps(world.inputs[key].body, changes, overwrite=overwrite),
                becomes=f"labelled {said}",
                is_already="is labelled so already",
            )
            for key in find_chosen(world, chosen)
        ]

    return edit_objects(directory, to, wanted, lambda names: f"Label {names} {said}")


def split_words(
    words: Sequence[str], is_change: Callable[[str], bool], noun: str, example: str
) -> tuple[tuple[str, ...], list[str]]:
    """Return the words of objects that all begin with, and the changes that follow.

    Source: kubectl pkg/cmd/util/helpers.go `GetResourcesAndPairs`.

    Raises:
        UsageError: There are none of the one or the other, or an object stands behind a change.
    """
    first = next((at for at, word in enumerate(words) if is_change(word)), len(words))
    objects, changes = tuple(words[:first]), list(words[first:])
    late = next((word for word in changes if not is_change(word)), None)
    if late is not None:
        raise UsageError(f"{shown(late)} stands behind a {noun}; name all objects before {noun}s")
    if not objects:
        raise UsageError(f"name an object before its {noun}s, as KIND/NAME or KIND NAME")
    if not changes:
        raise UsageError(f"there is no {noun} to change; add one, such as {example}")
    return objects, changes

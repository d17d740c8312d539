"""Single changes of an object, as values: what a verb wants is a list of them."""

from collections.abc import Iterable
from dataclasses import dataclass

from reconciler.manifests.edits.fields_in_text import (
    Item,
    Parts,
    append_item,
    drop_field,
    set_field,
)


@dataclass(frozen=True, slots=True)
class SetField:
    """A field gets a value, its parents are made where they are absent."""

    parts: Parts
    value: str | int | bool


@dataclass(frozen=True, slots=True)
class DropField:
    """A field goes, and the parents that it leaves empty."""

    parts: Parts


@dataclass(frozen=True, slots=True)
class AppendItem:
    """A list, which may be absent, gets one more item at its end."""

    parts: tuple[str, ...]
    item: Item


Step = SetField | DropField | AppendItem


def apply_steps(data: bytes, path: str, index: int, steps: Iterable[Step]) -> bytes:
    """Return a file with steps applied to one of its documents; every other byte stays.

    Args:
        data: The file as it is.
        path: Its name, which says whether it is JSON.
        index: The document's place in it, as `Document.index` has it.
        steps: In their order; each is about what the ones before it have left.

    Raises:
        ValueError: The file is written in a way that only a person can edit.
    """
    for step in steps:
        match step:
            case SetField(parts, value):
                data = set_field(data, path, index, parts, value)
            case DropField(parts):
                data = drop_field(data, path, index, parts)
            case AppendItem(names, item):
                data = append_item(data, path, index, names, item)
    return data

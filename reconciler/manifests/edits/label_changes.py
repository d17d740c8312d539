"""Labels as kubectl's words change them: `tier=gold`, `tier-`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reconciler.errors import UsageError
from reconciler.manifests.edits.steps import DropField, SetField, Step
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.labels import is_label_key, is_label_value
from reconciler.model.message_text import shown


@dataclass(frozen=True, slots=True)
class LabelChanges:
    """Labels that are set, and keys of those that go, both in the order of the words."""

    added: Mapping[str, str]
    removed: tuple[str, ...]


def is_change(word: str) -> bool:
    """Return whether a word changes a label, and names no object."""
    return "=" in word or word.endswith("-")


def parse_label_changes(words: Sequence[str]) -> LabelChanges:
    """Return what words ask for.

    Source: kubectl pkg/cmd/label/label.go `parseLabels`.

    Raises:
        UsageError: A word is neither `KEY=VALUE` nor `KEY-`, or two of them contradict each other.
    """
    added: dict[str, str] = {}
    removed: list[str] = []
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            key = word.removesuffix("-")
            removed.append(key)
        elif added.setdefault(key, value) != value:
            raise UsageError(f"the label {shown(key)} is given twice")
        if not is_label_key(key) or not is_label_value(value):
            raise UsageError(
                f"{shown(word)} must be KEY=VALUE or KEY-, both of letters, digits, -, _ and . "
                "and of at most 63 characters"
            )
    for key in removed:
        if key in added:
            raise UsageError(f"the label {shown(key)} cannot be set and removed at once")
    return LabelChanges(added, tuple(dict.fromkeys(removed)))


def label_steps(body: Body, changes: LabelChanges, *, overwrite: bool) -> tuple[Step, ...]:
    """Return how the labels of an object change; a label to remove may be absent already.

    Source: kubectl pkg/cmd/label/label.go `validateNoOverwrites`, `labelFunc`.

    Raises:
        UsageError: A label has another value already, and `overwrite` is false.
    """
    present = mapping(mapping(body, "metadata"), "labels")
    steps: list[Step] = []
    for key, value in changes.added.items():
        known = present.get(key)
        if known is not None and known != value and not overwrite:
            raise UsageError(f"the label {key} has the value {shown(known)}; add --overwrite")
        if known != value:
            steps.append(SetField(("metadata", "labels", key), value))
    gone = (key for key in changes.removed if key in present)
    return (*steps, *(DropField(("metadata", "labels", key)) for key in gone))

"""Suspending and resuming: which field of which file says it, and the file with it edited."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, TypedDict

import click

from reconciler.audit.json_shapes import ObjectJson, object_json
from reconciler.audit.named_object import find_object, near, spelled
from reconciler.cli.delivery import Delivery, commit_author, delivery_options
from reconciler.cli.edits import (
    EditOptions,
    Files,
    open_edited,
    print_difference,
    text_around,
)
from reconciler.cli.options import (
    gathered,
    layout_options,
    namespace_option,
    output_option,
    with_options,
)
from reconciler.cli.selection import object_argument
from reconciler.errors import UsageError, UserError
from reconciler.manifests.admission import (
    SUSPEND,
    SUSPEND_REASON,
    SUSPEND_UNTIL,
    SUSPENDED_BY,
)
from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass
from reconciler.model.text import printable, shown

if TYPE_CHECKING:
    from reconciler.model.world import Manifest, World


NEW_CONFIGURATION = """\
apiVersion: reconciler.dev/v1alpha1
kind: ReconcilerConfiguration
metadata:
  name: fleet
spec:
  suspend: true
"""


@dataclass(frozen=True, slots=True)
class Field:
    """Where it is said: keys from the root of the document, and the value that suspends."""

    parts: Sequence[str]
    value: str | bool


ANNOTATION = Field(("metadata", "annotations", SUSPEND), "true")
EVERYTHING = "the whole repository"
SPEC = Field(("spec", "suspend"), value=True)


NOTES = (SUSPENDED_BY, SUSPEND_REASON, SUSPEND_UNTIL)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspensionEdit:
    """An edit: the file before and after, equal if there is nothing to do.

    `key` is `None` for the whole repository.
    """

    key: ObjectKey | None
    name: str
    path: str
    before: bytes
    after: bytes


def holding_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the argument and the options that suspend and resume share."""
    where = (
        click.option("--dry-run", is_flag=True, help="Print the edit without writing."),
        output_option("text", "json", says="Output format of the edit."),
        delivery_options,
        layout_options,
    )
    options = (
        object_argument(required=False),
        namespace_option,
        click.option("--all", "everything", is_flag=True, help="The whole repository."),
    )
    return with_options(gathered(function, "to", EditOptions, where), options)


def hold(
    directory: Path,
    *,
    suspend: bool,
    word: str | None,
    namespace: str,
    everything: bool,
    to: EditOptions,
    reason: str = "",
    until: str = "",
) -> int:
    """Suspend or resume what a person names, and say what was edited."""
    if (word is None) != everything:
        raise UsageError("give one OBJECT as KIND/NAME, or --all for the whole repository")
    delivery, world, files = open_edited(directory, to)
    notes = _notes(reason, until, delivery) if suspend else {}
    held = suspension_edit(world, files, word, namespace, suspend=suspend, notes=notes)
    said = f"{held.name} is {'suspended already' if suspend else 'not suspended'}"
    if held.before != held.after:
        verb = "Suspend" if suspend else "Resume"
        said = "nothing is written (--dry-run)"
        if not to.dry_run:
            said = delivery.deliver({held.path: held.after}, f"{verb} {held.name}")
    _print(held, to.output, suspend=suspend)
    click.echo(printable(said), err=True)
    return 0


def _notes(reason: str, until: str, delivery: Delivery) -> dict[str, str]:
    """Return the annotations that say why and until when something is suspended, and by whom.

    Without a reason or a moment there are none: git says who suspended it.

    Raises:
        UsageError: The moment is none, or not later than now.
    """
    from reconciler.model.moments import format_moment
    from reconciler.shell.resources import SystemClock

    if not reason and not until:
        return {}
    notes = {SUSPENDED_BY: delivery.author or commit_author(delivery.repository)}
    if reason:
        notes[SUSPEND_REASON] = reason
    if until:
        notes[SUSPEND_UNTIL] = format_moment(_moment(until, SystemClock().now()))
    return notes


def _moment(written: str, now: datetime) -> datetime:
    """Return a moment, or the one that a duration such as 2h leads to."""
    from reconciler.manifests.durations import parse_duration
    from reconciler.model.moments import add, is_moment, parse_moment

    moment = parse_moment(written) if is_moment(written) else None
    try:
        ends_at = moment or add(now, timedelta(microseconds=parse_duration(written) // 1000))
    except (UserError, ValueError):
        wanted = "a moment such as 2026-11-28T09:00:00Z, or a duration such as 2h"
        raise UsageError(f"--until {shown(written)} must be {wanted}") from None
    if ends_at <= now:
        raise UsageError(f"--until {shown(written)} must be later than now")
    return ends_at


def suspension_edit(
    world: "World",
    files: Files,
    word: str | None,
    namespace: str,
    *,
    suspend: bool,
    notes: Mapping[str, str] = MappingProxyType({}),
) -> SuspensionEdit:
    """Return the edit that suspends or resumes what a person names.

    Args:
        world: That has it.
        files: What files hold.
        word: `KIND/NAME`, `None` for the whole repository.
        namespace: Of a namespaced kind.
        suspend: Whether it is suspended, or resumed.
        notes: Annotations that are written beside it; resuming takes them away.

    Raises:
        UsageError: There is no such object, it cannot be suspended, or its file cannot be edited.
    """
    from reconciler.core.dialects import PLACED
    from reconciler.model.settings import CONFIGURATION, CONFIGURATION_PATH

    if word is None:
        configurations = [m for k, m in world.inputs.items() if (k.group, k.kind) == CONFIGURATION]
        before = files(CONFIGURATION_PATH)
        if not configurations and before:
            raise UsageError(f"{CONFIGURATION_PATH} has faults; see reconciler validate")
        if not configurations:
            after = NEW_CONFIGURATION.encode() if suspend else b""
            from reconciler.manifests.edits.fields import set_field

            for name in notes:
                parts = ("metadata", "annotations", name)
                after = set_field(after, CONFIGURATION_PATH, 0, parts, notes[name])
            return SuspensionEdit(
                key=None, name=EVERYTHING, path=CONFIGURATION_PATH, before=b"", after=after
            )
        return _edited(configurations[0], None, files, SPEC, suspend=suspend, notes=notes)
    key = find_object(world, word, namespace)
    manifest = world.inputs.get(key)
    if manifest is None:
        if (key.group, key.kind) in world.known.owned & PLACED:
            raise UsageError(f"{spelled(key)} is written by passes; name its workload")
        raise UsageError(f"there is no {spelled(key)}{near(world, key)}")
    field = _field_of(key, manifest)
    return _edited(manifest, key, files, field, suspend=suspend, notes=notes)


def _field_of(key: ObjectKey, manifest: "Manifest") -> Field:
    """Return the field by which an object is suspended.

    Raises:
        UsageError: There is none.
    """
    from reconciler.core.dialects import KINDS
    from reconciler.model.fields import mapping
    from reconciler.rebalance.target import REBALANCER

    if (key.group, key.kind) == REBALANCER:
        if mapping(manifest.body, "spec").get("schedule"):
            return SPEC
        raise UsageError(f"{spelled(key)} has no schedule and runs once; remove its file instead")
    if key.group in KINDS.groups and (key.group, key.kind) not in KINDS.suspendable:
        raise UsageError(
            f"a {key.kind} cannot be suspended; name a policy, a placement, a workload "
            "or a rebalancer with a schedule"
        )
    return ANNOTATION


def _edited(
    manifest: "Manifest",
    key: ObjectKey | None,
    files: Files,
    field: Field,
    *,
    suspend: bool,
    notes: Mapping[str, str],
) -> SuspensionEdit:
    """Return the edit of the document that an object stands in."""
    from reconciler.manifests.edits.fields import drop_field, set_field
    from reconciler.model.fields import at

    name = EVERYTHING if key is None else spelled(key)
    path, index = manifest.origin.path, manifest.origin.index
    before = text_around(manifest, name, files)
    present: object = manifest.body
    for part in field.parts:
        present = present.get(part) if isinstance(present, dict) else None
    written = at(manifest.body, "metadata", "annotations")
    after = before
    try:
        if suspend and present != field.value:
            after = set_field(after, path, index, field.parts, field.value)
        elif not suspend and present == field.value:
            after = drop_field(after, path, index, field.parts)
        is_over = bool(notes) or (not suspend and after != before)  # what was noted before
        for note in NOTES:
            parts = ("metadata", "annotations", note)
            if note in notes:
                if written.get(note) != notes[note]:
                    after = set_field(after, path, index, parts, notes[note])
            elif note in written and is_over:
                after = drop_field(after, path, index, parts)
    except ValueError as error:
        wanted = json.dumps(field.value)
        raise UsageError(
            f"{path} cannot be edited automatically: {error}; "
            f"{'add' if suspend else 'remove'} {'.'.join(field.parts)}: {wanted} by hand"
        ) from None
    return SuspensionEdit(key=key, name=name, path=path, before=before, after=after)


class SuspensionEditJson(TypedDict):
    """What a suspension edits."""

    object: Annotated[ObjectJson | None, "`null` for the whole repository."]
    subject: Annotated[str, "As people call it."]
    path: Annotated[str, "The file that is edited."]
    suspended: Annotated[bool, "What it is after the edit."]
    changes: Annotated[bool, "Whether there is anything to edit."]


def _print(held: SuspensionEdit, output: str, *, suspend: bool) -> None:
    from reconciler.cli.printing import print_json

    if output == "json":
        answer: SuspensionEditJson = {
            "object": None if held.key is None else object_json(held.key),
            "subject": held.name,
            "path": held.path,
            "suspended": suspend,
            "changes": held.before != held.after,
        }
        print_json(answer)
        return
    print_difference(held.path, held.before, held.after)

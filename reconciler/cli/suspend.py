"""Suspending and resuming: which field of which file says it, and the file with it edited."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.audit.named_object import find_object, near, spelled
from reconciler.cli.delivery import delivery_options
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
from reconciler.errors import UsageError
from reconciler.manifests.admission import SUSPEND
from reconciler.model.identity import ObjectKey
from reconciler.model.text import printable

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
) -> int:
    """Suspend or resume what a person names, and say what was edited."""
    if (word is None) != everything:
        raise UsageError("give one OBJECT as KIND/NAME, or --all for the whole repository")
    delivery, world, files = open_edited(directory, to)
    held = suspension_edit(world, files, word, namespace, suspend=suspend)
    said = f"{held.name} is {'suspended already' if suspend else 'not suspended'}"
    if held.before != held.after:
        verb = "Suspend" if suspend else "Resume"
        said = "nothing is written (--dry-run)"
        if not to.dry_run:
            said = delivery.deliver({held.path: held.after}, f"{verb} {held.name}")
    _print(held, to.output, suspend=suspend)
    click.echo(printable(said), err=True)
    return 0


def suspension_edit(
    world: "World", files: Files, word: str | None, namespace: str, *, suspend: bool
) -> SuspensionEdit:
    """Return the edit that suspends or resumes what a person names.

    Args:
        world: That has it.
        files: What files hold.
        word: `KIND/NAME`, `None` for the whole repository.
        namespace: Of a namespaced kind.
        suspend: Whether it is suspended, or resumed.

    Raises:
        UsageError: There is no such object, it cannot be suspended, or its file cannot be edited.
    """
    from reconciler.core.dialects import PLACED
    from reconciler.model.settings import CONFIGURATION, CONFIGURATION_PATH

    if word is None:
        found = [m for k, m in world.inputs.items() if (k.group, k.kind) == CONFIGURATION]
        before = files(CONFIGURATION_PATH)
        if not found and before:
            raise UsageError(f"{CONFIGURATION_PATH} has faults; see reconciler validate")
        if not found:
            after = NEW_CONFIGURATION.encode() if suspend else b""
            return SuspensionEdit(
                key=None, name=EVERYTHING, path=CONFIGURATION_PATH, before=b"", after=after
            )
        return _edited(found[0], None, files, SPEC, suspend=suspend)
    key = find_object(world, word, namespace)
    manifest = world.inputs.get(key)
    if manifest is None:
        if (key.group, key.kind) in world.known.owned & PLACED:
            raise UsageError(f"{spelled(key)} is written by passes; name its workload")
        raise UsageError(f"there is no {spelled(key)}{near(world, key)}")
    return _edited(manifest, key, files, _field_of(key, manifest), suspend=suspend)


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
    manifest: "Manifest", key: ObjectKey | None, files: Files, field: Field, *, suspend: bool
) -> SuspensionEdit:
    """Return the edit of the document that an object stands in."""
    name = EVERYTHING if key is None else spelled(key)
    from reconciler.manifests.edits.fields import drop_field, set_field

    path, index = manifest.origin.path, manifest.origin.index
    before = text_around(manifest, name, files)
    present: object = manifest.body
    for part in field.parts:
        present = present.get(part) if isinstance(present, dict) else None
    try:
        if suspend:
            same = present == field.value
            after = before if same else set_field(before, path, index, field.parts, field.value)
        else:
            same = present != field.value
            after = before if same else drop_field(before, path, index, field.parts)
    except ValueError as error:
        written = json.dumps(field.value)
        raise UsageError(
            f"{path} cannot be edited automatically: {error}; "
            f"{'add' if suspend else 'remove'} {'.'.join(field.parts)}: {written} by hand"
        ) from None
    return SuspensionEdit(key=key, name=name, path=path, before=before, after=after)


def _print(held: SuspensionEdit, output: str, *, suspend: bool) -> None:
    from reconciler.audit.json_shapes import object_json
    from reconciler.cli.printing import print_json

    if output == "json":
        told = {
            "object": None if held.key is None else object_json(held.key),
            "subject": held.name,
            "path": held.path,
            "suspended": suspend,
            "changes": held.before != held.after,
        }
        print_json(told)
        return
    print_difference(held.path, held.before, held.after)

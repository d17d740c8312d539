"""How a preview is printed, and the words of `simulate` as edits of a world.

A preview is printed for users, for a comment, for a browser and for machines; changes of the
manifests of clusters are printed as a diff. The words of `simulate` say which objects they mean,
and which values they give.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.audit.findings import fault_line
from reconciler.audit.named_object import decided_key, find_object, near, spelled
from reconciler.audit.previews import edits
from reconciler.audit.previews.edits import Named
from reconciler.audit.previews.preview import Kind, Preview, PreviewEntry
from reconciler.audit.previews.wording import (
    DELIVERED,
    Heading,
    change,
    clusters_summary,
    delivered_text,
    footer,
    later_blocks,
    later_text,
    narrowed_text,
    reason,
    share,
    summary,
    title,
)
from reconciler.errors import UsageError
from reconciler.model.records import dataclass, replace
from reconciler.model.text import printable, shown

if TYPE_CHECKING:
    from reconciler.audit.previews.preview import ManifestChange
    from reconciler.core.inputs.validation import FileValidation
    from reconciler.manifests.text.raw import Oversized
    from reconciler.model.body import Body
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import Fault, World


GLYPHS = {Kind.NEW: "+", Kind.REMOVED: "-", Kind.STUCK: "!", Kind.KEPT: "=", Kind.CHANGED: "~"}
KIND_COLOURS = {Kind.NEW: "green", Kind.REMOVED: "red", Kind.STUCK: "red", Kind.CHANGED: "yellow"}


def print_preview(
    preview: Preview, heading: Heading, output: str, facts: Mapping[str, object] | None = None
) -> None:
    """Print a preview to standard output; `facts` say for machines what was compared."""
    formats: dict[str, Callable[[], str]] = {
        "text": lambda: _text(preview, heading),
        "markdown": lambda: _markdown(preview, heading),
        "html": lambda: _html(preview, heading),
        "svg": lambda: _svg(preview),
        "json": lambda: _json(preview, heading, facts),
    }
    click.echo(formats[output](), nl=False)


def _text(preview: Preview, heading: Heading) -> str:
    """Return the preview for a terminal."""
    first = printable(f"{heading.name}: {title(preview)}")
    lines = [click.style(first, bold=True), printable(heading.line)]
    if preview.shown:
        lines.append(printable(narrowed_text(preview)))
    if by_cluster := clusters_summary(preview):
        lines += ["", click.style("By cluster:", bold=True)]
        lines += [f"  {printable(line)}" for line in by_cluster]
    for entry in preview.entries:
        lines += ["", *_entry(entry)]
    if preview.progress or preview.faults or preview.mended or preview.removes:
        lines.append("")
    lines += [_coloured("run", "cyan", str(one)) for one in preview.progress]
    lines += [_coloured("fault", "red", fault_line(fault)) for fault in preview.faults]
    lines += [_coloured("mended", "green", fault_line(fault)) for fault in preview.mended]
    lines += [_coloured("removes", "yellow", path) for path in preview.removes]
    if preview.warnings:
        lines.append("")
    for warning in preview.warnings:
        subject = f"{warning.subject}: " if warning.subject else ""
        lines.append(_coloured("warning", "yellow", f"{subject}{warning.message}"))
    if preview.anyway:
        lines += ["", click.style("Already pending, independent of this change:", bold=True)]
        lines += [
            f"  {printable(entry.subject)}: {printable(summary(entry))}: {printable(entry.cause)}"
            for entry in preview.anyway
        ]
    if preview.delivered:
        lines += ["", click.style(f"{DELIVERED}:", bold=True)]
        lines += [f"  {printable(delivered_text(one))}" for one in preview.delivered]
    for told, block in later_blocks(preview):
        lines += ["", click.style(f"{told}:", bold=True)]
        lines += [f"  {printable(later_text(coming))}" for coming in block]
    return "\n".join((*lines, "", footer(preview), ""))


def _entry(entry: PreviewEntry) -> list[str]:
    """Return one object: its name and why, then a table of its clusters."""
    glyph = click.style(GLYPHS[entry.kind], fg=KIND_COLOURS.get(entry.kind))
    subject = click.style(printable(entry.subject), bold=True)
    lines = [f"{glyph} {subject} ({entry.kind}): {printable(reason(entry))}"]
    rows = [("CLUSTER", "BEFORE", "AFTER", "CHANGE")]
    rows += [
        (printable(m.cluster), share(m.before), share(m.after), change(m)) for m in entry.moves
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows if entry.moves else ():
        cells = [row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in (1, 2, 3))]
        line = "    " + "   ".join(cells).rstrip()
        colour = {"+": "green", "-": "red"}.get(row[3][:1])
        lines.append(click.style(line, fg=colour) if colour else line)
    if entry.problem:
        lines.append(f"    {printable(entry.problem)}")
        lines += [
            f"      {printable(name)}: {printable(why)}" for name, why in entry.rejected.items()
        ]
    return lines


def _coloured(word: str, colour: str, text: str) -> str:
    return f"{click.style(word, fg=colour)}: {printable(text)}"


def _markdown(preview: Preview, heading: Heading) -> str:
    from reconciler.audit.previews.wording import preview_markdown

    return preview_markdown(preview, heading)


def _html(preview: Preview, heading: Heading) -> str:
    from reconciler.page.timeline import plan_page

    return plan_page(preview, heading)


def _svg(preview: Preview) -> str:
    from reconciler.page.timeline import plan_svg

    return plan_svg(preview)


def _json(preview: Preview, heading: Heading, facts: Mapping[str, object] | None) -> str:
    from reconciler.cli.printing import json_text

    return json_text(facts_json(preview, heading, facts))


def facts_json(
    preview: Preview, heading: Heading, facts: Mapping[str, object] | None
) -> dict[str, object]:
    """Return a preview for machines, with what was compared behind its first line."""
    from reconciler.audit.previews.wording import preview_json

    return {"of": heading.line, **(facts or {}), **preview_json(preview, heading)}


LINE_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def print_manifest_changes(changes: "Sequence[ManifestChange]") -> None:
    """Print a diff for each object of each cluster, coloured on a terminal."""
    clusters = {manifest.cluster for manifest in changes}
    objects = f"{len(changes)} object{'s' if len(changes) != 1 else ''}"
    where = f"{len(clusters)} cluster{'s' if len(clusters) != 1 else ''}"
    click.echo(f"\nmanifests: {objects} on {where} change")
    for manifest in changes:
        click.echo()
        for line in manifest.lines:
            click.secho(_shown(line), fg=LINE_COLOURS.get(line[:1]))


def _shown(line: str) -> str:
    """Return a line fit for a terminal, its indent kept."""
    sign, rest = line[:1], line[1:]
    bare = rest.lstrip(" ")
    return f"{sign}{' ' * (len(rest) - len(bare))}{printable(bare)}"


AFTER_FAILURE_SECONDS = 3600  # by then every default toleration and eviction timeout has ended


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """What a person wants to know, in the words of the command line."""

    fail: Sequence[str] = ()
    cordon: Sequence[str] = ()
    remove: Sequence[str] = ()
    add: Sequence[Path] = ()
    scale: Sequence[str] = ()
    assign: Sequence[str] = ()
    rebalance: Sequence[str] = ()


def edited(
    world: "World", asked: WhatIf, namespace: str, failed_at: datetime
) -> "tuple[World, list[str]]":
    """Return the world after all that was asked for, and each edit in words.

    Objects are added first, so that everything else may be about them; clusters fail last.

    Raises:
        UsageError: It names something that is not there, or gives what cannot be read.
    """
    said: list[str] = []
    before = world

    def apply(named: Named) -> None:
        nonlocal world
        world = edits.apply_edits(world, [named])
        said.append(named.words)

    for path in asked.add:
        apply(Named(f"{path} added", edits.add(_read(path, world))))
    for word in asked.scale:
        apply(_scaled(world, word, namespace))
    for word in asked.assign:
        apply(_assigned(world, word, namespace))
    for name in asked.cordon:
        apply(Named(f"{name} cordoned", edits.cordon(edits.clusters_named(world, name))))
    for name in asked.remove:
        apply(Named(f"{name} removed", edits.remove(edits.clusters_named(world, name))))
    targets = [target_of(world, word, namespace) for word in asked.rebalance]
    if targets:
        apply(Named(f"{', '.join(asked.rebalance)} rebalanced", edits.rebalance(targets)))
    for name in asked.fail:
        apply(Named(f"{name} fails", edits.fail(edits.clusters_named(world, name), failed_at)))
    check_accepted(before, world)
    return world, said


def _scaled(world: "World", word: str, namespace: str) -> Named:
    """Read KIND/NAME=N."""
    subject, equals, number = word.rpartition("=")
    if not equals or not number.isascii() or not number.isdecimal() or len(number) > 9:
        raise UsageError(f"--scale {shown(word)} must be KIND/NAME=N, such as deployment/web=5")
    key = _present(world, subject, namespace)
    return Named(f"{subject} scaled to {int(number)}", edits.scale(key, int(number)))


def _assigned(world: "World", word: str, namespace: str) -> Named:
    """Read KIND/NAME:/json/pointer=VALUE; a value that is no JSON is text."""
    path, equals, value = word.partition("=")
    subject, colon, pointer = path.partition(":")
    if not equals or not colon or not pointer.startswith("/"):
        raise UsageError(
            f"--set {shown(word)} must be KIND/NAME:/json/pointer=VALUE, "
            "such as cluster/member1:/metadata/labels/env=prod"
        )
    key = _present(world, subject, namespace)
    return Named(f"{path}={value}", edits.set_field(key, pointer, _value(value)))


def _value(text: str) -> object:
    """Return JSON as what it is, anything else as text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _present(world: "World", word: str, namespace: str) -> "ObjectKey":
    """Return the key of an object that people wrote."""
    key = find_object(world, word, namespace)
    if key not in world.inputs:
        raise UsageError(f"there is no {spelled(key)}{near(world, key)}")
    return key


def target_of(world: "World", word: str, namespace: str) -> "Body":
    """Return a workload as a rebalancer names it; a binding stands for its workload.

    Raises:
        UsageError: There is no such object, or nothing is ever decided about its kind.
    """
    from reconciler.core.dialects import dialect_of
    from reconciler.rebalance.rebalancer_files import encode_reference
    from reconciler.rebalance.target import Reference

    key = find_object(world, word, namespace)
    decided_key(world, key)
    dialect = dialect_of(key.group)
    if dialect is not None and key in world.outputs:
        workload = dialect.view().outputs.workload_of(world.outputs[key].body)
        if workload is not None:
            return encode_reference(workload)
    key = _present(world, word, namespace)
    version = str(world.inputs[key].body["apiVersion"])
    return encode_reference(Reference(version, key.kind, key.namespace, key.name))


def _read(path: Path, world: "World") -> "list[tuple[ObjectKey, Body]]":
    """Read the objects of a file, each held against its schema and what the world allows."""
    from reconciler.core.dialects import KINDS
    from reconciler.core.inputs.index import index_inputs
    from reconciler.model.settings import settings_in
    from reconciler.shell.reading.checked import read_file

    data = read_file(Path(), path.as_posix())
    allowed = settings_in(world).allowed
    index = index_inputs([_inspected(path.as_posix(), data)], KINDS, allowed=allowed)
    _refuse_faults([fault for broken in index.broken.values() for fault, _ in broken])
    if not index.manifests:
        raise UsageError(f'"{path}" holds no manifest')
    return [(key, manifest.body) for key, manifest in index.manifests.items()]


def check_accepted(before: "World", after: "World") -> None:
    """Refuse an edit that would not be accepted in a file.

    Raises:
        UsageError: What an object would be is against its schema or a rule of its API.
    """
    from reconciler.manifests.text.emitter import encode
    from reconciler.model.settings import settings_in

    allowed = settings_in(after).allowed
    for key, manifest in after.inputs.items():
        if before.inputs.get(key) is manifest:
            continue
        inspection = _inspected(spelled(key), encode(manifest.body).encode())
        faults = [item.fault for item in inspection.broken]
        faults += [
            one for document in inspection.documents for one in document.refused_under(allowed)
        ]
        # The text was made here, so the position in it would mean nothing to the reader.
        _refuse_faults([replace(fault, line=0) for fault in faults])


def _refuse_faults(faults: "Sequence[Fault]") -> None:
    """Raise the first fault."""
    if faults:
        raise UsageError(fault_line(faults[0]))


def _inspected(path: str, data: "bytes | Oversized") -> "FileValidation":
    """Hold a file against the schemas."""
    from reconciler.core.dialects import KINDS
    from reconciler.core.inputs.admissions import ADMISSIONS
    from reconciler.core.inputs.validation import Rules, validate_file
    from reconciler.shell.resources import load_schemas

    return validate_file(path, "", data, Rules(load_schemas(), ADMISSIONS, KINDS))


def moment_in(world: "World", now: datetime | None) -> datetime:
    """Return when it happens: any given moment, else the clock's if that is after the last pass."""
    from reconciler.core.record import last_pass
    from reconciler.model.moments import add
    from reconciler.shell.resources import SystemClock

    if now is not None:
        return now
    last, clock = last_pass(world.outputs), SystemClock().now()
    return clock if last is None else max(clock, add(last.at))

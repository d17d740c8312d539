"""How a preview is printed: for people, for a comment, for a browser, for machines."""

from collections.abc import Callable

import click

from reconciler.audit.previews.preview import Kind, Preview, PreviewEntry
from reconciler.audit.previews.wording import (
    DELIVERED,
    Heading,
    change,
    delivered_text,
    fault_line,
    footer,
    later_blocks,
    later_text,
    reason,
    share,
    summary,
    title,
)
from reconciler.audit.printable import printable

GLYPHS = {Kind.NEW: "+", Kind.REMOVED: "-", Kind.STUCK: "!", Kind.KEPT: "=", Kind.CHANGED: "~"}
COLOURS = {Kind.NEW: "green", Kind.REMOVED: "red", Kind.STUCK: "red", Kind.CHANGED: "yellow"}


def print_preview(preview: Preview, heading: Heading, output: str, **facts: object) -> None:
    """Print a preview to standard output."""
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
    first = f"{heading.verb.capitalize()}: {title(preview)}"
    lines = [click.style(first, bold=True), printable(heading.line)]
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
        lines += ["", click.style("Anyway, without this change:", bold=True)]
        lines += [
            f"  {printable(entry.subject)}: {printable(summary(entry))}: {printable(entry.cause)}"
            for entry in preview.anyway
        ]
    if preview.delivered:
        lines += ["", click.style(f"{DELIVERED}:", bold=True)]
        lines += [f"  {printable(delivered_text(one))}" for one in preview.delivered]
    for told, found in later_blocks(preview):
        lines += ["", click.style(f"{told}:", bold=True)]
        lines += [f"  {printable(later_text(coming))}" for coming in found]
    return "\n".join((*lines, "", footer(preview), ""))


def _entry(entry: PreviewEntry) -> list[str]:
    """Return one object: its name and why, then a table of its clusters."""
    glyph = click.style(GLYPHS[entry.kind], fg=COLOURS.get(entry.kind))
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
    from reconciler.audit.previews.as_markdown import preview_markdown

    return preview_markdown(preview, heading)


def _html(preview: Preview, heading: Heading) -> str:
    from reconciler.page.plan import plan_page

    return plan_page(preview, heading)


def _svg(preview: Preview) -> str:
    from reconciler.page.plan import plan_svg

    return plan_svg(preview)


def _json(preview: Preview, heading: Heading, facts: dict[str, object]) -> str:
    from reconciler.audit.previews.as_json import preview_json
    from reconciler.cli.printing.print_json import json_text

    return json_text(preview_json(preview, heading, **facts))

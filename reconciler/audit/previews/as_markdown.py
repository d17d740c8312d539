"""A preview as one comment on a pull request.

Whatever comes from a manifest stands in code, where a forge makes no links, mentions or HTML of
it, and without the characters by which it could leave it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from reconciler.audit.previews.foresight import Coming
from reconciler.audit.previews.preview import Preview, PreviewEntry
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
from reconciler.core.message import plain
from reconciler.model.world import Fault

MARKER = "<!-- reconciler:plan -->"
LIMIT_BYTES = 65_536  # of a comment on GitHub, in characters; bytes are on the safe side
RESERVED_BYTES = 1024  # for what is said of the sections that do not fit
MOST_ROWS = 40
LONGEST_TEXT = 300


def preview_markdown(preview: Preview, heading: Heading, *, limit_bytes: int = LIMIT_BYTES) -> str:
    """Return a comment with a hidden marker, by which it can be found and edited in place.

    Sections that do not fit are left out, the least important ones first, and counted.
    """
    head = [MARKER, f"### {heading.verb.capitalize()}: {title(preview)}", ""]
    head += [_code(heading.line), "", ""]
    warnings = [_line(f"⚠️ {_named(w.subject)}{_code(w.message)}") for w in preview.warnings]
    faults = [_line(f"❌ {_fault(fault)}") for fault in preview.faults]
    faults += [_line(f"✅ mended: {_code(fault_line(fault))}") for fault in preview.mended]
    faults += [_line(f"🗑️ the pass removes {_code(path)}") for path in preview.removes]
    objects = [_section(entry) for entry in preview.entries]
    runs = [_line(_code(str(one))) for one in preview.progress]
    anyway = [_line(f"{_code(e.subject)}: {_code(summary(e))}") for e in preview.anyway]
    delivered = [_line(_code(delivered_text(one))) for one in preview.delivered]
    room = limit_bytes - RESERVED_BYTES - _size(head)
    text = list(head)
    for above, parts, what in (
        ("", warnings, "warnings"),
        ("", faults, "faults"),
        ("", objects, "objects"),
        ("\n**Runs, by this change:**\n\n", runs, "steps of runs"),
        ("\n**Anyway, without this change:**\n\n", anyway, "objects that move anyway"),
        (f"\n**{DELIVERED}:**\n\n", delivered, "clusters that get other files"),
        *((f"\n**{told}:**\n\n", _later(found), told) for told, found in later_blocks(preview)),
    ):
        taken = _fit(parts, room - len(above.encode()))
        if parts:
            text.append(above)
        text += taken
        room -= _size(taken) + len(above.encode())
        if len(taken) < len(parts):
            text.append(f"\n*… and {len(parts) - len(taken)} more {what}, left out for length*\n")
        if taken:
            text.append("\n")
    text.append(f"\n<sub>{_code(footer(preview))}</sub>\n")
    return "\n".join(text[: len(head)]) + "".join(text[len(head) :])


def _later(found: Iterable[Coming]) -> list[str]:
    """Return what comes later, a line each."""
    return [_line(_code(later_text(coming))) for coming in found]


def _section(entry: PreviewEntry) -> str:
    """Return one object: a title to open, a table, and why."""
    title = f"<details><summary>{_html(entry.subject)}: {_html(summary(entry))}</summary>\n\n"
    rows = ["| cluster | before | after | change |\n| --- | ---: | ---: | ---: |\n"]
    rows += [
        f"| {_code(m.cluster)} | {share(m.before)} | {share(m.after)} | {change(m)} |\n"
        for m in entry.moves[:MOST_ROWS]
    ]
    if len(entry.moves) > MOST_ROWS:
        rows.append(f"| and {len(entry.moves) - MOST_ROWS} more clusters | | | |\n")
    said = [f"\n{_code(entry.kind)} {_code(reason(entry))}\n"]
    if entry.problem:
        said.append(f"\n{_code(entry.problem)}\n")
        shown = list(entry.rejected.items())[:MOST_ROWS]
        said.append("\n" + "".join(_line(f"{_code(name)}: {_code(why)}") for name, why in shown))
    return "".join((title, *rows, *said, "\n</details>\n\n"))


def _fit(parts: Sequence[str], room: int) -> list[str]:
    """Return as many of the first parts as there is room for."""
    taken = []
    for part in parts:
        room -= len(part.encode())
        if room < 0:
            break
        taken.append(part)
    return taken


def _size(parts: Iterable[str]) -> int:
    return sum(len(part.encode()) + 1 for part in parts)


def _line(text: str) -> str:
    return f"- {text}\n"


def _named(subject: str) -> str:
    return f"{_code(subject)}: " if subject else ""


def _code(text: str) -> str:
    """Return text as code: no backtick ends it, no pipe ends a table's cell."""
    return f"`{_safe(text).replace('`', chr(39)).replace('|', '¦') or ' '}`"


def _fault(fault: Fault) -> str:
    """Return a fault; a long message does not cut off what would be right."""
    told = _code(fault_line(replace(fault, expected="")))
    return f"{told}, expected: {_code(fault.expected)}" if fault.expected else told


def _html(text: str) -> str:
    """Return text as code in HTML, for the one place where Markdown is not read."""
    escaped = _safe(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<code>{escaped}</code>"


def _safe(text: str) -> str:
    """Return one printable line of bounded length that no search for our marker finds."""
    line = plain(text).replace("<!--", "<! --")
    return line if len(line) <= LONGEST_TEXT else f"{line[: LONGEST_TEXT - 1]}…"

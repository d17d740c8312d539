"""A preview as one page that needs nothing else: no script, no picture, no font, no link."""

from collections.abc import Iterable
from html import escape

from reconciler.audit.preview import Preview, PreviewEntry
from reconciler.audit.printable import printable
from reconciler.audit.wording import (
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

STYLE = """\
:root { color-scheme: light dark; --line: #8884; --good: #2a7d2a; --bad: #c0392b; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; }
code { font-family: ui-monospace, monospace; font-size: .92em; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .6rem 0; padding: .4rem; }
summary { cursor: pointer; font-weight: 600; }
table { border-collapse: collapse; margin: .6rem 0; }
th, td { text-align: left; padding: .15rem .8rem .15rem 0; border-bottom: 1px solid var(--line); }
td + td { text-align: right; font-variant-numeric: tabular-nums; }
.up { color: var(--good); } .down { color: var(--bad); }
.warning { border-left: 4px solid #d68910; padding-left: .6rem; }
.fault { border-left: 4px solid var(--bad); padding-left: .6rem; }
footer { color: #888; margin-top: 2rem; }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def preview_html(preview: Preview, heading: Heading) -> str:
    """Return the page."""
    first = f"{heading.verb.capitalize()}: {title(preview)}"
    body = [f"<h1>{_text(first)}</h1>", f"<p><code>{_text(heading.line)}</code></p>"]
    for warning in preview.warnings:
        subject = f"<code>{_text(warning.subject)}</code>: " if warning.subject else ""
        body.append(f'<p class="warning">{subject}{_text(warning.message)}</p>')
    body += [f'<p class="fault">{_text(fault_line(fault))}</p>' for fault in preview.faults]
    body += [f"<p>mended: {_text(fault_line(fault))}</p>" for fault in preview.mended]
    body += [f"<p>the pass removes <code>{_text(path)}</code></p>" for path in preview.removes]
    body += [_section(entry, opened=len(preview.entries) == 1) for entry in preview.entries]
    if preview.anyway:
        body.append("<h2>Anyway, without this change</h2>")
        body += [_section(entry, opened=False) for entry in preview.anyway]
    if preview.delivered:
        items = "".join(f"<li>{_text(delivered_text(one))}</li>\n" for one in preview.delivered)
        body += [f"<h2>{_text(DELIVERED)}</h2>", f"<ul>\n{items}</ul>"]
    for told, found in later_blocks(preview):
        items = "".join(f"<li>{_text(later_text(coming))}</li>\n" for coming in found)
        body += [f"<h2>{_text(told)}</h2>", f"<ul>\n{items}</ul>"]
    body.append(f"<footer>{_text(footer(preview))}</footer>")
    return _page(first, body)


def _page(name: str, body: Iterable[str]) -> str:
    """Return a whole page that may load nothing from anywhere."""
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{_text(name)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    )
    return head + "\n".join(body) + "\n</body>\n</html>\n"


def _section(entry: PreviewEntry, *, opened: bool) -> str:
    """Return one object."""
    rows = "".join(
        f"<tr><td><code>{_text(m.cluster)}</code></td><td>{share(m.before)}</td>"
        f'<td>{share(m.after)}</td><td class="{_tone(m.delta)}">{change(m)}</td></tr>\n'
        for m in entry.moves
    )
    rejected = "".join(
        f"<li><code>{_text(name)}</code>: {_text(why)}</li>\n"
        for name, why in (entry.rejected.items() if entry.problem else ())
    )
    heading = f"{_text(entry.subject)}: {_text(summary(entry))}"
    parts = [
        f"<details{' open' if opened else ''}><summary>{heading}</summary>",
        "<table>\n<tr><th>cluster</th><th>before</th><th>after</th><th>change</th></tr>",
        f"{rows}</table>",
        f"<p>{_text(entry.kind)}: {_text(reason(entry))}</p>",
    ]
    if entry.problem:
        parts.append(f'<p class="warning">{_text(entry.problem)}</p>')
    if rejected:
        parts.append(f"<ul>\n{rejected}</ul>")
    return "\n".join((*parts, "</details>"))


def _tone(delta: int) -> str:
    return "up" if delta > 0 else "down" if delta < 0 else ""


def _text(text: str) -> str:
    """Return user text as text, never as markup."""
    return escape(printable(text), quote=True)

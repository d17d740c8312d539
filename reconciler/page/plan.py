"""A preview as a view: what moves, from where to where, drawn and listed."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from reconciler.audit.previews.foresight import Coming
from reconciler.audit.previews.preview import Preview, PreviewEntry
from reconciler.audit.previews.wording import Heading, footer, later_blocks, reason, summary, title
from reconciler.page.flows import Drawing, drawing_of, flows_of
from reconciler.page.rendering import Frame, PagePart, render, render_alone


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """One object of a preview, with what is said of it in a line, and why.

    `rejected` are the clusters that turned it away, by the reason, that of most clusters first.
    """

    entry: PreviewEntry
    heading: str
    why: str
    rejected: Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanView:
    """A preview, put into words.

    Attributes:
        preview: What there is to show.
        title: What moves, in one line.
        line: Of what it is, in one line.
        entries: What the change brings about.
        anyway: What happens without it.
        later: What comes later, each part with its title.
        footer: At which moment it holds.
        drawing: The moves as flows, `None` if nothing moves.
    """

    preview: Preview
    title: str
    line: str
    entries: Sequence[PlanEntry]
    anyway: Sequence[PlanEntry]
    later: Sequence[tuple[str, Sequence[Coming]]]
    footer: str
    drawing: Drawing | None


def plan_view(preview: Preview, heading: Heading) -> PlanView:
    """Return the view of a preview."""
    return PlanView(
        preview=preview,
        title=f"{heading.verb.capitalize()}: {title(preview)}",
        line=heading.line,
        entries=tuple(map(_entry, preview.entries)),
        anyway=tuple(map(_entry, preview.anyway)),
        later=later_blocks(preview),
        footer=footer(preview),
        drawing=_drawing(preview),
    )


def plan_page(preview: Preview, heading: Heading) -> str:
    """Return a preview as one page that needs nothing else."""
    view = plan_view(preview, heading)
    frame = Frame(title=view.title, line=view.line, single=True)
    return render(frame, [PagePart("plan", "plan.html", view)])


def plan_svg(preview: Preview) -> str:
    """Return the moves of a preview as a picture by itself."""
    drawing = _drawing(preview)
    return render_alone("picture.svg", {"drawing": drawing})


def _drawing(preview: Preview) -> Drawing | None:
    return drawing_of(flows_of([entry.moves for entry in preview.entries]))


def _entry(entry: PreviewEntry) -> PlanEntry:
    rejected: dict[str, list[str]] = defaultdict(list)
    for name, why in entry.rejected.items():
        rejected[why].append(name)
    ordered = sorted(rejected.items(), key=lambda item: (-len(item[1]), item[0]))
    return PlanEntry(entry, f"{entry.subject}: {summary(entry)}", reason(entry), ordered)

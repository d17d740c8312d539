"""The only file that renders templates: escaped, strict, control characters made visible.

What is wrong now stands in the head of every view, before all else: counts that lead to lists.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from reconciler.audit.findings import Severity, fault_line
from reconciler.audit.fleet.problems import NOTE, Problem, ProblemKind
from reconciler.audit.fleet.trouble import Trouble
from reconciler.audit.fleet.usage import Usage
from reconciler.audit.history.revisions import Commit
from reconciler.audit.previews.wording import change, coming_text, delivered_text, share, step_text
from reconciler.manifests.columns import duration
from reconciler.model.decision import placed_text
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass
from reconciler.model.text import printable, short_id
from reconciler.page.links import NO_FORGE, Anchor, ForgeLinks, Links
from reconciler.page.lists import Tone
from reconciler.page.pictures import parts_shown

SHOWN = 4  # of each, beside the count


class CauseView(NamedTuple):
    """What is wrong with some, and the commit that changed last what says so, if that is known."""

    text: str
    changed: Commit | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongCount:
    """One kind of problem: so many, what they are, where all are listed, the first of them.

    `causes` says what is wrong with the first ones, where that is short enough to be read here,
    and `remedy` what to do, commands in back-quotes.
    """

    count: int
    words: str
    tone: Tone
    anchor: Anchor
    first: Sequence[Anchor] = ()
    causes: Sequence[CauseView] = ()
    remedy: str = ""

    @property
    def rest(self) -> int:
        """How many are not among the first."""
        return max(0, self.count - len(self.first)) if self.first else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongView:
    """All that is wrong, the worst first."""

    counts: Sequence[WrongCount]


LISTS: Mapping[ProblemKind, tuple[str, str]] = {
    ProblemKind.NOT_READY: ("clusters", "not-ready"),
    ProblemKind.SILENT: ("clusters", "no-report"),
    ProblemKind.OVER: ("clusters", "over"),
    ProblemKind.NOT_PLACED: ("objects", "unplaced"),
    ProblemKind.WAITING: ("objects", "waiting"),
}
"""The view that lists all of a kind, and the state by which it is filtered."""
WHOLE_VIEWS: Mapping[ProblemKind, str] = {
    ProblemKind.LATE: "coming",
    ProblemKind.NOT_REBALANCED: "rebalancers",
}
"""The view that is about all of a kind."""
PARTS: Mapping[ProblemKind, str] = {
    ProblemKind.WARNING: "warnings",
    ProblemKind.SUSPENDED: "suspended",
    ProblemKind.NOT_SELECTED: "not-selected",
}
"""The part of the view of faults that lists all of a kind."""
TOLD_HERE = frozenset(
    {
        ProblemKind.NOT_READY,
        ProblemKind.SILENT,
        ProblemKind.OVER,
        ProblemKind.NOT_PLACED,
        ProblemKind.LATE,
        ProblemKind.FAULT,
        ProblemKind.WARNING,
        ProblemKind.NOT_REBALANCED,
    }
)
"""The kinds of which the fleet says what is wrong with the first ones."""
TONES = {Severity.ERROR: Tone.BAD, Severity.WARNING: Tone.WARN, NOTE: Tone.HOLD}


def wrong_view(
    problems: Sequence[Problem],
    trouble: Trouble,
    links: Links,
    called: "dict[ObjectKey, Anchor]",
) -> WrongView:
    """Return the view.

    Args:
        problems: What is wrong, the worst first.
        trouble: What that is about.
        links: Where views lead.
        called: How people call the first objects of each list, and where they are told.
    """
    first = _first(trouble, links, called)
    counts = [_count(problem, trouble, links, first.get(problem.kind, ())) for problem in problems]
    return WrongView(counts=counts)


def objects_told(trouble: Trouble) -> Iterator[ObjectKey]:
    """Yield the objects that the view names."""
    yield from list(trouble.unplaced)[:SHOWN]
    yield from list(trouble.waiting)[:SHOWN]


def _count(problem: Problem, trouble: Trouble, links: Links, first: Sequence[Anchor]) -> WrongCount:
    """Return one kind of problem, with where all of it are listed."""
    whole = problem.kind is ProblemKind.SUSPENDED and any(
        one.is_configuration for one in trouble.suspended
    )
    words = "everything suspended" if whole else problem.noun
    return WrongCount(
        count=problem.count,
        words=words,
        tone=TONES[problem.severity],
        anchor=Anchor(words if whole else str(problem), _list_of(problem.kind, links)),
        first=() if whole else first,
        remedy=problem.remedy,
        causes=_causes(problem) if problem.kind in TOLD_HERE else (),
    )


def _causes(problem: Problem) -> list[CauseView]:
    """Return each cause once, behind all that it is about."""
    about: dict[tuple[str, Commit | None], list[str]] = {}
    for detail in problem.details:
        if detail.cause or detail.changed:
            about.setdefault((detail.cause, detail.changed), []).append(detail.subject)
    return [
        CauseView(": ".join(filter(None, (", ".join(subjects), cause))), changed)
        for (cause, changed), subjects in about.items()
    ]


def _list_of(kind: ProblemKind, links: Links) -> str:
    """Return where all of a kind are listed."""
    if kind in LISTS:
        view, state = LISTS[kind]
        return links.view(view, state=state)
    if kind in WHOLE_VIEWS:
        return links.view(WHOLE_VIEWS[kind])
    return links.part("faults", PARTS[kind]) if kind in PARTS else links.view("faults")


def _first(
    trouble: Trouble, links: Links, called: "dict[ObjectKey, Anchor]"
) -> Mapping[ProblemKind, list[Anchor]]:
    """Return the first of each kind, each with where it is told."""

    def clusters(usages: Sequence[Usage]) -> list[Anchor]:
        return [Anchor(one.key.name, links.cluster(one.key)) for one in usages[:SHOWN]]

    def objects(keys: Iterable[ObjectKey]) -> list[Anchor]:
        return [called[key] for key in list(keys)[:SHOWN] if key in called]

    paths = list(dict.fromkeys(one.path for one in trouble.faults))[:SHOWN]
    suspended = [one.key for one in trouble.suspended[:SHOWN]]
    return {
        ProblemKind.NOT_READY: clusters(trouble.not_ready),
        ProblemKind.SILENT: clusters(trouble.silent),
        ProblemKind.OVER: clusters(trouble.over),
        ProblemKind.NOT_PLACED: objects(trouble.unplaced),
        ProblemKind.FAULT: [Anchor(path, links.view("faults")) for path in paths],
        ProblemKind.WAITING: objects(trouble.waiting),
        ProblemKind.SUSPENDED: [
            Anchor(f"{key.kind.lower()}/{key.name}", links.manifest(key)) for key in suspended
        ],
    }


XMLNS = ' xmlns="http://www.w3.org/2000/svg"'  # of a picture by itself; within a page HTML knows it


@dataclass(frozen=True, slots=True)
class PagePart:
    """One view on a page: the id of its part, its template, and what that shows."""

    name: str
    template: str
    content: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What stands around the views.

    Attributes:
        title: Of the page.
        line: What is shown, in one line.
        menu: The views that there are, each with whether it is the one that is shown.
        live: The revision that is shown, where the page follows its branch; else `""`.
        wrong: What is wrong now, `None` where that is not known.
        warnings: What is wrong beside that, with the daemon itself; a sentence each.
        found: What was searched for; `None` where nothing can be searched.
        trail: What the page is a part of, the widest first.
        command: What says the same on a command line, `""` for nothing.
        passed: Moment of the last pass that decided something, `None` if none has, or it is not
            told.
        now: Moment of which elapsed time is told; `None` where the page is kept, and moments are
            told as they are.
        forge: Where commits and files are for people.
        single: Whether the page stands by itself: nothing is loaded from anywhere.
        scripted: Whether a page that stands by itself has the script.
    """

    title: str
    line: str = ""
    menu: Sequence[tuple[Anchor, bool]] = ()
    live: str = ""
    wrong: WrongView | None = None
    warnings: Sequence[str] = ()
    found: str | None = None
    trail: Sequence[Anchor] = ()
    command: str = ""
    passed: datetime | None = None
    now: datetime | None = None
    forge: ForgeLinks = NO_FORGE
    single: bool = False
    scripted: bool = False

    @property
    def policy(self) -> str:
        """What a page that stands by itself may load: its own style, its own script, no more."""
        script = f"; script-src '{_digest(asset('script.js'))}'" if self.scripted else ""
        return f"default-src 'none'; style-src '{_digest(style())}'{script}"


SEEN = "<!--seen-->"
"""Where a served page says who watches its branch: its listener alone knows that."""
PROGRESS = "<!--progress-->"
"""Where it says how far it is that whole passes are computed for it."""
NO_STRIP = "<!--strip-->"
"""Where one that does not know what is wrong says what another one said."""
STRIP = '<div class="wrong-bar">'


def strip_of(html: str) -> str:
    """Return what a page says is wrong in its head, `""` if it says nothing of that."""
    _, begin, rest = html.partition(STRIP)
    strip, end, _ = rest.partition("</div>")
    return f"{begin}{strip}{end}" if end else ""


def completed(html: str, *, strip: str, seen: tuple[str, str], progress: str = "") -> str:
    """Return a page with what only its listener knows.

    Args:
        html: It; texts of others are escaped in it, so none of them is taken for a place.
        strip: What another page said is wrong.
        seen: How it looks who watches the branch, and in words.
        progress: How far the page is in line, `""` where it is there.
    """
    line = Markup('<p class="line" role="status">{}</p>').format(printable(progress))
    watch = Markup('<span id="seen" class="{}">{}</span>').format(seen[0], printable(seen[1]))
    parts = {NO_STRIP: strip, SEEN: watch, PROGRESS: line if progress else ""}
    for place, part in parts.items():
        html = html.replace(place, part, 1)
    return html


def render(frame: Frame, parts: Sequence[PagePart]) -> str:
    """Return a whole page."""
    return (
        environment()
        .get_template("frame.html")
        .render(
            frame=frame,
            parts=parts,
            now=frame.now,
            forge=frame.forge,
            logo=Markup(asset("logo.svg").replace(XMLNS, "")),  # noqa: S704  # ours
            style=Markup(style()) if frame.single else "",  # noqa: S704  # ours
            script=Markup(asset("script.js")) if frame.scripted else "",  # noqa: S704  # ours
        )
    )


def render_alone(template: str, content: Mapping[str, object]) -> str:
    """Return what one template makes of its content, without a page around it."""
    style = Markup(f"{asset('tokens.css')}{asset('picture.css')}")  # noqa: S704  # ours
    return environment().get_template(template).render(style=style, now=None, **content)


def style() -> str:
    """Return the style: what it is made of, and how that is used."""
    return "".join(map(asset, ("tokens.css", "picture.css", "style.css")))


@lru_cache
def asset(name: str) -> str:
    """Return a file that stands beside the templates."""
    return (files("reconciler.page") / "templates" / name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return what knows the templates."""
    templates = Environment(
        loader=PackageLoader("reconciler.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    templates.filters |= {
        "parts": parts_shown,
        "placed": lambda placed: "?" if placed is None else placed_text(placed),
        "moment": format_moment,
        "when": _when,
        "indented": _indented,
        "short": short_id,
        "share": share,
        "step": step_text,
        "change": change,
        "fault": fault_line,
        "coming": coming_text,
        "delivered": delivered_text,
    }
    return templates


@pass_context
def _when(context: Context, moment: datetime) -> Markup:
    """Return a moment as people read it, with the exact one beside."""
    exact, now = format_moment(moment), context.get("now")
    shown = exact if now is None else span_words(now, moment)
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(exact, shown)


def _indented(line: str) -> Markup:
    """Return a line of a text with the blanks at its beginning, which `printable` strips."""
    return escape(printable(f"|{line}")[1:])


def span_words(now: datetime, moment: datetime) -> str:
    """Return how long ago a moment was, or when it comes.

    >>> noon = datetime(2026, 1, 1, 12, 0)
    >>> [span_words(noon, noon.replace(hour=hour)) for hour in (11, 12, 14)]
    ['60m ago', 'now', 'in 120m']
    """
    if moment == now:
        return "now"
    return f"in {duration(moment - now)}" if moment > now else f"{duration(now - moment)} ago"


def _visible(value: object) -> object:
    """Return text in which nothing is hidden; what is markup of ours stays."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _digest(text: str) -> str:
    """Return how a policy names a style or a script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"

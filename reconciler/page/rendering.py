"""The only file that renders templates: escaped, strict, control characters made visible.

What is wrong now stands in the head of every view, before all else: counts that lead to lists.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from reconciler.audit.fleet.trouble import Trouble
from reconciler.audit.fleet.usage import Usage
from reconciler.audit.previews.wording import change, coming_text, delivered_text, fault_line, share
from reconciler.manifests.columns import duration
from reconciler.model.decision import placed_text
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import format_moment
from reconciler.model.text import printable, short_id
from reconciler.page.links import NO_FORGE, Anchor, ForgeLinks, Links
from reconciler.page.lists import Tone
from reconciler.page.pictures import parts_shown

SHOWN = 4  # of each, beside the count


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongCount:
    """One thing that is wrong: so many, what they are, where all are listed, the first of them."""

    count: int
    words: str
    tone: Tone
    anchor: Anchor
    first: Sequence[Anchor] = ()

    @property
    def rest(self) -> int:
        """How many are not among the first."""
        return max(0, self.count - len(self.first)) if self.first else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongView:
    """All that is wrong, the worst first; `late` says that a pass is overdue, `""` if none is."""

    counts: Sequence[WrongCount]
    late: str = ""


def wrong_view(
    trouble: Trouble, links: Links, called: "dict[ObjectKey, Anchor]", late: str = ""
) -> WrongView:
    """Return the view.

    Args:
        trouble: What is wrong.
        links: Where views lead.
        called: How people call the first objects of each list, and where they are told.
        late: Why a pass is overdue, `""` if none is.
    """
    return WrongView(counts=list(_counts(trouble, links, called)), late=late)


def objects_told(trouble: Trouble) -> Iterator[ObjectKey]:
    """Yield the objects that the view names."""
    yield from list(trouble.unplaced)[:SHOWN]
    yield from list(trouble.waiting)[:SHOWN]


def _counts(
    trouble: Trouble, links: Links, called: "dict[ObjectKey, Anchor]"
) -> Iterator[WrongCount]:
    """Yield what is wrong, the worst first."""
    clusters, objects = _Clusters(links), _Objects(links, called)
    yield from clusters.counted(trouble.not_ready, "not ready", "not-ready")
    yield from clusters.counted(trouble.silent, "without a report", "no-report")
    yield from clusters.counted(trouble.over, "over-committed", "over")
    yield from objects.counted(trouble.unplaced, "not placed", "unplaced", Tone.BAD)
    if trouble.faults:
        yield _faults(trouble, links)
    yield from objects.counted(trouble.waiting, "waiting", "waiting", Tone.WARN)
    if trouble.suspended:
        yield _suspended(trouble, links)


def _nouns(count: int, noun: str, what: str) -> str:
    """Return what so many are, as a sentence has it."""
    return f"{noun}{'' if count == 1 else 's'} {what}".rstrip()


class _Clusters(NamedTuple):
    """Counts clusters."""

    links: Links

    def counted(self, found: Sequence[Usage], what: str, state: str) -> Iterator[WrongCount]:
        """Yield how many there are, if there are any; `state` is what their list is filtered by."""
        if found:
            words = _nouns(len(found), "cluster", what)
            yield WrongCount(
                count=len(found),
                words=words,
                tone=Tone.BAD,
                anchor=Anchor(f"{len(found)} {words}", self.links.view("clusters", state=state)),
                first=[Anchor(one.key.name, self.links.cluster(one.key)) for one in found[:SHOWN]],
            )


class _Objects(NamedTuple):
    """Counts objects; `called` is how people call the first of each list."""

    links: Links
    called: "dict[ObjectKey, Anchor]"

    def counted(
        self, found: Iterable[ObjectKey], what: str, state: str, tone: Tone
    ) -> Iterator[WrongCount]:
        """Yield how many there are, if there are any; `state` is what their list is filtered by."""
        if keys := list(found):
            words = _nouns(len(keys), "object", what)
            yield WrongCount(
                count=len(keys),
                words=words,
                tone=tone,
                anchor=Anchor(f"{len(keys)} {words}", self.links.view("objects", state=state)),
                first=[self.called[key] for key in keys[:SHOWN] if key in self.called],
            )


def _faults(trouble: Trouble, links: Links) -> WrongCount:
    """Return how many files have faults, and which."""
    count, href = len(trouble.faults), links.view("faults")
    words = _nouns(count, "fault", "")
    paths = list(dict.fromkeys(one.path for one in trouble.faults))[:SHOWN]
    return WrongCount(
        count=count,
        words=words,
        tone=Tone.BAD,
        anchor=Anchor(f"{count} {words}", href),
        first=[Anchor(path, href) for path in paths],
    )


def _suspended(trouble: Trouble, links: Links) -> WrongCount:
    """Return how much people suspended."""
    count = len(trouble.suspended)
    whole = any(one.is_configuration for one in trouble.suspended)
    words = "everything suspended" if whole else "suspended"
    named = [] if whole else [one.key for one in trouble.suspended[:SHOWN]]
    return WrongCount(
        count=count,
        words=words,
        tone=Tone.HOLD,
        anchor=Anchor(words if whole else f"{count} {words}", links.part("faults", "suspended")),
        first=[Anchor(f"{key.kind.lower()}/{key.name}", links.manifest(key)) for key in named],
    )


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
        passed: Moment of the last pass, `None` if there was none, or it is not told.
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
    found = Environment(
        loader=PackageLoader("reconciler.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    found.filters |= {
        "parts": parts_shown,
        "placed": lambda placed: "?" if placed is None else placed_text(placed),
        "moment": format_moment,
        "when": _when,
        "indented": _indented,
        "short": short_id,
        "share": share,
        "change": change,
        "fault": fault_line,
        "coming": coming_text,
        "delivered": delivered_text,
    }
    return found


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

"""The only file that renders templates: escaped, strict, control characters made visible."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from reconciler.audit.previews.wording import change, coming_text, delivered_text, fault_line, share
from reconciler.audit.printable import printable
from reconciler.audit.short_id import short_id
from reconciler.manifests.columns import duration
from reconciler.model.decision import placed_text
from reconciler.model.moments import format_moment
from reconciler.page.forge import NO_FORGE, ForgeLinks
from reconciler.page.links import Anchor
from reconciler.page.pictures.bands import parts_shown
from reconciler.page.wrong import WrongView

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

"""The only file that renders templates: escaped, strict, control characters made visible."""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reconciler.audit.previews.wording import change, coming_text, delivered_text, fault_line, share
from reconciler.audit.printable import printable
from reconciler.audit.short_id import short_id
from reconciler.model.decision import placed_text
from reconciler.model.moments import format_moment
from reconciler.page.links import Anchor


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
        single: Whether the page stands by itself: nothing is loaded from anywhere.
        scripted: Whether a page that stands by itself has the script.
    """

    title: str
    line: str = ""
    menu: Sequence[tuple[Anchor, bool]] = ()
    live: str = ""
    single: bool = False
    scripted: bool = False

    @property
    def policy(self) -> str:
        """What a page that stands by itself may load: its own style, its own script, no more."""
        script = f"; script-src '{_digest(asset('script.js'))}'" if self.scripted else ""
        return f"default-src 'none'; style-src '{_digest(asset('style.css'))}'{script}"


def render(frame: Frame, parts: Sequence[PagePart]) -> str:
    """Return a whole page."""
    return (
        environment()
        .get_template("frame.html")
        .render(
            frame=frame,
            parts=parts,
            style=Markup(asset("style.css")) if frame.single else "",  # noqa: S704  # ours
            script=Markup(asset("script.js")) if frame.scripted else "",  # noqa: S704  # ours
        )
    )


def render_alone(template: str, content: Mapping[str, object]) -> str:
    """Return what one template makes of its content, without a page around it."""
    return environment().get_template(template).render(**content)


@lru_cache
def asset(name: str) -> str:
    """Return the style or the script."""
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
        "placed": lambda placed: "?" if placed is None else placed_text(placed),
        "moment": format_moment,
        "short": short_id,
        "share": share,
        "change": change,
        "fault": fault_line,
        "coming": coming_text,
        "delivered": delivered_text,
    }
    return found


def _visible(value: object) -> object:
    """Return text in which nothing is hidden; what is markup of ours stays."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _digest(text: str) -> str:
    """Return how a policy names a style or a script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"

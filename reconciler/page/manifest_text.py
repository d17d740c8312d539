"""The texts of one object as a view: its manifest, its outputs, and what a pass changed in them."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from reconciler.manifests.secrets import without_secrets
from reconciler.manifests.text.emitter import encode
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.page.links import Anchor

MOST_LINES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownText:
    """One file or document: its path, its lines, how many more there are, whether it is a diff.

    `is_here` is whether the file is on the branch that is shown, and as it is there.
    """

    title: str
    lines: Sequence[str]
    rest: int = 0
    is_difference: bool = False
    is_here: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestView:
    """The view.

    Attributes:
        key: Of the object, as people call it.
        texts: What there is to read; the values of Secrets are hidden.
        object: Where the object is told, `None` where nothing is decided about it.
        passes: The passes that decided about it, the newest first, each with what it changed.
        chosen: Full hex id of the pass of which the change is shown, `""` for none.
    """

    key: ObjectKey
    texts: Sequence[ShownText]
    object: Anchor | None
    passes: Sequence[tuple[Anchor, str]]
    chosen: str


def shown_text(path: str, body: Body, *, is_here: bool) -> ShownText:
    """Return a document as YAML; the values of Secrets are hidden.

    Args:
        path: Of its file.
        body: It.
        is_here: See `ShownText`.
    """
    lines = _lines(body)
    rest = max(0, len(lines) - MOST_LINES)
    return ShownText(title=path, lines=lines[:MOST_LINES], rest=rest, is_here=is_here)


def shown_difference(path: str, before: Body | None, after: Body | None) -> ShownText | None:
    """Return what differs between two documents, `None` if nothing does or all that is hidden."""
    old, new = ([] if body is None else _lines(body) for body in (before, after))
    lines = list(difflib.unified_diff(old, new, "before", "after", n=3, lineterm=""))
    if not lines:
        return None
    return ShownText(
        title=path,
        lines=lines[:MOST_LINES],
        rest=max(0, len(lines) - MOST_LINES),
        is_difference=True,
    )


def _lines(body: Body) -> list[str]:
    return encode(dict(without_secrets(body))).splitlines()

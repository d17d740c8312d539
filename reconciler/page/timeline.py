"""The passes as a view: what each moved, where everything was then, what moved between two."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from reconciler.audit.history.commit_moves import ObjectMoves
from reconciler.audit.previews.placement_moves import PlacementMove
from reconciler.model.identity import ObjectKey
from reconciler.page.flows import Drawing, drawing_of, flows_of
from reconciler.page.links import Anchor, Links
from reconciler.page.matrix import MatrixView
from reconciler.page.pictures.bars import BarPicture

MOST_MOVES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCommit:
    """A commit of the branch, and whether a pass wrote it."""

    revision: str
    at: datetime
    subject: str
    author: str
    is_pass: bool


@dataclass(frozen=True, slots=True)
class MovedObject:
    """An object and the clusters where its part became another one."""

    anchor: Anchor
    namespace: str
    moves: Sequence[PlacementMove]


@dataclass(frozen=True, slots=True, kw_only=True)
class PassStep:
    """One pass that committed.

    Attributes:
        revision: Full hex id.
        at: Its moment.
        subject: First line of its message.
        anchor: Where the fleet is shown as it was then.
        moved: What it moved, the first of many.
        rest: How many more it moved; `None` where they were too many to be read.
        every: All that it moved.
        drawing: The moves as flows, `None` if there are none.
    """

    revision: str
    at: datetime
    subject: str
    anchor: Anchor
    moved: Sequence[MovedObject] = ()
    rest: int | None = 0
    every: Sequence[ObjectMoves] = ()
    drawing: Drawing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineView:
    """The view.

    Attributes:
        steps: The passes, the oldest first.
        chosen: Which of them is shown, counted from 0.
        moves: What each of them moved, drawn; `None` where there is none.
        then: Where everything was then, `None` of a report.
        compared: The step before it that it is compared with, and what moved in between.
        earlier: Where older passes are, `None` if there are none.
        later: Where newer passes are, `None` if there are none.
        newest: The revision that the slider counts back from.
        note: Why the fleet as it was then is not shown, `""` if it is, or of a report.
    """

    steps: Sequence[PassStep]
    chosen: int
    moves: BarPicture | None = None
    then: MatrixView | None = None
    compared: tuple[PassStep, PassStep] | None = None
    earlier: Anchor | None = None
    later: Anchor | None = None
    newest: str = ""
    note: str = ""


def moved_objects(
    found: Sequence[ObjectMoves], names: dict[ObjectKey, str], links: Links
) -> tuple[Sequence[MovedObject], int]:
    """Return the first of what was moved, and how many more there are.

    Args:
        found: What was moved.
        names: How people call the objects.
        links: Where they lead.
    """
    shown = [
        MovedObject(
            Anchor(names.get(one.key, one.key.name), links.object(one.key)),
            one.key.namespace,
            one.moves,
        )
        for one in found[:MOST_MOVES]
    ]
    return shown, len(found) - len(shown)


def drawn(found: Sequence[ObjectMoves]) -> Drawing | None:
    """Return moves as flows between clusters."""
    return drawing_of(flows_of([one.moves for one in found]))

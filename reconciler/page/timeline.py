"""The passes as a view: what each moved, where everything was then, what moved between two.

The slider has the passes beside each other, each with what it moved. Moves are drawn as flows
between clusters: on the left where parts leave, on the right where they go. The same drawing serves
a preview, which is listed, too. A change that a user may propose is shown as a new file or a patch,
with the command that proposes it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from reconciler.audit.history.moves import ObjectMoves
from reconciler.audit.previews.foresight import Coming
from reconciler.audit.previews.placement_moves import PlacementMove, traffic
from reconciler.audit.previews.preview import Preview, PreviewEntry
from reconciler.audit.previews.wording import Heading, footer, later_blocks, reason, summary, title
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass, replace
from reconciler.page.links import Anchor, Links
from reconciler.page.matrix import MatrixView
from reconciler.page.pictures import BarPicture, Slot, bar_picture, moved_words
from reconciler.page.rendering import Frame, PagePart, render, render_alone

NEW, GONE = "(new)", "(stopped)"
MOST = 12  # clusters on a side; the rest is one of their own
REST = "(others)"
Flows = Mapping[tuple[str, str], int]
"""How many replicas go from one cluster to another, or copies of what has none."""

WIDTH, ROW, GAP, BAR = 720, 18, 10, 14
LEFT, RIGHT = 200, 520


@dataclass(frozen=True, slots=True)
class Bar:
    """A cluster on one side, and how many parts leave it or come to it.

    What starts leaves no cluster, and what stops comes to none: their bars are of a kind of their
    own, and say only how many.
    """

    name: str
    count: int
    y: int
    height: int

    @property
    def kind(self) -> str:
        """What it stands for: `new`, `stop`, or `""` for a cluster."""
        return {NEW: "new", GONE: "stop"}.get(self.name, "")

    def text(self, sign: str) -> str:
        """Return its name and number: of a cluster what it loses or gains, else how many."""
        return f"{self.name} {self.count}" if self.kind else f"{self.name} {sign}{self.count}"


@dataclass(frozen=True, slots=True)
class Flow:
    """So many parts from one cluster to another, as a path of so many points across."""

    source: str
    target: str
    count: int
    path: str
    width: int

    @property
    def kind(self) -> str:
        """Whether it is a move, `""`, or something that starts or stops: `new` or `stop`."""
        return "new" if self.source == NEW else "stop" if self.target == GONE else ""

    @property
    def says(self) -> str:
        """What it is, in words."""
        if self.source == NEW:
            return f"{self.count} start on {self.target}"
        if self.target == GONE:
            return f"{self.count} stop on {self.source}"
        return f"{self.source} to {self.target}: {self.count}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """What is drawn."""

    width: int
    height: int
    left: int
    right: int
    bar: int
    sources: Sequence[Bar]
    targets: Sequence[Bar]
    flows: Sequence[Flow]
    says: str = ""


def flows_of(moves: Iterable[Sequence[PlacementMove]], *, copies: bool = False) -> Flows:
    """Return how much goes from where to where, of objects given cluster by cluster.

    What leaves a cluster is paired with what comes to others in the order of names.

    Args:
        moves: What becomes of each object.
        copies: Count copies of objects that have no replicas, in the place of replicas.
    """
    flows: Counter[tuple[str, str]] = Counter()
    for listed in moves:
        if copies and any(one.delta for one in listed):
            continue
        left = [(str(one.cluster), _copies_lost(one) if copies else -one.delta) for one in listed]
        sources = [(name, count) for name, count in left if count > 0]
        targets = [(name, -count) for name, count in left if count < 0]
        surplus = sum(count for _, count in left)
        for source, target, count in _paired(
            [*sources, (NEW, max(-surplus, 0))], [*targets, (GONE, max(surplus, 0))]
        ):
            flows[source, target] += count
    return dict(sorted(flows.items()))


def _copies_lost(move: PlacementMove) -> int:
    """Return 1 where a copy leaves a cluster, -1 where one comes."""
    return (move.before is not None) - (move.after is not None)


def _paired(
    sources: Sequence[tuple[str, int]], targets: Sequence[tuple[str, int]]
) -> Iterator[tuple[str, str, int]]:
    """Yield how many go from where to where, in order; both sides have the same sum."""
    waiting = iter(targets)
    target, room = next(waiting)
    for source, lost in sources:
        left = lost
        while left:
            if not room:
                target, room = next(waiting)
                continue
            count = min(left, room)
            yield source, target, count
            left, room = left - count, room - count


def drawn_moves(moves: Sequence[Sequence[PlacementMove]]) -> Drawing | None:
    """Return moves as flows: of replicas or, where none moves, of copies without replicas.

    What both are is said beside the picture, so that its numbers add up to those of its title.
    """
    apart = sum(moved.apart > 0 and not (moved.came or moved.left) for moved in map(traffic, moves))
    others = "1 object" if apart == 1 else f"{apart} objects"
    replicas = drawing_of(flows_of(moves))
    if replicas is not None:
        more = f"; {others} without replicas besides" if apart else ""
        return replace(replicas, says=f"replicas that move{more}")
    copies = drawing_of(flows_of(moves, copies=True))
    return copies and replace(copies, says=f"copies of {others} without replicas")


def drawing_of(flows: Flows) -> Drawing | None:
    """Return the picture, `None` if nothing moves."""
    if not flows:
        return None
    flows = _bounded(flows)
    out: Counter[str] = Counter()
    into: Counter[str] = Counter()
    for (source, target), count in flows.items():
        out[source] += count
        into[target] += count
    most = max(*out.values(), *into.values())
    sources, targets = _bars(out, most), _bars(into, most)
    height = max(bars[-1].y + bars[-1].height for bars in (sources, targets)) + GAP
    return Drawing(
        width=WIDTH,
        height=height,
        left=LEFT,
        right=RIGHT,
        bar=BAR,
        sources=sources,
        targets=targets,
        flows=_paths(flows, sources, targets),
    )


def _bounded(flows: Flows) -> Flows:
    """Return flows of few clusters on each side: those with most, the rest as one."""
    kept = []
    for side in (0, 1):
        sums: Counter[str] = Counter()
        for pair, count in flows.items():
            sums[pair[side]] += count
        kept.append({name for name, _ in sums.most_common(MOST)})
    bounded: Counter[tuple[str, str]] = Counter()
    for (source, target), count in flows.items():
        pair = (source if source in kept[0] else REST, target if target in kept[1] else REST)
        bounded[pair] += count
    return dict(sorted(bounded.items()))


def _bars(counts: Mapping[str, int], most: int) -> list[Bar]:
    """Return the clusters of one side, one below the other."""
    bars, y = [], GAP
    for name in sorted(counts):
        height = max(ROW, round(4 * ROW * counts[name] / most))
        bars.append(Bar(name, counts[name], y, height))
        y += height + GAP
    return bars


def _paths(flows: Flows, sources: Sequence[Bar], targets: Sequence[Bar]) -> list[Flow]:
    """Return the flows, each from its place on one bar to its place on the other."""
    starts = {bar.name: bar for bar in sources}
    ends = {bar.name: bar for bar in targets}
    used: Counter[tuple[int, str]] = Counter()
    paths = []
    for (source, target), count in flows.items():
        start, end = starts[source], ends[target]
        share = count * min(start.height / start.count, end.height / end.count)
        first = _middle(start, used[0, source], count)
        last = _middle(end, used[1, target], count)
        used[0, source] += count
        used[1, target] += count
        middle = (LEFT + BAR + RIGHT) // 2
        path = f"M{LEFT + BAR},{first} C{middle},{first} {middle},{last} {RIGHT},{last}"
        paths.append(Flow(source, target, count, path, max(2, round(share))))
    return paths


def _middle(bar: Bar, used: int, count: int) -> int:
    """Return the height at which a flow touches a bar."""
    return bar.y + round(bar.height * (used + count / 2) / bar.count)


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
    return drawn_moves([one.moves for one in found])


def passes_picture(steps: Sequence[PassStep], chosen: int) -> BarPicture:
    """Return passes beside each other, each with what it moved.

    Args:
        steps: They, the oldest first, at least one.
        chosen: Which of them is shown, counted from 0.
    """
    slots = []
    for at, step in enumerate(steps):
        came, left, apart = traffic(move for one in step.every for move in one.moves)
        slots.append(
            Slot(
                label=format_moment(step.at),
                says=f"{step.subject}: {moved_words(came, left, apart, int(step.rest is None))}",
                came=came,
                left=left,
                unknown=int(step.rest is None),
                apart=apart,
                href=step.anchor.href,
                is_here=at == chosen,
            )
        )
    return bar_picture(
        slots,
        title="Moves of each pass",
        labels=(slots[0].label, slots[-1].label) if len(slots) > 1 else (slots[0].label,),
        unit="pass",
    )


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
        title=f"{heading.name}: {title(preview)}",
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
    return drawn_moves([entry.moves for entry in preview.entries])


def _entry(entry: PreviewEntry) -> PlanEntry:
    rejected: dict[str, list[str]] = defaultdict(list)
    for name, why in entry.rejected.items():
        rejected[why].append(name)
    ordered = sorted(rejected.items(), key=lambda item: (-len(item[1]), item[0]))
    return PlanEntry(entry, f"{entry.subject}: {summary(entry)}", reason(entry), ordered)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedView:
    """The view; the page writes nothing itself.

    Attributes:
        path: The file, or how many there are.
        lines: All of a new file, or what differs in one that is there; none if nothing differs, or
            if its difference is hidden.
        is_new: Whether it is a new file.
        command: What writes it, of one object onto a branch of its own; `""` where no command does.
        said: What to know of it.
    """

    path: str
    lines: Sequence[str]
    is_new: bool
    command: str
    said: Sequence[str]

"""How a preview is put into words, the same in every format."""

from dataclasses import dataclass
from datetime import timedelta

from reconciler.audit.previews.delivery_changes import DeliveryChange
from reconciler.audit.previews.foresight import Coming
from reconciler.audit.previews.placement_moves import PlacementMove
from reconciler.audit.previews.preview import Counts, Kind, Preview, PreviewEntry
from reconciler.model.decision import placed_text
from reconciler.model.moments import format_moment
from reconciler.model.world import Fault

NOTHING = "Nothing moves"
DELIVERED = "Delivered, by this change"
SOON = timedelta(seconds=5)  # a daemon is there before anybody has read the answer


@dataclass(frozen=True, slots=True)
class Heading:
    """What a preview is called: its verb, and one line that says of what it is."""

    verb: str
    line: str


def headline(counts: Counts) -> str:
    """Return the first line: objects by what becomes of them, then replicas.

    >>> headline(Counts(changed=3, new=1, moving=12))
    '3 bindings change, 1 new; 12 replicas move'
    >>> headline(Counts())
    'Nothing moves'
    """
    objects = [
        _counted(counts.changed, f"{counts.noun} changes", f"{counts.noun}s change"),
        f"{counts.new} new" if counts.new else "",
        f"{counts.removed} removed" if counts.removed else "",
        f"{counts.stuck} unschedulable" if counts.stuck else "",
    ]
    replicas = [
        _counted(counts.moving, "replica moves", "replicas move"),
        _counted(counts.starting, "replica starts", "replicas start"),
        _counted(counts.stopping, "replica stops", "replicas stop"),
    ]
    parts = [", ".join(filter(None, objects)), ", ".join(filter(None, replicas))]
    return "; ".join(filter(None, parts)) or NOTHING


def title(preview: Preview) -> str:
    """Return the first line of a preview: what moves now, and how many objects move later."""
    later = len({one.key for one in preview.later if one.before != one.after})
    now = headline(preview.counts)
    if preview.delivered and now == NOTHING:
        clusters = len({one.cluster for one in preview.delivered})
        now = f"{NOTHING}; {_counted(clusters, 'cluster gets', 'clusters get')} other files"
    if not later:
        return now
    told = _counted(later, "object moves later", "objects move later")
    return f"{NOTHING} now; {told}" if now == NOTHING else f"{now}; {told}"


def delivered_text(one: DeliveryChange) -> str:
    """Return what becomes of the files of a cluster.

    >>> delivered_text(DeliveryChange("folders", "member1", written=2, removed=1))
    'member1 (folders): 2 files written, 1 removed'
    """
    parts = [_counted(one.written, "file written", "files written")]
    if one.removed:
        parts.append(f"{one.removed} removed" if one.written else f"{_files(one.removed)} removed")
    return f"{one.cluster or 'all clusters'} ({one.transport}): {', '.join(filter(None, parts))}"


def _files(number: int) -> str:
    return _counted(number, "file", "files")


def share(count: int | None) -> str:
    """Return a cluster's part: replicas, `yes` for what has none, `-` if it has no part.

    >>> share(None), share(0), share(3)
    ('-', 'yes', '3')
    """
    if count is None:
        return "-"
    return str(count) if count else "yes"


def change(move: PlacementMove) -> str:
    """Return how a cluster's part changes: `+2`, `-1`, `new`, `gone` or nothing.

    >>> [change(PlacementMove("a", *counts)) for counts in ((1, 3), (None, 0), (2, 2))]
    ['+2', 'new', '']
    """
    if move.delta:
        return f"{move.delta:+d}"
    if (move.before is None) == (move.after is None):
        return ""
    return "new" if move.before is None else "gone"


def reason(entry: PreviewEntry) -> str:
    """Return why an object is where it would be, in one line."""
    without = "" if entry.otherwise is None else placed_text(entry.otherwise)
    if entry.kind == Kind.KEPT:
        return f"stays; without the change: {without} ({entry.cause})"
    return f"{entry.cause}; without the change: {without}" if without else entry.cause


def summary(entry: PreviewEntry) -> str:
    """Return an object's change in one line: from where to where, or why it is nowhere."""
    if entry.problem and not entry.moves:
        return entry.problem
    before = tuple((m.cluster, m.before) for m in entry.moves if m.before is not None)
    after = tuple((m.cluster, m.after) for m in entry.moves if m.after is not None)
    return f"{placed_text(before)} -> {placed_text(after)}"


def coming_text(coming: Coming) -> str:
    """Return what is coming in one sentence, without whom it is about."""
    at = format_moment(coming.at)
    if coming.waits:
        return f"{coming.why} until {at}, then {coming.what}"
    return f"at {at} {coming.what}: {coming.why}"


def later_text(coming: Coming) -> str:
    """Return what is coming with the object that it is about, and where that is until then."""
    there = "" if coming.before is None else f"now {placed_text(coming.before)}; "
    return f"{coming.subject}: {there}{coming_text(coming)}"


def later_blocks(preview: Preview) -> tuple[tuple[str, tuple[Coming, ...]], ...]:
    """Return what comes later, each part with its title; parts that are empty are left out."""
    parts = (
        ("Later, by this change", preview.later),
        ("No longer, by this change", preview.averted),
        ("Later, anyway", preview.later_anyway),
    )
    return tuple((told, found) for told, found in parts if found)


def fault_line(fault: Fault) -> str:
    """Return a fault in one line: where, what, and what would be right."""
    where = f"{fault.path}:{fault.line}:{fault.column}" if fault.line else fault.path
    expected = f" (expected: {fault.expected})" if fault.expected else ""
    return f"{where}: {fault.message}{expected}"


def footer(preview: Preview) -> str:
    """Return the last line: at which moment this holds, and until when."""
    at = f"as decided at {format_moment(preview.now)}"
    if preview.recheck_at is None:
        return f"{at}; time alone changes nothing"
    next_at = format_moment(preview.recheck_at)
    if preview.recheck_at - preview.now <= SOON:
        return f"{at}; the next pass, at {next_at}, goes on"
    return f"{at}; time alone changes nothing before {next_at}"


def _counted(number: int, one: str, many: str) -> str:
    """Return `1 replica moves`, `2 replicas move`, or nothing for none."""
    return f"{number} {one if number == 1 else many}" if number else ""

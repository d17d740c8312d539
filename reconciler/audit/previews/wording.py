"""How a preview is put into words: the same in every format, then as JSON and Markdown.

The Markdown is one comment on a pull request. Whatever comes from a manifest stands in code, where
a forge makes no links, mentions or HTML of it, and without the characters by which it could leave
it. Where removals are held back, the words include the line of the configuration that a user
merges to let them go, and what it does.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, TypedDict
from urllib.parse import quote

from reconciler.audit.findings import fault_line
from reconciler.audit.json_shapes import (
    ComingJson,
    FaultJson,
    Moment,
    ObjectJson,
    PlacementJson,
    coming_json,
    fault_json,
    object_json,
    placed_json,
)
from reconciler.audit.previews.foresight import Coming
from reconciler.audit.previews.placement_moves import PlacementMove, traffic
from reconciler.audit.previews.preview import (
    Counts,
    DeliveryChange,
    Kind,
    Preview,
    PreviewEntry,
    preview,
)
from reconciler.core.message import plain
from reconciler.manifests.edits.documents import update_document
from reconciler.manifests.text.emitter import encode
from reconciler.model.body import Body
from reconciler.model.decision import placed_text
from reconciler.model.fields import mapping
from reconciler.model.identity import ClusterName, ObjectKey, Origin
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass, replace
from reconciler.model.remembered import branched
from reconciler.model.settings import CONFIGURATION, CONFIGURATION_PATH
from reconciler.model.text import enumerated
from reconciler.model.world import Fault, Manifest, World

NOTHING = "Nothing moves"
NAMED = 2
MARKER = "<!-- reconciler:plan -->"
DELIVERED = "Delivered, because of this change"
SOON = timedelta(seconds=5)  # a daemon is there before anybody has read the answer


@dataclass(frozen=True, slots=True)
class Heading:
    """What a preview is called: its verb, one line that says of what it is, and of which root.

    `root` is the folder below the top of the repository, `""` for the top itself.
    """

    verb: str
    line: str
    root: str = ""

    @property
    def name(self) -> str:
        """The verb with the root, as a title begins."""
        return f"{self.verb.capitalize()} of {self.root}" if self.root else self.verb.capitalize()

    @property
    def marker(self) -> str:
        """A hidden line by which a comment is found again; each root has its own."""
        root = quote(self.root, safe="/").replace("--", "-%2D")
        return f"<!-- reconciler:plan {root} -->" if root else MARKER


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


def title(preview: Preview, quoted: Callable[[str], str] = str) -> str:
    """Return the first line of a preview: what is wrong, what moves now, how much moves later.

    `quoted` returns a name of the repository as the format shows it.
    """
    moves = _moves_title(preview)
    if moves == NOTHING and preview.anyway:
        pending = _counted(len(preview.anyway), "object is", "objects are")
        moves = f"No move of its own; {pending} pending already"
    if moves == NOTHING and preview.hidden:
        others = _counted(preview.hidden, "other object changes", "other objects change")
        moves = f"Nothing moves of {quoted(preview.shown)}; {others}"
    if moves == NOTHING and preview.roots:
        below = enumerated(map(quoted, preview.roots), NAMED)
        moves = f"Nothing moves in this root; {below} below changes, too"
    if not preview.faults:
        return moves
    faults = _counted(len(preview.faults), "fault", "faults")
    paths = dict.fromkeys(fault.path for fault in preview.faults)
    return f"{faults} in {enumerated(map(quoted, paths), NAMED)}; {moves[0].lower()}{moves[1:]}"


def _moves_title(preview: Preview) -> str:
    """Return what moves now, and how many objects move later."""
    later = len({one.key for one in preview.later if one.before != one.after})
    now = headline(preview.counts)
    if preview.delivered and now == NOTHING:
        clusters = len({one.cluster for one in preview.delivered})
        now = f"{NOTHING}; {_counted(clusters, 'cluster gets', 'clusters get')} other files"
    if not later:
        return now
    words = _counted(later, "object moves later", "objects move later")
    return f"{NOTHING} now; {words}" if now == NOTHING else f"{now}; {words}"


def narrowed_text(preview: Preview) -> str:
    """Return the line that says what is shown, where that is not all."""
    others = _counted(preview.hidden, "other object changes", "other objects change")
    return f"only {preview.shown}" + (f"; {others}" if others else "")


def delivered_text(change: DeliveryChange) -> str:
    """Return what becomes of the files of a cluster.

    >>> delivered_text(DeliveryChange("folders", "member1", written=2, removed=1))
    'member1 (folders): 2 files written, 1 removed'
    """
    parts = [_counted(change.written, "file written", "files written")]
    if change.removed:
        removed = change.removed if change.written else _counted(change.removed, "file", "files")
        parts.append(f"{removed} removed")
    return (
        f"{change.cluster or 'all clusters'} ({change.transport}): {', '.join(filter(None, parts))}"
    )


def share(count: int | None) -> str:
    """Return a cluster's part: replicas, `yes` for what has none, `-` if it has no part.

    >>> share(None), share(0), share(3)
    ('-', 'yes', '3')
    """
    if count is None:
        return "-"
    return str(count) if count else "yes"


def step_text(move: PlacementMove) -> str:
    """Return what became of a cluster's part, in words.

    >>> [step_text(PlacementMove("a", *counts)) for counts in ((None, 5), (2, None), (4, 6))]
    ['came: 5', 'left: 2', '4 → 6']
    """
    if move.before is None:
        return f"came: {move.after}" if move.after else "came"
    if move.after is None:
        return f"left: {move.before}" if move.before else "left"
    return f"{move.before} → {move.after}"


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


MANY = 10  # objects; of fewer the list itself is the summary
CLUSTERS = 20


def clusters_summary(preview: Preview) -> list[str]:
    """Return what comes to each cluster and leaves it, where many objects change; else nothing.

    Those with most traffic come first, then by name. Copies of what has no replicas are counted
    beside them.
    """
    if len(preview.entries) <= MANY:
        return []
    moves: dict[ClusterName, list[PlacementMove]] = {}
    for entry in preview.entries:
        for move in entry.moves:
            if move.before != move.after:
                moves.setdefault(move.cluster, []).append(move)
    busiest = sorted(moves, key=lambda name: (-sum(traffic(moves[name])), name))
    lines = [_cluster_line(name, moves[name]) for name in busiest[:CLUSTERS]]
    rest = len(busiest) - CLUSTERS
    return [*lines, *([f"and {_counted(rest, 'more cluster', 'more clusters')}"] * (rest > 0))]


def _cluster_line(cluster: ClusterName, moves: Sequence[PlacementMove]) -> str:
    moved = traffic(moves)
    counts = [f"+{moved.came}" if moved.came else "", f"-{moved.left}" if moved.left else ""]
    parts = [
        f"{' '.join(filter(None, counts))} replicas" if any(counts) else "",
        _counted(moved.apart, "copy", "copies"),
    ]
    what = ", ".join(filter(None, parts))
    return f"{cluster}: {what}; {_counted(len(moves), 'object', 'objects')}"


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
        ("Later, because of this change", preview.later),
        ("No longer, because of this change", preview.averted),
        ("Later, independent of this change", preview.later_anyway),
    )
    return tuple((told, found) for told, found in parts if found)


def footer(preview: Preview) -> str:
    """Return the last line: at which moment this holds, and until when."""
    at = f"evaluated at {format_moment(preview.now)}"
    if preview.recheck_at is None:
        return f"{at}; no further changes pending"
    next_at = format_moment(preview.recheck_at)
    if preview.recheck_at - preview.now <= SOON:
        return f"{at}; another pass at {next_at} would continue"
    return f"{at}; no further changes before {next_at}"


def _counted(number: int, singular: str, many: str) -> str:
    """Return `1 replica moves`, `2 replicas move`, or nothing for none."""
    return f"{number} {singular if number == 1 else many}" if number else ""


class CountsJson(TypedDict):
    """How many objects and replicas change."""

    changed: Annotated[int, "Objects that are placed otherwise."]
    new: Annotated[int, "Objects that are placed for the first time."]
    removed: Annotated[int, "Objects that go."]
    unschedulable: Annotated[int, "Objects that find no place."]
    moving: Annotated[int, "Replicas that move from one cluster to another."]
    starting: Annotated[int, "Replicas that come."]
    stopping: Annotated[int, "Replicas that go."]


class MoveJson(TypedDict):
    """An object's part of one cluster, before and after."""

    cluster: Annotated[str, "Its name."]
    before: Annotated[int | None, "Replicas; `null` if it was not there."]
    after: Annotated[int | None, "Replicas; `null` if it is not there any more."]
    delta: Annotated[int, "Replicas that come, less than 0 if they go."]


class RejectedJson(TypedDict):
    """A cluster that was filtered out."""

    cluster: Annotated[str, "Its name."]
    reason: Annotated[str, "In upstream's words."]


class EntryJson(TypedDict):
    """An object that moves."""

    object: ObjectJson
    subject: Annotated[str, "As people call it."]
    becomes: Annotated[str, "`new`, `changed`, `removed`, `unschedulable` or `kept`."]
    cause: Annotated[str, "Why; of one that is kept, why it would move without the change."]
    clusters: Annotated[list[MoveJson], "Each that it is on before or after."]
    problem: Annotated[str, 'Why it has fewer clusters than it asks for, `""` if it has all.']
    rejected: Annotated[list[RejectedJson], "Clusters that were filtered out."]
    withoutChange: Annotated[
        list[PlacementJson] | None,
        "Where it would be without the change; `null` if where it is.",
    ]


class WarningJson(TypedDict):
    """What a person should know."""

    rule: Annotated[str, "A stable id."]
    subject: Annotated[str, 'The object as people call it, `""` for none.']
    message: Annotated[str, "A sentence."]


class ProgressJson(TypedDict):
    """What becomes of a run, or waits for one."""

    object: Annotated[ObjectJson, "The run, or a placement that waits for one."]
    clause: Annotated[str, "What becomes of it, or of one of its stages, or for what it waits."]


class DeliveredJson(TypedDict):
    """What changes of the files of a cluster."""

    transport: Annotated[str, "Its name."]
    cluster: Annotated[str, '`""` for files of no cluster alone, such as lists of clusters.']
    written: Annotated[int, "Files that come or change."]
    removed: Annotated[int, "Files that go."]


class MergedJson(TypedDict):
    """What a pass would move."""

    of: Annotated[str, "What is compared, or happens, in a line."]
    at: Annotated[Moment, "The moment that is decided for."]
    recheckAt: Annotated[Moment | None, "When time alone may change something next."]
    headline: Annotated[str, "What moves, in a line."]
    changes: Annotated[bool, "Whether it has any effect."]
    counts: Annotated[CountsJson, "The headline in numbers."]
    objects: Annotated[list[EntryJson], "What moves because of it."]
    anyway: Annotated[list[EntryJson], "What moves without it, too."]
    later: Annotated[list[ComingJson], "What comes later, and would not without it."]
    averted: Annotated[list[ComingJson], "What would come later, and does not with it."]
    laterAnyway: Annotated[list[ComingJson], "What comes later with and without it."]
    warnings: list[WarningJson]
    faults: Annotated[list[FaultJson], "Those that it brings."]
    mended: Annotated[list[FaultJson], "Those that it mends."]
    removes: Annotated[list[str], "People's files that the pass would remove."]
    progress: Annotated[
        list[ProgressJson], "What becomes of staged update runs by it, or waits for one."
    ]
    delivered: Annotated[
        list[DeliveredJson],
        "What becomes of the files of clusters by it, on the served branch.",
    ]


def preview_json(preview: Preview, heading: Heading) -> MergedJson:
    """Return a preview for machines."""
    recheck_at = preview.recheck_at
    return {
        "of": heading.line,
        "at": format_moment(preview.now),
        "recheckAt": None if recheck_at is None else format_moment(recheck_at),
        "headline": title(preview),
        "changes": preview.changes,
        "counts": _counts(preview.counts),
        "objects": [_entry(entry) for entry in preview.entries],
        "anyway": [_entry(entry) for entry in preview.anyway],
        "later": [coming_json(coming) for coming in preview.later],
        "averted": [coming_json(coming) for coming in preview.averted],
        "laterAnyway": [coming_json(coming) for coming in preview.later_anyway],
        "warnings": [
            {"rule": w.rule, "subject": w.subject, "message": w.message} for w in preview.warnings
        ],
        "faults": [fault_json(fault) for fault in preview.faults],
        "mended": [fault_json(fault) for fault in preview.mended],
        "removes": list(preview.removes),
        "progress": [
            {"object": object_json(one.key), "clause": one.clause} for one in preview.progress
        ],
        "delivered": [
            {
                "transport": one.transport,
                "cluster": str(one.cluster),
                "written": one.written,
                "removed": one.removed,
            }
            for one in preview.delivered
        ],
    }


def _counts(counts: Counts) -> CountsJson:
    """Return how many objects become what, and how many replicas come and go."""
    return {
        "changed": counts.changed,
        "new": counts.new,
        "removed": counts.removed,
        "unschedulable": counts.stuck,
        "moving": counts.moving,
        "starting": counts.starting,
        "stopping": counts.stopping,
    }


def _entry(entry: PreviewEntry) -> EntryJson:
    return {
        "object": object_json(entry.key),
        "subject": entry.subject,
        "becomes": str(entry.kind),
        "cause": entry.cause,
        "clusters": [
            {"cluster": str(m.cluster), "before": m.before, "after": m.after, "delta": m.delta}
            for m in entry.moves
        ],
        "problem": entry.problem,
        "rejected": [
            {"cluster": str(name), "reason": reason} for name, reason in entry.rejected.items()
        ],
        "withoutChange": placed_json(entry.otherwise),
    }


LIMIT_BYTES = 65_536  # of a comment on GitHub, in characters; bytes are on the safe side
RESERVED_BYTES = 1024  # for what is said of the sections that do not fit
MOST_ROWS = 40
LONGEST_TEXT = 300


def preview_markdown(preview: Preview, heading: Heading, *, limit_bytes: int = LIMIT_BYTES) -> str:
    """Return a comment with a hidden marker, by which it can be found and edited in place.

    Sections that do not fit are left out, the least important ones first, and counted.
    """
    head = [heading.marker, f"### {_title_text(heading, preview)}", ""]
    head += [_code(heading.line), "", ""]
    if preview.shown:
        head += [_code(narrowed_text(preview)), "", ""]
    warnings = [_line(f"⚠️ {_named(w.subject)}{_code(w.message)}") for w in preview.warnings]
    faults = [_line(f"❌ {_fault(fault)}") for fault in preview.faults]
    faults += [_line(f"✅ mended: {_code(fault_line(fault))}") for fault in preview.mended]
    faults += [_line(f"🗑️ the pass removes {_code(path)}") for path in preview.removes]
    objects = [_section(entry) for entry in preview.entries]
    clusters = [_line(_code(line)) for line in clusters_summary(preview)]
    runs = [_line(_code(str(one))) for one in preview.progress]
    anyway = [_line(f"{_code(e.subject)}: {_code(summary(e))}") for e in preview.anyway]
    delivered = [_line(_code(delivered_text(one))) for one in preview.delivered]
    room = limit_bytes - RESERVED_BYTES - _size(head)
    text = list(head)
    for above, parts, what in (
        ("", warnings, "warnings"),
        ("", faults, "faults"),
        ("**By cluster:**\n\n", clusters, "clusters"),
        ("", objects, "objects"),
        ("\n**Runs, because of this change:**\n\n", runs, "steps of runs"),
        (
            "\n**Already pending, independent of this change:**\n\n",
            anyway,
            "objects pending already",
        ),
        (f"\n**{DELIVERED}:**\n\n", delivered, "clusters that get other files"),
        *((f"\n**{told}:**\n\n", _later(found), told) for told, found in later_blocks(preview)),
    ):
        taken = _fit(parts, room - len(above.encode()))
        if parts:
            text.append(above)
        text += taken
        room -= _size(taken) + len(above.encode())
        if len(taken) < len(parts):
            text.append(f"\n*… and {len(parts) - len(taken)} more {what}, left out for length*\n")
        if taken:
            text.append("\n")
    text.append(f"\n<sub>{_code(footer(preview))}</sub>\n")
    return "\n".join(text[: len(head)]) + "".join(text[len(head) :])


def _title_text(heading: Heading, preview: Preview) -> str:
    """Return the title as Markdown; names of the repository stand in code."""
    of = f" of {_code(heading.root)}" if heading.root else ""
    return f"{heading.verb.capitalize()}{of}: {title(preview, _code)}"


def _later(found: Iterable[Coming]) -> list[str]:
    """Return what comes later, a line each."""
    return [_line(_code(later_text(coming))) for coming in found]


def _section(entry: PreviewEntry) -> str:
    """Return one object: a title to open, a table, and why."""
    title = f"<details><summary>{_html(entry.subject)}: {_html(summary(entry))}</summary>\n\n"
    rows = ["| cluster | before | after | change |\n| --- | ---: | ---: | ---: |\n"]
    rows += [
        f"| {_code(m.cluster)} | {share(m.before)} | {share(m.after)} | {change(m)} |\n"
        for m in entry.moves[:MOST_ROWS]
    ]
    if len(entry.moves) > MOST_ROWS:
        rows.append(f"| and {len(entry.moves) - MOST_ROWS} more clusters | | | |\n")
    said = [f"\n{_code(entry.kind)} {_code(reason(entry))}\n"]
    if entry.problem:
        said.append(f"\n{_code(entry.problem)}\n")
        shown = list(entry.rejected.items())[:MOST_ROWS]
        said.append("\n" + "".join(_line(f"{_code(name)}: {_code(why)}") for name, why in shown))
    return "".join((title, *rows, *said, "\n</details>\n\n"))


def _fit(parts: Sequence[str], room: int) -> list[str]:
    """Return as many of the first parts as there is room for."""
    taken = []
    for part in parts:
        room -= len(part.encode())
        if room < 0:
            break
        taken.append(part)
    return taken


def _size(parts: Iterable[str]) -> int:
    return sum(len(part.encode()) + 1 for part in parts)


def _line(text: str) -> str:
    return f"- {text}\n"


def _named(subject: str) -> str:
    return f"{_code(subject)}: " if subject else ""


def _code(text: str) -> str:
    """Return text as code: no backtick ends it, no pipe ends a table's cell."""
    return f"`{_safe(text).replace('`', chr(39)).replace('|', '¦') or ' '}`"


def _fault(fault: Fault) -> str:
    """Return a fault; a long message does not cut off what would be right."""
    line = _code(fault_line(replace(fault, expected="")))
    return f"{line}, expected: {_code(fault.expected)}" if fault.expected else line


def _html(text: str) -> str:
    """Return text as code in HTML, for the one place where Markdown is not read."""
    escaped = _safe(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<code>{escaped}</code>"


def _safe(text: str) -> str:
    """Return one printable line of bounded length that no search for our marker finds."""
    line = plain(text).replace("<!--", "<! --")
    return line if len(line) <= LONGEST_TEXT else f"{line[: LONGEST_TEXT - 1]}…"


def permitted_file(world: World, content: bytes, allowed: Sequence[str]) -> bytes:
    """Return the configuration's file with what lets go what is held back.

    Args:
        world: As the pass found it.
        content: Of the file, `b""` if there is none.
        allowed: The digests.

    Raises:
        ValueError: The file is written in a way that cannot be edited without touching the rest.
    """
    configuration = _configuration(world)
    if not content or configuration is None:
        return encode(_with(None, allowed)).encode()
    place = (configuration.origin.index, configuration.origin.pointer)
    wanted = {"spec": {"safety": {"allow": _written(allowed)}}}
    return update_document(content, CONFIGURATION_PATH, place, {}, wanted)


def permission_text(world: World, allowed: Sequence[str], now: datetime) -> str:
    """Return in Markdown what letting go what is held back would move, as a plan has it.

    Args:
        world: As the pass found it.
        allowed: The digests.
        now: Moment at which a pass would run.
    """
    consequence = preview(world, _permitting(world, allowed), now)
    return preview_markdown(consequence, Heading("plan", f"letting {', '.join(allowed)} go"))


def _permitting(world: World, allowed: Sequence[str]) -> World:
    """Return the world after that was merged."""
    configuration = _configuration(world)
    key = ObjectKey(*CONFIGURATION, "", "main") if configuration is None else configuration.key
    origin = Origin(CONFIGURATION_PATH) if configuration is None else configuration.origin
    body = _with(None if configuration is None else configuration.body, allowed)
    return replace(
        world,
        inputs=branched(world.inputs, {key: Manifest(key, origin, body)}),
        kinds=world.kinds.next(),
        output_kinds=world.output_kinds.next(),
    )


def _configuration(world: World) -> Manifest | None:
    configurations = world.of_kind(*CONFIGURATION)
    return configurations[0] if configurations else None


def _with(body: Body | None, allowed: Sequence[str]) -> Body:
    """Return a configuration that allows something."""
    group, kind = CONFIGURATION
    document: Mapping[str, object] = body or {
        "apiVersion": f"{group}/v1alpha1",
        "kind": kind,
        "metadata": {"name": "main"},
    }
    spec = mapping(document, "spec")
    return {
        **document,
        "spec": {**spec, "safety": {**mapping(spec, "safety"), "allow": _written(allowed)}},
    }


def _written(allowed: Sequence[str]) -> object:
    """Return digests as people write them: one alone needs no list."""
    return allowed[0] if len(allowed) == 1 else list(allowed)

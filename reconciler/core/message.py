"""The commit message of a pass: what moved, why, what runs came to, and from what it was computed.

Subject, body and trailers are for people and for `verify`; no decision ever reads them. User text
is made harmless: one line, no brackets that a CI system would obey, never at the start of a line.

A signature covers a commit, not the branch that it stands on: whoever may push can move any branch
to it. So what our key signs names its purpose, its branch and its root in a trailer. There is a
single writer of that trailer and a single parser, and nothing that it says ever lets a commit
count; it can only stop one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from urllib.parse import quote, unquote

from reconciler.core.changes import (
    CausingCommit,
    Change,
    DeleteFile,
    FailedTarget,
    Outcome,
    Removal,
    RevertedOutputs,
    WaitingTarget,
    WriteFile,
)
from reconciler.core.dialects import RUNS, SURROUNDINGS, dialect_of
from reconciler.manifests.identity import Identity, identify
from reconciler.manifests.paths import DELIVERY, RECORD, folder_of, output_path
from reconciler.manifests.text.reader import read
from reconciler.model.decision import Cause, CauseKind, Decision, OutputChange, Placed, total_of
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass
from reconciler.model.text import enumerated, short_id
from reconciler.model.world import RULES, Fault, World
from reconciler.rebalance.target import TRIGGER, Reference
from reconciler.staging.view import events_of

FOR = "Reconciled-For"
PARAGRAPH = "\n\n"


class Purpose(StrEnum):
    """What a commit of ours does to its branch."""

    DECISIONS = "decisions"
    DELIVERY = "delivery"
    REPORTS = "reports"
    USED = "used-reports"


@dataclass(frozen=True, slots=True)
class CommitPurpose:
    """Where a commit belongs: what it does, to which branch, for which root (`""` for the top)."""

    purpose: Purpose
    branch: str
    root: str = ""

    def __str__(self) -> str:
        """Return it as the trailer has it.

        >>> str(CommitPurpose(Purpose.DELIVERY, "fleet", "teams/a b"))
        'delivery fleet teams/a%20b'
        """
        return " ".join(filter(None, (self.purpose, _quoted(self.branch), _quoted(self.root))))


def with_purpose(message: str, purpose: CommitPurpose) -> str:
    r"""Return a commit message with the trailer that names its purpose.

    >>> with_purpose("Place web\n", CommitPurpose(Purpose.DECISIONS, "main"))
    'Place web\n\nReconciled-For: decisions main\n'
    """
    text = message.rstrip("\n")
    _, paragraph, last = text.rpartition(PARAGRAPH)
    trailers = bool(paragraph) and all(_is_trailer(line) for line in last.split("\n"))
    between = "\n" if trailers else PARAGRAPH
    return f"{text}{between}{FOR}: {purpose}\n"


def purposes_in(trailers: Sequence[tuple[str, str]]) -> list[CommitPurpose | None]:
    """Return what trailers say that a commit is for, `None` for what cannot be read."""
    return [_decoded(value) for key, value in trailers if key.lower() == FOR.lower()]


def _is_trailer(line: str) -> bool:
    key, colon, _ = line.partition(": ")
    return bool(colon) and key.replace("-", "").isalnum()


def _decoded(value: str) -> CommitPurpose | None:
    """Return what a trailer says, `None` if it is not to the letter as it is written."""
    words = value.split(" ")
    if words[0] not in list(Purpose) or len(words) not in (2, 3):
        return None
    purpose = CommitPurpose(Purpose(words[0]), *map(_unquoted, words[1:]))
    return purpose if str(purpose) == value else None


def _quoted(name: str) -> str:
    """Return a name without spaces and line ends; other characters of UTF-8 are written as %XX."""
    return quote(name, safe="/", errors="surrogateescape")


def _unquoted(text: str) -> str:
    return unquote(text, errors="surrogateescape")


FOLDERS = tuple(sorted(f"{folder_of(*kind)}/" for kind in RUNS))


@dataclass(frozen=True, slots=True, order=True)
class RunProgress:
    """What became of one run, or of one stage of it: a clause that its name precedes."""

    key: ObjectKey
    clause: str

    def __str__(self) -> str:
        scope = f"{self.key.namespace}/" if self.key.namespace else ""
        return f"{self.key.kind} {scope}{self.key.name}: {self.clause}"


def progress_in(world: World, outcome: Outcome) -> tuple[RunProgress, ...]:
    """Return what a pass brings runs to, by run, of each in the order in which it happens."""
    folders = tuple(f"{world.output_root}/{one}" for one in FOLDERS)
    written = (one for one in outcome.changes if isinstance(one, WriteFile))
    return tuple(
        step for one in written if one.path.startswith(folders) for step in _progress(world, one)
    )


def subject_of_runs(progress: Sequence[RunProgress]) -> str:
    """Return in one line what became of a run, without why and how; of several how many went on."""
    runs = {one.key for one in progress}
    if len(runs) > 1:
        return f"Go on with {len(runs)} runs"
    clauses = (one.clause.partition(": ")[0] for one in progress)
    return f"Run {progress[0].key.name}: {', '.join(clauses)}"


def _progress(world: World, written: WriteFile) -> Iterator[RunProgress]:
    """Yield what became of the run whose status file is written."""
    body = read(written.content.encode(), written.path).documents[0].body
    identity = identify(body, world.known)
    if not isinstance(identity, Identity):
        return
    key = ObjectKey(identity.group, identity.kind, identity.namespace, identity.name)
    present = world.outputs.get(key)
    change = OutputChange(key=key, before={} if present is None else present.body, after=body)
    dialect = dialect_of(identity.group)
    events = events_of(change) if dialect is None else dialect.view().changes.events(change)
    for about, event in events:
        yield RunProgress(about, event.message[:1].lower() + event.message[1:])


FAILURES = {"/not-ready": "not ready", "/unreachable": "unreachable"}
"""What of the taints of a failure people call it."""
MOST_NAMED = 3
LONGEST_SUBJECT = 72  # what git log --oneline shows on a terminal
MOST_LINES = 500  # a commit message is read by people
MOST_SCORES = 10  # the best of a large choice
MOST_MOVED = 10  # in a trailer
CAUSED_BY = "Caused-By"
PART_OF = "a part of "


def commit_message(
    outcome: Outcome,
    world: World,
    *,
    now: datetime,
    version: str,
    editors: Sequence[tuple[str, str]] = (),
    reruns: Sequence[tuple[str, str]] = (),
    over: str = "",
    outputs: str = "",
    caused: Sequence[CausingCommit] = (),
    reverted: Sequence[RevertedOutputs] = (),
) -> str:
    """Return subject, body and trailers.

    Args:
        outcome: What the pass decided; it has changes.
        world: What it was decided from.
        now: Moment of the pass.
        version: Version of the reconciler.
        editors: Output edited by hand, and who edited it, from the history.
        reruns: Rebalancer that runs again, and who removed the record of its first run.
        over: Full hex id of the commit before it, if commits up to there wait to be accepted, `""`
            if none does.
        outputs: Full hex id of the commit that outputs were taken from, `""` for the one before.
        caused: Which of several commits of people caused which move.
        reverted: What people took back of earlier passes.
    """
    decisions = [decision for decision in outcome.decisions if is_told(decision)]
    stuck = [decision for decision in outcome.decisions if decision.problem]
    lines = [f"- {decision_line(decision)}" for decision in decisions]
    lines += [f"- {_name(d)}: {plain(d.problem)}" for d in stuck]
    lines += [f"- {plain(key)}: edited by {plain(editor)}" for key, editor in editors]
    lines += [
        f"- {plain(key)} runs again: {plain(author)} removed its record" for key, author in reruns
    ]
    lines += [f"- {_reverted(one)}" for one in reverted]
    progress = progress_in(world, outcome)
    lines += [f"- {plain(str(one))}" for one in progress]
    lines += [f"- {_place(fault)}: {plain(fault.message)}" for fault in outcome.faults]
    lines += [f"- {waiting_line(one)}" for one in outcome.waiting]
    lines += [f"- {_failure_line(one)}" for one in outcome.failed]
    removed = _removed(outcome, world)
    lines += [f"- {plain(path)}: {_over(path, outcome)}" for path in removed]
    lines += [f"- {line}" for removal in outcome.removals for line in result_lines(removal)]
    lines += _delivered(outcome)
    lines = lines or [f"- {plain(path)}" for path in _written(outcome, world)]
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"- and {len(lines) - MOST_LINES} more"]
    subject = _cut(_subject(decisions, stuck, removed, progress, outcome, world))
    reported = f"Reconciled-Feedback: {world.reported_at}\n" if world.reported_at else ""
    skipped = f"Reconciled-Over: {over}\n" if over else ""
    skipped += f"Reconciled-Outputs: {outputs}\n" if outputs else ""
    trailers = "".join(_caused(caused)) + (
        f"Reconciled-From: {world.revision}\n"
        f"{skipped}{reported}"
        f"Reconciled-At: {format_moment(now)}\n"
        f"Reconciled-Rules: {RULES}\n"
        f"Reconciler-Version: {version}\n"
    )
    body = "\n".join(lines)
    return f"{subject}\n\n{body}\n\n{trailers}" if body else f"{subject}\n\n{trailers}"


def _reverted(one: RevertedOutputs) -> str:
    """Return what becomes of outputs that a person brought back."""
    parts = []
    if one.again:
        named = enumerated(map(plain, one.again), MOST_NAMED)
        verb = "is" if len(one.again) == 1 else "are"
        parts.append(f"{named} {verb} decided again, since what caused it is still there")
    if one.kept:
        parts.append(f"{one.kept} output{'s are' if one.kept > 1 else ' is'} kept as reverted")
    who = plain(one.author)[:LONGEST_SUBJECT]
    return f"{who} reverted outputs in {short_id(one.revision)}: {'; '.join(parts)}"


def _caused(caused: Sequence[CausingCommit]) -> Iterator[str]:
    """Yield a trailer for each commit that caused a move; what is long is cut off."""
    for edit in caused:
        shown = [plain(subject) for subject in edit.moved[:MOST_MOVED]]
        more = len(edit.moved) - len(shown)
        named = ", ".join((*shown, *([f"and {more} more"] if more else [])))
        yield f"{CAUSED_BY}: {edit.revision} {named} ({plain(edit.author)[:LONGEST_SUBJECT]})\n"


def is_told(decision: Decision) -> bool:
    """Return whether a decision has a line of its own: something moved, or was rebalanced."""
    return decision.before != decision.after or decision.stays


def _subject(
    told: Sequence[Decision],
    stuck: Sequence[Decision],
    removed: Sequence[str],
    progress: Sequence[RunProgress],
    outcome: Outcome,
    world: World,
) -> str:
    """Return in one line what moved."""
    moved = [decision for decision in told if not decision.stays]
    if not moved and len(told) == 1:
        return f"Rebalance {_name(told[0])}, which {_stays(told[0])}"
    if not moved and told:
        return f"Rebalance {len(told)} workloads, all stay where they are"
    if len(moved) == 1:
        return _subject_of_one(moved[0])
    if moved:
        return _subject_of_many(moved)
    if progress:
        return plain(subject_of_runs(progress))
    if removed:
        count = len(removed)
        return f"Remove {plain(removed[0])}" if count == 1 else f"Remove {count} finished manifests"
    if stuck:
        return f"Report {_name(stuck[0])} as unschedulable"
    if outcome.failed:
        count = len(outcome.failed)
        target = target_name(outcome.failed[0].reference)
        return f"Report {plain(target) if count == 1 else f'{count} targets'} as not rebalanced"
    if outcome.faults:
        plural = "s" if len(outcome.faults) > 1 else ""
        return f"Report {len(outcome.faults)} fault{plural}"
    return _subject_of_files(outcome, _written(outcome, world))


def _subject_of_many(moved: Sequence[Decision]) -> str:
    """Count what happened to several objects; a failure comes first, with its clusters."""
    counts = Counter(_verb(decision) for decision in moved)
    verbs = [verb for verb in ("Evict", "Place", "Rebalance", "Remove") if counts[verb]]
    parts = [f"{verb} {counts[verb]}" for verb in verbs]
    parts[0] += " workloads" if counts[verbs[0]] > 1 else " workload"
    if counts["Evict"]:
        parts[0] += _from_clusters(one for one in moved if _verb(one) == "Evict")
    first, *rest = parts
    return ", ".join((first, *(part.lower() for part in rest)))


def _from_clusters(evicted: Iterable[Decision]) -> str:
    """Return which clusters objects leave, those that most leave first, and why."""
    clusters, reasons = Counter[str](), Counter[str]()
    for decision in evicted:
        after = dict(decision.after)
        left = [name for name, count in decision.before if after.get(name, -1) < count]
        clusters.update(left)
        reasons.update({_reason(decision.cause, name) for name in left})
    if not clusters:
        return ""
    listed = sorted(clusters, key=lambda name: (-clusters[name], name))
    why = sorted(filter(None, reasons), key=lambda reason: (-reasons[reason], reason))
    return f" from {plain(enumerated(listed, 1))}" + (f" ({plain(why[0])})" if why else "")


def _reason(cause: Cause, cluster: str) -> str:
    """Return in few words why a cluster is left, `""` where the cause does not say.

    >>> _reason(Cause(CauseKind.EVICTED, "a: example.com/not-ready:NoExecute, b: x:y"), "a")
    'not ready'
    """
    if cause.kind is CauseKind.CLUSTER_GONE:
        return "gone"
    _, separator, rest = f", {cause.detail}".partition(f", {cluster}: ")
    reason = rest.partition(", ")[0].partition("; ")[0] if separator else ""
    return next((words for mark, words in FAILURES.items() if mark in reason), reason)


def _subject_of_files(outcome: Outcome, written: Sequence[str]) -> str:
    """Return what is done to files where nothing moves: those of clusters, or statuses."""
    if not outcome.delivered:
        return f"Update {_statuses(written)}"
    written = [name for name in written if name != DELIVERY.name]  # where to goes without saying
    gone = [change for change in outcome.delivered if isinstance(change, DeleteFile)]
    if gone and written:
        return f"Update {_statuses(written)}"
    if len(gone) == len(outcome.delivered):
        return f"Withdraw {_count(gone)}"
    delivers = f"Deliver {_count(outcome.delivered)}"
    return f"{delivers}, update {_statuses(written)}" if written else delivers


def _statuses(written: Sequence[str]) -> str:
    """Return whose status is written, one by name, several by number."""
    if len(written) == 1:
        return f"the status of {plain(written[0].partition('/')[2] or written[0])}"
    return f"the status of {len(written)} objects"


def _subject_of_one(decision: Decision) -> str:
    """Name the one object that moved, and where it is now."""
    verb = _verb(decision)
    if verb == "Evict":
        return f"{verb} {_name(decision)}{_from_clusters([decision])}"
    if not decision.after:
        verb = verb if verb == "Remove" else "Take"
        return f"{verb} {_name(decision)} off {_all(decision.before)}"
    return f"{verb} {_name(decision)} on {_all(decision.after)}"


def _verb(decision: Decision) -> str:
    """Return what happened to one object, as a verb."""
    match decision.cause.kind:
        case CauseKind.REBALANCED | CauseKind.RETRIED:
            return "Rebalance"
        case CauseKind.EVICTED | CauseKind.CLUSTER_GONE:
            return "Evict"
        case CauseKind.REMOVED | CauseKind.NEVER_PROPAGATED:
            return "Remove"
        case _:
            return "Place"


def decision_line(decision: Decision) -> str:
    """Return a decision in one line: what, from where to where, and why."""
    before, after = _all(decision.before), _all(decision.after)
    went = _stays(decision) if decision.stays else f"{before} -> {after}"
    line = f"{_name(decision)}: {went}: {plain(str(decision.cause))}"
    return f"{line}; {_totals(decision)}" if decision.scores else line


def _stays(decision: Decision) -> str:
    """Return where an object stays."""
    return f"stays on {_all(decision.after)}" if decision.after else "stays nowhere"


def _totals(decision: Decision) -> str:
    """Return the scores of the best of the clusters chosen; their parts stand in the outputs."""
    totals = {name: total_of(parts) for name, parts in decision.scores.items()}
    best = sorted(totals, key=lambda name: (-totals[name], name))[:MOST_SCORES]
    shown = ", ".join(f"{plain(name)} {totals[name]}" for name in best)
    more = len(totals) - len(best)
    word = "scores" if len(totals) > 1 else "score"
    return f"{word} {shown} and {more} more" if more else f"{word} {shown}"


@lru_cache(maxsize=1 << 10)  # many objects are on the same clusters, and each is told twice
def _all(placed: Placed) -> str:
    """Return clusters with replicas, `nowhere` if there are none."""
    shown = ", ".join(f"{name}({replicas})" if replicas else name for name, replicas in placed)
    return plain(shown) or "nowhere"


def _name(decision: Decision) -> str:
    """Return what was placed."""
    return plain(decision.subject)


def _written(outcome: Outcome, world: World) -> list[str]:
    """Return kind, namespace and name of the outputs that changed, but for the pass's record."""
    folder, record = f"{world.output_root}/", output_path(world.output_root, RECORD)
    return [
        change.path.removeprefix(folder).removesuffix(".yaml")
        for change in outcome.changes
        if change.path.startswith(folder) and change.path != record
    ]


def _delivered(outcome: Outcome) -> Iterator[str]:
    """Yield how many files of clusters changed."""
    gone = [change for change in outcome.delivered if isinstance(change, DeleteFile)]
    came = len(outcome.delivered) - len(gone)
    parts = [f"{came} written"] if came else []
    parts += [f"{len(gone)} removed"] if gone else []
    if parts:
        yield f"- files of clusters: {', '.join(parts)}"


def _count(changes: Sequence[Change]) -> str:
    """Return a number of files."""
    return f"{len(changes)} file{'s' if len(changes) > 1 else ''}"


def _place(fault: Fault) -> str:
    """Return where a fault is: the file, and its line if it has one."""
    return f"{plain(fault.path)}:{fault.line}" if fault.line else plain(fault.path)


def _removed(outcome: Outcome, world: World) -> list[str]:
    """Return the people's files that the pass removed, or of which it removed a part."""
    return [
        change.path if isinstance(change, DeleteFile) else f"{PART_OF}{change.path}"
        for change in outcome.changes
        if isinstance(change, DeleteFile | WriteFile)
        and not change.path.startswith(f"{world.output_root}/")
    ]


def _over(path: str, outcome: Outcome) -> str:
    """Return why a file goes: a trigger that failed is over, not finished."""
    failed = any(
        removal.key.kind == TRIGGER[1] and any(result.reason for result in removal.results)
        for removal in outcome.removals
        if removal.path == path.removeprefix(PART_OF)
    )
    return "its time is over, removed" if failed else "finished and removed"


def result_lines(removal: Removal) -> Iterator[str]:
    """Yield for each target of a rebalancer or trigger that goes what became of it."""
    who = plain(f"{removal.key.kind} {removal.key.name}")
    for result in removal.results:
        reason = f" ({plain(result.reason)})" if result.reason else ""
        yield f"{who}: {plain(target_name(result.reference))} {result.result}{reason}"


def waiting_line(waiting: WaitingTarget) -> str:
    """Return in one line for what a rebalancer or trigger waits, and why."""
    who = f"{waiting.key.kind} {waiting.key.name}"
    return plain(f"{who} waits for {target_name(waiting.reference)}: {waiting.reason}")


def _failure_line(failed: FailedTarget) -> str:
    """Return in one line what a rebalancer could not do, and why."""
    who = f"{failed.key.kind} {failed.key.name}"
    return plain(f"{who} could not rebalance {target_name(failed.reference)}: {failed.reason}")


def target_name(reference: Reference) -> str:
    """Return a target as people call it: kind, namespace and name."""
    scope = f"{reference.namespace}/" if reference.namespace else ""
    return f"{reference.kind} {scope}{reference.name}"


def plain(text: str) -> str:
    r"""Return user text fit for a commit message: one line, printable, without square brackets.

    >>> plain("a [skip ci]\nSigned-off-by: me")
    'a (skip ci) Signed-off-by: me'
    """
    shown = text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)
    return shown.replace("[", "(").replace("]", ")").replace("***", "* * *").strip()


def _cut(subject: str) -> str:
    """Shorten a subject to what a log shows."""
    return subject if len(subject) <= LONGEST_SUBJECT else f"{subject[: LONGEST_SUBJECT - 1]}…"


MOST_COMMITS = 20  # whose edits are looked at; where there are more, not all are told
GONE = frozenset({CauseKind.REMOVED, CauseKind.NEVER_PROPAGATED, CauseKind.CLUSTER_GONE})
SURROUNDING = frozenset(
    {
        CauseKind.EVICTED,
        CauseKind.CLUSTER_GONE,
        CauseKind.CLUSTERS_CHANGED,
        CauseKind.SCORES_CHANGED,
    }
)
"""Causes that stand for edits of clusters, scores and the like."""


def files_behind(decision: Decision, world: World) -> frozenset[str]:
    """Return the edited files that the causes of a decision stand in."""
    causes = (decision.cause, *decision.cause.also)
    paths = chain.from_iterable(_files_of(cause, decision, world) for cause in causes)
    return frozenset(paths) & world.edited.keys()


def _files_of(cause: Cause, decision: Decision, world: World) -> Iterator[str]:
    """Yield the files that a cause may stand in, as they are and as they were.

    Where it does not say in which, files that are gone may have held anything.
    """
    if cause.kind in GONE and not cause.sources:
        yield from (path for path, held in world.edited.items() if held is None)
    if cause.kind in SURROUNDING and not cause.sources:
        yield from (path for path, held in world.edited.items() if held and held & SURROUNDINGS)
        return
    for key in cause.sources or (decision.key,):
        for manifest in (world.find(key), world.earlier.get(key)):
            if manifest is not None:
                yield manifest.origin.path

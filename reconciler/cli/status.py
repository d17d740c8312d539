"""How a repository stands, on one screen.

It includes the commits that wait to be accepted, as a daemon of this repository found them.
"""

import textwrap
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Annotated, NamedTuple, TypedDict

import click

from reconciler.audit.fleet.placed import named
from reconciler.audit.fleet.problems import (
    Problem,
    ProblemKind,
    ProblemSources,
    problems_of,
)
from reconciler.audit.fleet.suspensions import Suspensions
from reconciler.audit.fleet.trouble import (
    PlacementTrouble,
    RepositoryStatus,
    status_of,
    trouble_of,
)
from reconciler.audit.fleet.usage import by_name, usage_of
from reconciler.audit.history.revisions import Commit, is_by_hand
from reconciler.audit.json_shapes import (
    ComingJson,
    CommitJson,
    FaultJson,
    Moment,
    ObjectJson,
    coming_json,
    commit_json,
    fault_json,
    object_json,
)
from reconciler.audit.named_object import spelled
from reconciler.audit.previews.foresight import overdue
from reconciler.audit.previews.wording import later_text
from reconciler.audit.references import check_inputs
from reconciler.cli.description import Line, aligned
from reconciler.cli.options import EXIT_FORBIDDEN
from reconciler.cli.printing import (
    coming_at,
    print_json,
    sentences,
    suspender_sentences,
)
from reconciler.cli.progress import doing
from reconciler.cli.tables import Layout, print_tables
from reconciler.cli.world import note_if_empty
from reconciler.core.asked import AskedAlone
from reconciler.core.dialects import CLUSTERS
from reconciler.core.reconcile import Memo
from reconciler.core.record import last_pass, next_moment
from reconciler.errors import UsageError
from reconciler.library.fleet import FleetRepository
from reconciler.manifests.columns import duration
from reconciler.manifests.paths import plural_of
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.model.kinds import Kind
from reconciler.model.moments import format_moment
from reconciler.model.records import replace
from reconciler.model.text import printable, short_id
from reconciler.model.world import World
from reconciler.shell.git.checkout.moves import KeptEdit, kept_edits
from reconciler.shell.git.command import HistoryMissing
from reconciler.shell.git.history import resolve_revision
from reconciler.shell.reading.revisions import GitRevisions
from reconciler.shell.resources import SystemClock

WIDTH = 84
SHOWN = 5  # of what is listed, so that it stays one screen


class StatusQuestion(NamedTuple):
    """What is asked about: the root as it is told, a revision, and the branch if that is known."""

    root: str
    at: str
    branch: str = ""


def run(
    fleet: FleetRepository,
    asked: StatusQuestion,
    directory: Path | None,
    *,
    output: str,
    check: bool = False,
) -> int:
    """Print how a repository stands, what is wrong first; return the exit code.

    Args:
        fleet: The repository.
        asked: What is asked about.
        directory: The root of a checkout, `None` of a remote, which has no files that follow.
        output: `text` or `json`.
        check: Whether the exit code says that something is wrong.
    """
    at, layout = asked.at, fleet.layout
    revisions = fleet.revisions
    head = resolve_revision(revisions.repository, at)
    counts = fleet.counted_commits
    counted = None if counts is None else counts.load(revisions.loader)
    world = revisions.loader.load(head)
    note_if_empty(directory, world)
    _note_if_lacking(revisions)
    commits = revisions.commits(head, whole=False)
    since = list(takewhile(is_by_hand, commits))
    if world.apart:
        since += _inputs_since(revisions, world)
    clock = SystemClock().now()
    with doing("Adding up"):
        placements = PlacementTrouble(world)
        status = status_of(
            world,
            clock,
            changed=bool(since),
            counted=counted,
            suspensions=placements.suspensions,
        )
    if counts is not None:
        counts.keep(world, head, status.copies, clock)
    served = asked.branch or _branch(revisions)
    branch = asked.branch or (served if at == "HEAD" else at)
    unaccepted = unaccepted_commits(revisions, served, world.revision, commits)
    memo = Memo()
    coming = coming_at(fleet, world, head, memo=memo)
    here = at == "HEAD" and not world.apart
    edits = kept_edits(revisions.repository, layout.output_root) if here else ()
    late = (
        overdue(coming, clock, since=commits[0].committed_at) if world.outputs and commits else None
    )
    problems = problems_of(
        replace(
            _problem_sources(placements, clock, status),
            unaccepted=[named_commit(commit) for commit in unaccepted],
            late="" if late is None else later_text(late),
            last_change=partial(revisions.last_change, head, world.reported_at),
        )
    )
    code = EXIT_FORBIDDEN if check and any(one.is_wrong for one in problems) else 0
    if output == "json":
        waiting = since if status.last_at is not None else []
        inputs = revisions.commit_at(world.revision) if world.apart else commits[0]
        outputs = commits[0] if world.apart and commits else None
        standing = _as_json(status, (branch, layout.output_branch), (inputs, outputs), waiting)
        answer: StatusJson = {
            "problems": [_problem_json(problem) for problem in problems],
            **standing,
            "unaccepted": [commit_json(one) for one in unaccepted],
            "coming": [coming_json(one) for one in coming],
            "keptEdits": [{"path": one.path, "command": one.command} for one in edits],
        }
        print_json(answer)
        return code
    lines = [
        *_wrong(problems, clock, layout),
        ("Root:", f"{asked.root}, outputs in {layout.output_root}/"),
        *_branches(revisions, world, branch, commits),
        *_passes(status, since),
        *unaccepted_line(unaccepted),
        *_held(status),
        *_kept(edits),
        *_suspended(placements.suspensions, memo),
        *_waiting(status),
        *_listed("Coming:", sentences(coming), "see reconciler events"),
        *(_listed("Delivery:", status.delivered, "") if status.delivered else ()),
        *_copies(status),
        *_counts(status),
    ]
    for line in aligned(lines):
        click.echo(line)
    _print_rebalancers(world, status)
    return code


def _problem_sources(
    placements: PlacementTrouble, now: datetime, status: RepositoryStatus
) -> ProblemSources:
    """Return what the files say; of objects without clusters, those shown are asked alone."""
    world = placements.world
    alone, at, checked = AskedAlone(), next_moment(world, now), check_inputs(world)
    usages = by_name(usage_of(world)) if _tells_of_clusters(world) else ()
    return ProblemSources(
        world=world,
        trouble=trouble_of(usages, placements, now, faults=status.faults),
        warnings=checked.warnings,
        not_selected=checked.not_selected,
        called=lambda key: spelled(named(world, key)),
        explained=lambda key: alone.explain(world, key, at),
        most=SHOWN,
    )


def _tells_of_clusters(world: World) -> bool:
    """Return whether any cluster says how it is; nothing is wrong with those that say nothing."""
    return any(
        one.body.get("status") or mapping(one.body, "metadata").get("deletionTimestamp")
        for kind in CLUSTERS
        for one in world.of_kind(*kind)
    )


def _wrong(problems: Sequence[Problem], now: datetime, layout: RepositoryLayout) -> Iterator[Line]:
    """Yield what is wrong, the worst first: how many of each kind, and the first of them."""
    lines = []
    for problem in problems:
        lines.append(f"{problem}; {problem.remedy}")
        for detail in problem.details:
            lines.append(f"  {printable(str(detail))}")
            if change := detail.change_text(now, layout):
                lines.append(f"    {printable(change)}")
        rest = problem.count - len(problem.details)
        if rest:
            lines.append(f"  and {rest} more; {MORE[problem.kind]}")
    for i, line in enumerate(lines or ["none"]):
        yield "Problems:" if i == 0 else "", line


MORE = {
    ProblemKind.NOT_READY: "see reconciler top clusters",
    ProblemKind.SILENT: "see reconciler top clusters",
    ProblemKind.OVER: "see reconciler top clusters",
    ProblemKind.NOT_PLACED: "see reconciler get rb -A",
    ProblemKind.FAULT: "see reconciler validate",
    ProblemKind.UNACCEPTED: "see status -o json",
    ProblemKind.LATE: "see reconciler events",
    ProblemKind.WARNING: "see reconciler validate",
    ProblemKind.WAITING: "see reconciler events",
    ProblemKind.SUSPENDED: "see status -o json",
    ProblemKind.NOT_REBALANCED: "see reconciler get wr",
    ProblemKind.NOT_SELECTED: "see reconciler get all -A",
}
"""Where all of a kind are listed."""


class DetailJson(TypedDict):
    """One of what is wrong."""

    subject: Annotated[str, "What is wrong."]
    cause: Annotated[str, 'Why or how, `""` where the subject says it.']
    path: Annotated[str, 'The file that says so, one of people or of ours, `""` where none does.']
    changed: Annotated[CommitJson | None, "The last commit that changed this file."]


class ProblemJson(TypedDict):
    """What is wrong, of one kind."""

    kind: Annotated[
        str,
        "`cluster-not-ready`, `cluster-without-report`, `cluster-over-committed`, `object-not-"
        "placed`, `fault`, `commit-not-accepted`, `pass-overdue`, `warning`, `object-waiting`, "
        "`suspended`, `object-not-rebalanced` or `object-not-selected`.",
    ]
    severity: Annotated[str, "`error`, `warning` or `note`."]
    count: Annotated[int, "How many there are."]
    words: Annotated[str, "The same in words."]
    remedy: Annotated[str, "What a person may do about it."]
    details: Annotated[list[DetailJson], "The first few."]


def _problem_json(problem: Problem) -> ProblemJson:
    return {
        "kind": str(problem.kind),
        "severity": problem.severity,
        "count": problem.count,
        "words": str(problem),
        "remedy": problem.remedy,
        "details": [
            {
                "subject": detail.subject,
                "cause": detail.cause,
                "path": detail.path,
                "changed": None if detail.changed is None else commit_json(detail.changed),
            }
            for detail in problem.details
        ],
    }


def _note_if_lacking(revisions: GitRevisions) -> None:
    """Print to standard error that no pass is possible here, where a shallow clone lacks files."""
    try:
        revisions.loader.check_past(revisions.repository)
    except HistoryMissing as error:
        click.echo(f"no pass runs here: {printable(str(error))}", err=True)


def _inputs_since(revisions: GitRevisions, world: World) -> Sequence[Commit]:
    """Return the commits of the inputs since those of the last pass, the newest first."""
    last = last_pass(world.outputs)
    if last is None:
        return (revisions.commit_at(world.revision),)
    return revisions.between(last.revision, world.revision)


def _branches(
    revisions: GitRevisions, world: World, branch: str, commits: Sequence[Commit]
) -> Iterator[Line]:
    """Yield where the branch of the inputs is, and that of the outputs if it is another."""
    if not world.apart:
        yield "Branch:", f"{branch} at {named_commit(commits[0])}"
        return
    yield "Branch:", f"{branch} at {named_commit(revisions.commit_at(world.revision))}"
    if commits:
        yield "Outputs:", f"{revisions.layout.output_branch} at {named_commit(commits[0])}"
    else:
        yield "Outputs:", f"{revisions.layout.output_branch}, no pass yet"


def _branch(revisions: GitRevisions) -> str:
    """Return the branch that is checked out."""
    try:
        return revisions.repository.head_branch()
    except UsageError:
        return "HEAD"


def _passes(status: RepositoryStatus, since: Sequence[Commit]) -> Iterator[Line]:
    """Yield what is known of the last pass, and what came since."""
    if status.last_at is None:
        yield "Decided:", "none yet; reconciler reconcile runs one"
        return
    ago = duration(SystemClock().now() - status.last_at)
    by = f", by version {status.version}" if status.version else ""
    yield "Decided:", f"{format_moment(status.last_at)}, {ago} ago{by}"
    count = len(since)
    came = f"{count} commit{'s' if count != 1 else ''} since" if count else "nothing since"
    yield "Input:", f"{short_id(status.inputs)}, {came}"


def _held(status: RepositoryStatus) -> Iterator[Line]:
    """Yield the files that are held."""
    held = [
        f"{printable(one.path)}: using the last valid "
        f"{', '.join(f'{k.kind} {k.name}' for k in one.keys)}"
        for one in status.held
    ]
    yield from _listed("Held files:", held, "see status -o json")


def _kept(edits: Sequence[KeptEdit]) -> Iterator[Line]:
    """Yield the outputs of the checkout that are not as they were committed."""
    if edits:
        lines = [f"{printable(one.path)}: {printable(one.command)}" for one in edits]
        yield from _listed("Edited here:", lines, "see git status")


def _suspended(suspensions: Suspensions, memo: Memo) -> Iterator[Line]:
    """Yield what is suspended, and what would happen on resume."""
    foremost = suspensions.foremost
    told = suspender_sentences(suspensions.world, foremost[:SHOWN], SystemClock().now(), memo)
    told += [printable(one.words) for one in foremost[SHOWN:]]
    yield from _listed("Suspended:", told, "see status -o json")


def _waiting(status: RepositoryStatus) -> Iterator[Line]:
    """Yield what waits for a person to act."""
    if status.waiting:
        lines = [printable(f"{spelled(key)} {clause}") for key, clause in status.waiting]
        yield from _listed("Waiting:", lines, "see status -o json")


def _copies(status: RepositoryStatus) -> Iterator[Line]:
    """Yield how many copies clusters report, and how many count as healthy."""
    copies = status.copies
    if copies.copies:
        counts = {
            "healthy": copies.healthy,
            "unhealthy": copies.unhealthy,
            "reported": copies.unjudged,
            "assumed healthy": copies.assumed,
            "at risk on clusters that are not ready": copies.at_risk,
            "without a report yet": copies.silent,
        }
        counted = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
        yield "Copies:", f"{copies.copies} in clusters: {counted}"


def _counts(status: RepositoryStatus) -> Iterator[Line]:
    """Yield how many objects there are by kind."""
    listed = ", ".join(
        f"{count} {plural_of(kind) if count != 1 else kind.lower()}"
        for (_, kind), count in status.counts.items()
    )
    for i, line in enumerate(textwrap.wrap(listed or "none", WIDTH)):
        yield "Objects:" if i == 0 else "", line


def _listed(title: str, entries: Sequence[str], more: str) -> Iterator[Line]:
    """Yield entries line by line, the first few of many."""
    if not entries:
        yield title, "none"
    shown = [*entries[:SHOWN]]
    if len(entries) > SHOWN:
        shown.append(f"and {len(entries) - SHOWN} more; {more}")
    for i, entry in enumerate(shown):
        yield title if i == 0 else "", entry


def _print_rebalancers(world: World, status: RepositoryStatus) -> None:
    """Print a table of the rebalancers of each kind."""
    kinds: dict[Kind, list[ObjectKey]] = {}
    for key in status.rebalancers:
        kinds.setdefault((key.group, key.kind), []).append(key)
    if kinds:
        click.echo()
        print_tables(world, kinds, Layout(kinds=True))


class WaitingJson(TypedDict):
    """What waits for a person."""

    object: Annotated[ObjectJson, "What waits."]
    waits: Annotated[str, "For what, a clause that its name precedes."]


class EditJson(TypedDict):
    """An output that is not as it was committed."""

    path: Annotated[str, "From the top of the checkout."]
    command: Annotated[str, "What takes what was decided, for a shell."]


class HeldJson(TypedDict):
    """A faulty file whose last good version is in force."""

    path: Annotated[str, "File, below the root."]
    blob: Annotated[str, "Full hex id of git's blob that holds the last good version."]
    objects: Annotated[list[ObjectJson], "Taken from it."]


class CountJson(TypedDict):
    """How many there are of a kind."""

    group: Annotated[str, '`""` for the core group.']
    kind: Annotated[str, "As upstream spells it."]
    count: int


class CopiesJson(TypedDict):
    """How many copies there are. Of clusters that are being left nothing is counted."""

    all: int
    healthy: Annotated[int, "Reported as healthy."]
    unhealthy: Annotated[int, "Reported as not healthy, or not yet."]
    reported: Annotated[int, "Reported, of kinds that have no notion of health."]
    assumed: Annotated[int, "Without a report, and assumed to be healthy."]
    silent: Annotated[int, "Without a report."]
    atRisk: Annotated[
        int,
        "On clusters that are not ready, so whatever was reported or assumed of them counts no "
        "more.",
    ]


class StandingJson(TypedDict):
    """What a repository has, and how far its passes are."""

    branch: Annotated[
        str,
        "That is checked out, `HEAD` if none is, or the revision that was asked for.",
    ]
    head: Annotated[CommitJson, "That is looked at."]
    outputBranch: Annotated[
        str | None,
        "The branch of the outputs, null where it is that of the inputs.",
    ]
    outputHead: Annotated[str | None, "Full hex id of the commit that it is at."]
    lastPassAt: Annotated[Moment | None, "Of the last pass that committed."]
    inputRevision: Annotated[
        str,
        'Full hex id of the commit that it read, `""` before the first one.',
    ]
    version: Annotated[str, 'Of the reconciler that ran it, `""` before the first one.']
    since: Annotated[list[CommitJson], "Commits since that pass, the newest first."]
    faults: Annotated[
        list[FaultJson],
        "Of the files and, if `since` is empty, those that the last pass found.",
    ]
    held: Annotated[list[HeldJson], "Faulty files whose last good version is in force."]
    waiting: Annotated[list[WaitingJson], "What waits for a person to act."]
    everythingSuspended: Annotated[bool, "Whether `reconciler.yaml` suspends all passes."]
    suspended: Annotated[
        list[ObjectJson],
        "What is suspended by itself, rebalancers included whose schedule rests.",
    ]
    objects: Annotated[list[CountJson], "How many there are of each kind."]
    rebalancers: Annotated[list[ObjectJson], "Rebalancers and triggers."]
    delivery: Annotated[list[str], "Where decisions are delivered to."]
    copies: Annotated[
        CopiesJson,
        "How many clusters have anything of a decision, and what they report.",
    ]


class StatusJson(StandingJson):
    """How a repository stands, and what is wrong."""

    problems: Annotated[list[ProblemJson], "What is wrong, the worst first."]
    unaccepted: Annotated[
        list[CommitJson],
        "Commits that wait for a signature, the newest first, as a daemon of this checkout found.",
    ]
    coming: Annotated[list[ComingJson], "What passes will do by themselves."]
    keptEdits: Annotated[
        list[EditJson],
        "Outputs of this checkout that are not as they were committed.",
    ]


def _as_json(
    status: RepositoryStatus,
    branches: tuple[str, str | None],
    heads: tuple[Commit, Commit | None],
    since: Sequence[Commit],
) -> StandingJson:
    """Return the answer for machines.

    Args:
        status: How the repository stands.
        branches: The one of the inputs, and that of the outputs where they have one.
        heads: The commits that they are at.
        since: The commits since the last pass.
    """
    return {
        "branch": branches[0],
        "head": commit_json(heads[0]),
        "outputBranch": branches[1],
        "outputHead": None if heads[1] is None else heads[1].revision,
        "lastPassAt": None if status.last_at is None else format_moment(status.last_at),
        "inputRevision": status.inputs,
        "version": status.version,
        "since": [commit_json(commit) for commit in since],
        "faults": [fault_json(fault) for fault in status.faults],
        "waiting": [
            {"object": object_json(key), "waits": clause} for key, clause in status.waiting
        ],
        "held": [
            {"path": one.path, "blob": one.blob, "objects": [object_json(k) for k in one.keys]}
            for one in status.held
        ],
        "everythingSuspended": status.all_suspended,
        "suspended": [object_json(key) for key in status.suspended],
        "objects": [
            {"group": group, "kind": kind, "count": count}
            for (group, kind), count in status.counts.items()
        ],
        "rebalancers": [object_json(key) for key in status.rebalancers],
        "delivery": list(status.delivered),
        "copies": {
            "all": status.copies.copies,
            "healthy": status.copies.healthy,
            "unhealthy": status.copies.unhealthy,
            "reported": status.copies.unjudged,
            "assumed": status.copies.assumed,
            "atRisk": status.copies.at_risk,
            "silent": status.copies.silent,
        },
    }


def unaccepted_commits(
    revisions: "GitRevisions", branch: str, inputs: str, commits: "Sequence[Commit]"
) -> "list[Commit]":
    """Return the commits that wait to be accepted, the newest first, as a daemon found here.

    What the daemon wrote on top of them is left out, unless that is what waits first.
    """
    from reconciler.audit.history.revisions import is_by_hand
    from reconciler.audit.proof import said_purpose
    from reconciler.shell.passes.trust import Kept, list_kept

    repository = revisions.repository
    heads = {branch: inputs}
    if commits and (outputs := revisions.layout.output_branch) is not None:
        heads[outputs] = commits[0].revision
    found: list[Commit] = []
    for name, first in list_kept(repository, Kept.WAITING).items():
        head = heads.get(name) or repository.find(name)
        if head is not None and revisions.leads_to(first, head):
            after = filter(is_by_hand, revisions.between(first, head))
            found += [one for one in after if said_purpose(one.trailers) is None]
            found.append(revisions.commit_at(first))
    return found


def unaccepted_line(unaccepted: "Sequence[Commit]") -> "Iterator[Line]":
    """Yield what waits to be accepted, if anything does."""
    if unaccepted:
        count = len(unaccepted)
        first = named_commit(unaccepted[-1])
        said = f"{count} commit{'s' if count > 1 else ''} from {first} on"
        yield "Unaccepted:", f"{said}, which are not accepted"


def named_commit(commit: "Commit") -> str:
    """Return a commit by short id and subject."""
    from reconciler.model.text import printable, short_id

    return printable(f"{short_id(commit.revision)} ({commit.subject})")

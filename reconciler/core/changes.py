"""The answer of a pass: files to write or delete, decisions, faults, and when to look again.

What was decided of a world counts for the same world at another commit: a branch moves also where
no pass of this root looks, in a folder that another root owns.
"""

from collections.abc import Mapping
from datetime import datetime

from reconciler.core.record import record_body
from reconciler.manifests.paths import RECORD, output_path
from reconciler.manifests.text.emitter import encode
from reconciler.model.body import Body
from reconciler.model.decision import Decision, Explain, Wait
from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass, field, replace
from reconciler.model.world import Fault, Trace, World
from reconciler.rebalance.rebalancer_files import OverriddenLimit
from reconciler.rebalance.target import Reference
from reconciler.version import __version__


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Replace the file at `path` (root-relative POSIX) by `content`, UTF-8."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """Remove the file at `path` (root-relative POSIX)."""

    path: str


Change = WriteFile | DeleteFile


@dataclass(frozen=True, slots=True, order=True)
class TargetResult:
    """What became of one target of a rebalancer or trigger, in its own words.

    `reason` is `""` where nothing went wrong.
    """

    reference: Reference
    result: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Removal:
    """A rebalancer or trigger whose manifest goes.

    Attributes:
        key: Who.
        path: Of the file that it stood in.
        results: What became of each of its targets.
        body: Its status file as it would be if it stayed.
    """

    key: ObjectKey
    path: str
    results: tuple[TargetResult, ...]
    body: Body


@dataclass(frozen=True, slots=True)
class CausingCommit:
    """A commit of a person by full hex id, its author's name, and what it moved, sorted."""

    revision: str
    author: str
    moved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RevertedOutputs:
    """Outputs that a person brought back as they were before a pass.

    Attributes:
        author: Their name.
        revision: Full hex id of their commit.
        again: The objects that this pass decides again, sorted.
        kept: How many of the outputs stay as they brought them back.
    """

    author: str
    revision: str
    again: tuple[str, ...]
    kept: int


@dataclass(frozen=True, slots=True, order=True)
class WaitingTarget:
    """A target that a rebalancer or trigger waits for since this pass, and why, with the place."""

    key: ObjectKey
    reference: Reference
    reason: str


@dataclass(frozen=True, slots=True, order=True)
class FailedTarget:
    """A target that a rebalancer could not rebalance, since this pass, and why."""

    key: ObjectKey
    reference: Reference
    reason: str


@dataclass(frozen=True, slots=True, order=True)
class LimitOverride:
    """A rebalancer's limit that does not hold for one target in this pass."""

    target: ObjectKey
    limit: OverriddenLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Result of `reconcile`.

    Attributes:
        changes: To outputs and inputs, sorted by path, at most one entry a path; empty means
            settled.
        delivered: To the files of clusters, sorted by path; empty where `changes` are.
        decisions: What moved and why, and what could not be placed, sorted by key.
        removals: The rebalancers and triggers whose manifest goes, sorted.
        edited: Outputs whose decision a person edited since the last pass, sorted.
        faults: What a person must edit, sorted.
        allow: The digests that let go what is held back, sorted.
        waiting: The targets that rebalancers and triggers newly wait for, sorted.
        failed: The targets that rebalancers have newly failed for, sorted.
        overrides: The limits of rebalancers that do not hold, since others demand more, sorted.
        warnings: What a person should know of what is delivered, one sentence each.
        traces: Of the unforeseen exceptions among the faults, sorted; for the log.
        recheck_at: The next moment, aware UTC, at which time alone could change the answer;
            `None` if no such moment is known.
        waits: What has to wait for such moments, sorted; not every moment has one.
        explanations: What scheduling said of the objects that were asked about, where it first
            looked at them in this pass.
    """

    changes: tuple[Change, ...] = ()
    delivered: tuple[Change, ...] = ()
    decisions: tuple[Decision, ...] = ()
    removals: tuple[Removal, ...] = ()
    edited: tuple[ObjectKey, ...] = ()
    faults: tuple[Fault, ...] = ()
    allow: tuple[str, ...] = ()
    waiting: tuple[WaitingTarget, ...] = ()
    failed: tuple[FailedTarget, ...] = ()
    overrides: tuple[LimitOverride, ...] = ()
    warnings: tuple[str, ...] = ()
    traces: tuple[Trace, ...] = field(default=(), compare=False)
    recheck_at: datetime | None = None
    waits: tuple[Wait, ...] = ()
    explanations: Mapping[ObjectKey, Explain] = field(default_factory=dict)

    @property
    def files(self) -> tuple[Change, ...]:
        """All that is committed, sorted by path."""
        return tuple(sorted((*self.changes, *self.delivered), key=lambda change: change.path))


def carried_over(outcome: Outcome, now: datetime, before: World, after: World) -> Outcome | None:
    """Return what a pass at `now` decides of a world, given what it decided of another one.

    Args:
        outcome: Of the pass over `before`, with nothing left out of it.
        now: The moment of that pass, aware UTC.
        before: What it looked at.
        after: Another world.

    Returns:
        The outcome that a pass over `after` would have at that moment; `None` where the worlds
        differ in more than in the commits that they were read from.
    """
    if replace(after, revision=before.revision, reported_at=before.reported_at) != before:
        return None
    path = output_path(after.output_root, RECORD)
    record = WriteFile(path, encode(record_body(after, now, __version__)))
    changes = (record if one.path == path else one for one in outcome.changes)
    return replace(outcome, changes=tuple(changes))

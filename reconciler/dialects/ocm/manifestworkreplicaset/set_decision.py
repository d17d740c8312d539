"""One set in a pass: looked at until nothing moves any more, then recorded.

A rollout goes on by what is assumed of silent clusters, too; the status that is written does not
rest on that, but where its file says so already, as older rules had it.

Source: ours; upstream looks again whenever a ManifestWork or a decision changes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from reconciler.dialects.ocm.manifestworkreplicaset.lifecycle import look_at
from reconciler.dialects.ocm.manifestworkreplicaset.plain_reports import plain_reports
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import ReplicaSet
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import (
    SetRecord,
    WorkRecord,
    sources_of,
    template_id,
)
from reconciler.dialects.ocm.manifestworkreplicaset.set_reports import ReportedWork, reported_work
from reconciler.dialects.ocm.manifestworkreplicaset.sync import (
    CreateWork,
    DecidedPlacement,
    DeleteWork,
    ReplaceWork,
    SetFinalizers,
    SetOutcome,
)
from reconciler.errors import UserError
from reconciler.model.availability import Silence
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.moments import ceiling, earliest
from reconciler.model.world import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSurroundings:
    """What all sets of a round look at.

    Attributes:
        feedback: What clusters report.
        silence: How that of a cluster is taken.
        scopes: Whether a kind is namespaced.
        now: Moment of the pass.
    """

    feedback: Mapping[ObjectKey, Manifest]
    silence: Silence
    scopes: Mapping[Kind, bool]
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDecision:
    """What becomes of a set.

    Attributes:
        outcome: Of the last look.
        record: Its works now.
        works: The same with what is known of them.
        written: What is written of it.
        awaits: Whether more clusters would get the present template as those that have it succeed.
        until: When time alone could change anything, `None` if never.
    """

    outcome: SetOutcome
    record: SetRecord
    works: tuple[ReportedWork, ...]
    written: "WrittenOutcome"
    awaits: bool
    until: datetime | None


class WrittenOutcome(NamedTuple):
    """An outcome, and the clusters of which that rests on what is assumed, sorted."""

    outcome: SetOutcome
    assumed: tuple[ClusterName, ...] = ()


def decide_set(
    owner: ObjectKey,
    wanted: ReplicaSet,
    placements: Mapping[str, DecidedPlacement],
    known: SetRecord,
    around: SetSurroundings,
    *,
    writes_assumed: bool,
) -> SetDecision:
    """Look at a set until a look moves nothing.

    Each look but the last gives a cluster the present template or takes a work away, so there is
    a last one. `writes_assumed` says whether what is written rests on what is assumed, too.
    """
    present = template_id(wanted.template)
    records = {(one.cluster, one.placement): one for one in known.works}
    records = {key: one for key, one in records.items() if _stays(one, wanted, placements, present)}
    objects = sources_of(wanted.template, around.scopes)
    while True:
        reported = [
            reported_work(
                owner,
                wanted,
                records[key],
                present,
                objects,
                around.feedback,
                around.silence.after_seconds,
                around.now,
            )
            for key in sorted(records)
        ]
        records = {key: one.record for key, one in zip(sorted(records), reported, strict=True)}
        outcome = look_at(wanted, placements, [one.work for one in reported], around.now)
        moved = dict(records)
        for action in outcome.actions:
            match action:
                case CreateWork(cluster, placement):
                    _give(moved, cluster, placement, present, objects, around)
                case ReplaceWork(work, placement, _):
                    _give(moved, work.cluster, placement, present, objects, around)
                case DeleteWork(work):
                    moved.pop((work.cluster, work.placement), None)
                case SetFinalizers():
                    pass  # a file has none
        if moved == records:
            break
        records = moved
    sources = {present: objects}
    works = tuple(records[key] for key in sorted(records))
    awaits = _awaits(placements, works, present)
    assumed_at = earliest(*(one.until for one in reported))
    return SetDecision(
        outcome=outcome,
        record=SetRecord(works, {**(known.templates or {}), **sources}, known.contents),
        works=tuple(reported),
        written=with_assumed(outcome, reported)
        if writes_assumed
        else _without_assumed(wanted, placements, outcome, reported, around.now),
        awaits=awaits,
        until=earliest(ceiling(outcome.until), assumed_at if awaits or writes_assumed else None),
    )


def with_assumed(outcome: SetOutcome, works: Sequence[ReportedWork]) -> WrittenOutcome:
    """Return an outcome with the clusters of which it rests on what is assumed."""
    return WrittenOutcome(outcome, tuple(one.work.cluster for one in works if one.assumed))


def _without_assumed(
    wanted: ReplicaSet,
    placements: Mapping[str, DecidedPlacement],
    outcome: SetOutcome,
    works: Sequence[ReportedWork],
    now: datetime,
) -> WrittenOutcome:
    """Return what one look would lead to if nothing were assumed."""
    if not any(one.assumed for one in works):
        return WrittenOutcome(outcome)
    bare = [replace(one.work, conditions={}) if one.assumed else one.work for one in works]
    return WrittenOutcome(look_at(wanted, placements, bare, now))


def _awaits(
    placements: Mapping[str, DecidedPlacement], works: Iterable[WorkRecord], present: str
) -> bool:
    """Return whether a cluster that is decided does not have the present template yet."""
    has = {(one.placement, one.cluster) for one in works if one.template == present}
    return any(
        (name, cluster) not in has
        for name, decided in placements.items()
        if not isinstance(decided.groups, UserError)
        for cluster in decided.groups.names()
    )


def _give(
    records: dict[tuple[ClusterName, str], WorkRecord],
    cluster: ClusterName,
    placement: str,
    template: str,
    objects: Sequence[ObjectKey],
    around: SetSurroundings,
) -> None:
    """Give a cluster the present template, unless it has that; its reports are of what it had."""
    known = records.get((cluster, placement))
    if known is None or known.template != template:
        seen = plain_reports(cluster, objects, around.feedback).token
        records[cluster, placement] = WorkRecord(
            cluster,
            placement,
            template,
            around.now,
            seen,
            adopted_name="" if known is None else known.adopted_name,
        )


def _stays(
    record: WorkRecord,
    wanted: ReplicaSet,
    placements: Mapping[str, DecidedPlacement],
    present: str,
) -> bool:
    """Return whether a work is still wanted, before any look.

    Unlike upstream: a work of an old template goes, too, when its cluster leaves the decision, and
    all works of a reference that is gone go at once.
    """
    if record.placement not in {one.name for one in wanted.references}:
        return False
    decided = placements.get(record.placement)
    if decided is None or isinstance(decided.groups, UserError) or record.template == present:
        return True
    return record.cluster in decided.groups.names()

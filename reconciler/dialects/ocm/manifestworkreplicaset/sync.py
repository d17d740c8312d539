"""One set in a pass: looked at until nothing moves any more, then recorded.

One look makes, changes and removes ManifestWorks for the clusters that its placements decided, by
decision group, and returns the status that follows. The status file has that status as upstream has
it, and our record of the works. A rollout goes on by what is assumed of silent clusters, too; the
status that is written does not rest on that, but where its file says so already, as older rules had
it. A set also takes room of its clusters.

A file has no finalizer: a set of a pass is one that has got its own and is not deleted, and a set
whose file is gone takes its works along at once, whatever its policy.

Source: ocm@00f84c3 pkg/work/hub/controllers/manifestworkreplicasetcontroller
`manifestworkreplicaset_deploy_reconcile.go`, `manifestworkreplicaset_status_reconcile.go`; the
status is open-cluster-management.io/api work/v1alpha1 types_manifestworkreplicaset.go
`ManifestWorkReplicaSetStatus`. Repeated looks and the record are ours; upstream looks again
whenever a ManifestWork or a decision changes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from reconciler.dialects.ocm.api.placement import (
    GROUP_INDEX_LABEL,
    GROUP_NAME_LABEL,
    decode_decision,
    decode_status,
)
from reconciler.dialects.ocm.api.replica_set_status import (
    PlacementCounts,
    encode_status,
    known_counts,
)
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    ManifestWork,
    PlacementReference,
    ReplicaSet,
    SetRecord,
    WorkRecord,
    manifests_of,
    record_annotations,
    rollout_status,
    same_spec,
    sources_of,
    template_id,
)
from reconciler.dialects.ocm.manifestworkreplicaset.reports import (
    ReportedWork,
    plain_reports,
    reported_work,
)
from reconciler.dialects.ocm.rollout import (
    ClusterGroups,
    ClusterRollout,
    GroupKey,
    RolloutResult,
    RolloutStatus,
    decode_strategy,
    roll_out,
)
from reconciler.errors import UserError
from reconciler.manifests.admission import admit
from reconciler.model.body import Body
from reconciler.model.cluster import Condition, set_condition
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.labels import is_label_value
from reconciler.model.moments import ceiling, earliest, stamp
from reconciler.model.records import dataclass, field, replace
from reconciler.model.text import LONGEST_LABEL, enumerated
from reconciler.model.world import Manifest
from reconciler.schedule.capacity import ClusterDemand, Ledger, demand_of_manifests

VERIFIED, ROLLED_OUT, APPLIED = "PlacementVerified", "PlacementRolledOut", "ManifestworkApplied"
AS_EXPECTED, NOT_AS_EXPECTED = "AsExpected", "NotAsExpected"
EMPTY, NOT_FOUND = "PlacementDecisionEmpty", "PlacementDecisionNotFound"
COUNTED = {"applied": "Applied", "progressing": "Progressing"} | {
    "available": "Available",
    "degraded": "Degraded",
}


@dataclass(frozen=True, slots=True)
class DecidedPlacement:
    """A placement as its status and decisions have it; `groups` may be what is wrong with them."""

    selected: int
    group_count: int
    groups: ClusterGroups | UserError


@dataclass(frozen=True, slots=True)
class CreateWork:
    """A work is made for a cluster."""

    cluster: ClusterName
    placement: str


@dataclass(frozen=True, slots=True)
class ReplaceWork:
    """A work gets the present template and labels; `fields` are those that differ."""

    work: ManifestWork
    placement: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeleteWork:
    """A work goes."""

    work: ManifestWork


WorkAction = CreateWork | ReplaceWork | DeleteWork


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementSummary:
    """What is said of one placement of a set; `counts` are by the words of the status."""

    name: str
    groups: str
    total: int
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOutcome:
    """What one look at a set leads to.

    Attributes:
        actions: In order.
        conditions: Those that are set, in order.
        summaries: Of each placement; `None` where they stay as they are.
        results: The rollout of each placement that was looked at.
        errors: What stopped a placement, no two alike.
        until: When time alone could change anything, `None` if never.
    """

    actions: tuple[WorkAction, ...] = ()
    conditions: tuple[Condition, ...] = ()
    summaries: tuple[PlacementSummary, ...] | None = None
    results: Mapping[str, RolloutResult] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    until: datetime | None = None


def sync(
    wanted: ReplicaSet,
    placements: Mapping[str, DecidedPlacement],
    works: Sequence[ManifestWork],
    now: datetime,
) -> SetOutcome:
    """Return what becomes of a set.

    Args:
        wanted: The set.
        placements: The placements of its namespace that are there, by name.
        works: Its works, by cluster and name.
        now: Aware UTC.
    """
    if not is_label_value(wanted.label):
        message = (
            f"{wanted.label} has {len(wanted.label)} characters, and is to be a label of its "
            f"ManifestWorks, which has at most {LONGEST_LABEL}: give the set a shorter name"
        )
        condition = Condition(APPLIED, "False", "InvalidManifestWorkName", message)
        return SetOutcome(conditions=(condition,))
    remembered = {work.cluster: work for work in works}
    return _Sync(wanted, placements, works, remembered, now).run()


@dataclass(slots=True)
class _Sync:
    """One look; upstream knows one work of each cluster for names and for what it tidies up."""

    wanted: ReplicaSet
    placements: Mapping[str, DecidedPlacement]
    works: Sequence[ManifestWork]
    remembered: Mapping[ClusterName, ManifestWork]
    now: datetime
    actions: list[WorkAction] = field(default_factory=list)
    summaries: list[PlacementSummary] = field(default_factory=list)
    results: dict[str, RolloutResult] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    untils: list[datetime | None] = field(default_factory=list)
    succeeded: int = 0

    def run(self) -> SetOutcome:
        """Look at each placement, then at all of them."""
        names = {one.name for one in self.wanted.references}
        for work in self.remembered.values():
            if work.placement not in names:
                self.actions.append(DeleteWork(work))
        for reference in self.wanted.references:
            if reference.name not in self.placements:
                missing = Condition(VERIFIED, "False", NOT_FOUND, "")
                return self._outcome((missing,), None)
            try:
                self._deploy(reference, self.placements[reference.name])
            except UserError as error:
                self.errors.append(error.message)
        nothing = not any(one.total for one in self.summaries)
        counted = tuple(self._counted(one, nothing=nothing) for one in self.summaries)
        return self._outcome((*self._rolled_out(), _applied(counted)), counted)

    def _deploy(self, reference: PlacementReference, decided: DecidedPlacement) -> None:
        """Bring the template to the clusters of a placement that are due."""
        own = {
            work.cluster: work
            for work in self.works
            if work.placement == reference.name and same_spec(work.spec, self.wanted.template)
        }
        if isinstance(decided.groups, UserError):
            raise decided.groups
        existing = [_standing(work) for work in own.values()]
        strategy = decode_strategy(reference.strategy)
        result = roll_out(strategy, decided.groups, existing, self.now)
        self.results[reference.name] = result
        self.succeeded += sum(one.status is RolloutStatus.SUCCEEDED for one in existing)
        self.untils.append(result.until(self.now))
        clusters = set(own)
        for rollout in result.clusters:
            if rollout.status is RolloutStatus.TO_APPLY:
                self._apply(rollout.cluster, reference.name)
                clusters.add(rollout.cluster)
        for gone in result.removed:
            self._delete(gone.cluster, reference.name)
            clusters.discard(gone.cluster)
        total = len(clusters)
        groups = f"{decided.group_count} ({total} / {decided.selected} clusters applied)"
        self.summaries.append(PlacementSummary(name=reference.name, groups=groups, total=total))

    def _apply(self, cluster: ClusterName, placement: str) -> None:
        remembered = self.remembered.get(cluster)
        if remembered is None or remembered.placement != placement:
            self.actions.append(CreateWork(cluster, placement))
            return
        metadata = {"labels": remembered.labels != self.wanted.labels_for(placement)}
        metadata |= {name: bool(found) for name, found in remembered.marks.items()}
        fields = [name for name, differs in metadata.items() if differs]
        if not same_spec(remembered.spec, self.wanted.template):
            fields.append("spec")
        if fields:
            self.actions.append(ReplaceWork(remembered, placement, tuple(fields)))

    def _delete(self, cluster: ClusterName, placement: str) -> None:
        works = [one for one in self.works if (one.cluster, one.placement) == (cluster, placement)]
        self.actions += map(DeleteWork, works)

    def _counted(self, summary: PlacementSummary, *, nothing: bool) -> PlacementSummary:
        """Return what is said of a placement with its works counted, as they were before."""
        if nothing:
            return replace(summary, counts=dict.fromkeys(COUNTED, 0))
        works = [
            work
            for work in self.works
            if work.placement == summary.name
            and not work.deleting
            and same_spec(work.spec, self.wanted.template)
        ]
        counts = {
            word: sum(work.is_true(condition) for work in works)
            for word, condition in COUNTED.items()
        }
        return replace(summary, counts=counts)

    def _rolled_out(self) -> tuple[Condition, Condition]:
        selected = sum(
            self.placements[one.name].selected
            for one in self.wanted.references
            if one.name in self.results
        )
        done = selected == self.succeeded
        verified = sum(one.total for one in self.summaries) > 0
        return (
            Condition(VERIFIED, "True", AS_EXPECTED, "")
            if verified
            else Condition(VERIFIED, "False", EMPTY, ""),
            Condition(ROLLED_OUT, "True", "Complete", "")
            if done
            else Condition(ROLLED_OUT, "False", "Progressing", ""),
        )

    def _outcome(
        self,
        conditions: tuple[Condition, ...],
        summaries: tuple[PlacementSummary, ...] | None,
    ) -> SetOutcome:
        return SetOutcome(
            actions=tuple(self.actions),
            conditions=conditions,
            summaries=summaries,
            results=self.results,
            errors=tuple(dict.fromkeys(self.errors)),
            until=earliest(*self.untils),
        )


def _standing(work: ManifestWork) -> ClusterRollout:
    status, changed_at = rollout_status(work)
    return ClusterRollout(cluster=work.cluster, status=status, changed_at=changed_at)


def _applied(summaries: Sequence[PlacementSummary]) -> Condition:
    """Return the condition that tells how a set fares."""
    total = sum(one.total for one in summaries)
    if not total:
        return Condition(APPLIED, "False", EMPTY, "")
    sums = {word: sum(one.counts[word] for one in summaries) for word in COUNTED}
    if sums["available"] == total and not sums["progressing"] and not sums["degraded"]:
        return Condition(APPLIED, "True", AS_EXPECTED, "")
    if sums["progressing"] and not sums["degraded"]:
        return Condition(APPLIED, "False", "Processing", "")
    return Condition(APPLIED, "False", NOT_AS_EXPECTED, "")


def decided_placement(placement: Body, decisions: Iterable[Body]) -> DecidedPlacement:
    """Return a placement with its decisions.

    Args:
        placement: With its status.
        decisions: The PlacementDecisions with its label.
    """
    status = decode_status(placement)
    return DecidedPlacement(
        selected=status.selected,
        group_count=len(status.groups),
        groups=_groups(decisions),
    )


def _groups(decisions: Iterable[Body]) -> ClusterGroups | UserError:
    """Return the groups, or what is wrong with a label.

    Source: ocm@00f84c3 sdk-go pkg/apis/cluster/v1beta1/placement.go `Refresh`.
    """
    groups = []
    for decision in map(decode_decision, decisions):
        labels = dict(decision.labels)
        index = labels.get(GROUP_INDEX_LABEL, "")
        if not index.lstrip("+-").isdecimal() or len(index) - len(index.lstrip("+-")) > 1:
            why = f'strconv.Atoi: parsing "{index}": invalid syntax'
            return UserError(f"incorrect group index: {why}")
        key = GroupKey(labels.get(GROUP_NAME_LABEL, ""), int(index))
        groups.append((key, decision.listed))
    return ClusterGroups(groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSurroundings:
    """What all sets of a round look at.

    Attributes:
        feedback: What clusters report.
        assume_after_seconds: See `model/settings.py`.
        scopes: Whether a kind is namespaced.
        now: Moment of the pass.
    """

    feedback: Mapping[ObjectKey, Manifest]
    assume_after_seconds: int | None
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
    record: SetRecord,
    around: SetSurroundings,
    *,
    keeps_assumed: bool,
) -> SetDecision:
    """Look at a set until a look moves nothing.

    Each look but the last gives a cluster the present template or takes a work away, so there is
    a last one. `keeps_assumed` says whether what is written rests on what is assumed, too, since
    its file does.
    """
    present = template_id(wanted.template)
    records = {(one.cluster, one.placement): one for one in record.works}
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
                around.assume_after_seconds,
                around.now,
            )
            for key in sorted(records)
        ]
        records = {key: one.record for key, one in zip(sorted(records), reported, strict=True)}
        outcome = sync(wanted, placements, [one.work for one in reported], around.now)
        moved = _moved(records, outcome.actions, present, objects, around)
        if moved == records:
            break
        records = moved
    sources = {present: objects}
    works = tuple(records[key] for key in sorted(records))
    awaits = _awaits(placements, works, present)
    assumed_at = earliest(*(one.until for one in reported))
    return SetDecision(
        outcome=outcome,
        record=SetRecord(works, {**(record.templates or {}), **sources}, record.contents),
        works=tuple(reported),
        written=with_assumed(outcome, reported)
        if keeps_assumed
        else _without_assumed(wanted, placements, outcome, reported, around.now),
        awaits=awaits,
        until=earliest(ceiling(outcome.until), assumed_at if awaits or keeps_assumed else None),
    )


def _moved(
    records: Mapping[tuple[ClusterName, str], WorkRecord],
    actions: Iterable[WorkAction],
    present: str,
    objects: Sequence[ObjectKey],
    around: SetSurroundings,
) -> dict[tuple[ClusterName, str], WorkRecord]:
    """Return the records after some actions."""
    moved = dict(records)
    for action in actions:
        match action:
            case CreateWork(cluster, placement):
                _give(moved, cluster, placement, present, objects, around)
            case ReplaceWork(work, placement, _):
                _give(moved, work.cluster, placement, present, objects, around)
            case DeleteWork(work):
                moved.pop((work.cluster, work.placement), None)
    return moved


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
    return WrittenOutcome(sync(wanted, placements, bare, now))


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
    record = records.get((cluster, placement))
    if record is None or record.template != template:
        seen = plain_reports(cluster, objects, around.feedback).token
        records[cluster, placement] = WorkRecord(
            cluster,
            placement,
            template,
            around.now,
            seen,
            adopted_name="" if record is None else record.adopted_name,
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


def status_after(before: Body, outcome: SetOutcome, *, at: str) -> Body:
    """Return the status; what one look does not reach stays as it is.

    Upstream never sets `desiredTotal` and `updated`.

    Args:
        before: The status so far.
        outcome: What the look led to.
        at: Text of the present moment.
    """
    conditions = list(bodies(before, "conditions"))
    for condition in outcome.conditions:
        conditions = set_condition(conditions, condition, at=at)
    earlier = known_counts(before)
    if outcome.summaries is None:
        return encode_status(before, conditions, earlier, None)
    sums = {
        word: sum(one.counts[word] for one in outcome.summaries if one.counts) for word in COUNTED
    }
    sums["total"] = sum(one.total for one in outcome.summaries)
    each = [_counted(one) for one in outcome.summaries]
    return encode_status(before, conditions, {**earlier, **sums}, each)


def _counted(summary: PlacementSummary) -> PlacementCounts:
    return PlacementCounts(summary.name, summary.groups, {**summary.counts, "total": summary.total})


ASSUMED = "AssumedAsExpected"
ASSUMED_OF = "assumed of "
NAMED = 3


def render_set(
    manifest: Manifest, present: Body | None, decision: SetDecision, now: datetime
) -> Body:
    """Return the status file of a set.

    Args:
        manifest: The set as written.
        present: Its status file, `None` before the first pass.
        decision: What became of it.
        now: Moment of the pass.
    """
    before = mapping(present, "metadata") if present is not None else None
    _, metadata = admit(manifest.key, mapping(manifest.body, "spec"), before, now)
    annotations = {**mapping(metadata, "annotations"), **record_annotations(decision.record)}
    return {
        "apiVersion": manifest.body["apiVersion"],
        "kind": manifest.key.kind,
        "metadata": {**metadata, "annotations": dict(sorted(annotations.items()))},
        "status": set_status(present or {}, decision.written, at=stamp(now)),
    }


def set_status(present: Body, written: WrittenOutcome, *, at: str) -> Body:
    """Return the status of a set; the condition that rests on what is assumed says so.

    Args:
        present: Its status file so far.
        written: What is said of it.
        at: Text of the moment.
    """
    outcome = replace(written.outcome, conditions=tuple(_conditions(written)))
    return status_after(mapping(present, "status"), outcome, at=at)


def says_assumed(present: Body | None) -> bool:
    """Return whether a status file rests on what is assumed, as older rules wrote it."""
    status = {} if present is None else mapping(present, "status")
    applied = (one for one in bodies(status, "conditions") if one.get("type") == APPLIED)
    return any(text(one, "message").startswith(ASSUMED_OF) for one in applied)


def _conditions(written: WrittenOutcome) -> Iterator[Condition]:
    for condition in written.outcome.conditions:
        if condition.type == APPLIED and written.assumed:
            expected = condition.reason == AS_EXPECTED
            assumed = f"{ASSUMED_OF}{enumerated(written.assumed, NAMED)}, which did not report"
            yield condition._replace(
                reason=ASSUMED if expected else condition.reason, message=assumed
            )
        else:
            yield condition


def take_set(
    ledger: Ledger,
    key: ObjectKey,
    wanted: ReplicaSet,
    record: SetRecord,
    now: SetRecord,
    scopes: Mapping[Kind, bool],
) -> None:
    """Go on with a set as it was decided.

    What an earlier template brought is not known any more, so a cluster that gets another one is
    reserved as if it had nothing.

    Args:
        ledger: What is reserved.
        key: Of the set.
        wanted: The set.
        record: Its works before.
        now: Its works as they are decided.
        scopes: Whether a kind is namespaced.
    """
    if record.works == now.works:
        return
    demand, present = carried_by(wanted, scopes), template_id(wanted.template)
    ledger.take_all(key, _on(record, demand, present), _on(now, demand, present))


def carried_by(wanted: ReplicaSet, scopes: Mapping[Kind, bool]) -> ClusterDemand:
    """Return what a set takes of each cluster that it is on."""
    sources = sources_of(wanted.template, scopes)
    return demand_of_manifests(zip(sources, manifests_of(wanted.template), strict=True))


def _on(record: SetRecord, demand: ClusterDemand, template: str) -> dict[str, ClusterDemand]:
    """Return what clusters take that have the present template."""
    return {one.cluster: demand for one in record.works if one.template == template}

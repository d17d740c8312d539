"""One look at a set: which ManifestWorks are made, changed and removed, and its status then.

Source: ocm@00f84c3 pkg/work/hub/controllers/manifestworkreplicasetcontroller
`manifestworkreplicaset_deploy_reconcile.go`, `manifestworkreplicaset_status_reconcile.go`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from reconciler.dialects.ocm.manifestworkreplicaset.manifest_work import (
    ManifestWork,
    rollout_status,
)
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    PlacementReference,
    ReplicaSet,
    same_spec,
)
from reconciler.dialects.ocm.rollout.cluster_status import ClusterRollout, RolloutStatus
from reconciler.dialects.ocm.rollout.decision_groups import ClusterGroups
from reconciler.dialects.ocm.rollout.rollout import RolloutResult, roll_out
from reconciler.dialects.ocm.rollout.strategy import decode_strategy
from reconciler.errors import UserError
from reconciler.manifests.names import LONGEST_LABEL
from reconciler.model.conditions import Condition
from reconciler.model.identity import ClusterName
from reconciler.model.labels import is_label_value
from reconciler.model.moments import earliest

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


@dataclass(frozen=True, slots=True)
class SetFinalizers:
    """The set itself gets these finalizers instead of those that it has."""

    finalizers: tuple[str, ...]


WorkAction = CreateWork | ReplaceWork | DeleteWork | SetFinalizers


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
        for one in result.clusters:
            if one.status is RolloutStatus.TO_APPLY:
                self._apply(one.cluster, reference.name)
                clusters.add(one.cluster)
        for gone in result.removed:
            self._delete(gone.cluster, reference.name)
            clusters.discard(gone.cluster)
        total = len(clusters)
        groups = f"{decided.group_count} ({total} / {decided.selected} clusters applied)"
        self.summaries.append(PlacementSummary(name=reference.name, groups=groups, total=total))

    def _apply(self, cluster: ClusterName, placement: str) -> None:
        known = self.remembered.get(cluster)
        if known is None or known.placement != placement:
            self.actions.append(CreateWork(cluster, placement))
            return
        metadata = {"labels": known.labels != self.wanted.labels_for(placement)}
        metadata |= {name: bool(found) for name, found in known.marks.items()}
        fields = [name for name, differs in metadata.items() if differs]
        if not same_spec(known.spec, self.wanted.template):
            fields.append("spec")
        if fields:
            self.actions.append(ReplaceWork(known, placement, tuple(fields)))

    def _delete(self, cluster: ClusterName, placement: str) -> None:
        found = [one for one in self.works if (one.cluster, one.placement) == (cluster, placement)]
        self.actions += map(DeleteWork, found)

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

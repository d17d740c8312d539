"""Why a set is on a cluster, or is not yet: who has the present template, who waits for whom."""

from collections.abc import Mapping

from reconciler.dialects.ocm.manifestworkreplicaset.manifest_work import rollout_status
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import ReplicaSet
from reconciler.dialects.ocm.manifestworkreplicaset.set_decision import SetDecision
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import template_id
from reconciler.dialects.ocm.manifestworkreplicaset.set_reports import ReportedWork
from reconciler.dialects.ocm.manifestworkreplicaset.sync import DecidedPlacement
from reconciler.errors import UserError
from reconciler.model.explanation import ClusterAnswer, ClusterVerdict, Explanation
from reconciler.model.fields import text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import format_moment

WAITS = ClusterVerdict("Rollout", "it waits for its turn", "wait until those before it succeed")
OLD = "it has an earlier template until its turn comes"


def explain_set(
    key: ObjectKey,
    wanted: ReplicaSet,
    decision: SetDecision,
    placements: Mapping[str, DecidedPlacement],
) -> Explanation:
    """Return what is known of each cluster of the placements of a set."""
    decided: set[ClusterName] = set()
    for one in wanted.references:
        found = placements.get(one.name)
        if found is not None and not isinstance(found.groups, UserError):
            decided |= found.groups.names()
    present = template_id(wanted.template)
    has = {one.cluster for one in decision.record.works if one.template == present}
    old = {one.cluster for one in decision.record.works} - has
    states = {one.work.cluster: _state(one) for one in decision.works}
    answers = [
        ClusterAnswer(
            cluster=name,
            verdicts=() if name in has else (WAITS,),
            picked=name in has,
            note=states.get(name, "") if name in has else OLD if name in old else "",
        )
        for name in sorted(decided | has | old)
    ]
    conditions = decision.outcome.conditions
    return Explanation(
        key=key,
        subject=f"{key.namespace}/{key.name}",
        question=", ".join(_asked(one.name, one.strategy) for one in wanted.references),
        result=", ".join(f"{one.type} {one.status} ({one.reason})" for one in conditions),
        clusters=tuple(answers),
    )


def _state(work: ReportedWork) -> str:
    """Return how far a cluster is; of a silent one from when on that is assumed."""
    if work.until is not None:
        return f"no report, assumed from {format_moment(work.until)} on"
    return f"{rollout_status(work.work)[0]}{', assumed' if work.assumed else ''}"


def _asked(name: str, strategy: Mapping[str, object] | None) -> str:
    return f"{text(strategy or {}, 'type') or 'All'} clusters of {name}"

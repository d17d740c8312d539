"""What a set waits for: a cluster that must have succeeded for a while, or may take a while."""

from collections.abc import Iterator
from datetime import datetime

from reconciler.dialects.ocm.manifestworkreplicaset.set_decision import SetDecision
from reconciler.dialects.ocm.rollout.cluster_status import RolloutStatus
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import ceiling
from reconciler.model.wait import Wait


def waits_of_set(key: ObjectKey, decision: SetDecision, now: datetime) -> Iterator[Wait]:
    """Yield what a set waits for."""
    subject = f"{key.namespace}/{key.name}"
    for result in decision.outcome.results.values():
        for one in result.clusters:
            until = ceiling(one.recheck_at)
            if until is not None and until > now:
                succeeded = one.status is RolloutStatus.SUCCEEDED
                state = "has succeeded" if succeeded else "is progressing"
                then = "the rollout goes on" if succeeded else f"{one.cluster} counts as failed"
                yield Wait(
                    until=until,
                    key=key,
                    subject=subject,
                    reason=f"{one.cluster} {state}",
                    then=then,
                )
    for work in decision.works if decision.awaits else ():
        if work.until is not None:
            yield Wait(
                until=work.until,
                key=key,
                subject=subject,
                reason=f"{work.work.cluster} has not reported",
                then="it is assumed to be available",
            )

"""Why a binding moved: what differs from its file, and from the clusters of the last pass.

A binding holds what its workload and policy wanted at the last pass; clusters that were edited
since are at hand as they were. So all of that can be taken back.
"""

from collections.abc import Callable, Iterator

from reconciler.dialects.causes import (
    Difference,
    Trials,
    beside_creation,
    causes_of,
    is_explained,
    of_touched,
    with_cause,
)
from reconciler.dialects.contract import RescheduleTrigger as Demand
from reconciler.dialects.karmada.api.binding_spec import BindingSpec
from reconciler.dialects.karmada.api.placement import scored_resources
from reconciler.dialects.karmada.decide import Surroundings, decide
from reconciler.dialects.karmada.detector.binding_draft import Draft, claimant
from reconciler.dialects.karmada.quotas import refusing_always
from reconciler.dialects.karmada.scheduler.plugins import refused_before
from reconciler.dialects.karmada.scheduler.reschedule import ask
from reconciler.dialects.karmada.view.binding_file import is_edited
from reconciler.dialects.karmada.view.record import BY_HAND, FREED, policy_of, workload_of
from reconciler.dialects.object_pass import Part
from reconciler.dialects.scores import Reports
from reconciler.model.decision import Cause, CauseKind, Decision
from reconciler.model.records import dataclass, replace

OF_CLUSTERS = (CauseKind.EVICTED, CauseKind.CLUSTER_GONE, CauseKind.CLUSTERS_CHANGED)


@dataclass(frozen=True, slots=True)
class BindingQuestion:
    """A binding with everything that differs, or with a part of that."""

    draft: Draft
    demand: Demand | None
    around: Surroundings

    def decision(self) -> Decision | None:
        """Decide it."""
        return decide(self.draft, self.demand, self.around).decision


BindingDifference = Difference[BindingQuestion]


def with_causes(part: Part, draft: Draft, demand: Demand | None, around: Surroundings) -> Part:
    """Return a part whose decision names all that it took.

    A first placement is caused by what brought the binding, and by clusters that were edited
    beside if it needs them.
    """
    decision = part.decision
    if decision is None or not is_explained(decision):
        return part._replace(decision=decision or _of_tolerations(draft))
    trials = Trials(decision, BindingQuestion(draft, demand, around), BindingQuestion.decision)
    if draft.present is None:
        edited = (*_of_clusters(around), *_of_scores(draft, around), *_of_quotas(draft, around))
        causes = [decision.cause, *beside_creation(trials, edited)]
        return part._replace(decision=with_cause(decision, causes))
    by_hand = is_edited(draft.metadata, decision.before, draft.resource)
    causes = list(_causes(trials, demand if part.rescheduled else None, by_hand=by_hand))
    return part._replace(decision=with_cause(decision, causes, by_hand=by_hand))


def _of_tolerations(draft: Draft) -> Decision | None:
    """Return that other tolerations apply from now on, `None` if they do not.

    Evictions go by the placement that was applied last, so what they bring about comes in the next
    round, to which nothing differs any more. Without that, nothing has happened.
    """
    if draft.present is None or _tolerations(draft.spec) == _tolerations(draft.stood):
        return None
    cause = Cause(CauseKind.PLACEMENT_CHANGED, sources=policy_of(draft))
    placed = draft.stood.placed
    return Decision(draft.key, draft.subject, cause, placed, placed)


def _tolerations(spec: BindingSpec) -> object:
    return None if spec.placement is None else spec.placement.get("clusterTolerations")


def _causes(
    trials: Trials[BindingQuestion], demand: Demand | None, *, by_hand: bool
) -> Iterator[Cause]:
    """Yield the causes of a move; none where nothing differs."""
    decision, asked = trials.decision, trials.question
    own = tuple(_differences(asked.draft, demand, asked.around, decision))
    edited = tuple(_of_clusters(asked.around))
    if not own and not edited:
        return
    if not own and _is_of_clusters(decision) and not by_hand:
        yield _as_told(edited[0].cause, decision)
        return
    rest = trials.without((*own, *edited))
    # What evicts by time or by reports, too, is a cause; what edits have kept from that is theirs.
    if rest is not None and not set(decision.evicted).isdisjoint(rest.evicted):
        own = (*own, Difference(_eviction(rest), _stay))
    clusters = [replace(one, cause=_as_told(one.cause, trials.without(own))) for one in edited]
    yield from causes_of(trials, (*own, *clusters))


def _is_of_clusters(decision: Decision) -> bool:
    """Return whether a decision says already what the clusters did, and nothing else moved it.

    A taint that nothing tolerates has evicted at the last pass, if it was there; a toleration that
    ended, and a cluster where the workload is unhealthy, were no edits.
    """
    cause = decision.cause
    if cause.kind is CauseKind.EVICTED:
        return len(cause.sources) == len(decision.evicted)
    return cause.kind in OF_CLUSTERS


def _eviction(rest: Decision) -> Cause:
    """Return the eviction that a decision tells of."""
    if rest.cause.kind is CauseKind.EVICTED:
        return rest.cause
    return Cause(CauseKind.EVICTED, ", ".join(rest.evicted))


def _stay(question: BindingQuestion) -> BindingQuestion:
    """Return a question in which nothing is evicted."""
    around = question.around
    return replace(
        question, around=replace(around, failover=replace(around.failover, enabled=False))
    )


def _as_told(cause: Cause, alone: Decision | None) -> Cause:
    """Return what the clusters did as a decision tells that nothing but they brought about."""
    if alone is None or alone.cause.kind not in OF_CLUSTERS:
        return cause
    if alone.cause.kind is CauseKind.CLUSTERS_CHANGED:
        return replace(alone.cause, sources=cause.sources)
    return of_touched(alone.cause, alone, cause.sources)


def _of_clusters(around: Surroundings) -> Iterator[BindingDifference]:
    """Yield that clusters are not as they were."""
    before = around.clusters_before
    if before is not None:
        yield Difference(
            Cause(CauseKind.CLUSTERS_CHANGED, sources=before.keys),
            lambda question: replace(
                question,
                around=replace(
                    question.around,
                    members=before().with_scores(question.around.members.scores),
                    clusters_before=None,
                ),
            ),
        )


def _differences(
    draft: Draft, demand: Demand | None, around: Surroundings, decision: Decision
) -> Iterator[BindingDifference]:
    """Yield what of a binding differs from its file, and the trigger that stands in it."""
    if demand is not None:
        yield Difference(
            replace(decision.cause, kind=CauseKind.REBALANCED),
            lambda question: replace(question, demand=None),
            told=True,
        )
    yield from _pending(draft, around)
    claims = draft.policy is not None and claimant(draft.present) is None
    if claims or _differs(draft, _with_policy):
        yield Difference(
            Cause(CauseKind.PLACEMENT_CHANGED, sources=policy_of(draft)),
            _taking_back(_with_policy, unclaim=claims),
        )
    workload = workload_of(draft)
    for kind, part, sources in (
        (CauseKind.REPLICAS_CHANGED, _with_size, (workload,)),
        (CauseKind.REQUESTS_CHANGED, _with_requests, (workload,)),
        (_of_suspension(draft.spec), _with_suspension, (workload, *policy_of(draft))),
    ):
        if _differs(draft, part):
            yield Difference(Cause(kind, sources=sources), _taking_back(part))
    yield from _of_quotas(draft, around)
    yield from _of_scores(draft, around)


def _of_scores(draft: Draft, around: Surroundings) -> Iterator[BindingDifference]:
    """Yield that scores which the binding weighs by are not as they were."""
    before, asked = around.scores_before, scored_resources(draft.spec.placement)
    keys = () if before is None else before.keys
    edited = tuple(key for key in keys if key.name in asked)
    if before is not None and edited:
        yield Difference(
            Cause(CauseKind.SCORES_CHANGED, sources=edited),
            lambda question: _with_scores(question, before()),
        )


def _with_scores(question: BindingQuestion, scores: Reports) -> BindingQuestion:
    """Return a question that is asked with other scores."""
    around = question.around
    return replace(question, around=replace(around, members=around.members.with_scores(scores)))


def _of_quotas(draft: Draft, around: Surroundings) -> Iterator[BindingDifference]:
    """Yield that quotas are not as they were, or else have room by now for what they refused."""
    earlier = around.refusal_before
    keys = () if earlier is None else earlier.keys
    edited = tuple(key for key in keys if key.namespace == draft.key.namespace)
    refused = refused_before(draft.status())
    if earlier is not None and edited:
        refusal = earlier()
    elif refused:
        refusal = refusing_always(refused)
    else:
        return

    def undo(question: BindingQuestion) -> BindingQuestion:
        return replace(question, around=replace(question.around, refusal=refusal))

    cause = Cause(CauseKind.QUOTA_CHANGED, "" if edited else FREED, sources=edited)
    yield Difference(cause, undo)


def _of_suspension(spec: BindingSpec) -> CauseKind:
    """Return what happened where a suspension differs: scheduling stops, or goes on."""
    return CauseKind.SUSPENDED if spec.scheduling_suspended else CauseKind.RESUMED


def _pending(draft: Draft, around: Surroundings) -> Iterator[BindingDifference]:
    """Yield the trigger of an earlier pass that is tried again, or that a person wrote."""
    if draft.spec.reschedule_triggered_at is None:
        return
    asked = ask(draft, None, around.now)
    if asked.again:
        cause = Cause(CauseKind.RETRIED)
        yield Difference(cause, _taking_back(_without_trigger), told=True)
    elif asked.by_hand:
        cause = Cause(CauseKind.REBALANCED, BY_HAND)
        yield Difference(cause, _taking_back(_without_trigger), told=True)


BindingPart = Callable[[BindingSpec, BindingSpec], BindingSpec]
"""Returns a spec with a part as another one has it."""


def _with_size(spec: BindingSpec, other: BindingSpec) -> BindingSpec:
    return spec._replace(replicas=other.replicas, resource=other.resource)


def _with_requests(spec: BindingSpec, other: BindingSpec) -> BindingSpec:
    return spec._replace(requirements=other.requirements)


def _with_policy(spec: BindingSpec, other: BindingSpec) -> BindingSpec:
    return spec._replace(
        placement=other.placement,
        failover=other.failover,
        scheduler_name=other.scheduler_name,
        priority=other.priority,
        propagate_deps=other.propagate_deps,
    )


def _with_suspension(spec: BindingSpec, other: BindingSpec) -> BindingSpec:
    return spec._replace(suspension=other.suspension)


def _without_trigger(spec: BindingSpec, _other: BindingSpec) -> BindingSpec:
    return spec._replace(reschedule_triggered_at=None)


def _differs(draft: Draft, part: BindingPart) -> bool:
    """Return whether a part of a binding is another one than its file has."""
    return part(draft.spec, draft.stood) != draft.spec


def _taking_back(
    part: BindingPart, *, unclaim: bool = False
) -> Callable[[BindingQuestion], BindingQuestion]:
    """Return what gives a binding a part back as it had it."""

    def undo(question: BindingQuestion) -> BindingQuestion:
        draft = question.draft
        draft = draft._replace(spec=part(draft.spec, draft.stood))
        return replace(question, draft=draft._replace(policy=None) if unclaim else draft)

    return undo

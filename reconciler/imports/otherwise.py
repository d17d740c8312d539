"""What would be placed otherwise if no live decision were known, and why."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.audit.fleet.placed import placed_on
from reconciler.core.dialects import CLUSTERS, PLACED, dialect_of
from reconciler.core.reconcile import reconcile
from reconciler.dialects.view import View
from reconciler.model.decision import Placed
from reconciler.model.explanation import ClusterAnswer, Explanation
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import Fault, World

UNKNOWN = "it is no cluster of the repository"
NOWHERE = "nothing would be placed"
NOT_CHOSEN = "it would not be chosen"
RANKED = "it fits, and others come first"
SHARE = "it fits, with another share"
CHOSEN = "it fits, and comes before others"


@dataclass(frozen=True, slots=True, kw_only=True)
class Otherwise:
    """An object that would be placed otherwise if it were new.

    `why` has a sentence for each cluster that is in one of the two only, or with another share.
    """

    key: ObjectKey
    subject: str
    live: Placed
    afresh: Placed
    why: Mapping[ClusterName, str]


def otherwise(
    world: World, after: World, outputs: Collection[ObjectKey], now: datetime
) -> tuple[Otherwise, ...]:
    """Return what a pass that knows nothing of the live decisions would place elsewhere.

    Args:
        world: The repository, with everything that was imported.
        after: The same with the live decisions as state.
        outputs: That state.
        now: Moment of the pass.
    """
    asked = frozenset(key for key in outputs if (key.group, key.kind) in PLACED)
    if not asked:
        return ()
    outcome = reconcile(world, now, asked=asked)
    decided = {decision.key: decision for decision in outcome.decisions}
    found = []
    for key in sorted(asked):
        live = placed_on(after, key)
        decision = decided.get(key)
        afresh = () if decision is None else decision.after
        if afresh == live:
            continue
        explain = outcome.explanations.get(key)
        explanation = None if explain is None else explain()
        unexplained = _Unexplained(key, after, outcome.faults)
        subject = f"{key.namespace}/{key.name}" if key.namespace else key.name
        found.append(
            Otherwise(
                key=key,
                subject=subject if decision is None else decision.subject,
                live=live,
                afresh=afresh,
                why=_reasons(live, afresh, explanation, unexplained),
            )
        )
    return tuple(found)


def _reasons(
    live: Placed,
    afresh: Placed,
    explanation: Explanation | None,
    unexplained: "_Unexplained",
) -> dict[ClusterName, str]:
    """Return why each cluster that differs does."""
    answers = {a.cluster: a for a in explanation.clusters} if explanation is not None else {}
    before, after = dict(live), dict(afresh)
    return {
        name: _reason(answers[name], (name in before, name in after))
        if name in answers
        else unexplained.why(name, after)
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    }


def _reason(answer: ClusterAnswer, there: tuple[bool, bool]) -> str:
    """Return what scheduling says of a cluster that is there live, afresh, or both."""
    refused = [verdict.reason for verdict in answer.verdicts if verdict.reason]
    if refused:
        return "; ".join(refused)
    match there:
        case True, True:
            return SHARE
        case False, _:
            return CHOSEN
    return answer.note or RANKED


@dataclass(frozen=True, slots=True)
class _Unexplained:
    """A decision, where scheduling says nothing of some cluster, or of any.

    `world` has the live decision as state, `faults` are those of the pass that knows nothing of it.
    """

    key: ObjectKey
    world: World
    faults: tuple[Fault, ...]

    def why(self, cluster: ClusterName, afresh: Collection[ClusterName]) -> str:
        """Return why a cluster differs: it is gone, others are chosen, or nothing is scheduled.

        Args:
            cluster: Its name.
            afresh: The clusters that would be chosen.
        """
        dialect = dialect_of(self.key.group)
        keys = (ObjectKey(*kind, "", cluster) for kind in CLUSTERS)
        if dialect is None or not any(key in self.world.inputs for key in keys):
            return UNKNOWN
        if cluster in afresh:
            return CHOSEN
        if afresh:
            return NOT_CHOSEN
        about = {str(key) for key in self._about(dialect.view())}
        told = next((one.message for one in self.faults if one.subject in about), "")
        return f"{NOWHERE}: {told}" if told else NOWHERE

    def _about(self, view: View) -> Iterator[ObjectKey]:
        """Yield what a fault may be of that keeps the object from being scheduled."""
        yield self.key
        output = self.world.outputs[self.key].body
        policy, reference = view.policy_of(output), view.workload_of(output)
        if policy is not None:
            yield policy
        if reference is not None:
            yield reference.key

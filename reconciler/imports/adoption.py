"""Live decisions as our state: what is adopted, and what we would have decided otherwise.

What would be placed otherwise, and why, is computed as if no live decision were known.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta

from reconciler.audit.fleet.placed import owner_of, placed_on
from reconciler.audit.named_object import spelled
from reconciler.audit.previews.foresight import Coming, passes_of_each, told_by
from reconciler.core.changes import Outcome
from reconciler.core.dialects import CLUSTERS, PLACED, dialect_of
from reconciler.core.inputs.validation import Rules
from reconciler.core.reconcile import Memo, reconcile
from reconciler.core.record import record_body
from reconciler.core.rounds import next_world, world_after
from reconciler.dialects.view import View
from reconciler.imports.importers import adopted_by_all
from reconciler.imports.plan import NOTHING_WANTED, Absence, why_unfit, written
from reconciler.manifests.paths import RECORD, output_path
from reconciler.model.body import Body
from reconciler.model.decision import ClusterAnswer, Decision, Explanation, Placed
from reconciler.model.fields import mapping
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import format_moment, is_moment, parse_moment
from reconciler.model.records import dataclass
from reconciler.model.world import Fault, World
from reconciler.version import __version__

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
    others = []
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
        others.append(
            Otherwise(
                key=key,
                subject=subject if decision is None else decision.subject,
                live=live,
                afresh=afresh,
                why=_reasons(live, afresh, explanation, unexplained),
            )
        )
    return tuple(others)


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
        declared = (one for kind in CLUSTERS for one in self.world.written_of_kind(*kind))
        if dialect is None or not any(one.key.name == cluster for one in declared):
            return UNKNOWN
        if cluster in afresh:
            return CHOSEN
        if afresh:
            return NOT_CHOSEN
        about = {str(key) for key in self._about(dialect.view())}
        message = next((one.message for one in self.faults if one.subject in about), "")
        return f"{NOWHERE}: {message}" if message else NOWHERE

    def _about(self, view: View) -> Iterator[ObjectKey]:
        """Yield what a fault may be of that keeps the object from being scheduled."""
        yield self.key
        output = self.world.outputs[self.key].body
        policy, reference = view.outputs.policy_of(output), view.outputs.workload_of(output)
        if policy is not None:
            yield policy
        if reference is not None:
            yield reference.key


SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
MOST_PASSES = 120  # ours: so many are foreseen of that hour at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """What adopting live decisions comes to.

    Attributes:
        outputs: The state that is to be written.
        left: Live objects that are not taken over, and why not.
        kept: Live objects that are state already.
        moves: What the next pass would move all the same.
        new: What it would place that has no live decision.
        coming: What passes move within the hour after it, if nothing but time goes by, in the order
            of time.
        otherwise: What would be placed otherwise if it were new, sorted.
        contents: Path to text of files from which clusters still have what is otherwise by now.
    """

    outputs: Mapping[ObjectKey, Body]
    left: Mapping[ObjectKey, str]
    kept: frozenset[ObjectKey]
    moves: tuple[Decision, ...]
    new: tuple[Decision, ...]
    coming: tuple[Coming, ...]
    otherwise: tuple[Otherwise, ...]
    contents: Mapping[str, str]


def adopt(
    world: World,
    live: Mapping[ObjectKey, Body],
    now: datetime,
    rules: Rules,
    absence: Absence = NOTHING_WANTED,
) -> Adoption:
    """Return what of live decisions becomes state.

    What a pass has written, with all that belongs to its placement, is never overwritten. What
    moves is foreseen of the world as it will be written, by the pass of the next second.

    Args:
        world: The repository, with everything that was imported.
        live: Every live object of the APIs.
        now: Moment at which the state counts as written.
        rules: What outputs are held against: one that cannot be read would be in the way.
        absence: Says why something is not in the repository.
    """
    adopted = adopted_by_all(world, live, now)
    found = adopted.outputs
    lacks = {key: _lacks(lacking, absence) for key, lacking in adopted.lacking.items()}
    missing = {key: _misses(owner, key, absence) for key, owner in adopted.missing.items()}
    left = {**adopted.left, **lacks, **missing}
    kept = frozenset(k for k, body in found.items() if _is_state(world, k, body))
    outputs = {key: _not_later(body, now) for key, body in found.items() if key not in kept}
    unfit = _unfit(world, outputs, rules)
    left |= unfit
    outputs = {key: body for key, body in outputs.items() if key not in unfit}
    if outputs and RECORD not in world.outputs:
        outputs[RECORD] = _record(world, now)
    after = world_after(world, outputs, (), ())
    memo = Memo()
    first = reconcile(after, now, memo=memo) if outputs else Outcome()
    state = _kept_up(world, after, first, outputs)
    final, at = world_after(world, state, (), ()), now + SECOND
    outcome = reconcile(final, at, memo=memo)
    (passes,) = passes_of_each(
        [(final, outcome)], at, memo=memo, moments=MOST_PASSES, until=at + HOUR
    )
    return Adoption(
        outputs=dict(sorted(state.items())),
        left=dict(sorted((key, why) for key, why in left.items() if key not in world.outputs)),
        kept=kept,
        moves=tuple(d for d in outcome.decisions if d.before and d.before != d.after),
        new=tuple(d for d in outcome.decisions if not d.before and d.after),
        coming=tuple(one for one in told_by(passes) if at < one.at and one.before != one.after),
        otherwise=otherwise(world, after, outputs.keys(), now),
        contents={path: text for key, (path, text) in adopted.contents.items() if key in outputs},
    )


def _not_later(body: Body, now: datetime) -> Body:
    """Return an output that was made by now, whatever the clock of its hub says."""
    metadata = mapping(body, "metadata")
    created = metadata.get("creationTimestamp")
    if not is_moment(created) or parse_moment(str(created)) <= now:
        return body
    return {**body, "metadata": {**metadata, "creationTimestamp": format_moment(now)}}


def _lacks(key: ObjectKey, absence: Absence) -> str:
    """Return why a decision is left whose object is not in the repository."""
    return f"its {key.kind} is not in the repository: {absence.why(key)}"


def _misses(owner: ObjectKey, key: ObjectKey, absence: Absence) -> str:
    """Return what becomes of an object on clusters that the repository has not."""
    taken = f"{spelled(owner)} has it on its clusters, where delivery would take it away"
    return f"{taken}: it is not in the repository: {absence.why(key)}"


def _kept_up(
    world: World, after: World, outcome: Outcome, adopted: Mapping[ObjectKey, Body]
) -> dict[ObjectKey, Body]:
    """Return the state as the first pass would leave it, but for what it would move.

    So that pass has nothing to write: conditions, owners, and when objects were seen first.
    """
    moving = {one.key for one in outcome.decisions if one.before != one.after}
    kept_up = {
        key: one.body
        for key, one in next_world(after, outcome).outputs.items()
        if (key in adopted or key not in world.outputs)
        and (owner_of(key, one.body) or key) not in moving
    }
    return {**adopted, **kept_up}


def _is_state(world: World, key: ObjectKey, body: Body) -> bool:
    """Return whether an output is there, or that of the placement that it is a part of."""
    return key in world.outputs or owner_of(key, body) in world.outputs


def _unfit(world: World, outputs: Mapping[ObjectKey, Body], rules: Rules) -> dict[ObjectKey, str]:
    """Return what no pass could read, and why, with all that belongs to the same placement."""
    owners = {key: owner_of(key, body) or key for key, body in outputs.items()}
    reasons: dict[ObjectKey, str] = {}
    for key, body in outputs.items():
        why = why_unfit(output_path(world.output_root, key), written(body), rules)
        if why:
            reasons.setdefault(owners[key], f"no pass could read {key.kind} {key.name}: {why}")
    return {key: reasons[owner] for key, owner in owners.items() if owner in reasons}


def _record(world: World, now: datetime) -> Body:
    """Return the record of a pass at this moment, or else the state would be nobody's."""
    body = record_body(world, now, __version__)
    status = body["status"]
    if not isinstance(status, Mapping):
        return body
    return {**body, "status": {**status, "lastPassAt": format_moment(now)}}

"""Live decisions as our state: what is taken over, and what we would have decided otherwise."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.audit.fleet.placed import owner_of, placed_on
from reconciler.core.changes import Outcome
from reconciler.core.convergence import world_after
from reconciler.core.dialects import DIALECTS, PLACED
from reconciler.core.inputs.document_rules import Rules
from reconciler.core.next_world import next_world
from reconciler.core.reconcile import reconcile
from reconciler.core.record import record_body
from reconciler.imports.files import why_unfit, written
from reconciler.manifests.paths import RECORD, output_path
from reconciler.model.body import Body
from reconciler.model.decision import Decision, Placed
from reconciler.model.explanation import ClusterAnswer, Explanation
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import format_moment
from reconciler.model.world import World
from reconciler.version import __version__

UNKNOWN = "it is no cluster of the repository"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """What adopting live decisions comes to.

    Attributes:
        outputs: The state that is to be written.
        left: Live objects that are not taken over, and why not.
        kept: Live objects that are state already.
        moves: What the first pass would move all the same.
        new: What it would place that has no live decision.
        otherwise: What would be placed otherwise if it were new, sorted.
    """

    outputs: Mapping[ObjectKey, Body]
    left: Mapping[ObjectKey, str]
    kept: frozenset[ObjectKey]
    moves: tuple[Decision, ...]
    new: tuple[Decision, ...]
    otherwise: tuple[Otherwise, ...]


def adopt(world: World, live: Mapping[ObjectKey, Body], now: datetime, rules: Rules) -> Adoption:
    """Return what of live decisions becomes state.

    What a pass has written, with all that belongs to its placement, is never overwritten.

    Args:
        world: The repository, with everything that was imported.
        live: Every live object of the APIs.
        now: Moment at which the state counts as written.
        rules: What outputs are held against: one that cannot be read would be in the way.
    """
    found: dict[ObjectKey, Body] = {}
    left: dict[ObjectKey, str] = {}
    for dialect in DIALECTS:
        adopted = dialect.importer().adopt(world, live, now)
        found |= adopted.outputs
        left |= adopted.left
    kept = frozenset(k for k, body in found.items() if _is_state(world, k, body))
    outputs = {key: body for key, body in found.items() if key not in kept}
    unfit = _unfit(world, outputs, rules)
    left |= unfit
    outputs = {key: body for key, body in outputs.items() if key not in unfit}
    if outputs and RECORD not in world.outputs:
        outputs[RECORD] = _record(world, now)
    after = world_after(world, outputs, (), ())
    outcome = reconcile(after, now) if outputs else Outcome()
    decisions = outcome.decisions
    return Adoption(
        outputs=dict(sorted(_kept_up(world, after, outcome, outputs).items())),
        left=dict(sorted((key, why) for key, why in left.items() if key not in world.outputs)),
        kept=kept,
        moves=tuple(d for d in decisions if d.before and d.before != d.after),
        new=tuple(d for d in decisions if not d.before and d.after),
        otherwise=_otherwise(world, after, outputs.keys(), now),
    )


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


def _otherwise(
    world: World, after: World, outputs: Collection[ObjectKey], now: datetime
) -> tuple[Otherwise, ...]:
    """Return what a pass that knows nothing of the live decisions would place elsewhere."""
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
        subject = f"{key.namespace}/{key.name}" if key.namespace else key.name
        found.append(
            Otherwise(
                key=key,
                subject=subject if decision is None else decision.subject,
                live=live,
                afresh=afresh,
                why=_reasons(live, afresh, explanation),
            )
        )
    return tuple(found)


def _reasons(
    live: Placed, afresh: Placed, explanation: Explanation | None
) -> dict[ClusterName, str]:
    """Return why each cluster that differs does."""
    answers = {a.cluster: a for a in explanation.clusters} if explanation is not None else {}
    before, after = dict(live), dict(afresh)
    return {
        name: _reason(answers.get(name), (name in before, name in after))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    }


def _reason(answer: ClusterAnswer | None, there: tuple[bool, bool]) -> str:
    """Return what scheduling says of a cluster that is there live, afresh, or both."""
    if answer is None:
        return UNKNOWN
    refused = [verdict.reason for verdict in answer.verdicts if verdict.reason]
    if refused:
        return "; ".join(refused)
    match there:
        case True, True:
            return SHARE
        case False, _:
            return CHOSEN
    return answer.note or RANKED

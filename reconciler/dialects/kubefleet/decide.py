"""What becomes of one placement, from its snapshots to its status, and why it moved.

Its causes are what of it and of the clusters is not as it was, and who evicts.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial

from reconciler.dialects.causes import (
    Difference,
    Trials,
    beside_creation,
    causes_of,
    is_explained,
    of_touched,
    with_cause,
)
from reconciler.dialects.cluster_steps import (
    MoveRequest,
    last_move_of,
    move_in,
    waits_of_step,
    with_last_move,
    with_notes,
)
from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.inventory import CopyReports, Earlier
from reconciler.dialects.kubefleet.api.binding import decode_binding, decode_placement_status
from reconciler.dialects.kubefleet.api.member import Members
from reconciler.dialects.kubefleet.api.names import (
    BINDINGS,
    PLACEMENT_GROUP,
    POLICY_SNAPSHOTS,
    subject_of,
)
from reconciler.dialects.kubefleet.api.placement import (
    Placement,
    decode_placement,
    decode_policy,
    scores_of,
)
from reconciler.dialects.kubefleet.api.snapshots import Owner, encode_policy_status, is_latest
from reconciler.dialects.kubefleet.drift_repair import (
    RepairedFiles,
    WantedFiles,
    refused_edit,
    repair_drift,
    with_kept_fields,
)
from reconciler.dialects.kubefleet.eviction import NO_EVICTIONS, Evicted, Evictions, evict
from reconciler.dialects.kubefleet.make_before_break import (
    StepReports,
    chosen_by,
    go_on_moving,
    restated,
)
from reconciler.dialects.kubefleet.placement_cycle import ConvergedPlacement, converge
from reconciler.dialects.kubefleet.rollout.availability import (
    AvailabilityReports,
    Overriding,
    keys_of,
    works_by_cluster,
)
from reconciler.dialects.kubefleet.scheduler.plugins import PlacementRoom
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import decode_snapshot
from reconciler.dialects.kubefleet.snapshots.selection import SelectedResources as Selected
from reconciler.dialects.kubefleet.updaterun.cycle import faults_of_approvals
from reconciler.dialects.kubefleet.updaterun.runs import NO_RUNS, UpdateRuns
from reconciler.dialects.kubefleet.view.files import files_of
from reconciler.dialects.kubefleet.view.record import (
    asked_of,
    decision_on,
    explain,
    known_problem,
    placed,
    placed_bindings,
    unsettled,
)
from reconciler.dialects.kubefleet.view.status import placement_file, refused_file
from reconciler.dialects.object_pass import Part
from reconciler.dialects.scores import Reports, expires_at
from reconciler.errors import UserError
from reconciler.manifests.admission import admit, is_suspended
from reconciler.model.body import Body
from reconciler.model.decision import Cause, CauseKind, Decision
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.moments import earliest
from reconciler.model.records import dataclass, replace
from reconciler.model.world import Manifest, World
from reconciler.rebalance.target import MetDemand


@dataclass(frozen=True, slots=True)
class DemandedPlacement:
    """A placement with everything that differs, or with a part of that.

    `withdrawn` says that nobody asks any more for the move that is under way, if one is.
    """

    manifest: Manifest
    placement: Placement
    demand: RescheduleTrigger | None
    members: Members
    evictions: Evictions
    runs: UpdateRuns = NO_RUNS
    suspended: bool = False
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class FleetBefore:
    """The clusters and the scores of the last pass, each `None` if they are the same."""

    clusters: Earlier[Members] | None
    scores: Earlier[Reports] | None


PlacementDifference = Difference[DemandedPlacement]
Decide = Callable[[DemandedPlacement], Part]


def with_causes(
    question: DemandedPlacement, decide: Decide, world: World, before: FleetBefore
) -> Part:
    """Decide a placement, and name all that it took.

    Args:
        question: The placement as it is.
        decide: Decides it.
        world: Its `earlier` has the placement of the last pass, if that differs.
        before: The fleet of the last pass.
    """
    part = decide(question)
    decision = part.decision
    if decision is None or not is_explained(decision):
        return part
    key = question.manifest.key
    trials = Trials(
        decision, question, lambda asked: None if asked.suspended else decide(asked).decision
    )
    edited = (*_of_clusters(before.clusters), *_of_scores(question, before.scores))
    if decision.cause.kind is CauseKind.CREATED:
        causes = [decision.cause, *beside_creation(trials, edited)]
        return part._replace(decision=with_cause(decision, causes))
    asking = () if question.demand is None else (_asking(question.demand, decision),)
    unasked = trials.without(asking) if asking else decision
    own = (*asking, *_differences(question, unasked, world.earlier.get(key)))
    reported = tuple(_as_told(one, trials.without(own)) for one in edited)
    causes = list(causes_of(trials, (*own, *reported))) if own or reported else []
    return part._replace(decision=with_cause(decision, causes, by_hand=bool(part.edited)))


def _as_told(difference: PlacementDifference, alone: Decision | None) -> PlacementDifference:
    """Return what the clusters did as a decision tells that nothing but they brought about."""
    if alone is None or alone.cause.kind is not CauseKind.CLUSTER_GONE:
        return difference
    return replace(difference, cause=of_touched(alone.cause, alone, difference.cause.sources))


def _of_clusters(clusters: Earlier[Members] | None) -> Iterator[PlacementDifference]:
    """Yield that clusters are not as they were."""
    if clusters is not None:
        yield Difference(
            Cause(CauseKind.CLUSTERS_CHANGED, sources=clusters.keys),
            lambda asked: replace(asked, members=clusters().with_scores(asked.members.scores)),
        )


def _of_scores(
    question: DemandedPlacement, scores: Earlier[Reports] | None
) -> Iterator[PlacementDifference]:
    """Yield that scores which the placement ranks clusters by are not as they were."""
    asked = {one.resource for one in scores_of(decode_policy(question.placement.policy))}
    edited = () if scores is None else tuple(key for key in scores.keys if key.name in asked)
    if scores is not None and edited:
        yield Difference(
            Cause(CauseKind.SCORES_CHANGED, sources=edited),
            lambda asked: replace(asked, members=asked.members.with_scores(scores())),
        )


def _differences(
    question: DemandedPlacement, unasked: Decision | None, earlier: Manifest | None
) -> Iterator[PlacementDifference]:
    """Yield who evicts, and that the placement is not as it was.

    `unasked` is what is decided where nobody asks.
    """
    key = question.manifest.key
    if unasked is not None and unasked.cause.kind is CauseKind.EVICTED:
        yield Difference(unasked.cause, lambda asked: replace(asked, evictions=NO_EVICTIONS))
    if earlier is not None:
        yield from _edits(question.manifest, earlier)
    elif unasked is not None and unasked.cause.kind is CauseKind.PLACEMENT_CHANGED:
        cause = Cause(CauseKind.PLACEMENT_CHANGED, sources=(key,))
        yield Difference(cause, lambda same: same, told=True)  # what it was is lost


def _edits(manifest: Manifest, earlier: Manifest) -> Iterator[PlacementDifference]:
    """Yield what of a placement is not as it was."""
    key, spec = manifest.key, earlier.body.get("spec")
    if is_suspended(earlier.body) and not is_suspended(manifest.body):
        resumed = Cause(CauseKind.RESUMED, sources=(key,))
        yield Difference(resumed, lambda asked: replace(asked, suspended=True))
    if spec != manifest.body.get("spec"):
        before = replace(manifest, held={**manifest.body, "spec": spec})
        was = decode_placement(before.body, key.namespace)
        yield Difference(
            Cause(CauseKind.PLACEMENT_CHANGED, sources=(key,)),
            lambda asked: replace(asked, manifest=before, placement=was),
        )


def _asking(demand: RescheduleTrigger, decision: Decision) -> PlacementDifference:
    """Return that a rebalancer asks, who is told that it was done, and of steps how far it is."""
    said = decision.cause if decision.begun is not None else None
    return Difference(
        Cause(CauseKind.REBALANCED, demand.by, sources=demand.askers) if said is None else said,
        lambda asked: replace(asked, demand=None),
        told=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementFiles:
    """What a placement is decided from beside its manifest and the fleet.

    Attributes:
        left: The outputs that belong to it.
        own: Its status file, `None` without one.
        selection: What it selects, or what is wrong with its selectors.
        works: Its Works, as clusters report them.
        copies: What clusters report.
        overriding: Returns what applies overrides on the clusters of a fleet.
        assume_after_seconds: See `model/settings.py`.
        room: What is free for it, `None` where no room is protected.
    """

    left: Mapping[ObjectKey, Body]
    own: Body | None
    selection: Selected | UserError
    works: tuple[Manifest, ...]
    copies: CopyReports
    overriding: Callable[[Members], Overriding]
    assume_after_seconds: int | None
    room: PlacementRoom | None = None


def decide(asked: DemandedPlacement, files: PlacementFiles, now: datetime) -> Part:
    """Return what becomes of a placement.

    Raises:
        UserError: It cannot be decided, and keeps its files.
    """
    manifest, selection, own = asked.manifest, files.selection, files.own
    key, status = manifest.key, decode_placement_status(own or {})
    record = None if own is None else mapping(own, "metadata")
    admitted, metadata = admit(key, mapping(manifest.body, "spec"), record, now)
    kept_metadata = with_kept_fields(metadata, asked.placement)
    if isinstance(selection, UserError):  # its status says so
        error, generation = selection.message, admitted.generation
        stopped = _stopped(asked, files, selection, now)
        move = move_in(stopped.outputs.get(key))
        metadata = with_last_move(with_notes(kept_metadata, move), own, "")
        refused = refused_file(manifest, generation, metadata, status, error, now)
        return stopped._replace(outputs={**stopped.outputs, key: refused})
    owner = Owner(key.name, uid_of(key), admitted.generation, key.namespace)
    wanted = WantedFiles(
        policy=asked.placement.policy,
        implied=not asked.placement.policy_given,
        selection=selection,
    )
    repaired = repair_drift(owner, files.left, wanted)
    refusal = refused_edit(record or {}, repaired.present.policies, asked.placement)
    if refusal is not None:
        move = move_in(own)
        if move is None or move.surge is None:
            raise refusal
        return _stopped(asked, files, refusal, now)
    return _settled(asked, files, selection, owner, repaired, kept_metadata, now)


def _stopped(
    asked: DemandedPlacement, files: PlacementFiles, error: UserError, now: datetime
) -> Part:
    """Return what becomes of a placement that cannot be decided: a step ends at its deadline."""
    key = asked.manifest.key
    present = {**files.left, **({} if files.own is None else {key: files.own})}
    stopped = decide_stopped(key, present, asked.members, now)
    beside = {**asked.evictions.statuses, **asked.runs.statuses}
    return stopped._replace(
        outputs={**stopped.outputs, **beside},
        faults=(unsettled(asked.manifest, error),),
    )


def _settled(
    asked: DemandedPlacement,
    files: PlacementFiles,
    selection: Selected,
    owner: Owner,
    repaired: RepairedFiles,
    kept_metadata: Body,
    now: datetime,
) -> Part:
    """Return where a placement converges from the files that were left, and its record."""
    placement, members = asked.placement, asked.members
    reports = AvailabilityReports(
        resources=keys_of(selection.resources),
        copies=files.copies,
        works=works_by_cluster(files.works),
        overriding=files.overriding(members),
        snapshots=repaired.present.resources,
        assume_after_seconds=files.assume_after_seconds,
    )
    evicted = evict(asked.evictions, placement, repaired.present.bindings, now, reports)
    present = replace(repaired.present, bindings=evicted.bindings)
    converged = converge(
        placement,
        owner,
        selection,
        present,
        members,
        now,
        reports,
        runs=asked.runs,
        moving=MoveRequest(move_in(files.own), asked.demand, withdrawn=asked.withdrawn),
        room=files.room,
    )
    return _part_of(asked, files, owner, repaired, kept_metadata, evicted, converged, now)


def _part_of(
    asked: DemandedPlacement,
    files: PlacementFiles,
    owner: Owner,
    repaired: RepairedFiles,
    kept_metadata: Body,
    evicted: Evicted,
    converged: ConvergedPlacement,
    now: datetime,
) -> Part:
    """Return the files of a placement where it converges, and what there is to tell of it."""
    manifest, placement, members = asked.manifest, asked.placement, asked.members
    key, status = manifest.key, decode_placement_status(files.own or {})
    outputs = {**files_of(converged, key.namespace, now), **evicted.files}
    for step in converged.runs:
        outputs |= step.outputs(now)
    scored = _scored(converged, members)
    version = str(manifest.body["apiVersion"])
    moved = converged.moved
    after = placed_bindings(converged.bindings.values())
    made = last_move_of(asked.demand, placed(files.left), after, moved.move, now)
    outputs[key] = placement_file(
        placement,
        version,
        with_last_move(with_notes(kept_metadata, moved.move), files.own, made),
        owner.generation,
        converged,
        status,
        now,
    )
    return Part(
        outputs=outputs,
        decision=decision_on(
            key,
            files.left,
            converged,
            members,
            asked.demand,
            known_problem=known_problem(status),
            edited=bool(repaired.edited),
            evicted_by=evicted.by,
        ),
        edited=tuple(
            ObjectKey(PLACEMENT_GROUP, owner.kinds.binding, key.namespace, name)
            for name in repaired.edited
        ),
        faults=(*evicted.faults, *faults_of_approvals(converged.runs)),
        rescheduled=moved.meets(asked.demand),
        met=MetDemand(
            moved.left(chosen_by(converged.bindings.values())),
            taken=0 if moved.step is None else len(moved.step.taken),
            given_up=moved.given_up,
        ),
        until=earliest(
            converged.until, evicted.until, expires_at(scored, members.scores or {}, now)
        ),
        waits=waits_of_step(key, subject_of(key), moved.move),
        explain=partial(
            explain,
            asked_of(
                key,
                converged,
                members,
                now,
                external=files.overriding(members) if placement.is_external else None,
            ),
        ),
        scored=scored,
    )


def _scored(converged: ConvergedPlacement, members: Members) -> frozenset[str]:
    """Return the resources by whose scores the scheduler has chosen, if it looked."""
    if converged.result is None or members.scores is None:
        return frozenset()
    return frozenset(one.resource for one in scores_of(converged.snapshot.policy))


def decide_stopped(
    key: ObjectKey, present: Mapping[ObjectKey, Body], members: Members, now: datetime
) -> Part:
    """Return what becomes of a placement that is suspended, or that a person must mend.

    It stays as it is; of a step under way only the deadline acts.

    Args:
        key: The placement.
        present: Its files, the status file among them.
        members: Everyone, at `now`.
        now: Moment of the pass.

    Raises:
        UserError: A file of it cannot be read.
    """
    move = move_in(present.get(key))
    if move is None or move.surge is None or now < move.surge.deadline:
        until = None if move is None or move.surge is None else move.surge.deadline
        return Part(outputs=present, until=until, waits=waits_of_step(key, subject_of(key), move))
    found = [decode_binding(body) for one, body in present.items() if one.kind in BINDINGS]
    state = StepReports(reports=None)
    moved, bindings = go_on_moving(move, {one.name: one for one in found}, members, state, now)
    policies = {one.name: b for one, b in present.items() if one.kind in POLICY_SNAPSHOTS}
    name, latest = next(one for one in policies.items() if is_latest(one[1]))
    snapshot = decode_snapshot(latest)
    status = restated(snapshot, bindings, now)
    if status is not None:
        policies[name] = {**latest, "status": encode_policy_status(status)}
    converged = ConvergedPlacement(
        policies=policies,
        resources={},
        bindings=bindings,
        snapshot=snapshot,
        until=None,
        result=None,
        moved=moved,
    )
    metadata = with_notes(mapping(present[key], "metadata"), moved.move)
    kept = {one: body for one, body in present.items() if one.kind not in BINDINGS}
    outputs = {**kept, **files_of(converged, key.namespace, now)}
    outputs[key] = {**present[key], "metadata": metadata}
    return Part(
        outputs=outputs,
        decision=decision_on(
            key, present, converged, members, None, known_problem="", edited=False
        ),
        rescheduled=moved.meets(None),
        met=MetDemand(given_up=moved.given_up),
    )

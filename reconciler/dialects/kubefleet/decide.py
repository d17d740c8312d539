"""What becomes of one placement: from its snapshots to its status."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from reconciler.dialects.copy_reports import CopyReports
from reconciler.dialects.kubefleet.api.clusters import Members
from reconciler.dialects.kubefleet.api.immutable_fields import refuse_edit, with_kept_fields
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.api.placement_status import decode_placement_status
from reconciler.dialects.kubefleet.api.score_property import scores_of
from reconciler.dialects.kubefleet.causes import DemandedPlacement
from reconciler.dialects.kubefleet.drift_repair import RepairedFiles, WantedFiles, repair_drift
from reconciler.dialects.kubefleet.eviction.evictions import evict
from reconciler.dialects.kubefleet.placement_cycle import ConvergedPlacement, converge
from reconciler.dialects.kubefleet.rollout.availability_reports import (
    AvailabilityReports,
    keys_of,
    works_by_cluster,
)
from reconciler.dialects.kubefleet.rollout.overridden import Overriding
from reconciler.dialects.kubefleet.scheduler.protected_room import PlacementRoom
from reconciler.dialects.kubefleet.snapshots.resource_selection import SelectedResources as Selected
from reconciler.dialects.kubefleet.snapshots.revision import Owner
from reconciler.dialects.kubefleet.updaterun.ignored_approvals import faults_of_approvals
from reconciler.dialects.kubefleet.view.decision_record import (
    decision_on,
    known_problem,
    unsettled,
)
from reconciler.dialects.kubefleet.view.explanation import asked_of, explain
from reconciler.dialects.kubefleet.view.files import files_of
from reconciler.dialects.kubefleet.view.status import placement_file, refused_file
from reconciler.dialects.object_pass import Part
from reconciler.dialects.scores.reports import expires_at
from reconciler.errors import UserError
from reconciler.manifests.admission import admit
from reconciler.model.availability import Silence
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.moments import earliest
from reconciler.model.world import WRITES_ASSUMED, Manifest


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
        silence: How that of clusters without a report is taken.
        rules: By which rules it is decided, see `model/world.py`.
        room: What is free for it, `None` where no room is protected.
    """

    left: Mapping[ObjectKey, Body]
    own: Body | None
    selection: Selected | UserError
    works: tuple[Manifest, ...]
    copies: CopyReports
    overriding: Callable[[Members], Overriding]
    silence: Silence
    rules: int
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
    kept = with_kept_fields(metadata, asked.placement)
    if isinstance(selection, UserError):  # only its status says so
        error, generation = selection.message, admitted.generation
        told = refused_file(manifest, generation, kept, status, error, now)
        beside = {**asked.evictions.statuses, **asked.runs.statuses}
        return Part(
            outputs={**files.left, **beside, key: told},
            faults=(unsettled(manifest, selection),),
        )
    owner = Owner(key.name, uid_of(key), admitted.generation, key.namespace)
    wanted = WantedFiles(
        policy=asked.placement.policy,
        implied=not asked.placement.policy_given and files.rules != WRITES_ASSUMED,
        selection=selection,
    )
    repaired = repair_drift(owner, files.left, wanted)
    refuse_edit(record or {}, repaired.present.policies, asked.placement)
    return _settled(asked, files, selection, owner, repaired, kept, now)


def _settled(
    asked: DemandedPlacement,
    files: PlacementFiles,
    selection: Selected,
    owner: Owner,
    repaired: RepairedFiles,
    kept: Body,
    now: datetime,
) -> Part:
    """Return where a placement converges from the files that were left, with `kept` as record."""
    manifest, placement, members = asked.manifest, asked.placement, asked.members
    key, left, status = manifest.key, files.left, decode_placement_status(files.own or {})
    reports = AvailabilityReports(
        resources=keys_of(selection.resources),
        copies=files.copies,
        works=works_by_cluster(files.works),
        overriding=files.overriding(members),
        snapshots=repaired.present.resources,
        silence=files.silence,
    )
    rebalanced = asked.demand is not None
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
        rebalanced=rebalanced,
        room=files.room,
    )
    outputs = {**files_of(converged, key.namespace, now), **evicted.files}
    for step in converged.runs:
        outputs |= step.outputs(now)
    scored = _scored(converged, members)
    version = str(manifest.body["apiVersion"])
    listed = files.rules != WRITES_ASSUMED
    outputs[key] = placement_file(
        placement, version, kept, owner.generation, converged, status, now, listed=listed
    )
    return Part(
        outputs=outputs,
        decision=decision_on(
            key,
            left,
            converged,
            members,
            asked.demand,
            known_problem=known_problem(status),
            edited=bool(repaired.edited),
            evicted_by=evicted.by,
        ),
        edited=tuple(
            ObjectKey(GROUP, owner.kinds.binding, key.namespace, name) for name in repaired.edited
        ),
        faults=(*evicted.faults, *faults_of_approvals(converged.runs)),
        rescheduled=rebalanced,
        until=earliest(
            converged.until, evicted.until, expires_at(scored, members.scores or {}, now)
        ),
        explain=partial(
            explain, asked_of(key, converged, members, now, external=placement.is_external)
        ),
        scored=scored,
    )


def _scored(converged: ConvergedPlacement, members: Members) -> frozenset[str]:
    """Return the resources by whose scores the scheduler has chosen, if it looked."""
    if converged.result is None or members.scores is None:
        return frozenset()
    return frozenset(one.resource for one in scores_of(converged.snapshot.policy))

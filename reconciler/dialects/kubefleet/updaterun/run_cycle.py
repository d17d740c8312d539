"""The runs of a placement in a pass: rounds of each, until none of them does anything more.

Upstream's controller comes back every 15 or 60 seconds to see whether a cluster is available or a
request approved. Here each pass looks at all of that, and says at which moment time alone would
change something.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.kinds import kinds_in, named_in
from reconciler.dialects.kubefleet.api.names import API_VERSION, BOUND, GROUP, RESOURCE_HASH
from reconciler.dialects.kubefleet.api.placement import Placement, decode_placement
from reconciler.dialects.kubefleet.api.updates.approval_request import (
    ApprovalRequest,
    encode_spec,
    readable_request,
)
from reconciler.dialects.kubefleet.api.updates.update_run import (
    INITIALIZE,
    RunStatus,
    StageStatus,
    UpdateRun,
    decode_run,
    encode_run_status,
    readable_run_status,
)
from reconciler.dialects.kubefleet.api.updates.update_strategy import decode_stages, with_defaults
from reconciler.dialects.kubefleet.rollout.availability_reports import AvailabilityReports
from reconciler.dialects.kubefleet.snapshots.revision import SnapshotRevisions, annotations_of
from reconciler.dialects.kubefleet.updaterun.approvals import (
    FIRST_GENERATION,
    KnownRun,
    known_run,
    names_run,
    owner_reference,
    with_approvals,
)
from reconciler.dialects.kubefleet.updaterun.marks import SUCCEEDED, status_of
from reconciler.dialects.kubefleet.updaterun.round_progress import Waits
from reconciler.dialects.kubefleet.updaterun.run_draft import OverridesOf, RunView
from reconciler.dialects.kubefleet.updaterun.run_round import run_round
from reconciler.dialects.kubefleet.updaterun.update_runs import RunFiles, UpdateRuns, run_uid
from reconciler.manifests.admission import admit
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ClusterName, ObjectKey, uid_of
from reconciler.model.moments import stamp
from reconciler.model.world import World

SPARE_ROUNDS = 8  # ours: rounds beyond two a binding and two a stage, for their ends and waits


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTargets:
    """What all runs of a placement look at.

    Attributes:
        placement: The placement, `None` if there is none.
        policies: Its policy snapshots.
        resources: Its resource snapshots, those of what is selected now among them.
        clusters: Labels of every cluster.
        reports: What clusters report.
        now: Aware UTC.
    """

    placement: Placement | None
    policies: Sequence[Body] = ()
    resources: SnapshotRevisions = field(default_factory=lambda: SnapshotRevisions(snapshots={}))
    clusters: Mapping[ClusterName, Mapping[str, str]] = field(default_factory=dict)
    reports: AvailabilityReports = field(default_factory=AvailabilityReports)
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStep:
    """How far one run is.

    Attributes:
        files: Its manifest, and what it is decided from.
        run: What it asks for.
        generation: Of the run.
        metadata: Of its status file.
        status: Its status.
        requests: The requests that it made, by name.
        waits: What it waits for.
        until: When time alone could change something, `None` if never.
        error: Why it does not go on though it is not over, `""` if it does.
    """

    files: RunFiles
    run: UpdateRun
    generation: int
    metadata: Body
    status: RunStatus
    requests: Mapping[str, ApprovalRequest]
    waits: Waits = Waits.NOTHING
    until: datetime | None = None
    error: str = ""

    @property
    def known(self) -> KnownRun:
        """The run as approvals name it."""
        key = self.files.manifest.key
        return known_run(key, text(self.metadata, "uid"), self.status)

    @property
    def made(self) -> tuple[RunStatus, Mapping[str, ApprovalRequest]]:
        """What rounds make of it."""
        return self.status, self.requests

    def outputs(self, now: datetime) -> dict[ObjectKey, Body]:
        """Return its status file, and those of the requests that it made."""
        manifest = self.files.manifest
        key, uid = manifest.key, text(self.metadata, "uid")
        kind = kinds_in(key.namespace).approval_request
        outputs: dict[ObjectKey, Body] = {}
        for request in self.requests.values():
            own = ObjectKey(GROUP, kind, key.namespace, request.name)
            present = mapping(self.files.requests.get(own, {}), "metadata")
            metadata = {
                **named_in(key.namespace, request.name),
                "uid": uid_of(own),
                "creationTimestamp": text(present, "creationTimestamp") or stamp(now),
                "generation": FIRST_GENERATION,
                "labels": dict(request.labels),
                "ownerReferences": [owner_reference(key, uid)],
            }
            outputs[own] = {
                "apiVersion": API_VERSION,
                "kind": kind,
                "metadata": metadata,
                "spec": encode_spec(request),
                "status": {"conditions": list(request.conditions)},
            }
        outputs[key] = {
            "apiVersion": manifest.body["apiVersion"],
            "kind": key.kind,
            "metadata": self.metadata,
            "status": encode_run_status(self.status),
        }
        return outputs


def begin_runs(runs: UpdateRuns, now: datetime) -> tuple[RunStep, ...]:
    """Return the runs of a placement as they stand, those seen first before others.

    Raises:
        UserError: A field of their files has the wrong type.
    """
    found = []
    for files in runs.runs:
        manifest, own = files.manifest, files.own
        key = manifest.key
        record = None if own is None else mapping(own, "metadata")
        admitted, metadata = admit(key, mapping(manifest.body, "spec"), record, now)
        uid = run_uid(key, text(metadata, "creationTimestamp"))
        run = decode_run(manifest.body, key.namespace)
        step = RunStep(
            files=files,
            run=replace(run, state=run.state or INITIALIZE),
            generation=admitted.generation,
            metadata={**metadata, "uid": uid},
            status=readable_run_status(own),
            requests=_own_requests(files, uid),
        )
        found.append((admitted.created_at, key, step))
    return tuple(step for _, _, step in sorted(found, key=lambda entry: entry[:2]))


def _own_requests(files: RunFiles, uid: str) -> dict[str, ApprovalRequest]:
    """Return the requests that a run made; those of one before it may stand where its did."""
    own = (body for body in files.requests.values() if names_run(body, uid))
    return {one.name: one for one in map(readable_request, own) if one is not None}


def rounds_of(steps: Iterable[RunStep]) -> int:
    """Return how many rounds runs may need beyond two for each binding."""
    stages = (decode_stages(one.files.strategy or one.status.strategy or {}) for one in steps)
    return sum(2 * len(found) + SPARE_ROUNDS for found in stages)


def go_on(
    steps: Sequence[RunStep], bindings: Mapping[str, Binding], targets: RunTargets
) -> tuple[tuple[RunStep, ...], Mapping[str, Binding]]:
    """Run one round of each run, one after the other; a deleted binding is gone at once."""
    found = []
    for step in steps:
        done, bindings = (step, bindings) if step.files.waiting else _round(step, bindings, targets)
        found.append(done)
    return tuple(found), bindings


def _round(
    step: RunStep, bindings: Mapping[str, Binding], targets: RunTargets
) -> tuple[RunStep, Mapping[str, Binding]]:
    strategy = step.files.strategy
    view = RunView(
        run=step.run,
        generation=step.generation,
        now=targets.now,
        placement=targets.placement,
        policies=targets.policies,
        resources=targets.resources.snapshots,
        clusters=targets.clusters,
        strategy=None if strategy is None else with_defaults(strategy),
        select=lambda: targets.resources,
        overrides=partial(_overrides, targets.reports, bindings),
    )
    requests = with_approvals(step.requests, step.files.approvals, step.known)
    status = _with_overrides(step.status, bindings)
    found = run_round(view, status, bindings, _of_run(requests, step.run.name))
    known = replace(
        step,
        status=found.status,
        requests=found.requests,
        waits=found.waits,
        until=found.until,
        error=found.error,
    )
    gone = set(found.deleted)
    return known, {name: one for name, one in found.bindings.items() if name not in gone}


def _of_run(requests: Mapping[str, ApprovalRequest], run: str) -> dict[str, ApprovalRequest]:
    """Return the requests that are of a run; files of passes hold no others."""
    return {name: one for name, one in requests.items() if one.run == run}


def _overrides(
    reports: AvailabilityReports, bindings: Mapping[str, Binding], group: Sequence[Body]
) -> OverridesOf:
    """Return what says which overrides there are for each cluster, of a group of snapshots.

    Unlike upstream: those of a placement of a namespace are looked up under its whole name.
    """
    master = next(one for one in group if annotations_of(one).get(RESOURCE_HASH))
    snapshot = text(mapping(master, "metadata"), "name")
    by_target = {one.target: one for one in bindings.values()}

    def found(cluster: ClusterName) -> Body:
        planned = by_target[cluster]._replace(resource_snapshot=snapshot)
        return reports.overridden(planned).lists

    return found


def _with_overrides(status: RunStatus, bindings: Mapping[str, Binding]) -> RunStatus:
    """Return a status whose clusters have the overrides that their bindings have.

    Unlike upstream: an override that comes or goes applies at once, and ends no run.
    """
    if status.stages is None or status_of(status.conditions, SUCCEEDED):
        return status
    lists = {one.target: one.overrides for one in bindings.values() if one.state == BOUND}

    def told(stage: StageStatus) -> StageStatus:
        clusters = (
            one._replace(overrides=lists.get(ClusterName(one.cluster), one.overrides))
            for one in stage.clusters
        )
        return stage._replace(clusters=tuple(clusters))

    return status._replace(stages=tuple(map(told, status.stages)))


def without_placement(
    by_placement: Mapping[ObjectKey, UpdateRuns],
    placements: Collection[ObjectKey],
    world: World,
    now: datetime,
) -> dict[ObjectKey, Body]:
    """Return the files of the runs whose placement is not there, or is leaving."""
    files: dict[ObjectKey, Body] = {}
    for key, runs in by_placement.items():
        if key in placements:
            continue
        leaving = world.inputs.get(key)
        placement = None if leaving is None else decode_placement(leaving.body, key.namespace)
        steps, _ = go_on(begin_runs(runs, now), {}, RunTargets(placement=placement, now=now))
        for step in steps:
            files |= step.outputs(now)
    return files

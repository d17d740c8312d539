"""The runs of a placement in a pass: rounds of each, until none of them does anything more.

Upstream's controller comes back every 15 or 60 seconds to see whether a cluster is available or a
request approved, and a round is what it does each time. Here each pass looks at all of that, and
says at which moment time alone would change something.

People approve by files of theirs that name a request of a run, by its uid. An approval that counts
for nothing is a fault that says so.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import (
    API_VERSION,
    PLACEMENT_GROUP,
    RESOURCE_HASH,
    SCHEDULED,
    SCOPES,
    VERSIONS,
    kinds_in,
    named_in,
)
from reconciler.dialects.kubefleet.api.placement import Placement, decode_placement
from reconciler.dialects.kubefleet.api.snapshots import SnapshotRevisions, annotations_of
from reconciler.dialects.kubefleet.api.updates import (
    AFTER,
    BEFORE,
    INITIALIZE,
    RUN,
    STOP,
    ApprovalRequest,
    RunStatus,
    UpdateRun,
    decode_run,
    encode_run_status,
    encode_spec,
    new_request,
    readable_request,
    readable_run_status,
    with_defaults,
)
from reconciler.dialects.kubefleet.api.updates import APPROVED_CONDITION as APPROVED
from reconciler.dialects.kubefleet.rollout.availability import AvailabilityReports
from reconciler.dialects.kubefleet.updaterun.execution import execute, stop
from reconciler.dialects.kubefleet.updaterun.initialization import (
    ChosenClusters,
    initialize,
    validate,
)
from reconciler.dialects.kubefleet.updaterun.runs import (
    AT_REST,
    INITIALIZED,
    RUN_STOPPED,
    RUN_SUCCEEDED,
    SUCCEEDED,
    UNEXPECTED,
    OverridesOf,
    RoundProgress,
    RunAborted,
    RunDraft,
    RunFiles,
    RunPostponed,
    RunView,
    UpdateRuns,
    Waits,
    found,
    marked,
    renewed,
    run_failed,
    run_not_initialized,
    run_uid,
    stage_failed,
)
from reconciler.dialects.kubefleet.updaterun.runs import condition_status as status_of
from reconciler.manifests.admission import admit
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ClusterName, ObjectKey, uid_of
from reconciler.model.moments import stamp
from reconciler.model.records import dataclass, field, replace
from reconciler.model.world import Fault, Manifest, World
from reconciler.staging.strategy import decode_stages


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRound:
    """What one round of a run did.

    Attributes:
        status: The status of the run.
        bindings: All bindings, by name; those to be deleted included.
        requests: Approval requests, by name.
        deleted: Names of the bindings whose deletion starts.
        made: Resource snapshots that it made, by name.
        asked: Names of the approval requests that it looked at.
        waits: What the run waits for.
        until: When time alone could change something, `None` if never.
        error: Why it did not go on though it is not over, `""` if it did.
    """

    status: RunStatus
    bindings: Mapping[str, Binding]
    requests: Mapping[str, ApprovalRequest]
    deleted: tuple[str, ...] = ()
    made: Mapping[str, Body]
    asked: tuple[str, ...] = ()
    waits: Waits = Waits.NOTHING
    until: datetime | None = None
    error: str = ""


def run_round(
    view: RunView,
    status: RunStatus,
    bindings: Mapping[str, Binding],
    requests: Mapping[str, ApprovalRequest],
) -> RunRound:
    """Return what one round makes of a run.

    Args:
        view: What it looks at.
        status: The status so far.
        bindings: All bindings of the placement, by name.
        requests: All approval requests of the place where the run stands, by name.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/controller.go `Reconcile`.
    """
    initialized = status_of(status.conditions, INITIALIZED)
    over = initialized == "False" or status_of(status.conditions, SUCCEEDED)
    present = _round_of(RunDraft(view, status, dict(bindings), dict(requests)))
    if over:
        return present
    fresh = renewed(status, view.generation)
    draft = RunDraft(view, fresh, dict(bindings), dict(requests))
    try:
        chosen, index = validate(draft) if initialized else (initialize(draft), 0)
    except RunPostponed as error:
        return RunRound(
            status=status,
            bindings=bindings,
            requests=requests,
            made=draft.made,
            error=error.message,
        )
    except RunAborted as error:
        failed = run_failed(error.message)
        draft.mark(*failed if initialized else (run_not_initialized(error.message),))
        return _round_of(draft)
    if index is None:
        draft.mark(*RUN_SUCCEEDED)
        return _round_of(draft)
    if view.run.state == INITIALIZE:
        return present if initialized else _round_of(draft)
    if view.run.state not in (RUN, STOP):
        text = f"{UNEXPECTED}found unsupported updateRun state: {view.run.state}"
        draft.mark(*run_failed(text))
        return _round_of(draft)
    return _move(draft, index, chosen)


def _move(draft: RunDraft, index: int, chosen: ChosenClusters) -> RunRound:
    """Go on with a stage, or stop in it."""
    runs = draft.view.run.state == RUN
    move = execute if runs else stop
    try:
        progress = move(draft, index, chosen)
    except RunAborted as error:
        stage = draft.stage(index)
        conditions = marked(stage.conditions, draft, *stage_failed(error.message))
        ended_at = stage.ended_at or draft.at
        draft.put(index, stage._replace(conditions=conditions, ended_at=ended_at))
        draft.mark(*run_failed(error.message))
        return _round_of(draft)
    except RunPostponed as error:
        return _round_of(draft, error=error.message)
    if progress.finished:
        draft.mark(*RUN_SUCCEEDED if runs else (RUN_STOPPED,))
    return _round_of(draft, progress)


def _round_of(draft: RunDraft, progress: RoundProgress = AT_REST, *, error: str = "") -> RunRound:
    return RunRound(
        status=draft.status,
        bindings=draft.bindings,
        requests=draft.requests,
        deleted=tuple(draft.deleted),
        made=draft.made,
        asked=tuple(draft.asked),
        waits=progress.waits,
        until=progress.until,
        error=error,
    )


FIRST_GENERATION = 1
"""Of every request: its spec never changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRun:
    """A run as approvals name it.

    Attributes:
        key: The run.
        uid: Its uid.
        requests: All requests that it makes in its time, by name.
    """

    key: ObjectKey
    uid: str
    requests: Mapping[str, ApprovalRequest]


def known_run(key: ObjectKey, uid: str, status: RunStatus) -> KnownRun:
    """Return a run with all requests that its stages need."""
    return KnownRun(key=key, uid=uid, requests={r.name: r for r in _requests(key.name, status)})


def _requests(run: str, status: RunStatus) -> Iterator[ApprovalRequest]:
    for stage in status.stages or ():
        for place, tasks in ((BEFORE, stage.before), (AFTER, stage.after)):
            for task in tasks:
                if task.request:
                    yield new_request(task.request, run, stage.name, place)


def owner_reference(run: ObjectKey, uid: str) -> Body:
    """Return how an approval names its run."""
    return {"apiVersion": API_VERSION, "kind": run.kind, "name": run.name, "uid": uid}


def names_run(request: Body, uid: str) -> bool:
    """Return whether a request, or what approves one, names a run by its uid."""
    owners = bodies(mapping(request, "metadata"), "ownerReferences")
    return any(text(one, "uid") == uid for one in owners)


def refusal_of(approval: Manifest, run: KnownRun | None) -> tuple[str, str]:
    """Return what keeps an approval from counting: where in it, and why; both empty if it counts.

    An approval counts if it names the uid of a run that is there, a request of that run, the stage
    of that request, and the request's generation.

    Args:
        approval: A person's file.
        run: The run that it names, `None` if there is none.

    Source: ours; upstream's request is made by the run and approved in place.
    """
    name, spec = approval.key.name, mapping(approval.body, "spec")
    kind = kinds_in(approval.key.namespace).run
    wanted = text(spec, "parentStageRollout")
    if run is None:
        return "/spec/parentStageRollout", f"there is no {kind} {wanted}"
    if not names_run(approval.body, run.uid):
        reason = f"it names no uid, or that of another run; the {kind} {wanted} has {run.uid}"
        return "/metadata/ownerReferences", reason
    request = run.requests.get(name)
    if request is None:
        return "/metadata/name", f"the {kind} {wanted} asks for no approval of this name"
    if text(spec, "targetStage") != request.stage:
        return "/spec/targetStage", f"the request is about the stage {request.stage}"
    approved = found(bodies(mapping(approval.body, "status"), "conditions"), APPROVED)
    if not approved:
        return "/status/conditions", f"it has no condition {APPROVED}"
    generation = number(approved, "observedGeneration")
    if generation != FIRST_GENERATION:
        reason = f"it is about the generation {generation} of the request, which has another"
        return "/status/conditions", reason
    return "", ""


def with_approvals(
    requests: Mapping[str, ApprovalRequest], approvals: Iterable[Manifest], run: KnownRun
) -> dict[str, ApprovalRequest]:
    """Return the requests of a run with what people say of them now, and nothing else they said.

    An approval that is taken back leaves the request as it was accepted.
    """
    said = {one.key.name: one for one in approvals if refusal_of(one, run) == ("", "")}
    return {name: _request_with(request, said.get(name)) for name, request in requests.items()}


def _request_with(request: ApprovalRequest, approval: Manifest | None) -> ApprovalRequest:
    others = [one for one in request.conditions if one.get("type") != APPROVED]
    if approval is None:
        return request._replace(conditions=tuple(others))
    status = mapping(approval.body, "status")
    return request._replace(conditions=(found(bodies(status, "conditions"), APPROVED), *others))


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
            own = ObjectKey(PLACEMENT_GROUP, kind, key.namespace, request.name)
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
            "metadata": self._marked(),
            "status": encode_run_status(self.status),
        }
        return outputs

    def _marked(self) -> Body:
        """Return the metadata of its status file, with the versions of overrides that it holds."""
        held = self.status.overrides
        if not held:
            return self.metadata
        annotations = {**mapping(self.metadata, "annotations"), VERSIONS: held}
        return {**self.metadata, "annotations": annotations}


def begin_runs(runs: UpdateRuns, now: datetime) -> tuple[RunStep, ...]:
    """Return the runs of a placement as they stand, those seen first before others.

    Raises:
        UserError: A field of their files has the wrong type.
    """
    steps = []
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
        steps.append((admitted.created_at, key, step))
    return tuple(step for _, _, step in sorted(steps, key=lambda entry: entry[:2]))


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
        versions=targets.reports.overriding.versions,
    )
    requests = with_approvals(step.requests, step.files.approvals, step.known)
    outcome = run_round(view, step.status, bindings, _of_run(requests, step.run.name))
    after = replace(
        step,
        status=outcome.status,
        requests=outcome.requests,
        waits=outcome.waits,
        until=outcome.until,
        error=outcome.error,
    )
    gone = set(outcome.deleted)
    return after, {name: one for name, one in outcome.bindings.items() if name not in gone}


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
        planned = by_target[cluster]._replace(resource_snapshot=snapshot, state=SCHEDULED)
        return reports.overridden(planned).lists

    return found


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


def ignored_approvals(step: RunStep) -> Iterator[tuple[Manifest, str, str]]:
    """Yield the approvals of a run that count for nothing: where in them, and why."""
    if step.status.stages is not None:
        for approval in step.files.approvals:
            where, why = refusal_of(approval, step.known)
            if why:
                yield approval, where, why


def faults_of_approvals(steps: Iterable[RunStep]) -> Iterator[Fault]:
    """Yield the faults of the approvals that count for nothing."""
    for step in steps:
        for approval in ignored_approvals(step):
            yield ignored(*approval)


def ignored(approval: Manifest, field: str, why: str) -> Fault:
    """Return the fault of an approval that counts for nothing."""
    return Fault(
        path=approval.origin.path,
        line=0,
        column=0,
        field=field,
        rule="approval-ignored",
        message=f"{approval.key.name} approves nothing: {why}",
        expected="what reconciler approve writes, or no such file",
        subject=str(approval.key),
    )


def approvals_without_run(world: World) -> Iterator[Fault]:
    """Yield the faults of approvals whose run is not there."""
    for kinds in SCOPES:
        for request in world.of_kind(PLACEMENT_GROUP, kinds.approval_request):
            name = text(mapping(request.body, "spec"), "parentStageRollout")
            run = ObjectKey(PLACEMENT_GROUP, kinds.run, request.key.namespace, name)
            if run not in world.inputs and str(run) not in world.in_doubt:
                yield ignored(request, *refusal_of(request, None))

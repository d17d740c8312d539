"""What hangs on a placement: snapshots, bindings, clusters, copies, and the runs that roll it out.

For copies it says whether they are available, and whose turn comes first. For staged update runs it
says how far they are, which placements wait for a run, what runs ask people for, and how people
approve that.

A MemberCluster is emptied by the taint of a cordon, and an eviction for each placement. An eviction
is judged once, so budgets count; one that was blocked stays so, and another is made beside it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain

from reconciler.dialects.kubefleet.api.binding import (
    Binding,
    decode_binding,
    resource_snapshot_of,
    state_of,
    target_of,
)
from reconciler.dialects.kubefleet.api.member import member_labels
from reconciler.dialects.kubefleet.api.names import (
    API_VERSION,
    AVAILABLE,
    BOUND,
    CLUSTER,
    CLUSTER_SCOPED,
    IS_LATEST,
    PARENT,
    PLACEMENT_GROUP,
    PLACEMENTS,
    SCOPES,
    STRATEGIES,
    UNSCHEDULED,
    kinds_in,
    named_in,
    placement_key,
    subject_of,
)
from reconciler.dialects.kubefleet.api.override_admission import (
    EvictionRequest,
    decode_request,
    encode_request,
    refuse_eviction,
)
from reconciler.dialects.kubefleet.api.placement import (
    decode_placement,
    decode_policy,
    latest_master,
    waits_for_runs,
)
from reconciler.dialects.kubefleet.api.updates import (
    ACCEPTED,
    APPROVED_CONDITION,
    INITIALIZE,
    ApprovalRequest,
    RunStatus,
    StageStatus,
    UpdateRun,
    decode_run,
    encode_spec,
    readable_request,
    readable_run_status,
)
from reconciler.dialects.kubefleet.eviction import EVICTION, EXECUTED, is_over
from reconciler.dialects.kubefleet.rollout.rollout import APPLIED
from reconciler.dialects.kubefleet.snapshots.overrides import MemberLabels, OverrideTable
from reconciler.dialects.kubefleet.updaterun.cycle import (
    FIRST_GENERATION,
    KnownRun,
    RunStep,
    ignored_approvals,
    known_run,
    owner_reference,
    refusal_of,
)
from reconciler.dialects.kubefleet.updaterun.runs import (
    INITIALIZED,
    PROGRESSING,
    REQUESTED,
    STUCK,
    SUCCEEDED,
    found,
)
from reconciler.dialects.kubefleet.updaterun.runs import REQUEST_APPROVED as APPROVED
from reconciler.dialects.kubefleet.updaterun.runs import condition_status as status_of
from reconciler.dialects.kubefleet.view.placed import CORDON, clusters_in, owner_of, placement_of
from reconciler.dialects.kubefleet.workgenerator.content import (
    PlacementContent,
    overrides_behind,
    snapshots_of_placement,
)
from reconciler.dialects.view import (
    DRAINS,
    FINE,
    Approval,
    Copies,
    CopyStatus,
    Draining,
    Report,
    TreeNode,
    condition_facts,
    node_of,
    status_in,
    tolerated_for_ever,
    waits_for_health,
)
from reconciler.errors import UserError
from reconciler.manifests.admission import is_suspended
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass, field
from reconciler.model.world import Manifest, World
from reconciler.rebalance.surge import Surge, surge_in


def tree_of(world: World, key: ObjectKey) -> TreeNode:
    """Return the snapshots of a placement, with the bindings that use them and their clusters.

    Of a run it is how far that is, of a strategy the runs that follow it. What else there is has no
    conditions that anybody judged.
    """
    if key[:2] in STRATEGIES:
        return node_of(key, children=tuple(_following(world, key)))
    if key.kind == kinds_in(key.namespace).run:
        return _run(world, key) or node_of(key)
    placed = key.kind in PLACEMENTS
    facts = condition_facts(status_in(world, key), prefix=key.kind, good={}) if placed else {}
    return node_of(key, facts, (*_snapshots(world, key), *_runs(world, key)))


def _following(world: World, key: ObjectKey) -> Iterator[TreeNode]:
    """Yield the runs whose stages a strategy says, and how far each is."""
    for manifest in world.of_kind(PLACEMENT_GROUP, kinds_in(key.namespace).run):
        named = decode_run(manifest.body, manifest.key.namespace).strategy == key.name
        if (
            named
            and manifest.key.namespace == key.namespace
            and (node := _run(world, manifest.key))
        ):
            yield node


def _runs(world: World, key: ObjectKey) -> Iterator[TreeNode]:
    """Yield the staged update runs that roll a placement out, and how far each is."""
    for manifest in world.of_kind(PLACEMENT_GROUP, kinds_in(key.namespace).run):
        if placement_of(world, manifest.key) == key and (node := _run(world, manifest.key)):
            yield node


def _run(world: World, key: ObjectKey) -> TreeNode | None:
    """Return how far a run is, `None` if nobody wrote it."""
    written, own = world.inputs.get(key), world.outputs.get(key)
    if written is None:
        return None
    status = readable_run_status(None if own is None else own.body)
    return node_of(key, {"run": run_sentence(decode_run(written.body, key.namespace), status)})


def _snapshots(world: World, key: ObjectKey) -> Iterator[TreeNode]:
    """Yield the latest policy, then each snapshot of resources with the bindings that use it."""
    kinds = kinds_in(key.namespace)
    own = world.outputs.get(key)
    surge = None if own is None else surge_in(own.body)
    bindings = [
        manifest
        for found, manifest in sorted(world.outputs.items())
        if found.kind == kinds.binding and owner_of(found, manifest.body) == key
    ]
    for child, manifest in sorted(world.outputs.items()):
        labels = mapping(mapping(manifest.body, "metadata"), "labels")
        is_own = (child.group, child.namespace) == (PLACEMENT_GROUP, key.namespace)
        if not is_own or text(labels, PARENT) != key.name:
            continue
        latest = text(labels, IS_LATEST) == "true"
        if child.kind == kinds.policy_snapshot and latest:
            yield node_of(child, {"latest": "true"})
        if child.kind == kinds.resource_snapshot:
            using = (b for b in bindings if _snapshot_of(b) == child.name)
            users = tuple(_fleet_binding(b, surge) for b in using)
            if users or latest:
                yield node_of(child, {"latest": str(latest).lower()}, users)
    for binding in bindings:
        name = _snapshot_of(binding)
        snapshot = ObjectKey(PLACEMENT_GROUP, kinds.resource_snapshot, key.namespace, name)
        if snapshot not in world.outputs:
            yield _fleet_binding(binding, surge)


def _snapshot_of(binding: Manifest) -> str:
    return resource_snapshot_of(binding.body)


def _fleet_binding(manifest: Manifest, surge: Surge | None) -> TreeNode:
    """Return a binding of KubeFleet with its cluster, which may run beside one that it replaces."""
    body, status = manifest.body, mapping(manifest.body, "status")
    cluster = ClusterName(target_of(body))
    beside = "" if surge is None else surge.beside(cluster)
    facts = {"state": state_of(body), **condition_facts(status, good={})}
    told = {"beside": beside} if beside else {}
    return node_of(manifest.key, facts, (TreeNode(None, cluster, facts=told),))


EARLIER = "an earlier version"
EARLIER_OVERRIDES = "earlier overrides"
TURN = "its turn in the rollout"


def copies_in(world: World, _now: datetime, /) -> Copies:
    """Return what knows of the copies of placements."""
    bindings: defaultdict[ObjectKey, list[Binding]] = defaultdict(list)
    latest: defaultdict[ObjectKey, set[str]] = defaultdict(set)
    for kinds in SCOPES:
        for manifest in world.outputs_of_kind((PLACEMENT_GROUP, kinds.binding)):
            owner = owner_of(manifest.key, manifest.body)
            if owner is not None:
                bindings[owner].append(decode_binding(manifest.body))
        for manifest in world.outputs_of_kind((PLACEMENT_GROUP, kinds.resource_snapshot)):
            labels = mapping(mapping(manifest.body, "metadata"), "labels")
            owner = owner_of(manifest.key, manifest.body)
            if owner is not None and text(labels, IS_LATEST) == "true":
                latest[owner].add(manifest.key.name)
    awaited = AwaitedOverrides(world)

    def of(key: ObjectKey) -> tuple[CopyStatus, ...]:
        if key.group != PLACEMENT_GROUP or key.kind != kinds_in(key.namespace).placement:
            return ()
        found = sorted(bindings.get(key, ()), key=lambda one: (one.target, one.name))
        return tuple(_copies(found, latest.get(key, set()), awaited.of(key, found)))

    return of


def _copies(
    bindings: Sequence[Binding], latest: set[str], awaited: Mapping[ClusterName, object]
) -> Iterator[CopyStatus]:
    """Yield the copies of a placement, by cluster."""
    reports = {one.name: _report(one) for one in bindings}
    unready = [
        one.target for one in bindings if one.state == BOUND and reports[one.name][0] not in FINE
    ]
    for binding in bindings:
        report, note = reports[binding.name]
        is_old = binding.state == BOUND and binding.resource_snapshot not in latest
        earlier = EARLIER if is_old else EARLIER_OVERRIDES if binding.target in awaited else ""
        waits = ""
        if binding.state == UNSCHEDULED:
            waits = waits_for_health(unready, "available")
        elif binding.state != BOUND or is_old or binding.target in awaited:
            waits = waits_for_health(unready, "available") if unready else TURN
        yield CopyStatus(
            cluster=binding.target,
            leaving=binding.state == UNSCHEDULED,
            report=report,
            note="; ".join(filter(None, (note, earlier))),
            waits_for=waits,
        )


@dataclass(slots=True, eq=False)
class AwaitedOverrides:
    """The overrides that a run would bring to the clusters of placements, which runs hold."""

    world: World
    _table: OverrideTable = field(default_factory=OverrideTable)

    def of(
        self, key: ObjectKey, bindings: Iterable[Binding]
    ) -> Mapping[ClusterName, Sequence[ObjectKey]]:
        """Return those of each cluster of a placement that has another one, sorted."""
        written = self.world.inputs.get(key)
        if written is None or not waits_for_runs(written.body) or is_suspended(written.body):
            return {}
        snapshots = snapshots_of_placement(self.world, key)
        content = PlacementContent(self.world, key, snapshots, self._table.of(self.world))
        behind = {
            one.target: overrides_behind(content, one, self._member(one.target)) for one in bindings
        }
        return {name: overrides for name, overrides in behind.items() if overrides}

    def _member(self, name: ClusterName) -> MemberLabels | None:
        cluster = self.world.inputs.get(ObjectKey(*CLUSTER, "", name))
        return None if cluster is None else MemberLabels(name, member_labels(cluster.body))


def _report(binding: Binding) -> tuple[Report, str]:
    """Return what the conditions of a binding say of its present generation."""
    conditions = {
        text(one, "type"): one
        for one in binding.conditions
        if one.get("observedGeneration") == binding.generation
    }
    for kind in (APPLIED, AVAILABLE):
        condition = conditions.get(kind)
        if condition is not None and text(condition, "status") == "False":
            return Report.UNHEALTHY, text(condition, "reason")
    condition = conditions.get(AVAILABLE)
    if condition is None or text(condition, "status") != "True":
        return (Report.REPORTED if APPLIED in conditions else Report.NONE), ""
    assumed = text(condition, "reason") == f"{AVAILABLE}Assumed"
    return (Report.ASSUMED if assumed else Report.HEALTHY), ""


def requests(world: World, cluster: ClusterName) -> Iterator[tuple[ObjectKey, Body]]:
    """Yield an eviction for each placement on a cluster that no eviction asks to leave.

    Source: kubefleet@e160c1c tools/fleet/cmd/draincluster/draincluster.go `drain`, which
    names them at random.
    """
    waiting = {
        decode_request(one.body).placement
        for one in _evictions(world, cluster)
        if not _is_over(world, one)
    }
    for placement in _placed_on(world, cluster):
        if placement.name in waiting or _never_evicted(world, placement):
            continue
        name = base = f"drain-{cluster}-{placement.name}"
        tries = 1
        while ObjectKey(PLACEMENT_GROUP, EVICTION, "", name) in world.inputs:
            tries += 1
            name = f"{base}-{tries}"
        body = {
            "apiVersion": API_VERSION,
            "kind": EVICTION,
            "metadata": {"name": name, "annotations": {DRAINS: cluster}},
            "spec": encode_request(EvictionRequest(placement.name, cluster)),
        }
        yield ObjectKey(PLACEMENT_GROUP, EVICTION, "", name), body


def stays(world: World, key: ObjectKey, cluster: ClusterName) -> str:
    """Return why a placement does not leave a drained cluster."""
    if never := _never_evicted(world, key):
        return never
    for eviction in reversed(_evictions(world, cluster)):
        if decode_request(eviction.body).placement == key.name and _is_over(world, eviction):
            executed = _condition(world, eviction.key, EXECUTED)
            if text(executed, "status") == "False":
                return f"{eviction.key.name} did not evict it: {text(executed, 'message')}"
    return ""


def _never_evicted(world: World, placement: ObjectKey) -> str:
    """Return why no eviction would take a placement away for good, `""` if one may."""
    written = world.inputs.get(placement)
    if written is None:
        return "its placement is gone, and what it put there with it"
    if placement.namespace:
        return "evictions are for placements of no namespace"
    asked = {"spec": encode_request(EvictionRequest(placement.name, ""))}
    if refused := next(refuse_eviction(asked, written.body), None):
        return refused.message.replace("`", "")
    try:
        policy = decode_policy(decode_placement(written.body).policy)
    except UserError:
        return "its placement cannot be read"
    return tolerated_for_ever(policy.tolerations, CORDON)


def _placed_on(world: World, cluster: ClusterName) -> list[ObjectKey]:
    """Return the placements without a namespace that have a binding for a cluster, sorted."""
    bindings = world.outputs_of_kind((PLACEMENT_GROUP, CLUSTER_SCOPED.binding))
    here = (one for one in bindings if any(name == cluster for name, _ in clusters_in(one.body)))
    owners = (owner_of(one.key, one.body) for one in here)
    return sorted(placement_key("", one.name) for one in owners if one is not None)


def _evictions(world: World, cluster: ClusterName) -> list[Manifest]:
    """Return the evictions from a cluster, in the order of their names."""
    every = world.of_kind(PLACEMENT_GROUP, EVICTION)
    return [one for one in every if decode_request(one.body).cluster == cluster]


def _is_over(world: World, eviction: Manifest) -> bool:
    """Return whether an eviction was judged."""
    written = world.outputs.get(eviction.key)
    if written is None:
        return False
    conditions = bodies(mapping(written.body, "status"), "conditions")
    return is_over(conditions, number(mapping(written.body, "metadata"), "generation"))


def _condition(world: World, eviction: ObjectKey, kind: str) -> Body:
    conditions = bodies(mapping(world.outputs[eviction].body, "status"), "conditions")
    return next((one for one in conditions if text(one, "type") == kind), {})


DRAINING = Draining(
    taint=CORDON, stays=stays, requests=requests, request_kind=(PLACEMENT_GROUP, EVICTION)
)


TOLD = {STUCK, "UpdateRunStopped", "UpdateRunStopping"}
"""Reasons whose message says it all."""


def run_is_over(status: RunStatus) -> bool:
    """Return whether a run will do nothing more."""
    ended = status_of(status.conditions, SUCCEEDED)
    return status_of(status.conditions, INITIALIZED) == "False" or ended in ("True", "False")


def run_sentence(run: UpdateRun, status: RunStatus, until: datetime | None = None) -> str:
    """Return how far a run is, a clause that its name precedes.

    Args:
        run: What it is asked to do.
        status: How far it is.
        until: When time alone takes it further, `None` if that is not known.
    """
    initialized, progressing, succeeded = (
        found(status.conditions, kind) for kind in (INITIALIZED, PROGRESSING, SUCCEEDED)
    )
    for ended in (initialized, succeeded):
        if ended.get("status") == "False":
            return f"failed: {text(ended, 'message')}"
    if succeeded:
        return "has rolled out all stages"
    if not initialized:
        return "has not begun"
    if run.state == INITIALIZE:
        return "is initialized, and waits for `state: Run`"
    if text(progressing, "reason") in TOLD:
        return text(progressing, "message")
    return _present(run, status.stages or (), until)


def rollout_sentences(steps: Iterable[RunStep]) -> Iterator[str]:
    """Yield how far the runs of a placement are, and what is said of them to no effect."""
    for step in steps:
        key = step.files.manifest.key
        yield f"{key.kind} {key.name} {run_sentence(step.run, step.status, step.until)}."
        if step.error:
            yield f"It is tried again: {step.error}."
        for approval, _, why in ignored_approvals(step):
            yield f"{approval.origin.path} approves nothing: {why}."


def _present(run: UpdateRun, stages: Sequence[StageStatus], until: datetime | None) -> str:
    """Return what a run does in the stage that is not over yet."""
    stage = next((one for one in stages if not status_of(one.conditions, SUCCEEDED)), None)
    if stage is None:
        return "takes away what is placed no longer"
    asked = list(_asked(stage))
    if asked:
        return f"waits for an approval of {stage.name}: reconciler approve {run.name} {stage.name}"
    done = sum(status_of(one.conditions, SUCCEEDED) == "True" for one in stage.clusters)
    if done == len(stage.clusters):
        then = "" if until is None else f" until {format_moment(until)}"
        return f"waits after {stage.name}{then}"
    return f"updates {stage.name}: {done} of {len(stage.clusters)} clusters are done"


def _asked(stage: StageStatus) -> Iterator[str]:
    """Yield the requests of a stage that wait for a person."""
    for task in (*stage.before, *stage.after):
        requested = status_of(task.conditions, REQUESTED) == "True"
        if requested and status_of(task.conditions, APPROVED) != "True":
            yield task.request


def wait_for_run(namespace: str, overrides: Iterable[ObjectKey] = ()) -> str:
    """Return that a placement waits for a run, a clause that its name precedes.

    Args:
        namespace: Of the placement.
        overrides: Those that the run would bring otherwise than clusters have them.
    """
    names = [f"{one.kind} {subject_of(one)}" for one in sorted(set(overrides))]
    change = f" and rolls out the change of {', '.join(names)}" if names else ""
    run = kinds_in(namespace).run
    return f"waits for a {run} that names it{change}, as its strategy is External"


def waiting_in(world: World) -> Iterator[tuple[ObjectKey, str]]:
    """Yield what waits for a person to act, each with a clause that says for what."""
    running: set[ObjectKey] = set()
    for kinds in SCOPES:
        for manifest in world.of_kind(PLACEMENT_GROUP, kinds.run):
            run, own = (
                decode_run(manifest.body, manifest.key.namespace),
                world.outputs.get(manifest.key),
            )
            status = readable_run_status(None if own is None else own.body)
            if run_is_over(status):
                continue
            running.add(placement_key(manifest.key.namespace, run.placement))
            stages = status.stages or ()
            if own is not None and (run.state == INITIALIZE or any(map(_is_asked, stages))):
                yield manifest.key, run_sentence(run, status)
    idle = [one for one in _external(world) if one.key not in running]
    bindings, awaited = _bindings(world) if idle else {}, AwaitedOverrides(world)
    for manifest in idle:
        latest, placed = _latest(world, manifest.key), bindings.get(manifest.key, ())
        behind = any(is_behind(binding, latest) for binding in placed)
        overrides = [*chain.from_iterable(awaited.of(manifest.key, placed).values())]
        if behind or overrides or manifest.key not in world.outputs:
            yield manifest.key, wait_for_run(manifest.key.namespace, overrides)


def _external(world: World) -> Iterator[Manifest]:
    """Yield the placements that are rolled out by runs only, and are not suspended."""
    for kinds in SCOPES:
        for manifest in world.of_kind(PLACEMENT_GROUP, kinds.placement):
            if waits_for_runs(manifest.body) and not is_suspended(manifest.body):
                yield manifest


def _is_asked(stage: StageStatus) -> bool:
    return any(_asked(stage)) and not status_of(stage.conditions, SUCCEEDED)


def is_behind(binding: Binding, latest: str | None) -> bool:
    """Return whether a run would bring a binding to something else."""
    return binding.state != BOUND or binding.resource_snapshot != latest


def _bindings(world: World) -> dict[ObjectKey, list[Binding]]:
    """Return the bindings of each placement."""
    by_placement: dict[ObjectKey, list[Binding]] = defaultdict(list)
    for kinds in SCOPES:
        for manifest in world.outputs_of_kind((PLACEMENT_GROUP, kinds.binding)):
            owner = owner_of(manifest.key, manifest.body)
            if owner is not None:
                by_placement[owner].append(decode_binding(manifest.body))
    return by_placement


def _latest(world: World, key: ObjectKey) -> str | None:
    """Return the latest resource snapshot of a placement."""
    kind = (PLACEMENT_GROUP, kinds_in(key.namespace).resource_snapshot)
    bodies: Iterable[Body] = (
        one.body
        for one in world.outputs_of_kind(kind)
        if text(mapping(one.body, "metadata"), "namespace") == key.namespace
    )
    return latest_master(bodies, key.name)


def begun_run(world: World, key: ObjectKey) -> KnownRun | None:
    """Return a run as approvals name it, `None` if no pass has begun it."""
    own = world.outputs.get(key)
    if own is None or key not in world.inputs:
        return None
    uid = text(mapping(own.body, "metadata"), "uid")
    return known_run(key, uid, readable_run_status(own.body))


def approvals_of(world: World, key: ObjectKey) -> tuple[Approval, ...]:
    """Return what a run asks people for, in the order in which it does."""
    run = begun_run(world, key)
    return () if run is None else tuple(_approvals(world, run))


def _approvals(world: World, run: KnownRun) -> Iterator[Approval]:
    kind = kinds_in(run.key.namespace).approval_request
    for request in run.requests.values():
        key = ObjectKey(PLACEMENT_GROUP, kind, run.key.namespace, request.name)
        made, said = world.outputs.get(key), world.inputs.get(key)
        known = None if made is None else readable_request(made.body)
        accepted = known is not None and known.holds(ACCEPTED)
        is_said = said is not None and refusal_of(said, run) == ("", "")
        yield Approval(
            key=key,
            stage=request.stage,
            is_asked=made is not None and not accepted,
            is_done=accepted or is_said,
            manifest=partial(_manifest, key, request, run),
        )


def _manifest(key: ObjectKey, request: ApprovalRequest, run: KnownRun, why: str, at: str) -> Body:
    """Return what approves a request: its condition, of this run and no other."""
    approved = {
        "type": APPROVED_CONDITION,
        "status": "True",
        "reason": APPROVED_CONDITION,
        "message": why,
        "observedGeneration": FIRST_GENERATION,
        "lastTransitionTime": at,
    }
    return {
        "apiVersion": API_VERSION,
        "kind": key.kind,
        "metadata": {
            **named_in(key.namespace, key.name),
            "labels": dict(request.labels),
            "ownerReferences": [owner_reference(run.key, run.uid)],
        },
        "spec": encode_spec(request),
        "status": {"conditions": [approved]},
    }

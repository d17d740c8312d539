"""How far staged update runs are, in sentences; and the placements that wait for one."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from reconciler.dialects.kubefleet.api.binding import Binding, decode_binding
from reconciler.dialects.kubefleet.api.kinds import SCOPES, kinds_in, placement_key
from reconciler.dialects.kubefleet.api.names import BOUND, GROUP
from reconciler.dialects.kubefleet.api.placement import latest_master
from reconciler.dialects.kubefleet.api.strategy import waits_for_runs
from reconciler.dialects.kubefleet.api.updates.update_run import (
    INITIALIZE,
    RunStatus,
    StageStatus,
    UpdateRun,
    decode_run,
    readable_run_status,
)
from reconciler.dialects.kubefleet.updaterun.ignored_approvals import ignored_approvals
from reconciler.dialects.kubefleet.updaterun.marks import (
    APPROVED,
    INITIALIZED,
    PROGRESSING,
    REQUESTED,
    STUCK,
    SUCCEEDED,
    found,
    status_of,
)
from reconciler.dialects.kubefleet.updaterun.run_cycle import RunStep
from reconciler.dialects.kubefleet.view.placed import owner_of
from reconciler.manifests.suspension import is_suspended
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import format_moment
from reconciler.model.world import Manifest, World

TOLD = {STUCK, "UpdateRunStopped", "UpdateRunStopping"}
"""Reasons whose message says it all."""


def is_over(status: RunStatus) -> bool:
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


def wait_for_run(namespace: str) -> str:
    """Return that a placement waits for a run, a clause that its name precedes."""
    return f"waits for a {kinds_in(namespace).run} that names it, as its strategy is External"


def waiting_in(world: World) -> Iterator[tuple[ObjectKey, str]]:
    """Yield what waits for a person to act, each with a clause that says for what."""
    running: set[ObjectKey] = set()
    for kinds in SCOPES:
        for one in world.of_kind(GROUP, kinds.run):
            run, own = decode_run(one.body, one.key.namespace), world.outputs.get(one.key)
            status = readable_run_status(None if own is None else own.body)
            if is_over(status):
                continue
            running.add(placement_key(one.key.namespace, run.placement))
            stages = status.stages or ()
            if own is not None and (run.state == INITIALIZE or any(map(_is_asked, stages))):
                yield one.key, run_sentence(run, status)
    idle = [one for one in _external(world) if one.key not in running]
    bindings = _bindings(world) if idle else {}
    for one in idle:
        latest, placed = _latest(world, one.key), bindings.get(one.key, ())
        behind = any(is_behind(binding, latest) for binding in placed)
        if behind or one.key not in world.outputs:
            yield one.key, wait_for_run(one.key.namespace)


def _external(world: World) -> Iterator[Manifest]:
    """Yield the placements that are rolled out by runs only, and are not suspended."""
    for kinds in SCOPES:
        for one in world.of_kind(GROUP, kinds.placement):
            if waits_for_runs(one.body) and not is_suspended(one.body):
                yield one


def _is_asked(stage: StageStatus) -> bool:
    return any(_asked(stage)) and not status_of(stage.conditions, SUCCEEDED)


def is_behind(binding: Binding, latest: str | None) -> bool:
    """Return whether a run would bring a binding to something else."""
    return binding.state != BOUND or binding.resource_snapshot != latest


def _bindings(world: World) -> dict[ObjectKey, list[Binding]]:
    """Return the bindings of each placement."""
    by_placement: dict[ObjectKey, list[Binding]] = defaultdict(list)
    for kinds in SCOPES:
        for one in world.outputs_of_kind((GROUP, kinds.binding)):
            owner = owner_of(one.key, one.body)
            if owner is not None:
                by_placement[owner].append(decode_binding(one.body))
    return by_placement


def _latest(world: World, key: ObjectKey) -> str | None:
    """Return the latest resource snapshot of a placement."""
    kind = (GROUP, kinds_in(key.namespace).resource_snapshot)
    bodies: Iterable[Body] = (
        one.body
        for one in world.outputs_of_kind(kind)
        if text(mapping(one.body, "metadata"), "namespace") == key.namespace
    )
    return latest_master(bodies, key.name)

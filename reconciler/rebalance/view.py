"""Columns, events and references of rebalancers and triggers.

Events say what became of each target, in the words of their results.
"""

from collections.abc import Callable, Collection, Iterator

from reconciler.manifests.columns import FILE, NONE, ColumnTable, Row, age, ago, spec_of
from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.model.body import Body
from reconciler.model.decision import NORMAL, WARNING, ObjectEvent, OutputChange, UpstreamEvent
from reconciler.model.fields import bodies, mapping, mapping_or_none, strings, text
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.text import shown
from reconciler.model.world import Manifest
from reconciler.rebalance.rebalancer_files import (
    POLICY,
    WorkloadResult,
    decode_record,
    encode_reference,
    policy_key,
    selected_policy,
    waits_in,
)
from reconciler.rebalance.schedule_trigger import TriggerStatus, decode_trigger_status
from reconciler.rebalance.target import REBALANCER, TRIGGER, Reference


def _results_cell(row: Row) -> str:
    observed = decode_record(row.body).workloads
    done = sum(1 for workload in observed if workload.result == WorkloadResult.SUCCESSFUL)
    named = bodies(spec_of(row), "workloads")  # besides them a selector may have found others
    return f"{done}/{max(len(observed), len(named))}"


def _failed(row: Row) -> str:
    observed = decode_record(row.body).workloads
    return str(sum(1 for workload in observed if workload.result == WorkloadResult.FAILED))


def _waits(row: Row) -> str:
    """Return what is waited for and why; in batches how much is left."""
    waits = [f"{ref.kind} {ref.name}: {why}" for ref, why in waits_in(row.body)]
    left = decode_record(row.body).remaining
    if left and not waits:
        waits.append(f"the next batch, {left} replica{'' if left == 1 else 's'} left")
    return "; ".join(waits) or NONE


def _failures_cell(row: Row) -> str:
    """Return what a trigger could not reschedule until now, and why."""
    failed = decode_trigger_status(row.body).failed
    return "; ".join(f"{ref.kind} {ref.name}: {why}" for ref, why in failed) or NONE


COLUMNS: ColumnTable = {
    REBALANCER: (
        (
            ("SUCCESSFUL", _results_cell),
            ("FAILED", _failed),
            ("FINISHED", lambda row: ago(decode_record(row.body).finish_time, row.now)),
            ("AGE", age),
        ),
        (("WAITS FOR", _waits), FILE),
    ),
    TRIGGER: (
        (
            ("PHASE", lambda row: decode_trigger_status(row.body).phase),
            ("FAILED", lambda row: str(len(decode_trigger_status(row.body).failed))),
            ("AGE", age),
        ),
        (("WAITS FOR", _failures_cell), FILE),
    ),
}
"""By kind."""


CONTROLLER = "workload-rebalancer"
"""Source: karmada@f8fdd02 pkg/controllers/workloadrebalancer `ControllerName`."""


def events_of(change: OutputChange) -> Iterator[ObjectEvent]:
    """Yield what became of a rebalancer or a trigger."""
    kind = (change.key.group, change.key.kind)
    if kind == REBALANCER:
        yield from _rebalancer_events(change.key, change.before, change.after)
    elif kind == TRIGGER:
        yield from _trigger_events(change.key, change.before, change.after)


def _rebalancer_events(key: ObjectKey, before: Body, after: Body) -> Iterator[ObjectEvent]:
    """Return which workloads are dealt with, and how it ended.

    Of a schedule each run is told: a result is news where the run is.

    Source: karmada@f8fdd02 pkg/apis/apps/v1alpha1/workloadrebalancer_types.go `RebalanceSuccessful`
    and `RebalanceFailed`; upstream has them in the status only.
    """
    waited_for = dict(waits_in(before))
    for reference, reason in waits_in(after):
        if waited_for.get(reference) != reason:
            message = f"{_named(reference)}: {reason}"
            yield key, UpstreamEvent(NORMAL, "RebalanceWaits", message)
    earlier = _results_of(before)
    for workload, (result, reason, _run) in _results_of(after).items():
        if not result or earlier.get(workload) == (result, reason, _run):
            continue
        if result == WorkloadResult.FAILED:
            yield (
                key,
                UpstreamEvent(WARNING, "RebalanceFailed", f"{workload}: {reason}", CONTROLLER),
            )
        else:
            message = f"{workload}: scheduled afresh"
            yield key, UpstreamEvent(NORMAL, "RebalanceSuccessful", message, CONTROLLER)


def _trigger_events(key: ObjectKey, before: Body, after: Body) -> Iterator[ObjectEvent]:
    """Return how far a trigger is, and what it could not reschedule.

    Source: Karmada's proposal of `ScheduleTrigger`: `TriggerSuccess`, `TriggerFailed`; there it
    stands in the status only.
    """
    if mapping(after, "status") == mapping(before, "status"):
        return
    status = decode_trigger_status(after)
    if status.succeeded:
        yield (
            key,
            UpstreamEvent(NORMAL, "TriggerSuccess", "all selected resources are scheduled afresh"),
        )
    earlier = set(_failures_of(decode_trigger_status(before)))
    for failure in _failures_of(status):
        if failure not in earlier:
            yield key, UpstreamEvent(WARNING, "TriggerFailed", failure)


def _results_of(body: Body) -> dict[str, tuple[str, str, str]]:
    """Return result, reason and run of each workload."""
    record = decode_record(body)
    return {
        _named(one.reference): (one.result, one.reason, record.last_run) for one in record.workloads
    }


def _failures_of(status: TriggerStatus) -> list[str]:
    return [f"{_named(reference)}: {reason}" for reference, reason in status.failed]


def _named(reference: Reference) -> str:
    """Return what a reference names: kind, namespace and name."""
    return f"{reference.kind} {'/'.join(filter(None, (reference.namespace, reference.name)))}"


Unmakeable = Callable[[Manifest], str]
"""Returns why something cannot be done with an object, as it is written, `""` if it may be."""


def dangling_in_rebalances(
    known: Known,
    unmakeable: Unmakeable,
    unkept: Unmakeable,
    clusters: Collection[str],
    idle: Collection[ObjectKey] = (),
) -> Iterator[Dangling]:
    """Yield the references of rebalancers and triggers that lead nowhere.

    Args:
        known: What may be referred to.
        clusters: The names of all clusters.
        unmakeable: Says which targets cannot be made before anything breaks.
        unkept: Says of which targets what runs cannot be kept.
        idle: The workloads that nothing places, as far as that is known.
    """
    workloads = known.workloads()
    for manifest in known.of_kind(*REBALANCER):
        yield from _rebalanced(manifest, known, workloads, idle, unmakeable, unkept)
        yield from _left(manifest, clusters)
    for manifest in known.of_kind(*TRIGGER):
        yield from _triggered(manifest, known, workloads, unmakeable)


def _rebalanced(
    manifest: Manifest,
    known: Known,
    workloads: frozenset[tuple[str, str, str]],
    idle: Collection[ObjectKey],
    unmakeable: Unmakeable,
    unkept: Unmakeable,
) -> Iterator[Dangling]:
    """Yield targets that are missing or nowhere, but for those that were dealt with already."""
    spec, rule = mapping(manifest.body, "spec"), "rebalancer-target-unknown"
    observed = decode_record(_record(manifest, known)).workloads
    done = [encode_reference(workload.reference) for workload in observed if workload.result]
    for position, target in enumerate(bodies(spec, "workloads")):
        if not _is_there(target, known, workloads) and target not in done:
            at = f"/spec/workloads/{position}/name"
            message = f"the {_described(target)} is not there, so this fails for good"
            expected = _proposed(target, workloads)
            yield Dangling(manifest.key, at, rule, message, expected)
        elif target not in done and (why := _unmade(target, spec, known, unmakeable)):
            yield _moving_at_once(manifest, target, why)
        elif target not in done and (why := _unkept(target, spec, known, unkept)):
            at, kept_rule = "/spec/reschedule/preserveAvailableReplicas", "rebalancer-preserves"
            message = f"what runs of the {_described(target)} cannot be kept: {why}"
            expected = "a rebalancer of its own without preserveAvailableReplicas"
            yield Dangling(manifest.key, at, kept_rule, message, expected)
        elif _key_of(target) in idle and target not in done:
            at = f"/spec/workloads/{position}/name"
            message = f"nothing places the {_described(target)}, so there is nothing to rebalance"
            expected = "a policy that selects it, or another workload"
            yield Dangling(manifest.key, at, "rebalancer-target-idle", message, expected)
    policy = mapping_or_none(mapping(spec, "selector"), "policy")
    if policy is not None:
        key = selected_policy(policy)
        yield from _policy(manifest, known, key, "/spec/selector/policy/name", rule)


def _left(manifest: Manifest, clusters: Collection[str]) -> Iterator[Dangling]:
    """Yield the clusters that are to be left and are not there."""
    for position, name in enumerate(strings(mapping(manifest.body, "spec"), "leaving")):
        if name not in clusters:
            at, rule = f"/spec/leaving/{position}", "rebalancer-target-unknown"
            message = f"the cluster {shown(name)} is not there, so nothing leaves it"
            yield Dangling(manifest.key, at, rule, message, proposal(name, clusters, "cluster"))


def _unmade(target: Body, spec: Body, known: Known, unmakeable: Unmakeable) -> str:
    """Return why a target cannot be made before it breaks, `""` if it may be, or if nobody asks.

    What clusters report is known to the pass only, and so is what a policy makes of a workload.
    """
    if mapping_or_none(mapping(spec, "limits"), "makeBeforeBreak") is None:
        return ""
    manifest = known.world.inputs.get(_key_of(target))
    return "" if manifest is None else unmakeable(manifest)


def _unkept(target: Body, spec: Body, known: Known, unkept: Unmakeable) -> str:
    """Return why what runs of a target cannot be kept, `""` if it may be, or if nobody asks."""
    if mapping(spec, "reschedule").get("preserveAvailableReplicas") is not True:
        return ""
    manifest = known.world.inputs.get(_key_of(target))
    return "" if manifest is None else unkept(manifest)


def _moving_at_once(manifest: Manifest, target: Body, why: str) -> Dangling:
    at, rule = "/spec/limits/makeBeforeBreak", "rebalancer-make-before-break"
    message = f"the {_described(target)} cannot be made before anything breaks: {why}"
    expected = "a rebalancer of its own without makeBeforeBreak"
    return Dangling(manifest.key, at, rule, message, expected)


def _triggered(
    manifest: Manifest,
    known: Known,
    workloads: frozenset[tuple[str, str, str]],
    unmakeable: Unmakeable,
) -> Iterator[Dangling]:
    """Yield resources and policies that are missing, unless the trigger succeeded."""
    if decode_trigger_status(_record(manifest, known)).succeeded:
        return
    spec, rule = mapping(manifest.body, "spec"), "trigger-target-unknown"
    for position, target in enumerate(bodies(spec, "targetRefResource")):
        if not _is_there(target, known, workloads):
            at = f"/spec/targetRefResource/{position}/name"
            message = f"the {_described(target)} is not there"
            expected = "the name and namespace of a workload of this repository"
            yield Dangling(manifest.key, at, rule, message, expected)
        elif why := _unmade(target, spec, known, unmakeable):
            yield _moving_at_once(manifest, target, why)
    for position, target in enumerate(bodies(spec, "targetRefPolicy")):
        at = f"/spec/targetRefPolicy/{position}/name"
        yield from _policy(manifest, known, policy_key(target), at, rule)


def _record(manifest: Manifest, known: Known) -> Body:
    """Return the status file of a rebalancer or trigger, empty if there is none."""
    record = known.world.outputs.get(manifest.key)
    return record.body if record is not None else {}


def _policy(
    manifest: Manifest, known: Known, key: ObjectKey, at: str, rule: str
) -> Iterator[Dangling]:
    if key not in known.keys:
        scope = f"{key.namespace}/" if key.namespace else ""
        message = f"the {key.kind} {shown(scope + key.name)} is not there"
        expected = f"a policy of this repository; one with a namespace is a {POLICY}"
        yield Dangling(manifest.key, at, rule, message, expected)


def _key_of(target: Body) -> ObjectKey:
    fields = (text(target, field) for field in ("kind", "namespace", "name"))
    return ObjectKey(group_of(text(target, "apiVersion")), *fields)


def _is_there(target: Body, known: Known, workloads: frozenset[tuple[str, str, str]]) -> bool:
    """Return whether a target is there; kind, namespace and name decide, as for the rebalance."""
    kind, namespace, name = (text(target, field) for field in ("kind", "namespace", "name"))
    group = group_of(text(target, "apiVersion"))
    if (group, kind) in known.placements:
        return ObjectKey(group, kind, namespace, name) in known.keys
    return (kind, namespace, name) in workloads


def _proposed(target: Body, workloads: frozenset[tuple[str, str, str]]) -> str:
    """Return what may have been meant by a target that is not there."""
    kind, namespace, name = (text(target, field) for field in ("kind", "namespace", "name"))
    names = {workload for what, where, workload in workloads if (what, where) == (kind, namespace)}
    return proposal(name, names, f"{kind} in {namespace}" if namespace else kind)


def _described(target: Body) -> str:
    scope = f"{text(target, 'namespace')}/" if text(target, "namespace") else ""
    return f"{text(target, 'kind')} {shown(scope + text(target, 'name'))}"

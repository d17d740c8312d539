"""What to look at before a merge: evictions, workloads without a policy, first batches."""

from collections import defaultdict
from collections.abc import Iterator

from reconciler.dialects.karmada.api.binding import decode_metadata
from reconciler.dialects.karmada.api.binding_spec import decode_spec
from reconciler.dialects.karmada.api.names import POLICY_GROUP
from reconciler.dialects.karmada.api.policy import CLUSTER_WIDE, NAMESPACED, decode_policy
from reconciler.dialects.karmada.api.workload import decode_custom_kinds, is_interpreted
from reconciler.dialects.karmada.detector.binding_draft import binding_key, claimant
from reconciler.dialects.karmada.scheduler.reschedule import MOVING_TO, read_goal
from reconciler.dialects.karmada.view.references import index_templates
from reconciler.dialects.view import MergeEffects, Warned
from reconciler.manifests.paths import output_path
from reconciler.manifests.references import known_in
from reconciler.manifests.text.reader import read
from reconciler.model.decision import CauseKind
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import settings_in
from reconciler.model.text import enumerated
from reconciler.model.world import Manifest
from reconciler.rebalance.rebalancer_files import NOT_FOUND, WorkloadResult, decode_record
from reconciler.rebalance.surge import surge_in
from reconciler.rebalance.target import REBALANCER

CLAIM = "propagationpolicy.karmada.io/name:"  # of a cluster policy, too: it ends in this
POLICIES = (NAMESPACED, CLUSTER_WIDE)
LAZY_KINDS = frozenset((POLICY_GROUP, kind) for kind in POLICIES)
MOST_NAMED = 5


def warnings_of(effects: MergeEffects) -> Iterator[Warned]:
    """Yield the warnings, by their rules."""
    yield from _evicting(effects)
    yield from _unclaimed(effects)
    yield from _first_batch(effects)
    yield from _refused(effects)
    yield from _lazy(effects)
    yield from _outranked(effects)


def _lazy(effects: MergeEffects) -> Iterator[Warned]:
    """Name what a policy that is newly Lazy places at once, since it has no binding."""
    placed: dict[ObjectKey, list[str]] = defaultdict(list)
    for decision in effects.caused:
        if decision.cause.kind is CauseKind.CREATED:
            for source in decision.cause.sources:
                if source[:2] in LAZY_KINDS and _is_newly_lazy(effects, source):
                    placed[source].append(decision.subject)
    for policy, subjects in sorted(placed.items()):
        count = f"{len(subjects)} workload{'s' if len(subjects) != 1 else ''}"
        message = f"the policy is Lazy, and places {count} at once that had no binding: "
        scope = f"{policy.namespace}/" if policy.namespace else ""
        named = enumerated(sorted(subjects), MOST_NAMED)
        yield Warned("lazy-places", f"{scope}{policy.name}", message + named)


def _outranked(effects: MergeEffects) -> Iterator[Warned]:
    """Name the policies of a change that get none of what they select, since others have it."""
    merged, base = effects.merged, effects.base
    edited = [
        manifest
        for kind in POLICIES
        for manifest in merged.of_kind(POLICY_GROUP, kind)
        if base.inputs.get(manifest.key) != manifest
    ]
    if not edited:
        return
    templates = index_templates(known_in(merged, frozenset()))
    for manifest in edited:
        policy = decode_policy(manifest, frozenset(merged.inputs))
        selected = {
            template.key
            for selector in policy.selectors
            for template in templates.matching(policy.key, selector)
        }
        holders = {key: _holder(effects, binding_key(key)) for key in sorted(selected)}
        others = {key: one for key, one in holders.items() if one not in (None, policy.key)}
        if others and len(others) == len(holders):
            held = (f"{_called(key)} (by {holder.name})" for key, holder in others.items())
            why = "" if policy.preempts else ", and its preemption is Never"
            message = f"no effect: other policies hold what it selects{why}: "
            yield Warned("outranked", _called(policy.key), message + enumerated(held, 3))


def _holder(effects: MergeEffects, binding: ObjectKey) -> ObjectKey | None:
    """Return which policy has a workload after the change, `None` if none has."""
    path = output_path(effects.merged.output_root, binding)
    if path in effects.written:
        return claimant(read(effects.written[path].encode(), path).documents[0].body)
    present = effects.merged.outputs.get(binding)
    return None if present is None else claimant(present.body)


def _called(key: ObjectKey) -> str:
    return f"{key.namespace}/{key.name}".removeprefix("/")


def _is_newly_lazy(effects: MergeEffects, policy: ObjectKey) -> bool:
    """Return whether a policy is Lazy with the change, and was not without it."""
    then, now = (world.inputs.get(policy) for world in (effects.base, effects.merged))
    was, is_lazy = (
        found is not None and mapping(found.body, "spec").get("activationPreference") == "Lazy"
        for found in (then, now)
    )
    return is_lazy and not was


def _evicting(effects: MergeEffects) -> Iterator[Warned]:
    """Name the workloads that a new rebalancer cannot bring back to where they are leaving."""
    for rebalancer, waits, workload in _new_targets(effects):
        present = effects.merged.outputs.get(binding_key(workload))
        tasks = decode_spec(present.body).tasks if present is not None else ()
        leaving = ", ".join(sorted(task.from_cluster for task in tasks))
        if leaving:
            scope = f"{workload.namespace}/" if workload.namespace else ""
            still = f"it is still being evicted from {leaving}, so WorkloadRebalancer {rebalancer}"
            message = f"{still} waits for the end of that"
            if not waits:
                hint = "another one is needed later, or limits.waitForEviction: true"
                message = f"{still} cannot choose it; {hint}"
            yield Warned("under-eviction", f"{scope}{workload.name}", message)


def _new_targets(effects: MergeEffects) -> Iterator[tuple[str, bool, ObjectKey]]:
    """Yield name, whether it waits, and each workload of each new rebalancer."""
    for key in sorted(effects.merged.inputs.keys() - effects.base.inputs.keys()):
        if (key.group, key.kind) != REBALANCER:
            continue
        spec = mapping(effects.merged.inputs[key].body, "spec")
        waits = mapping(spec, "limits").get("waitForEviction") is True
        for target in bodies(spec, "workloads"):
            kind, namespace, name = (text(target, part) for part in ("kind", "namespace", "name"))
            yield key.name, waits, ObjectKey("", kind, namespace, name)


def _unclaimed(effects: MergeEffects) -> Iterator[Warned]:
    """Name the workloads that lose their policy, and those that are edited and have none."""
    merged, base = effects.merged, effects.base
    written, known = effects.written, effects.known
    for key, manifest in sorted(merged.inputs.items()):
        if key.group in merged.known.groups:
            continue
        target = binding_key(key)
        binding = merged.outputs.get(target)
        path = output_path(merged.output_root, target)
        had = binding is not None and claimant(binding.body) is not None
        has = CLAIM in written[path] if path in written else had
        scope = f"{key.namespace}/" if key.namespace else ""
        message = ""
        if had and not has and (path not in known or CLAIM in known[path]):
            message = "no policy matches it any more; it keeps running, edits are not propagated"
        elif not had and not has and base.inputs.get(key) != manifest:
            message = _meaning(effects, manifest, placed=binding is not None)
        if message:
            yield Warned("unclaimed", f"{scope}{key.name}", message)


def _meaning(effects: MergeEffects, manifest: Manifest, *, placed: bool) -> str:
    """Return what it means that no policy claims an edited workload, `""` if nothing."""
    key = manifest.key
    if placed:
        return "no policy matches it, so it stays where it is"
    custom = decode_custom_kinds(settings_in(effects.merged))
    replicated = is_interpreted(text(manifest.body, "apiVersion"), key.kind, custom)
    policies = any(effects.merged.of_kind(POLICY_GROUP, kind) for kind in POLICIES)
    if not replicated or not policies or effects.is_carried(key.namespace):
        return ""
    return "no policy matches it, so it runs on no cluster"


def _refused(effects: MergeEffects) -> Iterator[Warned]:
    """Name what a rebalancer of the change would fail of, though it is there."""
    root = effects.merged.output_root
    for manifest in effects.merged.of_kind(*REBALANCER):
        path = output_path(root, manifest.key)
        text_now = effects.written.get(path, "")
        if not text_now or text_now == effects.known.get(path):
            continue
        body = read(text_now.encode(), path).documents[0].body
        for target in decode_record(body).workloads:
            if target.result == WorkloadResult.FAILED and target.reason != NOT_FOUND:
                message = f"{target.reference.kind} {target.reference.name} stays: {target.reason}"
                yield Warned("rebalance-refused", manifest.key.name, message)


def _first_batch(effects: MergeEffects) -> Iterator[Warned]:
    """Name the objects of which a limited rebalance moves a part only, and say where they end."""
    for decision in effects.caused:
        path = output_path(effects.merged.output_root, decision.key)
        if MOVING_TO not in effects.written.get(path, ""):
            continue
        body = read(effects.written[path].encode(), path).documents[0].body
        goal = read_goal(decode_metadata(body))
        if goal is None:  # of another API
            continue
        named = ", ".join(f"{target.name}({target.replicas})" for target in goal)
        surge = surge_in(body)
        message = f"this is only the first batch; the goal is {named}"
        if surge is not None:
            message = f"it moves in steps, first {surge.waits_for}; the goal is {named}"
        yield Warned("first-batch", decision.subject, message)

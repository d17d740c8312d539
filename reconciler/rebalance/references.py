"""What rebalancers and triggers refer to."""

from collections.abc import Iterator

from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, text
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.message_text import shown
from reconciler.model.world import Manifest
from reconciler.rebalance.kinds import REBALANCER, TRIGGER
from reconciler.rebalance.rebalancer_spec import POLICY, policy_key, selected_policy
from reconciler.rebalance.rebalancer_status import decode_record, encode_reference
from reconciler.rebalance.trigger_status import decode_trigger_status


def dangling_in_rebalances(known: Known) -> Iterator[Dangling]:
    """Yield the references of rebalancers and triggers that lead nowhere."""
    workloads = known.workloads()
    for manifest in known.of_kind(*REBALANCER):
        yield from _rebalanced(manifest, known, workloads)
    for manifest in known.of_kind(*TRIGGER):
        yield from _triggered(manifest, known, workloads)


def _rebalanced(
    manifest: Manifest, known: Known, workloads: frozenset[tuple[str, str, str]]
) -> Iterator[Dangling]:
    """Yield targets that are missing, but for those that were dealt with already."""
    spec, rule = mapping(manifest.body, "spec"), "rebalancer-target-unknown"
    observed = decode_record(_record(manifest, known)).workloads
    done = [encode_reference(one.reference) for one in observed if one.result]
    for position, target in enumerate(bodies(spec, "workloads")):
        if not _is_there(target, known, workloads) and target not in done:
            at = f"/spec/workloads/{position}/name"
            message = f"the {_described(target)} is not there, so this fails for good"
            expected = _proposed(target, workloads)
            yield Dangling(manifest.key, at, rule, message, expected)
    policy = mapping_or_none(mapping(spec, "selector"), "policy")
    if policy is not None:
        key = selected_policy(policy)
        yield from _policy(manifest, known, key, "/spec/selector/policy/name", rule)


def _triggered(
    manifest: Manifest, known: Known, workloads: frozenset[tuple[str, str, str]]
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
    """Yield a policy that is missing."""
    if key not in known.keys:
        scope = f"{key.namespace}/" if key.namespace else ""
        message = f"the {key.kind} {shown(scope + key.name)} is not there"
        expected = f"a policy of this repository; one with a namespace is a {POLICY}"
        yield Dangling(manifest.key, at, rule, message, expected)


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
    names = {one for what, where, one in workloads if (what, where) == (kind, namespace)}
    return proposal(name, names, f"{kind} in {namespace}" if namespace else kind)


def _described(target: Body) -> str:
    """Return a target as people call it."""
    scope = f"{text(target, 'namespace')}/" if text(target, "namespace") else ""
    return f"{text(target, 'kind')} {shown(scope + text(target, 'name'))}"

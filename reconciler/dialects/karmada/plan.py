"""Karmada's part of a pass: policies claim workloads, then each binding is decided."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.base import Dialect, Plan, Trigger
from reconciler.dialects.karmada.binding import decode_targets
from reconciler.dialects.karmada.binding_file import placed
from reconciler.dialects.karmada.bindings import (
    BINDING,
    CLUSTER_BINDING,
    GROUP,
    Draft,
    binding_key,
    binding_name,
    claimant,
    draft_binding,
)
from reconciler.dialects.karmada.clusters import decode_cluster, members_of
from reconciler.dialects.karmada.decide import Decided, Surroundings, decide
from reconciler.dialects.karmada.inventory import Inventory, departed, take_inventory
from reconciler.dialects.karmada.policies import (
    Policy,
    Template,
    decode_policies,
    template_of,
)
from reconciler.dialects.karmada.settings import decode_failover, may_preempt
from reconciler.errors import UserError
from reconciler.manifests.identify import OUR_GROUPS
from reconciler.manifests.names import LONGEST_NAME
from reconciler.manifests.paths import is_frozen, output_path
from reconciler.model.decision import Cause, CauseKind, Decision
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.moments import earliest, parse_moment
from reconciler.model.settings import Settings
from reconciler.model.world import Body, Fault, Manifest, World
from reconciler.rebalance.target import Reference, Target

PRIORITY_CLASS = ("scheduling.k8s.io", "PriorityClass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Karmada before triggers: every binding as its workload and policy want it.

    `kept` are the bindings that stay as they are since their policy cannot be applied, `gone` those
    whose workload is no more. `waiting` are the workloads that are faulty
    or held, by key.
    """

    world: World
    settings: Settings
    now: datetime
    inventory: Inventory
    drafts: Mapping[ObjectKey, Draft]
    kept: Mapping[ObjectKey, Body]
    gone: Mapping[ObjectKey, Manifest]
    waiting: frozenset[str]
    faults: tuple[Fault, ...]

    def target(self, reference: Reference, /) -> Target | None:
        """Return the binding that a rebalancer refers to by its workload.

        Source: karmada@f8fdd02 pkg/controllers/workloadrebalancer/workloadrebalancer_controller.go
        `triggerReschedule`: kind, namespace and name decide, the API version does not.
        """
        namespace = reference.namespace
        kind = BINDING if namespace else CLUSTER_BINDING
        key = ObjectKey(GROUP, kind, namespace, binding_name(reference.kind, reference.name))
        group = group_of(reference.api_version)
        workload = ObjectKey(group, reference.kind, namespace, reference.name)
        held = str(workload) in self.waiting or key in self.kept
        waiting = held or is_frozen(self.world, key)
        draft = self.drafts.get(key)
        if draft is None:
            return Target(key, waiting=True) if waiting else None
        triggered = text(draft.spec, "rescheduleTriggeredAt")
        suspended = mapping(draft.spec, "suspension").get("scheduling") is True
        return Target(
            key,
            triggered_at=parse_moment(triggered) if triggered else None,
            waiting=waiting or suspended,
        )

    def plan(self, triggers: Mapping[ObjectKey, Trigger], _asked: Container[ObjectKey], /) -> Plan:
        """Decide every binding; one that cannot be decided keeps its file and is reported."""
        around = self._surroundings()
        outputs: dict[ObjectKey, Body] = {**self.inventory.records, **self.kept}
        faults = list(self.faults)
        decided: dict[ObjectKey, Decided] = {}
        for key, draft in self.drafts.items():
            try:
                decided[key] = decide(draft, triggers.get(key), around)
                outputs[key] = decided[key].body
            except UserError as error:
                faults.append(_undecided(self.world, draft, error))
                if draft.present is not None:
                    outputs[key] = draft.present
        decisions = [item.decision for item in decided.values() if item.decision is not None]
        decisions += [_removed(key, manifest) for key, manifest in self.gone.items()]
        return Plan(
            outputs=outputs,
            decisions=tuple(sorted(decisions, key=lambda decision: decision.key)),
            edited=tuple(sorted(key for key, item in decided.items() if item.edited)),
            faults=tuple(sorted(faults)),
            until=earliest(*(item.until for item in decided.values())),
        )

    def _surroundings(self) -> Surroundings:
        """Decode the fleet; a cluster without a file counts as leaving while a binding names it."""
        clusters = dict(self.inventory.clusters)
        for draft in self.drafts.values():
            for name, _ in decode_targets(draft.spec):
                if name not in clusters:
                    clusters[name] = departed(name)
        return Surroundings(
            members=members_of(
                decode_cluster(body, declared=self.settings.declared_clusters)
                for body in clusters.values()
            ),
            failover=decode_failover(self.settings),
            feedback=self.world.feedback,
            assume_after_seconds=self.settings.assume_after_seconds,
            now=self.now,
        )


def prepare(world: World, settings: Settings, now: datetime) -> Claims:
    """Let policies claim workloads, and draft the bindings."""
    policies = decode_policies(world.inputs.values())
    failover, preempting = decode_failover(settings), may_preempt(settings)
    priorities = _priority_classes(world)
    drafts: dict[ObjectKey, Draft] = {}
    kept: dict[ObjectKey, Body] = {}
    owners: dict[ObjectKey, ObjectKey] = {}
    faults = [_waiting(world, policy) for policy in policies.by_key.values() if policy.waits_for]
    for template in _templates(world):
        key = binding_key(template.key)
        present = None if key in owners else world.outputs.get(key)
        if is_frozen(world, key):
            continue
        body = present.body if present is not None else None
        policy = policies.claim(template, claimant(body), preempting=preempting)
        if policy is None and body is None:
            continue
        try:
            draft = draft_binding(template, policy, body, priorities)
        except UserError as error:
            faults.append(_refused(world, policy, error))
            if body is not None:
                kept[key] = body
            continue
        fault = _unnameable(template, world, owners.get(key))
        if fault is None:
            drafts[key] = draft
            owners[key] = template.key
        else:
            faults.append(fault)
    held = {str(key) for entry in world.held for key in entry.keys}
    return Claims(
        world=world,
        settings=settings,
        now=now,
        inventory=take_inventory(world, failover=failover.enabled, now=now),
        drafts=drafts,
        kept=kept,
        gone={
            key: manifest
            for key, manifest in sorted(world.outputs.items())
            if key.group == GROUP and key not in drafts and key not in kept
        },
        waiting=frozenset(held | {fault.subject for fault in world.faults}),
        faults=tuple(sorted(set(faults))),
    )


def _waiting(world: World, policy: Policy) -> Fault:
    """Say that a policy claims nothing until the override policies that it names are there.

    Source: karmada@f8fdd02 pkg/detector/detector.go `ApplyPolicy`, dependentOverrides.
    """
    names = ", ".join(policy.waits_for)
    return Fault(
        path=world.inputs[policy.key].origin.path,
        line=0,
        column=0,
        field="/spec/dependentOverrides",
        rule="policy-override-missing",
        message=f"the policy waits for override policies that are not there: {names}",
        expected="the override policies, or no such dependency",
        subject=str(policy.key),
    )


def _templates(world: World) -> list[Template]:
    """Return the workloads, those that have their binding first, sorted by key.

    Two workloads may want a binding of the same name: then the one that has it keeps it.
    """
    keys = [key for key in world.inputs if key.group not in OUR_GROUPS]
    keys.sort(key=lambda key: (not _is_bound(world.outputs.get(binding_key(key)), key), key))
    return [template_of(world.inputs[key]) for key in keys]


def _is_bound(binding: Manifest | None, workload: ObjectKey) -> bool:
    """Say whether a binding is that of a workload."""
    if binding is None:
        return False
    resource = mapping(mapping(binding.body, "spec"), "resource")
    named = (group_of(text(resource, "apiVersion")), text(resource, "kind"), text(resource, "name"))
    return named == (workload.group, workload.kind, workload.name)


def _refused(world: World, policy: Policy | None, error: UserError) -> Fault:
    """Say at a policy's file why it cannot be applied to a workload."""
    if policy is None:
        raise AssertionError("without a policy a binding keeps its spec") from error
    return Fault(
        path=world.inputs[policy.key].origin.path,
        line=0,
        column=0,
        field=error.field,
        rule="policy-priority-class",
        message=f"the policy is not applied: {error.message}",
        expected="the name of a PriorityClass of this repository",
        subject=str(policy.key),
    )


def _priority_classes(world: World) -> dict[str, int]:
    """Return the values of the PriorityClasses, by name."""
    return {
        key.name: value
        for key, manifest in world.inputs.items()
        if (key.group, key.kind) == PRIORITY_CLASS
        and isinstance(value := manifest.body.get("value"), int)
    }


def _unnameable(template: Template, world: World, owner: ObjectKey | None) -> Fault | None:
    """Say why a workload cannot have a binding of its name, `None` if it can."""
    origin = world.inputs[template.key].origin
    name = binding_key(template.key).name
    if owner is not None:
        message = f"its binding would be named {name} like that of {owner}, so it is not placed"
        expected = "names that differ in more than upper and lower case"
    elif len(name) > LONGEST_NAME:
        message = f"its binding's name would have {len(name)} characters, so it is not placed"
        expected = f"a name of at most {LONGEST_NAME - len(template.key.kind) - 1} characters"
    else:
        return None
    return Fault(
        origin.path, 0, 0, "/metadata/name", "binding-name", message, expected, str(template.key)
    )


def _undecided(world: World, draft: Draft, error: UserError) -> Fault:
    """Turn what a decoder found into a fault at the binding's file."""
    return Fault(
        path=output_path(world.output_root, draft.key),
        line=0,
        column=0,
        field=error.field,
        rule="binding-unreadable",
        message=f"the binding of {draft.subject} cannot be decided: {error.message}",
        expected="the file as the last pass wrote it (git checkout), or no file",
        subject=str(draft.key),
    )


def _removed(key: ObjectKey, manifest: Manifest) -> Decision:
    """Tell that a binding goes since its workload is no more."""
    resource = mapping(mapping(manifest.body, "spec"), "resource")
    name = text(resource, "name")
    return Decision(
        key=key,
        subject=f"{key.namespace}/{name}" if key.namespace else name,
        cause=Cause(CauseKind.REMOVED),
        before=placed(mapping(manifest.body, "spec")),
        after=(),
        removed=True,
    )


KARMADA = Dialect(
    name="karmada",
    groups=frozenset(
        ("apps.karmada.io", "cluster.karmada.io", "policy.karmada.io", "work.karmada.io")
    ),
    prepare=prepare,
)

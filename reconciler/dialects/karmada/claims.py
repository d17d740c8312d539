"""Which workloads have a binding, and what their policies want of it; nothing is decided here."""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.dialects.karmada.bindings import GROUP, Draft, binding_key, claimant, draft_binding
from reconciler.dialects.karmada.dependencies import dependencies_of
from reconciler.dialects.karmada.policies import (
    Policy,
    Template,
    decode_policies,
    template_of,
)
from reconciler.errors import UserError
from reconciler.manifests.identify import OUR_GROUPS
from reconciler.manifests.names import LONGEST_NAME
from reconciler.manifests.paths import is_frozen
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.world import Body, Fault, Manifest, World

PRIORITY_CLASS = ("scheduling.k8s.io", "PriorityClass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Every binding as its workload and policy want it.

    Attributes:
        drafts: By key of the binding.
        needs: Binding to the objects that its workload needs beside itself, where they follow it.
        kept: The bindings that stay as they are since their policy cannot be applied.
        gone: The bindings whose workload is no more.
        waiting: The workloads that are faulty or held, by key as text.
        faults: What keeps policies and workloads from each other.
    """

    drafts: Mapping[ObjectKey, Draft]
    needs: Mapping[ObjectKey, tuple[ObjectKey, ...]]
    kept: Mapping[ObjectKey, Body]
    gone: Mapping[ObjectKey, Manifest]
    waiting: frozenset[str]
    faults: tuple[Fault, ...]


def claim_workloads(world: World, *, preempting: bool) -> Claims:
    """Let policies claim workloads, and draft the bindings."""
    policies = decode_policies(world.inputs.values())
    priorities = _priority_classes(world)
    drafts: dict[ObjectKey, Draft] = {}
    needs: dict[ObjectKey, tuple[ObjectKey, ...]] = {}
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
        if fault is not None:
            faults.append(fault)
            continue
        drafts[key] = draft
        owners[key] = template.key
        if draft.spec.get("propagateDeps") is True:
            needs[key] = dependencies_of(template.key, template.api_version, template.body)
    held = {str(key) for entry in world.held for key in entry.keys}
    return Claims(
        drafts=drafts,
        needs=needs,
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

"""Which workloads have a binding, and what their policies want of it; nothing is decided here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from reconciler.dialects.karmada.api.custom_kinds import CustomKinds
from reconciler.dialects.karmada.api.policies import (
    CLUSTER_WIDE,
    NAMESPACED,
    Policy,
    Template,
    decode_policy,
    overrides_of,
    template_of,
)
from reconciler.dialects.karmada.api.policies import GROUP as POLICIES
from reconciler.dialects.karmada.detector.binding_draft import (
    GROUP,
    Draft,
    binding_key,
    claimant,
    draft_binding,
    named_by,
)
from reconciler.dialects.karmada.detector.dependencies import dependencies_of
from reconciler.dialects.karmada.detector.options import DetectorOptions
from reconciler.dialects.karmada.detector.policy_faults import (
    name_fault,
    refused_fault,
    waiting_fault,
)
from reconciler.dialects.karmada.detector.policy_match import Policies, index_policies
from reconciler.dialects.karmada.memory import Drafted, KarmadaMemory
from reconciler.dialects.object_boundary import Failed, attempt, place_of
from reconciler.manifests.paths import is_frozen
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.world import Body, Fault, Manifest, World

OVERRIDES = ("OverridePolicy", "ClusterOverridePolicy")
PRIORITY_CLASS = ("scheduling.k8s.io", "PriorityClass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Every binding as its workload and policy want it.

    Attributes:
        drafts: By key of the binding.
        needs: Binding to the objects that its workload needs beside itself, where they follow it.
        kept: The bindings that stay as they are since their policy cannot be applied.
        gone: The bindings whose workload is no more.
        named: The clusters that bindings name.
        waiting: The workloads that are faulty or held, by key as text.
        faults: What keeps policies and workloads from each other.
        failed: The policies and workloads that could not be dealt with, and why.
    """

    drafts: Mapping[ObjectKey, Draft]
    needs: Mapping[ObjectKey, tuple[ObjectKey, ...]]
    kept: Mapping[ObjectKey, Body]
    gone: Mapping[ObjectKey, Manifest]
    never: frozenset[ObjectKey]
    named: frozenset[str]
    waiting: frozenset[str]
    faults: tuple[Fault, ...]
    failed: tuple[Failed, ...]


def claim_workloads(world: World, memory: KarmadaMemory, options: DetectorOptions) -> Claims:
    """Let policies claim workloads, and draft the bindings.

    Args:
        world: Its inputs hold workloads and policies, its outputs the bindings so far.
        memory: What earlier rounds found.
        options: What the configuration says.
    """
    policies = _policies(world, memory)
    priorities = _priority_classes(world, memory)
    found = _Found()
    known = memory.drafted.under(policies, priorities, options)
    templates = _templates(world, memory, found)
    found.failed += policies.failed.values()
    for template, key in templates:
        if world.frozen and is_frozen(world, key):
            continue
        present = None if key in found.owners else world.outputs.get(key)
        body = present.body if present is not None else None
        before = known.get(template.key)
        if before is not None and before[0] is template and before[1] is body:
            found.take(template, key, before[2], world)
            continue
        if policies.failed and claimant(body) in policies.failed:
            found.keep(key, body)
            continue
        if not options.propagation.allows(template) and not _is_required(body):
            found.never.add(key)
            continue
        claim = partial(policies.claim, template, claimant(body), preempting=options.preempting)
        drafting = _Drafting(template, body, priorities, options.custom_kinds, memory)
        drafted = drafting.claimed(world, claim)
        if isinstance(drafted, Failed):
            found.failed.append(drafted)
            found.keep(key, body)
            continue
        known[template.key] = (template, body, drafted)
        found.take(template, key, drafted, world)
    memory.drafted.trim(world.inputs)
    found.faults += [waiting_fault(world, one) for one in policies.by_key.values() if one.waits_for]
    held = {str(key) for entry in world.held for key in entry.keys}
    return Claims(
        drafts=found.drafts,
        needs=found.needs,
        kept=found.kept,
        gone={
            key: world.outputs[key]
            for key in sorted(world.outputs.keys() - found.drafts.keys() - found.kept.keys())
            if key.group == GROUP
        },
        never=frozenset(found.never),
        named=frozenset[str]().union(*found.named),
        waiting=frozenset(held | {fault.subject for fault in world.faults}),
        faults=tuple(sorted(set(found.faults))),
        failed=tuple(found.failed),
    )


@dataclass(slots=True)
class _Found:
    """What was found so far, workload by workload; `owners` has the workload of each binding."""

    drafts: dict[ObjectKey, Draft] = field(default_factory=dict)
    needs: dict[ObjectKey, tuple[ObjectKey, ...]] = field(default_factory=dict)
    kept: dict[ObjectKey, Body] = field(default_factory=dict)
    named: set[frozenset[str]] = field(default_factory=set)  # most bindings share a few
    owners: dict[ObjectKey, ObjectKey] = field(default_factory=dict)
    never: set[ObjectKey] = field(default_factory=set)
    faults: list[Fault] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)

    def keep(self, key: ObjectKey, present: Body | None) -> None:
        """Leave a binding as it is."""
        if present is not None:
            self.kept[key] = present

    def take(self, template: Template, key: ObjectKey, drafted: Drafted, world: World) -> None:
        """Take what a workload comes to, if its binding can have that name."""
        if drafted.draft is None:
            return
        fault = name_fault(template, key, world, self.owners.get(key))
        if fault is not None:
            self.faults.append(fault)
            return
        self.drafts[key] = drafted.draft
        self.owners[key] = template.key
        self.named.add(drafted.named)
        if drafted.needs:
            self.needs[key] = drafted.needs


def _policies(world: World, memory: KarmadaMemory) -> Policies:
    """Return the policies indexed, those as before that are as before."""
    manifests = [*world.of_kind(POLICIES, NAMESPACED), *world.of_kind(POLICIES, CLUSTER_WIDE)]
    overrides = [manifest for kind in OVERRIDES for manifest in world.of_kind(POLICIES, kind)]
    cache_key = tuple(manifest.body for manifest in (*manifests, *overrides))

    def index() -> Policies:
        found, failed = [], {}
        for manifest in manifests:
            policy = attempt(partial(_policy, manifest, world, memory), partial(place_of, manifest))
            if isinstance(policy, Failed):
                failed[manifest.key] = policy
            else:
                found.append(policy)
        return index_policies(found, failed)

    return memory.elections.recall(None, cache_key, index)


def _policy(manifest: Manifest, world: World, memory: KarmadaMemory) -> Policy:
    """Return one policy decoded."""
    there = tuple(override in world.inputs for override in overrides_of(manifest))
    decode = partial(decode_policy, manifest, world.inputs)
    return memory.policies.recall(manifest.key, (manifest.body, *there), decode)


@dataclass(frozen=True, slots=True)
class _Drafting:
    """One workload about to be claimed.

    Attributes:
        template: The workload.
        present: Its binding as the last pass left it, `None` if it has none.
        priorities: Name to value of the PriorityClasses.
        custom_kinds: Where custom kinds keep their replicas.
        memory: What earlier rounds found.
    """

    template: Template
    present: Body | None
    priorities: Mapping[str, int]
    custom_kinds: CustomKinds
    memory: KarmadaMemory

    def claimed(self, world: World, claim: Callable[[], Policy | None]) -> Drafted | Failed:
        """Return what the workload comes to under the policy that claims it."""
        place = partial(place_of, world.inputs[self.template.key])
        policy = attempt(claim, place)
        if isinstance(policy, Failed):
            return policy
        refused = None if policy is None else partial(refused_fault, world, policy, self.template)
        return attempt(partial(self._drafted, policy), place, refused)

    def _drafted(self, policy: Policy | None) -> Drafted:
        """Return the binding of the workload before its round, if it has or gets one.

        Raises:
            UserError: See `draft_binding`.
        """
        template, present = self.template, self.present
        if policy is None and present is None:
            return Drafted(None)
        priority = None
        if policy is not None and "schedulePriority" in policy.spec:
            wanted = mapping(policy.spec, "schedulePriority")
            priority = self.priorities.get(text(wanted, "priorityClassName"))
        draw = partial(draft_binding, template, policy, present, self.priorities, self.custom_kinds)
        cache_key = (template, policy, present, priority, self.custom_kinds)
        draft = self.memory.drafts.recall(template.key, cache_key, draw)
        wanting = draft.spec.get("propagateDeps") is True
        return Drafted(
            draft,
            named=named_by(draft),
            needs=dependencies_of(template.key, template.api_version, template.body)
            if wanting
            else (),
        )


def _templates(
    world: World, memory: KarmadaMemory, found: _Found
) -> list[tuple[Template, ObjectKey]]:
    """Return the workloads with the keys of their bindings, sorted by key.

    Two workloads may want a binding of the same name: then the one that has it keeps it, so those
    that have their binding come first.
    """
    known = memory.templates.under()
    templates = []
    for (group, _), manifests in world.kinds.of(world.inputs).items():
        for manifest in manifests if group not in world.known.groups else ():
            before = known.get(manifest.key)
            if before is None or before[0] is not manifest.body:
                drawn = attempt(partial(_template, manifest), partial(place_of, manifest))
                if isinstance(drawn, Failed):
                    found.failed.append(drawn)
                    key = binding_key(manifest.key)
                    found.keep(key, world.outputs[key].body if key in world.outputs else None)
                    continue
                before = known[manifest.key] = (manifest.body, drawn)
            templates.append(before[1])
    memory.templates.trim(world.inputs)
    if len({key for _, key in templates}) == len(templates):
        return templates
    return sorted(templates, key=lambda one: not _is_bound(world.outputs.get(one[1]), one[0].key))


def _is_required(binding: Body | None) -> bool:
    """Return whether others need what a binding places, so that no policy is asked."""
    return bool(mapping(binding or {}, "spec").get("requiredBy"))


def _template(manifest: Manifest) -> tuple[Template, ObjectKey]:
    return template_of(manifest), binding_key(manifest.key)


def _is_bound(binding: Manifest | None, workload: ObjectKey) -> bool:
    """Return whether a binding is that of a workload."""
    if binding is None:
        return False
    resource = mapping(mapping(binding.body, "spec"), "resource")
    named = (group_of(text(resource, "apiVersion")), text(resource, "kind"), text(resource, "name"))
    return named == (workload.group, workload.kind, workload.name)


def _priority_classes(world: World, memory: KarmadaMemory) -> Mapping[str, int]:
    """Return the values of the PriorityClasses, by name."""
    manifests = world.of_kind(*PRIORITY_CLASS)
    return memory.priorities.recall(
        None,
        tuple(manifest.body for manifest in manifests),
        lambda: {
            manifest.key.name: value
            for manifest in manifests
            if isinstance(value := manifest.body.get("value"), int)
        },
    )

"""Which workloads have a binding, and what their policies want of it; nothing is decided here."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from reconciler.dialects.karmada.api.binding import workload_key
from reconciler.dialects.karmada.api.policies import (
    Policy,
    Template,
    template_of,
)
from reconciler.dialects.karmada.api.work.binding_metadata import BINDING, CLUSTER_BINDING
from reconciler.dialects.karmada.api.work.binding_spec import decode_spec
from reconciler.dialects.karmada.detector.affected import Seen, affected_workloads
from reconciler.dialects.karmada.detector.binding_draft import (
    GROUP,
    Draft,
    binding_key,
    draft_binding,
)
from reconciler.dialects.karmada.detector.claim_marks import claimant
from reconciler.dialects.karmada.detector.claim_table import ClaimTable, WorkloadClaim
from reconciler.dialects.karmada.detector.dependencies import dependencies_of
from reconciler.dialects.karmada.detector.known_policies import policies_in, priority_classes_in
from reconciler.dialects.karmada.detector.options import DetectorOptions
from reconciler.dialects.karmada.detector.policy_faults import (
    name_fault,
    refused_fault,
    waiting_fault,
)
from reconciler.dialects.karmada.memory import KarmadaMemory
from reconciler.dialects.object_boundary import Failed, attempt, place_of
from reconciler.manifests.paths import is_frozen
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.versioned import differing
from reconciler.model.world import Fault, Manifest, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Every binding as its workload and policy want it.

    Attributes:
        drafts: By key of the binding.
        names_of: Returns the clusters that a binding names.
        required: Those of them that others require.
        needs: Binding to the objects that its workload needs beside itself, where they follow it.
        kept: The bindings that stay as they are since their policy cannot be applied.
        gone: The bindings whose workload is no more.
        named: The clusters that bindings name.
        waiting: The workloads that are faulty or held, by key as text.
        faults: What keeps policies and workloads from each other.
        failed: The policies and workloads that could not be dealt with, and why.
    """

    drafts: Mapping[ObjectKey, Draft]
    names_of: Callable[[ObjectKey], frozenset[str]]
    required: Mapping[ObjectKey, Draft]
    needs: Mapping[ObjectKey, tuple[ObjectKey, ...]]
    kept: Mapping[ObjectKey, Body]
    gone: Mapping[ObjectKey, Manifest]
    never: Collection[ObjectKey]
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
    seen = Seen(
        inputs=world.inputs,
        outputs=world.outputs,
        frozen=world.frozen,
        policies=policies_in(world, memory),
        priorities=priority_classes_in(world, memory),
        options=options,
    )
    detection = _Detection(world, seen, memory.claims)
    gone = detection.follow(memory.seen)
    memory.claims, memory.seen = detection.table, replace(seen, gone=frozenset(gone))
    table, policies = detection.table, seen.policies
    faults = (waiting_fault(world, one) for one in policies.waiting)
    return Claims(
        drafts=table.drafts,
        names_of=table.names_of,
        required=table.required,
        needs=table.needs,
        kept=table.kept,
        gone={key: world.outputs[key] for key in sorted(gone)},
        never=table.never,
        named=table.named,
        waiting=world.in_doubt,
        faults=tuple(sorted({*faults, *table.faults.values()})),
        failed=(*policies.failed.values(), *table.failed.values()),
    )


@dataclass(slots=True)
class _Detection:
    """One look at the workloads: at those that may come to something else, or at all of them."""

    world: World
    seen: Seen
    table: ClaimTable

    def follow(self, before: Seen | None) -> set[ObjectKey]:
        """Bring the table up to date, and return the bindings whose workload is no more."""
        affected = None if before is None else affected_workloads(self.table, before, self.seen)
        if affected is None or before is None:
            return self._all(before)
        table, outputs = self.table, self.world.outputs
        found = {key: self._claim(key) for key in sorted(affected)}
        bindings = {one.binding for key in affected if (one := table.claims.get(key)) is not None}
        bindings |= {claim.binding for claim in found.values() if claim is not None}
        shared = any(len(table.wanting(key)) > 1 for key in bindings)
        table.replace(affected, filter(None, found.values()))
        if shared or any(len(table.wanting(key)) > 1 for key in bindings):
            return self._all(before)  # who has the binding depends on all who want it
        asked = before.gone | bindings | (differing(before.outputs, outputs) or frozenset())
        return {key for key in asked if key.group == GROUP and self._is_gone(key)}

    def _all(self, before: Seen | None) -> set[ObjectKey]:
        """Look at every workload; what was drawn from the same is taken over."""
        known, self.table = self.table, ClaimTable()
        unchanged = before is not None and before.draws_as(self.seen)
        keys = [
            manifest.key
            for (group, _), manifests in self.world.kinds.of(self.world.inputs).items()
            for manifest in (manifests if group not in self.world.known.groups else ())
        ]
        if len(set(map(binding_key, keys))) < len(keys):  # those that have their binding come first
            keys.sort(key=lambda key: not _is_bound(self.world.outputs.get(binding_key(key)), key))
        owners: dict[ObjectKey, ObjectKey] = {}
        claims = []
        for key in keys:
            claim = self._claim(key, known.claims.get(key), owners, unchanged=unchanged)
            if claim is not None:
                claims.append(claim)
                if claim.draft is not None:
                    owners[claim.binding] = key
        self.table.replace((), claims)
        written = self.world.outputs_of(((GROUP, BINDING), (GROUP, CLUSTER_BINDING)))
        return {manifest.key for manifest in written if self._is_gone(manifest.key)}

    def _is_gone(self, key: ObjectKey) -> bool:
        """Return whether a binding is there that no workload has."""
        table = self.table
        return key in self.world.outputs and key not in table.drafts and key not in table.kept

    def _claim(
        self,
        key: ObjectKey,
        before: WorkloadClaim | None = None,
        owners: Mapping[ObjectKey, ObjectKey] = MappingProxyType({}),
        *,
        unchanged: bool = False,
    ) -> WorkloadClaim | None:
        """Return what a workload comes to, `None` if it has nothing to do with bindings.

        Args:
            key: Of the workload.
            before: What it came to before.
            owners: Who has which binding already.
            unchanged: Whether all policies and options are as they were before.
        """
        world, binding = self.world, binding_key(key)
        manifest = world.inputs.get(key)
        if manifest is None or key.group in world.known.groups or is_frozen(world, binding):
            return None
        before = before or self.table.claims.get(key)
        output = None if binding in owners else world.outputs.get(binding)
        present = output.body if output is not None else None
        drawn = None if before is None else before.template
        if drawn is None or drawn.body is not manifest.body:
            template = attempt(partial(template_of, manifest), partial(place_of, manifest))
            if isinstance(template, Failed):
                return WorkloadClaim(
                    workload=key, template=None, binding=binding, present=present, kept=True,
                    failed=template,
                )  # fmt: skip
            drawn = template
        if unchanged and before is not None and before.is_of(drawn, present):
            settled = before
        else:
            settled = self._settle(drawn, binding, present, before)
        if settled.draft is None:
            return settled
        fault = name_fault(drawn, binding, world, owners.get(binding))
        if fault is None:
            return settled if settled.fault is None else replace(settled, fault=None)
        return replace(settled, draft=None, needs=(), named=frozenset(), fault=fault)

    def _settle(
        self,
        template: Template,
        binding: ObjectKey,
        present: Body | None,
        before: WorkloadClaim | None,
    ) -> WorkloadClaim:
        """Return what a workload comes to under the policies."""
        seen, key = self.seen, template.key
        claim = partial(
            WorkloadClaim, workload=key, template=template, binding=binding, present=present
        )
        held = claimant(present)
        if seen.policies.failed and held in seen.policies.failed:
            return claim(kept=True)
        if not seen.options.propagation.allows(template) and not _is_required(present):
            return claim(never=True)
        place = partial(place_of, self.world.inputs[key])
        elect = partial(seen.policies.claim, template, held, preempting=seen.options.preempting)
        policy = attempt(elect, place)
        if isinstance(policy, Failed):
            return claim(kept=True, failed=policy)
        if policy is None and present is None:
            return claim()
        refused = None if policy is None else partial(refused_fault, self.world, policy, template)
        under = (seen.priority_of(policy), seen.options.custom_kinds)
        if before is not None and before.is_drawn_from(template, policy, present, under):
            return before
        draft = attempt(partial(self._drafted, template, policy, present), place, refused)
        if isinstance(draft, Failed):
            return claim(kept=True, failed=draft)
        return claim(
            policy=policy,
            under=under,
            draft=draft,
            named=self.table.shared(draft.spec.named),
            needs=_needs(template) if draft.spec.propagate_deps else (),
        )

    def _drafted(self, template: Template, policy: Policy | None, present: Body | None) -> Draft:
        """Return the binding of a workload before its round.

        Raises:
            UserError: See `draft_binding`.
        """
        options = self.seen.options
        return draft_binding(template, policy, present, self.seen.priorities, options.custom_kinds)


def _needs(template: Template) -> tuple[ObjectKey, ...]:
    """Return what a workload needs beside itself."""
    return dependencies_of(template.key, template.api_version, template.body)


def _is_required(binding: Body | None) -> bool:
    """Return whether others need what a binding places, so that no policy is asked."""
    return binding is not None and bool(decode_spec(binding).required_by)


def _is_bound(binding: Manifest | None, workload: ObjectKey) -> bool:
    """Return whether a binding is that of a workload."""
    if binding is None:
        return False
    bound = workload_key(binding.body)
    return (*bound[:2], bound.name) == (workload.group, workload.kind, workload.name)

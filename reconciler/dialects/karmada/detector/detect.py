"""Which workloads have a binding, and what their policies want of it; nothing is decided here."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from reconciler.dialects.karmada.api.binding import workload_key
from reconciler.dialects.karmada.api.work.binding_metadata import BINDING, CLUSTER_BINDING
from reconciler.dialects.karmada.detector.affected import (
    ClaimChanges,
    Seen,
    affected_workloads,
)
from reconciler.dialects.karmada.detector.binding_draft import GROUP, Draft, binding_key
from reconciler.dialects.karmada.detector.claim_memory import ClaimMemory
from reconciler.dialects.karmada.detector.claim_reads import ClaimReads
from reconciler.dialects.karmada.detector.claim_table import ClaimTable, WorkloadClaim
from reconciler.dialects.karmada.detector.claim_workload import claim_workload
from reconciler.dialects.karmada.detector.known_policies import priority_classes_in
from reconciler.dialects.karmada.detector.options import DetectorOptions
from reconciler.dialects.karmada.detector.policy_faults import name_fault, waiting_fault
from reconciler.dialects.object_boundary import Failed
from reconciler.dialects.read_index import Question
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
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
    names_of: Callable[[ObjectKey], frozenset[Question]]
    required: Mapping[ObjectKey, Draft]
    needs: Mapping[ObjectKey, tuple[ObjectKey, ...]]
    kept: Mapping[ObjectKey, Body]
    gone: Mapping[ObjectKey, Manifest]
    never: Collection[ObjectKey]
    named: frozenset[Question]
    waiting: frozenset[str]
    faults: tuple[Fault, ...]
    failed: tuple[Failed, ...]


def claim_workloads(world: World, memory: ClaimMemory, options: DetectorOptions) -> Claims:
    """Let policies claim workloads, and draft the bindings.

    Args:
        world: Its inputs hold workloads and policies, its outputs the bindings so far.
        memory: What earlier rounds found.
        options: What the configuration says.
    """
    seen = Seen(
        frozen=world.frozen,
        policies=memory.policies.follow(world.inputs),
        priorities=priority_classes_in(world, memory.priorities),
        options=options,
    )
    detection = _Detection(world, seen, memory.table)
    gone = detection.follow(memory.seen, memory.drawn_from.follow(world, seen.policies))
    memory.table, memory.seen = detection.table, replace(seen, gone=frozenset(gone))
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

    def follow(self, before: Seen | None, changes: ClaimChanges) -> set[ObjectKey]:
        """Bring the table up to date, and return the bindings whose workload is no more."""
        if before is None or not self.seen.may_follow(before):
            return self._all(before)
        table = self.table
        affected = affected_workloads(table, changes)
        found = {key: self._claim(key) for key in sorted(affected)}
        bindings = {one.binding for key in affected if (one := table.find(key)) is not None}
        bindings |= {claim.binding for claim in found.values() if claim is not None}
        shared = any(len(table.wanting(key)) > 1 for key in bindings)
        table.replace(affected, filter(None, found.values()))
        if shared or any(len(table.wanting(key)) > 1 for key in bindings):
            return self._all(before)  # who has the binding depends on all who want it
        return {key for key in before.gone | bindings | changes.bindings if self._is_gone(key)}

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
            claim = self._claim(key, known.find(key), owners, unchanged=unchanged)
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
        reads = ClaimReads(key, self.world, self.seen.policies)
        binding = binding_key(key)
        before = before or self.table.find(key)
        stays = before if unchanged else None
        claim = claim_workload(reads, self.seen, before, is_owned=binding in owners, stays=stays)
        if claim is not None and claim is not before:
            claim = claim._replace(reads=self.table.shared(frozenset(reads.reads)))
        if claim is None or claim.draft is None or claim.template is None:
            return claim
        fault = name_fault(claim.template, binding, reads.path(key), owners.get(binding))
        if fault is None:
            return claim if claim.fault is None else claim._replace(fault=None)
        return claim._replace(draft=None, needs=(), fault=fault)


def _is_bound(binding: Manifest | None, workload: ObjectKey) -> bool:
    """Return whether a binding is that of a workload."""
    if binding is None:
        return False
    bound = workload_key(binding.body)
    return (*bound[:2], bound.name) == (workload.group, workload.kind, workload.name)

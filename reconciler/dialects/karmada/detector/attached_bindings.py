"""Bindings of what workloads need beside themselves: they are where those workloads are."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from operator import attrgetter
from typing import TypeVar

from reconciler.dialects.karmada.api.policies import template_of
from reconciler.dialects.karmada.api.work.binding_spec import (
    BindingSnapshot,
    BindingSpec,
    decode_spec,
)
from reconciler.dialects.karmada.detector.binding_draft import (
    Draft,
    Requiring,
    binding_key,
    draft_binding,
)
from reconciler.dialects.karmada.detector.claim_memory import ClaimMemory
from reconciler.dialects.karmada.detector.detect import Claims
from reconciler.dialects.object_boundary import Failed, attempt, place_of
from reconciler.manifests.paths import is_frozen
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest, World

Value = TypeVar("Value", str, bool)
Needed = Mapping[ObjectKey, Draft]
"""The bindings of all that workloads need, by key; some of them have a policy of their own."""


def needed_bindings(
    claims: Claims, world: World, memory: ClaimMemory, failed: list[Failed]
) -> Needed:
    """Return the bindings of the objects that are needed, or were until now.

    An object that is not in the repository, or whose binding cannot be read, is left alone; what
    fails is added to `failed`.
    """
    found = dict(claims.required)
    for needs in claims.needs.values():
        for need in needs:
            key = binding_key(need)
            if need not in world.inputs or is_frozen(world, key) or key in claims.kept:
                continue
            known, manifest = claims.drafts.get(key), world.inputs[need]
            if known is not None:
                found[key] = known
                continue
            draw = partial(_unclaimed, manifest)
            recall = partial(memory.drafts.recall, need, (manifest.body,), draw)
            drawn = attempt(recall, partial(place_of, manifest))
            if isinstance(drawn, Failed):
                failed.append(drawn)
            else:
                found[key] = drawn
    return {key: found[key] for key in sorted(found)}


def _unclaimed(manifest: Manifest) -> Draft:
    """Return the binding of an object that is there for others only."""
    return draft_binding(template_of(manifest), None, None, {})


def attach(
    claims: Claims,
    needed: Needed,
    standing: Callable[[ObjectKey], Body | None],
    present: Callable[[ObjectKey], Body | None],
    memory: ClaimMemory,
) -> Needed:
    """Return the needed bindings with those who require them, by name.

    One that is required no longer, and that no policy claims, is left out: it goes. A workload that
    is scheduled nowhere requires nothing, unless it did before it lost its clusters.

    Args:
        claims: Says who needs what.
        needed: The bindings of what is needed.
        standing: Returns a binding as decided in this round, `None` if there is none.
        present: Returns a binding as the round before left it, `None` if there was none.
        memory: What earlier rounds found.

    Source: karmada@f8fdd02 pkg/dependenciesdistributor/dependencies_distributor.go
    `syncScheduleResultToAttachedBindings`, `createOrUpdateAttachedBinding`, and the predicate of
    `SetupWithManager`, which drops a binding that was nowhere and is nowhere.
    """
    required: dict[ObjectKey, list[Requiring]] = defaultdict(list)
    for key in sorted(claims.needs):
        body = standing(key)
        if body is not None:
            taken = memory.snapshots.recall(key, (body,), partial(_requiring, key, body))
            for need in claims.needs[key]:
                attached = binding_key(need)
                snapshot = taken.taken
                if snapshot.clusters or _is_known(snapshot, present(attached)):
                    required[attached].append(taken)
    return {
        key: memory.attached.recall(
            key, (draft, *required[key]), partial(_attached, draft, required[key])
        )
        for key, draft in needed.items()
        if required[key] or _has_policy(draft)
    }


def _is_known(snapshot: BindingSnapshot, attached: Body | None) -> bool:
    """Return whether an attached binding knows already that another one requires it."""
    required_by = () if attached is None else decode_spec(attached).required_by
    return any(one[:2] == snapshot[:2] for one in required_by)


def _attached(draft: Draft, required: list[Requiring]) -> Draft:
    """Return a binding that knows who requires it, and the object that it is about.

    One without a policy takes of those who require it how conflicts are resolved, and whether its
    copies outlive it: where they differ, it overwrites, and they do.

    Source: karmada@f8fdd02 pkg/dependenciesdistributor/dependencies_distributor.go
    `buildAttachedBinding`, `createOrUpdateAttachedBinding`.
    """
    own = draft.spec
    if not _has_policy(draft):
        own = BindingSpec(
            resource=draft.resource,
            conflict_resolution=_first("Overwrite", (one.conflict_resolution for one in required)),
            preserve_resources_on_deletion=_first(True, (one.preserves for one in required)),
        )
    return draft._replace(spec=own._replace(required_by=tuple(one.taken for one in required)))


def _first(wins: Value, values: Iterable[Value | None]) -> Value | None:
    """Return the value that wins if any is it, else the first that is one at all."""
    found = [one for one in values if one is not None]
    return wins if wins in found else next(iter(found), None)


def _has_policy(draft: Draft) -> bool:
    """Return whether a binding is there for a policy's sake, even if that policy is gone by now."""
    return draft.policy is not None or draft.spec.placement is not None


def _requiring(key: ObjectKey, binding: Body) -> Requiring:
    """Return what an attached binding takes of one that requires it."""
    spec = decode_spec(binding)
    clusters = tuple(sorted(spec.clusters, key=attrgetter("name")))
    return Requiring(
        BindingSnapshot(key.namespace, key.name, clusters),
        spec.conflict_resolution,
        spec.preserve_resources_on_deletion,
    )

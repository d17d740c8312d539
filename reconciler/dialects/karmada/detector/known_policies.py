"""The policies and PriorityClasses of a world, decoded and indexed; as before where they stay.

An edit of a policy costs that policy, however many there are; one of an override policy costs the
policies that depend on it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from reconciler.dialects.followed_index import Followed
from reconciler.dialects.karmada.api.groups import SCHEDULING_GROUP
from reconciler.dialects.karmada.api.policies import (
    CLUSTER_WIDE,
    NAMESPACED,
    Policy,
    decode_policy,
    overrides_of,
)
from reconciler.dialects.karmada.api.policies import GROUP as POLICIES
from reconciler.dialects.karmada.detector.policy_match import Policies
from reconciler.dialects.object_boundary import Failed, attempt, place_of
from reconciler.dialects.read_index import KeyIndex
from reconciler.manifests.built_in import PRIORITIES
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import AnswerCache, CacheKey, same
from reconciler.model.versioned import patched
from reconciler.model.world import Manifest, World

KINDS = ((POLICIES, NAMESPACED), (POLICIES, CLUSTER_WIDE))
OVERRIDES = ((POLICIES, "OverridePolicy"), (POLICIES, "ClusterOverridePolicy"))
PRIORITY_CLASS = (SCHEDULING_GROUP, "PriorityClass")


class _Decoded(NamedTuple):
    """A policy, which of the override policies that it depends on are there, and these."""

    policy: Policy
    drawn_from: CacheKey
    overrides: tuple[ObjectKey, ...]


@dataclass(slots=True, eq=False)
class KnownPolicies:
    """The policies of the inputs that were followed last; it is changed in place."""

    _inputs: Followed[ObjectKey, Manifest] = field(default_factory=Followed)
    _decoded: dict[ObjectKey, _Decoded] = field(default_factory=dict)
    _depending: KeyIndex[ObjectKey, ObjectKey] = field(default_factory=KeyIndex)
    _latest: Policies = field(default_factory=Policies)

    def follow(self, inputs: Mapping[ObjectKey, Manifest]) -> Policies:
        """Go on to other inputs, and return their policies; the same while none differs."""
        affected: set[ObjectKey] = set()
        for key in self._inputs.keys(inputs):
            if key[:2] in KINDS:
                affected.add(key)
            elif key[:2] in OVERRIDES:
                affected |= self._depending.of(key)
        if affected:
            self._latest = self._decode(sorted(affected), inputs)
        return self._latest

    def __len__(self) -> int:
        return len(self._decoded)

    def _decode(
        self, affected: Collection[ObjectKey], inputs: Mapping[ObjectKey, Manifest]
    ) -> Policies:
        """Return the policies after some of them, or what these depend on, may be others."""
        before, failed = self._latest, dict(self._latest.failed)
        came: dict[ObjectKey, Policy] = {}
        gone: list[Policy] = []
        for key in affected:
            known, manifest = self._decoded.get(key), inputs.get(key)
            found = None if manifest is None else _decoded(manifest, inputs, known)
            failed.pop(key, None)
            if isinstance(found, Failed):
                failed[key], found = found, None
            if found is not known:
                self._put(key, known, found)
                gone += () if known is None else (known.policy,)
                if found is not None:
                    came[key] = found.policy
        if not gone and not came and failed == before.failed:
            return before
        before.selectors.replace(gone, came.values())
        by_key = patched(before.by_key, came, [policy.key for policy in gone])
        listed = {key: failed[key] for key in sorted(failed, key=_place)}
        return Policies(by_key, before.selectors, listed, self._waiting(before, gone, came))

    def _put(self, key: ObjectKey, known: _Decoded | None, found: _Decoded | None) -> None:
        """Put a policy in the place of what it was."""
        if known is not None:
            del self._decoded[key]
            self._depending.drop(key, known.overrides)
        if found is not None:
            self._decoded[key] = found
            self._depending.put(key, found.overrides)

    def _waiting(
        self, before: Policies, gone: Iterable[Policy], came: Mapping[ObjectKey, Policy]
    ) -> tuple[Policy, ...]:
        """Return the policies that wait for override policies."""
        left = {policy.key for policy in gone}
        stay = (policy for policy in before.waiting if policy.key not in left)
        new = (policy for policy in came.values() if policy.waits_for)
        return tuple(sorted((*stay, *new), key=lambda policy: _place(policy.key)))


def _place(key: ObjectKey) -> tuple[int, ObjectKey]:
    """Return where a policy is told: those of namespaces first."""
    return KINDS.index(key[:2]), key


def _decoded(
    manifest: Manifest, inputs: Mapping[ObjectKey, Manifest], known: _Decoded | None
) -> _Decoded | Failed:
    """Return one policy decoded, the very same one where nothing of it changed."""

    def decode() -> _Decoded:
        overrides = overrides_of(manifest)
        drawn_from = (manifest.body, *(override in inputs for override in overrides))
        if known is not None and same(known.drawn_from, drawn_from):
            return known
        return _Decoded(decode_policy(manifest, inputs), drawn_from, overrides)

    return attempt(decode, partial(place_of, manifest))


def priority_classes_in(
    world: World, known: AnswerCache[None, Mapping[str, int]]
) -> Mapping[str, int]:
    """Return the values of the PriorityClasses, by name; every API server has two by itself."""
    manifests = world.of_kind(*PRIORITY_CLASS)
    return known.recall(
        None,
        (manifests,),
        lambda: {
            **PRIORITIES,
            **{
                manifest.key.name: value
                for manifest in manifests
                if isinstance(value := manifest.body.get("value"), int)
            },
        },
    )

"""What one binding reads: its workload, the policies that may claim that, and all clusters.

Others have a say where two workloads want one binding, where others need its object, and where a
quota counts all of a namespace together. A quota by itself reads what clusters report of it.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from reconciler.dialects.contract import DependsOnOthers, OutputPlace, Reads
from reconciler.dialects.karmada.api.binding import BINDINGS
from reconciler.dialects.karmada.api.binding_spec import (
    BindingSpec,
    decode_policy_fields,
    decode_spec,
    may_propagate,
)
from reconciler.dialects.karmada.api.cluster_taints import TAINT_POLICY
from reconciler.dialects.karmada.api.names import CLUSTER, POLICY_GROUP
from reconciler.dialects.karmada.api.policy import CLUSTER_WIDE, NAMESPACED, overrides_of
from reconciler.dialects.karmada.api.quota import QUOTA
from reconciler.dialects.karmada.detector.binding_draft import (
    binding_key,
    claimant,
    dependencies_of,
)
from reconciler.dialects.karmada.detector.policies import OVERRIDES, PRIORITY_CLASS
from reconciler.dialects.karmada.quotas import counted_together, is_counted
from reconciler.dialects.reads import FollowedIndex
from reconciler.dialects.scores import SCORES
from reconciler.errors import UserError
from reconciler.model.body import Body, may_say
from reconciler.model.fields import at, mappings_of
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.world import Manifest, World

POLICIES = frozenset({(POLICY_GROUP, NAMESPACED), (POLICY_GROUP, CLUSTER_WIDE)})
SHARED = frozenset({CLUSTER, PRIORITY_CLASS, SCORES, TAINT_POLICY})
CONSULTED = POLICIES | SHARED | {*OVERRIDES}
PROPAGATE_DEPS = '"propagateDeps"'
PROPAGATES = "propagates dependencies"


def _ways(key: ObjectKey, manifest: Manifest) -> Iterator[Hashable]:
    """Yield what a policy selects, or the binding that a workload wants."""
    if key[:2] in POLICIES:
        spec = at(manifest.body, "spec")
        if decode_policy_fields(spec).propagate_deps:
            yield PROPAGATES
        for item in mappings_of(spec.get("resourceSelectors")):
            yield _selected(item.get("apiVersion"), item.get("kind"), item.get("name"))
    else:
        yield binding_key(key)


def _selected(api_version: object, kind: object, name: object) -> Hashable:
    return str(api_version), str(kind), str(name or "")


def _needed_by(key: ObjectKey, manifest: Manifest) -> Iterator[Hashable]:
    """Yield what a workload needs beside itself, if that follows it."""
    yield from dependencies_of(key, str(manifest.body.get("apiVersion")), manifest.body)


def _following(key: ObjectKey, manifest: Manifest) -> Iterator[Hashable]:
    """Yield that a binding has others follow it, if it does."""
    may = (
        key[:2] in BINDINGS
        and may_say(manifest.held, PROPAGATE_DEPS)  # seldom, so few are decoded
        and may_propagate(manifest.body)
    )
    spec = _readable(manifest.body) if may else None
    if spec is not None and spec.propagate_deps:
        yield PROPAGATES


def _readable(binding: Body) -> BindingSpec | None:
    """Return what a binding says, `None` if a person made it unreadable."""
    try:
        return decode_spec(binding)
    except UserError:
        return None


@dataclass(slots=True, eq=False)
class BindingReader:
    """Says what one binding reads."""

    shared: frozenset[Kind] = SHARED
    consulted: frozenset[Kind] = CONSULTED
    _world: World | None = None
    _index: FollowedIndex[Hashable, Manifest] = field(default_factory=lambda: FollowedIndex(_ways))
    _needs: FollowedIndex[Hashable, Manifest] = field(
        default_factory=lambda: FollowedIndex(_needed_by)
    )
    _followed: FollowedIndex[Hashable, Manifest] = field(
        default_factory=lambda: FollowedIndex(_following)
    )

    def follow(self, world: World, /) -> None:
        """Go on to another world."""
        self._world = world
        self._index.follow(world.inputs)
        self._followed.follow(world.outputs)

    def objects(self) -> Mapping[ObjectKey, frozenset[ObjectKey]]:
        """Return the binding that each workload wants, and the quotas.

        As one where some may have others follow, or where a quota counts those of a namespace.
        """
        world = self._world
        if world is None:
            return {}
        wanted: dict[ObjectKey, list[ObjectKey]] = defaultdict(list)
        for key in world.inputs:
            if key.group not in world.known.groups:
                wanted[binding_key(key)].append(key)
        for one in world.of_kind(*QUOTA):
            wanted[one.key].append(one.key)
        if self._followed.of(PROPAGATES) or self._index.of(PROPAGATES):
            return dict.fromkeys(wanted, frozenset(chain.from_iterable(wanted.values())))
        found = {key: frozenset(owners) for key, owners in wanted.items()}
        return {**found, **counted_together(world, wanted)}

    def reads(self, key: ObjectKey, /) -> Reads | DependsOnOthers:
        """Return what a binding reads, or why others have a say."""
        world = self._world
        if world is None or key[:2] not in (*BINDINGS, QUOTA):
            return DependsOnOthers(f"nothing is decided about a {key.kind} by itself")
        if is_counted(world, key.namespace):
            return DependsOnOthers("a quota counts all of its namespace together")
        if key[:2] == QUOTA:
            return Reads(frozenset({key}), frozenset({key}))
        present = world.outputs.get(key)
        known = world.known.groups
        owners = sorted(one for one in self._index.of(key) if one.group not in known)
        others = self._others(world, owners, None if present is None else present.body)
        if others:
            return DependsOnOthers(others)
        found = set(owners)
        for owner in owners:
            found |= self._policies(world.inputs[owner])
        held = claimant(None if present is None else present.body)
        if held is not None:
            found.add(held)
        for policy in found & world.inputs.keys():
            if policy[:2] in POLICIES:
                found.update(overrides_of(world.inputs[policy]))
        return Reads(frozenset(found), frozenset({key}))

    def places(self, key: ObjectKey, /) -> Iterable[OutputPlace]:
        """Return the place of its own file."""
        return (OutputPlace(key[:2], key.namespace, key.name),)

    def _policies(self, workload: Manifest) -> set[ObjectKey]:
        """Return the policies that may claim a workload; labels are not asked."""
        key, version = workload.key, workload.body.get("apiVersion")
        named = self._index.of(_selected(version, key.kind, key.name))
        every = self._index.of(_selected(version, key.kind, ""))
        return {one for one in named | every if one.namespace in ("", key.namespace)}

    def _others(self, world: World, owners: list[ObjectKey], present: Body | None) -> str:
        """Return why a binding depends on others, `""` if it does not."""
        if len(owners) > 1:
            return f"{owners[0]} and {owners[1]} want a binding of the same name"
        spec = None if present is None else _readable(present)
        if present is not None and spec is None:
            return "its file cannot be read"
        if spec is not None and spec.required_by:
            return "others require its object"
        if self._followed.of(PROPAGATES) or self._index.of(PROPAGATES):
            self._needs.follow(world.inputs)
            needing = sorted(one for owner in owners for one in self._needs.of(owner))
            if needing:
                return f"{needing[0]} needs its object, and may have it follow"
        return ""

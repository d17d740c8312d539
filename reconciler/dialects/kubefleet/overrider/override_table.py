"""The overrides of one world after the other, decoded once, and which questions they answer."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, zip_longest

from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.overrider.override import Override, decode_override
from reconciler.dialects.kubefleet.overrider.override_reads import ANY_OVERRIDE, answered_by
from reconciler.dialects.read_index import Question
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import AnswerCache
from reconciler.model.known_kinds import Kind
from reconciler.model.world import Manifest, World

OVERRIDES: tuple[Kind, ...] = ((GROUP, "ClusterResourceOverride"), (GROUP, "ResourceOverride"))
FIRST_INDEX = 0
"""Of the snapshot of an override; here there is one, since a change applies at once."""

Overrides = tuple[Override, ...]
"""All overrides of a world, those of the fleet first, then by namespace and name."""


@dataclass(slots=True, eq=False)
class OverrideTable:
    """Overrides decoded; it is changed in place, and no answer depends on it."""

    _found: AnswerCache[None, Overrides] = field(default_factory=AnswerCache)
    _each: dict[ObjectKey, tuple[Manifest, Override]] = field(default_factory=dict)

    def of(self, world: World) -> Overrides:
        """Return the overrides of a world, the very same ones while they stay."""
        written = tuple(world.of_kind(*kind) for kind in OVERRIDES)
        found = self._found.recall(None, written, lambda: self._decoded(chain(*written)))
        self._found.forget()
        return found

    def _decoded(self, manifests: Iterator[Manifest]) -> Overrides:
        known = self._each
        self._each = {
            one.key: kept
            if (kept := known.get(one.key)) is not None and kept[0] is one
            else (one, _again(one, kept))
            for one in manifests
        }
        return tuple([override for _, override in self._each.values()])


def _again(manifest: Manifest, kept: tuple[Manifest, Override] | None) -> Override:
    """Return an override that is new, or whose manifest is; the same one for the same document."""
    if kept is not None and kept[0].body is manifest.body:
        return kept[1]
    return decoded(manifest)


def decoded(manifest: Manifest) -> Override:
    """Return an override.

    Unlike upstream: each is as if it had never been another one, and a change of it applies at
    once, while upstream rolls it out like a change of resources.
    """
    snapshot = f"{manifest.key.name}-{FIRST_INDEX}"
    return decode_override(manifest.key, mapping(manifest.body, "spec"), snapshot)


def changed_overrides(before: Overrides, now: Overrides) -> Iterator[Question]:
    """Yield the questions about overrides whose answers differ between two worlds."""
    if before is now:
        return
    if bool(before) != bool(now):
        yield ANY_OVERRIDE
    for versions in zip_longest(before, now):
        if versions[0] is not versions[1]:  # behind one that came or went, all are asked
            yield from chain.from_iterable(answered_by(one) for one in versions if one is not None)

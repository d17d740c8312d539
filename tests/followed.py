"""Worlds as versions of the one before, as they are where a loader follows commits."""

from collections.abc import Mapping
from dataclasses import replace

from reconciler.model.remembered import patched
from reconciler.model.world import World


def linked(world: World, before: World | None) -> World:
    """The world as versions of the one before, as it is where commits are followed."""
    if before is None:
        return world
    maps = {
        name: as_version(getattr(world, name), getattr(before, name))
        for name in ("inputs", "feedback", "outputs", "present", "blobs", "delivered")
    }
    frozen = before.frozen if before.frozen == world.frozen else world.frozen
    kinds, output_kinds = before.kinds.next(), before.output_kinds.next()
    return replace(world, **maps, frozen=frozen, kinds=kinds, output_kinds=output_kinds)  # type: ignore[arg-type]  # by name


def as_version(now: Mapping[object, object], before: Mapping[object, object]) -> object:
    """What is equal stays the very same object."""
    came = {key: one for key, one in now.items() if before.get(key) != one}
    return patched(before, came, before.keys() - now.keys())

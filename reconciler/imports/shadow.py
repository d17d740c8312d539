"""A live hub beside us: what it decided since its decisions became our state, and what we would."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from reconciler.audit.fleet.placed import placed_on
from reconciler.core.convergence import world_after
from reconciler.core.dialects import PLACED
from reconciler.core.next_world import next_world
from reconciler.core.reconcile import reconcile
from reconciler.imports.importers import IMPORTERS, adopted_by_all
from reconciler.model.body import Body
from reconciler.model.decision import Placed
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedOnHub:
    """A decision that the hub has otherwise than our state.

    Attributes:
        key: What the decision is about.
        live: Where the hub has it, nowhere if it has none any more.
        ours: Where our state has it.
        would: Where the next pass would have it, with what the hub has for inputs now.
    """

    key: ObjectKey
    live: Placed
    ours: Placed
    would: Placed


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadow:
    """What a hub decided, compared with our state.

    Attributes:
        same: Decisions that are the same.
        moved: Those that differ, sorted.
        new: Those that are no state of ours, sorted.
        left: Live objects that could not become state, and why.
    """

    same: frozenset[ObjectKey] = frozenset()
    moved: tuple[MovedOnHub, ...] = ()
    new: tuple[ObjectKey, ...] = ()
    left: Mapping[ObjectKey, str]


def compare(
    world: World, live: Mapping[ObjectKey, Body], now: datetime, listed: Collection[Kind]
) -> Shadow:
    """Return how the live decisions of a hub differ from our state.

    Args:
        world: The repository, with everything of the hub that is imported.
        live: Every live object of the APIs.
        now: When the next pass would be.
        listed: Kinds of which everything is there, so what is missing is gone.
    """
    compared = PLACED - {k for importer in IMPORTERS.values() for k in importer.switch.following}
    adopted = adopted_by_all(world, live, now)
    outputs = adopted.outputs
    left = {**adopted.left, **{key: f"it lacks {one}" for key, one in adopted.lacking.items()}}
    there = world_after(replace(world, outputs={}), outputs, (), ())
    decided = {key for key in outputs if key[:2] in compared}
    apis = {key.group for key in live}
    gone = {
        key
        for key in world.outputs
        if key[:2] in compared and key[:2] in listed and key.group in apis and key not in live
    }
    asked = sorted(key for key in decided | gone if key in world.outputs)
    differing = [key for key in asked if placed_on(there, key) != placed_on(world, key)]
    after = next_world(world, reconcile(world, now)) if differing else world
    return Shadow(
        same=frozenset(asked) - frozenset(differing),
        moved=tuple(
            MovedOnHub(
                key=key,
                live=placed_on(there, key),
                ours=placed_on(world, key),
                would=placed_on(after, key),
            )
            for key in differing
        ),
        new=tuple(sorted(decided - world.outputs.keys())),
        left=dict(sorted((key, why) for key, why in left.items() if key not in world.outputs)),
    )

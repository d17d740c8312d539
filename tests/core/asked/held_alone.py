"""What a pass says of one object, and whether that object asked alone is told the same."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from reconciler.audit.fleet.placed import owner_of
from reconciler.core.asked import AskedAlone
from reconciler.core.changes import Outcome
from reconciler.core.dialects import decision_on
from reconciler.core.own_outputs import own_outputs
from reconciler.core.reconcile import reconcile
from reconciler.core.rounds import next_world
from reconciler.dialects.contract import DependsOnOthers
from reconciler.model.body import Body
from reconciler.model.decision import Decision, Explanation, Wait
from reconciler.model.identity import ObjectKey
from reconciler.model.records import replace
from reconciler.model.world import Fault, Kinds, World

DELIVERY = "delivery-"
"""How rules of delivery begin: what is delivered is no part of an answer about one object."""


@dataclass(frozen=True)
class Told:
    """All that a pass decides about one object."""

    explanation: Explanation | None
    decisions: tuple[Decision, ...]
    waits: tuple[Wait, ...]
    faults: tuple[Fault, ...]
    edited: bool
    files: dict[ObjectKey, Body]


def told_of(world: World, outcome: Outcome, key: ObjectKey) -> Told:
    """What the outcome of a pass over a world says of an object."""
    explain = outcome.explanations.get(key)
    after = next_world(world, outcome).outputs
    return Told(
        explanation=None if explain is None else explain(),
        decisions=tuple(one for one in outcome.decisions if one.key == key),
        waits=tuple(one for one in outcome.waits if one.key == key),
        faults=tuple(
            one
            for one in outcome.faults
            if one.subject == str(key) and not one.rule.startswith(DELIVERY)
        ),
        edited=key in outcome.edited,
        files={
            one: manifest.body
            for one, manifest in after.items()
            if one == key or owner_of(one, manifest.body) == key
        },
    )


def decided_in(world: World) -> frozenset[ObjectKey]:
    """The keys that decisions about the objects of a world bear, or would bear."""

    def keys() -> Iterator[ObjectKey]:
        for key in (*world.inputs, *world.outputs):
            found = decision_on(key)
            yield from () if found is None else (found,)

    return frozenset(keys())


def hold_alone(world: World, now: datetime, asking: AskedAlone) -> dict[ObjectKey, str]:
    """Hold every object asked alone against the whole pass; return why others were not alone."""
    keys = decided_in(world)
    whole = reconcile(world, now, asked=keys)
    depending: dict[ObjectKey, str] = {}
    for key in sorted(keys):
        alone = asking.ask(world, key, now)
        if isinstance(alone, DependsOnOthers):
            depending[key] = alone.reason
            continue
        part = asking.part(world, key)
        assert isinstance(part, World)
        expected = told_of(world, whole, key)
        assert expected == told_of(part, alone, key), key
        hold_own_outputs(world, now, key, expected)
    return depending


def hold_own_outputs(world: World, now: datetime, key: ObjectKey, expected: Told) -> None:
    """Hold that an object is told the same where no output is read but those of its paths."""
    own = own_outputs(key, world.output_root)
    outputs = {k: one for k, one in world.outputs.items() if own(one.origin.path)}
    narrow = replace(
        world,
        outputs=outputs,
        present={path: blob for path, blob in world.present.items() if own(path)},
        output_kinds=Kinds(),
    )
    asking = AskedAlone()
    part, alone = asking.part(narrow, key), asking.ask(narrow, key, now)
    assert isinstance(part, World)
    assert isinstance(alone, Outcome)
    assert expected == told_of(part, alone, key), key

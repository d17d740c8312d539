"""A toy: what a pass asks; every berth is decided, and nothing is remembered."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from reconciler.dialects.contract import Plan, RescheduleTrigger
from reconciler.dialects.object_pass import FaultPlace, ObjectPass, Part, place_of, unforeseen
from reconciler.errors import UserError
from reconciler.manifests.admission import is_suspended
from reconciler.manifests.paths import is_frozen
from reconciler.model.body import Body
from reconciler.model.decision import Cause, CauseKind, Decision
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.settings import Settings
from reconciler.model.world import Fault, World
from reconciler.rebalance.target import Reference, Target, TargetSelection
from reconciler.schedule.capacity import Ledger
from tests.toys.dialect.berth import decide, on
from tests.toys.dialect.dialect import BERTH, SITE


@dataclass(frozen=True, slots=True)
class Berths:
    """The berths of a world: what rebalancers may target, and what a pass decides in turn."""

    world: World
    now: datetime

    def target(self, reference: Reference, /) -> Target | None:
        """Return the berth that a rebalancer refers to."""
        kind = (group_of(reference.api_version), reference.kind)
        key = ObjectKey(*kind, reference.namespace, reference.name)
        found = kind == BERTH and key in self.world.inputs
        return Target(key, waits_for=self.held(key)) if found else None

    def changed_targets(self) -> frozenset[ObjectKey]:
        """Return none: no berth is a steady target."""
        return frozenset()

    def select(self, _selection: TargetSelection, /) -> tuple[()]:
        """Return nothing: berths are rebalanced by name only."""
        return ()

    def within(self, _ledger: Ledger, /) -> Self:
        """Return the same: berths take no room that is known."""
        return self

    def plan(
        self,
        triggers: Mapping[ObjectKey, RescheduleTrigger],
        asked: frozenset[ObjectKey],
        held: Mapping[ObjectKey, str],
        /,
    ) -> Plan:
        """Decide every berth."""
        berths = [berth.key for berth in self.world.of_kind(*BERTH)]
        present = {key: one.body for key, one in self.world.outputs.items() if key[:2] == BERTH}
        gone = [_removed(key, present[key]) for key in present.keys() - berths]
        berths_in_turn = ObjectPass(triggers=triggers, asked=asked, waiting=held, decisions=gone)
        berths_in_turn.run(berths, self)
        return berths_in_turn.plan()

    def present(self, key: ObjectKey, /) -> Mapping[ObjectKey, Body]:
        """Return the status file of a berth."""
        found = self.world.outputs.get(key)
        return {} if found is None else {key: found.body}

    def held(self, key: ObjectKey, /) -> str:
        """Return why a berth stays as it is, `""` if it does not."""
        if is_frozen(self.world, key):
            return "its status file cannot be read"
        return "it is suspended" if is_suspended(self.world.inputs[key].body) else ""

    def decide(self, key: ObjectKey, demand: RescheduleTrigger | None, /) -> Part:
        """Decide a berth."""
        present = self.present(key).get(key, {})
        sites = self.world.of_kind(*SITE)
        return decide(self.world.inputs[key], present, demand, sites, self.now)

    def remember(self, key: ObjectKey, part: Part, /) -> None:
        """Remember nothing."""

    def explain_kept(self, _key: ObjectKey, _reason: str, /) -> None:
        """Explain nothing of a berth that stays as it is."""

    def place(self, key: ObjectKey, /) -> FaultPlace:
        """Return the file of a berth."""
        return place_of(self.world.inputs[key])

    def fault(self, key: ObjectKey, error: UserError, /) -> Fault:
        """Return the fault of a berth that cannot be read: the schemas let none through."""
        return unforeseen(error, self.place(key)).fault


def _removed(key: ObjectKey, body: Body) -> Decision:
    subject, cause = f"{key.namespace}/{key.name}", Cause(CauseKind.REMOVED)
    return Decision(key, subject, cause, before=on(body), after=(), removed=True)


class Toy:
    """What a toy remembers between passes: nothing."""

    def prepare(self, world: World, _settings: Settings, now: datetime, /) -> Berths:
        """Begin a round."""
        return Berths(world, now)

    def forget(self) -> None:
        """Forget nothing."""

"""The placements of a round, as the loop over objects asks for them; each sees those before it."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial

from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.object_boundary import FaultPlace, place_of
from reconciler.dialects.object_pass import Part
from reconciler.dialects.ocm.api.earlier_hub import HubBefore
from reconciler.dialects.ocm.api.placement_decision import DecisionObject
from reconciler.dialects.ocm.causes import PlacementInTurn, with_causes
from reconciler.dialects.ocm.decide import PlacementOutcome, Surroundings, decide, keep
from reconciler.dialects.ocm.decisions.placement_draft import Draft
from reconciler.dialects.ocm.drafts import Drafts
from reconciler.dialects.ocm.memory import OcmMemory
from reconciler.dialects.ocm.reads import DECISIONS, placement_reads
from reconciler.dialects.ocm.view.decision_record import undecided
from reconciler.dialects.ocm.view.explanation import explain
from reconciler.dialects.visits import Visits
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.explanation import Explain
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementsInTurn:
    """The placements of a round.

    Attributes:
        drafts: As the round found them.
        around: What all of them look at.
        lost: The clusters that cannot be read.
        earlier: What of the hub is not as it was.
        visits: Those to look at; where one moves, those after it that count decisions come, too.
    """

    drafts: Drafts
    around: Surroundings
    lost: AbstractSet[str]
    earlier: HubBefore
    visits: Visits

    @property
    def _memory(self) -> OcmMemory:
        return self.drafts.memory

    def present(self, key: ObjectKey, /) -> Mapping[ObjectKey, Body]:
        """Return the decisions of a placement, and its status file."""
        return self.drafts[key].files

    def held(self, key: ObjectKey, /) -> str:
        """Return which of its files or clusters cannot be read, `""` if all can."""
        if self.drafts[key].frozen:
            return "one of its files cannot be read"
        clusters = {name for item in self._own(key) for name in item.clusters} if self.lost else {}
        is_lost = not self.lost.isdisjoint(clusters)
        return "one of its clusters cannot be read" if is_lost else ""

    def remembered(self, key: ObjectKey, /) -> Part | None:
        """Return the part of a placement that is at rest, `None` if it is not."""
        return self._memory.parts.find(key)

    def decide(self, key: ObjectKey, demand: RescheduleTrigger | None, /) -> Part:
        """Decide a placement, and count its decisions from now on."""
        draft, standing = self.drafts[key], self._memory.standing
        outcome = decide(draft, demand, standing, self.around)
        part = outcome.part._replace(explain=self._explain(draft, outcome, demand))
        question = PlacementInTurn(draft, demand, standing, self.around)
        earlier = self.drafts.world.earlier.get(key)
        told = with_causes(part, question, earlier, self.earlier)
        self._count(key, outcome)
        return told

    def remember(self, key: ObjectKey, part: Part, /) -> None:
        """Let a placement rest, with what it was decided from."""
        read = placement_reads(self.drafts[key].placement, self.around.hub)
        self._memory.parts.settle(key, part, frozenset(read), part.until)

    def explain_kept(self, key: ObjectKey, reason: str, /) -> Explain | None:
        """Return what explains that a placement stays as it is."""
        draft = self.drafts[key]
        return self._explain(draft, keep(draft, self._own(key), reason), None)

    def place(self, key: ObjectKey, /) -> FaultPlace:
        """Return the file of a placement."""
        return place_of(self.drafts[key].manifest)

    def fault(self, key: ObjectKey, error: UserError, /) -> Fault:
        """Return the fault of a placement that cannot be decided."""
        return undecided(self.drafts[key].manifest, error)

    def _own(self, key: ObjectKey) -> tuple[DecisionObject, ...]:
        return self._memory.standing.own(self.drafts[key].placement)

    def _count(self, key: ObjectKey, outcome: PlacementOutcome) -> None:
        """Put what a placement decided in place of what it had; who counts looks again."""
        if outcome.objects == self._own(key):
            return
        memory = self._memory
        memory.standing.put((key.namespace, key.name), outcome.objects)
        memory.decided.add(key)
        later = [one for one in memory.parts.asking(DECISIONS) if one > key]
        memory.parts.unsettle(later)
        self.visits.add(later)

    def _explain(
        self, draft: Draft, outcome: PlacementOutcome, demand: RescheduleTrigger | None
    ) -> Explain:
        return partial(explain, draft, outcome, demand, self.around.hub.members, self.around.now)

"""A pass's bindings one by one: what each asks, keeps and remembers, for the loop over objects."""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.karmada.causes import with_causes
from reconciler.dialects.karmada.decide import decide
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.detector.detect import Claims
from reconciler.dialects.karmada.federatedresourcequota.quota_round import QuotaRound
from reconciler.dialects.karmada.reservations import room_reads, take
from reconciler.dialects.karmada.scheduler.batched_moves import BATCHES, MOVING_TO
from reconciler.dialects.karmada.settled_bindings import Settled, SettledBindings
from reconciler.dialects.karmada.surroundings import Surroundings
from reconciler.dialects.object_boundary import FaultPlace
from reconciler.dialects.object_pass import Part
from reconciler.dialects.scores.reports import score_question
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.explanation import Explain
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Fault
from reconciler.schedule.capacity.ledger import Ledger


@dataclass(slots=True, kw_only=True)
class DraftedBindings:
    """Bindings, as the loop over objects asks for them.

    Attributes:
        drafts: As policies and attached bindings want them.
        settled: What is remembered of those that need no look.
        claims: What made the drafts.
        around: All else that a decision reads.
        quotas: What is used of each, by those decided so far.
        ledger: What is reserved in clusters, `None` where room is not protected.
        lost: Clusters that cannot be read.
    """

    drafts: Mapping[ObjectKey, Draft]
    settled: SettledBindings
    claims: Claims
    around: Surroundings
    quotas: QuotaRound
    ledger: Ledger | None
    lost: Mapping[str, object]

    def present(self, key: ObjectKey, /) -> Mapping[ObjectKey, Body]:
        """Return the file of a binding, if it has one."""
        present = self.drafts[key].present
        return {} if present is None else {key: present}

    def held(self, key: ObjectKey, /) -> str:
        """Return that one of its clusters cannot be decoded, `""` if all can."""
        named = self.drafts[key].spec.named
        is_lost = bool(self.lost) and not self.lost.keys().isdisjoint(named)
        return "one of its clusters cannot be read" if is_lost else ""

    def remembered(self, key: ObjectKey, /) -> Part | None:
        """Return the part of a binding that would be left as it is, `None` if unknown."""
        draft = self.drafts[key]
        if not draft.present:
            return None
        return self.settled.find(key, draft)

    def decide(self, key: ObjectKey, demand: RescheduleTrigger | None, /) -> Part:
        """Decide a binding."""
        draft = self.drafts[key]
        part = decide(draft, demand, self.around)
        part = with_causes(part, draft, demand, self.around)
        self.quotas.take(draft, part.outputs)
        if self.ledger is not None:
            take(self.ledger, draft, part.outputs)
        return part

    def remember(self, key: ObjectKey, part: Part, /) -> None:
        """Remember a part that leaves its binding as it is."""
        draft = self.drafts[key]
        names = self.claims.names_of(key) if part.local else None
        beside = self.quotas.reads(draft, part.outputs)
        beside |= {*map(score_question, part.scored)}
        if draft.metadata.note(MOVING_TO):
            beside |= {BATCHES}
        if self.ledger is not None:
            beside |= room_reads(draft, part.outputs)
        self.settled.settle(key, Settled(draft, part), names, beside)

    def explain_kept(self, _key: ObjectKey, _reason: str, /) -> Explain | None:
        """Return nothing: a binding that stays is explained by its file."""
        return None

    def place(self, key: ObjectKey, /) -> FaultPlace:
        """Return the file of a binding."""
        return FaultPlace(self.around.path_of(key), str(key))

    def fault(self, key: ObjectKey, error: UserError, /) -> Fault:
        """Return what a decoder found as a fault at the binding's file."""
        place = self.place(key)
        return Fault(
            path=place.path,
            line=0,
            column=0,
            field=error.field,
            rule="binding-unreadable",
            message=f"the binding of {self.drafts[key].subject} cannot be decided: {error.message}",
            expected="the file as the last pass wrote it (git checkout), or no file",
            subject=place.subject,
        )

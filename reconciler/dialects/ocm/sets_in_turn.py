"""The sets of a round, as the loop over objects asks for them; placements were decided before."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.followed_objects import FollowedObjects
from reconciler.dialects.object_boundary import FaultPlace, place_of
from reconciler.dialects.object_pass import Part
from reconciler.dialects.ocm.decisions.placement_record import DECISION
from reconciler.dialects.ocm.followed import placement_key
from reconciler.dialects.ocm.manifestworkreplicaset.decided_placement import decided_placement
from reconciler.dialects.ocm.manifestworkreplicaset.lifecycle import standing_set
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import ReplicaSet
from reconciler.dialects.ocm.manifestworkreplicaset.set_decision import (
    SetDecision,
    SetSurroundings,
    decide_set,
)
from reconciler.dialects.ocm.manifestworkreplicaset.set_file import render_set, says_assumed
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import (
    SetRecord,
    clusters_of,
    decode_record,
)
from reconciler.dialects.ocm.manifestworkreplicaset.set_reservations import take_set
from reconciler.dialects.ocm.manifestworkreplicaset.sync import DecidedPlacement
from reconciler.dialects.ocm.memory import OcmMemory
from reconciler.dialects.ocm.reads import set_reads
from reconciler.dialects.ocm.view.set_explanation import explain_set
from reconciler.dialects.ocm.view.set_waits import waits_of_set
from reconciler.errors import UserError
from reconciler.manifests.paths import is_frozen
from reconciler.manifests.suspension import is_suspended
from reconciler.model.body import Body
from reconciler.model.decision import Cause, CauseKind, Decision
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Fault, Manifest, World
from reconciler.schedule.capacity.ledger import Ledger

ROLLOUT_RULE = "replica-set-rollout"
UNREADABLE_RULE = "replica-set-unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetsInTurn:
    """The sets of a round.

    Attributes:
        world: As the round found it.
        around: What all of them look at.
        memory: The sets, and placements that are at rest.
        decided: The files of the placements that were looked at, as they are decided now.
        ledger: What is reserved of clusters, `None` where no room is protected.
    """

    world: World
    around: SetSurroundings
    memory: OcmMemory
    decided: Mapping[ObjectKey, Mapping[ObjectKey, Body]]
    ledger: Ledger | None = None

    def present(self, key: ObjectKey, /) -> Mapping[ObjectKey, Body]:
        """Return the status file of a set."""
        return self.memory.followed_sets.files(key)

    def held(self, key: ObjectKey, /) -> str:
        """Return why a set stays as it is, `""` if nothing holds it."""
        if is_frozen(self.world, key):
            return "its status file cannot be read"
        return "it is suspended" if is_suspended(self.memory.followed_sets.there[key].body) else ""

    def remembered(self, key: ObjectKey, /) -> Part | None:
        """Return the part of a set that is at rest, `None` if it is not."""
        return self.memory.set_parts.find(key)

    def decide(self, key: ObjectKey, _demand: RescheduleTrigger | None, /) -> Part:
        """Decide a set.

        Raises:
            UserError: It cannot be decoded.
        """
        manifest, present = self.memory.followed_sets.there[key], self.present(key).get(key)
        wanted, known = self._wanted(key), decode_record(present)
        placements = {
            one.name: decided
            for one in wanted.references
            if (decided := self._placement((key.namespace, one.name))) is not None
        }
        writes = self.around.silence.is_written or says_assumed(present)
        found = decide_set(key, wanted, placements, known, self.around, writes_assumed=writes)
        if self.ledger is not None:
            take_set(self.ledger, key, wanted, known, found.record, self.around.scopes)
        return Part(
            outputs={key: render_set(manifest, present, found, self.around.now)},
            decision=_decision(key, wanted, known, found, is_new=present is None),
            faults=tuple(_fault(manifest, error) for error in found.outcome.errors),
            until=found.until,
            waits=tuple(waits_of_set(key, found, self.around.now)),
            explain=partial(explain_set, key, wanted, found, placements),
        )

    def _wanted(self, key: ObjectKey) -> ReplicaSet:
        """Return the set."""
        return standing_set(self.memory.followed_sets.there[key])

    def _placement(self, owner: tuple[str, str]) -> DecidedPlacement | None:
        """Return a placement as it is decided now, `None` if it never was."""
        key = placement_key(owner)
        if key not in self.memory.followed.there:
            return None
        files = self.decided.get(key) or self.memory.followed.files(key)
        decisions = (files[one] for one in sorted(files) if one.kind == DECISION)
        return decided_placement(files[key], decisions) if key in files else None

    def remember(self, key: ObjectKey, part: Part, /) -> None:
        """Let a set rest, with what it was decided from."""
        wanted, record = self._wanted(key), decode_record(part.outputs[key])
        placements = [placement_key((key.namespace, one.name)) for one in wanted.references]
        read = set_reads(key, wanted, record, placements)
        self.memory.set_parts.settle(key, part, frozenset(read), part.until)

    def explain_kept(self, _key: ObjectKey, _reason: str, /) -> None:
        """Explain nothing of a set that stays as it is."""

    def place(self, key: ObjectKey, /) -> FaultPlace:
        """Return the file of a set."""
        return place_of(self.memory.followed_sets.there[key])

    def fault(self, key: ObjectKey, error: UserError, /) -> Fault:
        """Return the fault of a set that cannot be read."""
        return _fault(self.memory.followed_sets.there[key], error.message, UNREADABLE_RULE)


def _decision(
    key: ObjectKey, wanted: ReplicaSet, known: SetRecord, found: SetDecision, *, is_new: bool
) -> Decision | None:
    """Return what moved, `None` if the same clusters have the same."""
    before, after = clusters_of(known), clusters_of(found.record)
    if before == after and known.works == found.record.works and not is_new:
        return None
    templates = {one.template for one in found.record.works} - {one.template for one in known.works}
    cause = CauseKind.PLACEMENT_CHANGED if templates else CauseKind.CLUSTERS_CHANGED
    return Decision(
        key=key,
        subject=f"{wanted.namespace}/{wanted.name}",
        cause=Cause(CauseKind.CREATED if is_new else cause),
        before=before,
        after=after,
        problem="; ".join(found.outcome.errors),
    )


def removed_sets(followed: FollowedObjects, world: World) -> list[Decision]:
    """Return the decisions on sets whose manifest is gone; their files go with them."""
    return [
        Decision(
            key=key,
            subject=f"{key.namespace}/{key.name}",
            cause=Cause(CauseKind.REMOVED),
            before=clusters_of(decode_record(world.outputs[key].body)),
            after=(),
            removed=True,
        )
        for key in sorted(followed.gone)
    ]


def _fault(manifest: Manifest, message: str, rule: str = ROLLOUT_RULE) -> Fault:
    return Fault(
        path=manifest.origin.path,
        line=0,
        column=0,
        field="/spec/placementRefs",
        rule=rule,
        message=f"the rollout cannot go on: {message}",
        expected="a strategy that can be followed; what is there stays",
        subject=str(manifest.key),
    )

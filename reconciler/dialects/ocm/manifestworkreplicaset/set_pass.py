"""The sets of a round, as the loop over objects asks for them; placements were decided before."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.object_boundary import FaultPlace, place_of
from reconciler.dialects.object_pass import Part
from reconciler.dialects.ocm.api.groups import CLUSTER_GROUP
from reconciler.dialects.ocm.decisions.placement_decisions import PLACEMENT_LABEL
from reconciler.dialects.ocm.manifestworkreplicaset.decided_placement import decided_placement
from reconciler.dialects.ocm.manifestworkreplicaset.lifecycle import FINALIZER
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    GROUP,
    KIND,
    ReplicaSet,
    decode_replica_set,
)
from reconciler.dialects.ocm.manifestworkreplicaset.set_decision import (
    SetDecision,
    SetSurroundings,
    decide_set,
)
from reconciler.dialects.ocm.manifestworkreplicaset.set_file import render_set
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import (
    SetRecord,
    clusters_of,
    decode_record,
)
from reconciler.dialects.ocm.manifestworkreplicaset.sync import DecidedPlacement
from reconciler.dialects.ocm.view.set_explanation import explain_set
from reconciler.dialects.ocm.view.set_waits import waits_of_set
from reconciler.errors import UserError
from reconciler.manifests.paths import is_frozen
from reconciler.manifests.suspension import is_suspended
from reconciler.model.body import Body
from reconciler.model.decision import Cause, CauseKind, Decision
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Fault, Manifest, World

PLACEMENT = (CLUSTER_GROUP, "Placement")
DECISION = "PlacementDecision"
ROLLOUT_RULE = "replica-set-rollout"
UNREADABLE_RULE = "replica-set-unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSets:
    """The sets of a round.

    Attributes:
        world: As the round found it.
        around: What all of them look at.
        placements: Those that are there as they are decided now, by namespace and name.
        sets: As written, by key.
    """

    world: World
    around: SetSurroundings
    placements: Mapping[tuple[str, str], DecidedPlacement]
    sets: Mapping[ObjectKey, Manifest] = field(default_factory=dict)

    def present(self, key: ObjectKey, /) -> Mapping[ObjectKey, Body]:
        """Return the status file of a set."""
        found = self.world.outputs.get(key)
        return {} if found is None else {key: found.body}

    def held(self, key: ObjectKey, /) -> str:
        """Return why a set stays as it is, `""` if nothing holds it."""
        if is_frozen(self.world, key):
            return "its status file cannot be read"
        return "it is suspended" if is_suspended(self.sets[key].body) else ""

    def remembered(self, _key: ObjectKey, /) -> None:
        """Remember nothing: a look costs little beside a placement."""

    def decide(self, key: ObjectKey, _demand: RescheduleTrigger | None, /) -> Part:
        """Decide a set.

        Raises:
            UserError: It cannot be decoded.
        """
        manifest, present = self.sets[key], self.present(key).get(key)
        wanted, known = self._wanted(key), decode_record(present)
        placements = {
            name: found
            for (space, name), found in self.placements.items()
            if space == key.namespace
        }
        found = decide_set(key, wanted, placements, known, self.around)
        return Part(
            outputs={key: render_set(manifest, present, found, self.around.now)},
            decision=_decision(key, wanted, known, found, is_new=present is None),
            faults=tuple(_fault(manifest, error) for error in found.outcome.errors),
            until=found.until,
            waits=tuple(waits_of_set(key, found, self.around.now)),
            explain=partial(explain_set, key, wanted, found, placements),
        )

    def _wanted(self, key: ObjectKey) -> ReplicaSet:
        """Return the set; what an API server would write into its metadata, no person does."""
        body = self.sets[key].body
        metadata = {**mapping(body, "metadata"), "namespace": key.namespace}
        metadata |= {"finalizers": [FINALIZER], "deletionTimestamp": None}
        return decode_replica_set({**body, "metadata": metadata})

    def remember(self, key: ObjectKey, part: Part, /) -> None:
        """Remember nothing."""

    def explain_kept(self, _key: ObjectKey, _reason: str, /) -> None:
        """Explain nothing of a set that stays as it is."""

    def place(self, key: ObjectKey, /) -> FaultPlace:
        """Return the file of a set."""
        return place_of(self.sets[key])

    def fault(self, key: ObjectKey, error: UserError, /) -> Fault:
        """Return the fault of a set that cannot be read."""
        return _fault(self.sets[key], error.message, UNREADABLE_RULE)


def replica_sets(
    world: World, decided: Mapping[ObjectKey, Body], around: SetSurroundings
) -> ReplicaSets:
    """Return the sets of a round.

    Args:
        world: As the round found it.
        decided: Outputs of placements, and their decisions, as this round leaves them.
        around: What all sets look at.
    """
    sets = {one.key: one for one in world.of_kind(GROUP, KIND)}
    spaces = {key.namespace for key in sets}
    decisions: dict[tuple[str, str], list[Body]] = {}
    for key in sorted(key for key in decided if key.kind == DECISION and key.namespace in spaces):
        labels = mapping(mapping(decided[key], "metadata"), "labels")
        owner = (key.namespace, text(labels, PLACEMENT_LABEL))
        decisions.setdefault(owner, []).append(decided[key])
    placements = {
        (key.namespace, key.name): decided_placement(
            body, decisions.get((key.namespace, key.name), ())
        )
        for key, body in decided.items()
        if key[:2] == PLACEMENT and key.namespace in spaces
    }
    return ReplicaSets(world=world, around=around, placements=placements, sets=sets)


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


def removed_sets(world: World) -> list[Decision]:
    """Return the decisions on sets whose manifest is gone; their files go with them."""
    return [
        Decision(
            key=one.key,
            subject=f"{one.key.namespace}/{one.key.name}",
            cause=Cause(CauseKind.REMOVED),
            before=clusters_of(decode_record(one.body)),
            after=(),
            removed=True,
        )
        for one in world.outputs_of_kind((GROUP, KIND))
        if one.key not in world.inputs
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

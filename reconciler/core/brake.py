"""The brake on removals: a pass that would take away too much takes away nothing, and asks.

Too much is more than the limit from ten placements on, and all there is from three on; a limit of
100 percent turns both off.

Removed means: placed before, on no cluster afterwards, and either the object itself is gone or the
files of all its clusters are. Moves, evictions, taints and expiry never count. What is never
propagated and was placed all the same, by an earlier version or setting, is held at any number.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass

from reconciler.core.dialects import PLACED, dialect_of
from reconciler.manifests.admission import digest
from reconciler.model.body import Body
from reconciler.model.decision import CauseKind, Decision
from reconciler.model.enumeration import enumerated
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import CONFIGURATION_PATH, Safety
from reconciler.model.world import Fault, Manifest, World

FEWEST = 10  # placements from which on a share says something
FEWEST_OF_ALL = 3  # placements from which on all of them are too many
NAMED = 3
REMOVAL_BRAKED = "removal-braked"


@dataclass(frozen=True, slots=True)
class Brake:
    """What is held back: the objects, whose outputs stay as they are, and what to tell.

    `allow` is the digest that lets them go, `""` if there are none.
    """

    held: frozenset[ObjectKey] = frozenset()
    allow: str = ""
    faults: tuple[Fault, ...] = ()


def brake(world: World, decisions: Iterable[Decision], safety: Safety) -> Brake:
    """Hold removals back if they are more than the limit and exactly these are not allowed."""
    removed = [decision for decision in decisions if is_removed(decision, world)]
    placed = sum(_is_placed(manifest) for manifest in world.outputs.values()) if removed else 0
    limit = safety.max_removed_percent
    too_many = placed >= FEWEST and len(removed) * 100 > placed * limit
    everything = limit < 100 and FEWEST_OF_ALL <= placed <= len(removed)
    if not too_many and not everything:
        removed = [one for one in removed if one.cause.kind is CauseKind.NEVER_PROPAGATED]
    if not removed:
        return Brake()
    allowed = digest(sorted([str(d.key), str(name)] for d in removed for name, _ in d.before))
    if safety.allow == allowed:
        return Brake()
    held = frozenset(decision.key for decision in removed)
    return Brake(held=held, allow=allowed, faults=(_fault(removed, placed, allowed),))


def is_of(key: ObjectKey, body: Body, held: Container[ObjectKey]) -> bool:
    """Return whether an output is one of some objects, or belongs to one of them."""
    if key in held:
        return True
    dialect = dialect_of(key.group)
    return dialect is not None and dialect.view().owner_of(key, body) in held


def is_removed(decision: Decision, world: World) -> bool:
    """Return whether an object lost everything since files are gone."""
    if not decision.before or decision.after:
        return False
    if decision.removed:
        return True
    dialect = dialect_of(decision.key.group)
    kinds = () if dialect is None else (dialect.cluster,)
    return not any(
        world.find(ObjectKey(*kind, "", name)) for kind in kinds for name, _ in decision.before
    )


def _is_placed(manifest: Manifest) -> bool:
    """Return whether an output is a decision that names a cluster."""
    key = manifest.key
    dialect = dialect_of(key.group) if (key.group, key.kind) in PLACED else None
    return dialect is not None and dialect.view().is_placed(manifest)


def _fault(removed: list[Decision], placed: int, allowed: str) -> Fault:
    """Return what is held back, and how to let it through."""
    names = enumerated((decision.subject for decision in removed), NAMED)
    return Fault(
        path=CONFIGURATION_PATH,
        line=0,
        column=0,
        field="/spec/safety/allow",
        rule=REMOVAL_BRAKED,
        message=(
            f"{len(removed)} of {placed} placements would be removed, so they are kept for now: "
            f"{names}"
        ),
        expected=(
            f"`allow: {allowed}` below `spec.safety` in {CONFIGURATION_PATH} to remove exactly "
            "these, or the files that are gone"
        ),
    )

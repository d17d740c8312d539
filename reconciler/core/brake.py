"""The brake on removals: a pass that would take away too much takes away nothing, and asks.

Removed means: placed before, on no cluster afterwards, and either the object itself is gone or the
files of all its clusters are. Moves, evictions, taints and expiry never count.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reconciler.core.input_index import CONFIGURATION_PATH
from reconciler.dialects.karmada.detector.binding_draft import GROUP as KARMADA
from reconciler.dialects.kubefleet.api.names import GROUP as KUBEFLEET
from reconciler.dialects.kubefleet.api.names import PARENT, PLACEMENT
from reconciler.dialects.ocm.api.placement import GROUP as OCM
from reconciler.dialects.ocm.decisions.placement_decisions import PLACEMENT_LABEL
from reconciler.manifests.admission import digest
from reconciler.model.decision import Decision
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import Safety
from reconciler.model.world import Body, Fault, Manifest, World

FEWEST = 10  # placements from which on a share says something
NAMED = 3
REMOVAL_BRAKED = "removal-braked"

CLUSTERS: Mapping[str, tuple[str, str]] = {
    KARMADA: ("cluster.karmada.io", "Cluster"),
    OCM: (OCM, "ManagedCluster"),
    KUBEFLEET: ("cluster.kubernetes-fleet.io", "MemberCluster"),
}
"""Group of a decision to (group, kind) of its clusters."""


@dataclass(frozen=True, slots=True)
class Brake:
    """What is held back: the objects, their outputs as they are, and what to tell."""

    held: frozenset[ObjectKey] = frozenset()
    outputs: Mapping[ObjectKey, Body] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()


def brake(world: World, decisions: Iterable[Decision], safety: Safety) -> Brake:
    """Hold removals back if they are more than the limit and nobody allowed exactly these."""
    removed = [decision for decision in decisions if _is_removed(decision, world)]
    if not removed:
        return Brake()
    placed = sum(_is_placed(manifest) for manifest in world.outputs.values())
    if placed < FEWEST or len(removed) * 100 <= placed * safety.max_removed_percent:
        return Brake()
    allowed = digest(sorted([str(d.key), str(name)] for d in removed for name, _ in d.before))
    if safety.allow == allowed:
        return Brake()
    held = frozenset(decision.key for decision in removed)
    return Brake(
        held=held,
        outputs={
            key: manifest.body
            for key, manifest in world.outputs.items()
            if key in held or _owner(manifest) in held
        },
        faults=(_fault(removed, placed, allowed),),
    )


def _is_removed(decision: Decision, world: World) -> bool:
    """Say whether an object lost everything since files are gone."""
    if not decision.before or decision.after:
        return False
    if decision.removed:
        return True
    group, kind = CLUSTERS[decision.key.group]
    return not any(ObjectKey(group, kind, "", name) in world.inputs for name, _ in decision.before)


def _is_placed(manifest: Manifest) -> bool:
    """Say whether an output is a decision that names a cluster."""
    key, body = manifest.key, manifest.body
    if key.group == KARMADA:
        return bool(bodies(mapping(body, "spec"), "clusters"))
    status = mapping(body, "status")
    if (key.group, key.kind) == (OCM, "Placement"):
        return number(status, "numberOfSelectedClusters") > 0
    if (key.group, key.kind) == (KUBEFLEET, PLACEMENT):
        return any(text(item, "clusterName") for item in bodies(status, "placementStatuses"))
    return False


def _owner(manifest: Manifest) -> ObjectKey | None:
    """Return the placement that an output belongs to, `None` if to none."""
    key, labels = manifest.key, mapping(mapping(manifest.body, "metadata"), "labels")
    if key.group == OCM and PLACEMENT_LABEL in labels:
        return ObjectKey(OCM, "Placement", key.namespace, text(labels, PLACEMENT_LABEL))
    if key.group == KUBEFLEET and PARENT in labels:
        return ObjectKey(KUBEFLEET, PLACEMENT, "", text(labels, PARENT))
    return None


def _fault(removed: list[Decision], placed: int, allowed: str) -> Fault:
    """Say what is held back, and how to let it through."""
    names = ", ".join(decision.subject for decision in removed[:NAMED])
    more = f" and {len(removed) - NAMED} more" if len(removed) > NAMED else ""
    return Fault(
        path=CONFIGURATION_PATH,
        line=0,
        column=0,
        field="/spec/safety/allow",
        rule=REMOVAL_BRAKED,
        message=(
            f"{len(removed)} of {placed} placements would be removed, so they are kept for now: "
            f"{names}{more}"
        ),
        expected=(
            f"`allow: {allowed}` below `spec.safety` in {CONFIGURATION_PATH} to remove exactly "
            "these, or the files that are gone"
        ),
    )

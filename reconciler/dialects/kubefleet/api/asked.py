"""What placements of KubeFleet ask not to happen to objects on clusters."""

from collections.abc import Iterator

from reconciler.dialects.renderer import Instruction
from reconciler.model.body import Body
from reconciler.model.fields import flag_or_none, mapping, text

STRATEGY = "/spec/strategy"


def abandons(placement: Body) -> bool:
    """Return whether what is on clusters is to outlive a placement."""
    strategy = mapping(mapping(mapping(placement, "spec"), "strategy"), "deleteStrategy")
    return text(strategy, "propagationPolicy") == "Abandon"


def asked_by_strategy(apply: Body, *, abandons: bool) -> frozenset[Instruction]:
    """Return what is asked of all objects of a placement.

    Args:
        apply: How resources are applied.
        abandons: Whether they are to outlive the placement.
    """
    found = {instruction for _, instruction in asked_by_apply(apply)}
    return frozenset({*found, Instruction.ABANDON} if abandons else found)


def asked_by_apply(apply: Body) -> Iterator[tuple[str, Instruction]]:
    """Yield what is asked of how resources are applied, each with its JSON pointer below that.

    Source: kubefleet@e160c1c apis/placement/v1/clusterresourceplacement_types.go `ApplyStrategy`.
    """
    kind = text(apply, "type")
    if kind == "ReportDiff":
        yield "/type", Instruction.REPORT_DIFF
    elif kind == "ServerSideApply" and not _is_forced(apply):
        yield "/type", Instruction.UNFORCED
    if text(apply, "whenToTakeOver") in {"Never", "IfNoDiff"}:
        yield "/whenToTakeOver", Instruction.TAKE_OVER
    if text(apply, "whenToApply") == "IfNotDrifted":
        yield "/whenToApply", Instruction.DRIFTED


def _is_forced(apply: Body) -> bool:
    return flag_or_none(mapping(apply, "serverSideApplyConfig"), "force") is True


def asked_by_placement(placement: Body) -> Iterator[tuple[str, Instruction]]:
    """Yield what a placement asks as it is written, each with its JSON pointer."""
    strategy = mapping(mapping(placement, "spec"), "strategy")
    for pointer, instruction in asked_by_apply(mapping(strategy, "applyStrategy")):
        yield f"{STRATEGY}/applyStrategy{pointer}", instruction
    if abandons(placement):
        yield f"{STRATEGY}/deleteStrategy/propagationPolicy", Instruction.ABANDON

"""Decision groups, and the PlacementDecision objects that list them."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from reconciler.dialects.ocm.api.clusters import Members
from reconciler.dialects.ocm.api.placement import Placement
from reconciler.dialects.ocm.api.placement_decision import (
    GROUP_INDEX_LABEL,
    GROUP_NAME_LABEL,
    PLACEMENT_LABEL,
    DecisionObject,
)
from reconciler.dialects.ocm.scheduler.filter_predicates import refuse_selector, selected
from reconciler.errors import Misconfigured
from reconciler.model.identity import ClusterName

MOST_CLUSTERS = 100  # ocm@00f84c3 scheduling_controller.go `maxNumOfClusterDecisions`

_FLOAT = re.compile(
    r"[+-]?(?:inf(?:inity)?|nan|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)", re.ASCII | re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Group:
    """A decision group: its name, its clusters ascending by name, and the objects that list it."""

    name: str
    clusters: tuple[ClusterName, ...]
    objects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grouped:
    """The groups of a choice. `problem` is why some are missing, `""` if none is."""

    groups: tuple[Group, ...]
    objects: tuple[DecisionObject, ...]
    problem: str = ""


def group(placement: Placement, ranked: Sequence[ClusterName], members: Members) -> Grouped:
    """Divide the chosen clusters into groups, and list these in objects of at most 100.

    Groups by selector come first, in spec order; what they leave makes further groups without a
    name. Within a group clusters are in order of name, and a choice of nothing is one empty group.
    If a selector cannot be used, the groups before it stay and no others are made.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `generateDecisionGroups`, `generateDecision`.
    """
    groups: list[Group] = []
    problem = ""
    try:
        length = group_length(placement.group_length, len(ranked))
        left = sorted(ranked)
        for rule in placement.groups:
            refuse_selector(rule.selector)
            mask = selected(rule.selector, members)
            chosen = [name for name in left if mask >> members.fleet.position[name] & 1]
            groups += _divide(rule.name, chosen, length)
            left = [name for name in left if not mask >> members.fleet.position[name] & 1]
        groups += _divide("", left, length) if groups or left else [Group("", ())]
    except Misconfigured as error:
        problem = error.message
    return _listed(placement, groups, problem)


def group_length(written: int | str, total: int) -> int:
    """Return how many clusters a group may have.

    Args:
        written: A number, or a percentage of the total, rounded up in upstream's float order.
        total: How many clusters are chosen; also the answer where `written` is out of range.

    Raises:
        Misconfigured: A text is not a percentage.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `calculateLength`.

    >>> group_length("7%", 100), group_length(0, 5)
    (8, 5)
    """
    length = written if isinstance(written, int) else _share(written, total)
    return length if 0 < length <= total else total


def _share(written: str, total: int) -> int:
    """Return a percentage of the total; what is no finite number counts as everything."""
    digits = written[:-1]
    percent = float(digits) if written.endswith("%") and _FLOAT.fullmatch(digits) else None
    if percent is None or (math.isinf(percent) and "inf" not in digits.lower()):
        raise Misconfigured(f"{written} invalid type: string is not a percentage")
    share = percent / 100 * total
    return math.ceil(share) if math.isfinite(share) else 0


def _divide(name: str, clusters: Sequence[ClusterName], length: int) -> list[Group]:
    """Cut clusters into groups of one name."""
    return [
        Group(name, tuple(clusters[start : start + length]))
        for start in range(0, len(clusters), max(length, 1))
    ]


def _listed(placement: Placement, groups: Sequence[Group], problem: str) -> Grouped:
    """List groups in objects, which are numbered from 1 across all groups."""
    listed: list[Group] = []
    objects: list[DecisionObject] = []
    for index, item in enumerate(groups):
        labels = (
            (GROUP_INDEX_LABEL, str(index)),
            (GROUP_NAME_LABEL, item.name),
            (PLACEMENT_LABEL, placement.name),
        )
        first = len(objects)
        for start in range(0, max(len(item.clusters), 1), MOST_CLUSTERS):
            name = f"{placement.name}-decision-{len(objects) + 1}"
            clusters = item.clusters[start : start + MOST_CLUSTERS]
            objects.append(DecisionObject(placement.namespace, name, labels, clusters))
        names = tuple(decision.name for decision in objects[first:])
        listed.append(Group(item.name, item.clusters, names))
    return Grouped(tuple(listed), tuple(objects), problem)

"""A placement as a set sees it: how many clusters it selected, and which, by decision group."""

from collections.abc import Iterable

from reconciler.dialects.ocm.api.placement_decision import (
    GROUP_INDEX_LABEL,
    GROUP_NAME_LABEL,
    decode_decision,
)
from reconciler.dialects.ocm.api.placement_status import decode_status
from reconciler.dialects.ocm.manifestworkreplicaset.sync import DecidedPlacement
from reconciler.dialects.ocm.rollout.decision_groups import ClusterGroups, GroupKey
from reconciler.errors import UserError
from reconciler.model.body import Body


def decided_placement(placement: Body, decisions: Iterable[Body]) -> DecidedPlacement:
    """Return a placement with its decisions.

    Args:
        placement: With its status.
        decisions: The PlacementDecisions with its label.
    """
    status = decode_status(placement)
    return DecidedPlacement(
        selected=status.selected,
        group_count=len(status.groups),
        groups=_groups(decisions),
    )


def _groups(decisions: Iterable[Body]) -> ClusterGroups | UserError:
    """Return the groups, or what is wrong with a label.

    Source: ocm@00f84c3 sdk-go pkg/apis/cluster/v1beta1/placement.go `Refresh`.
    """
    found = []
    for one in map(decode_decision, decisions):
        labels = dict(one.labels)
        index = labels.get(GROUP_INDEX_LABEL, "")
        if not index.lstrip("+-").isdecimal() or len(index) - len(index.lstrip("+-")) > 1:
            why = f'strconv.Atoi: parsing "{index}": invalid syntax'
            return UserError(f"incorrect group index: {why}")
        found.append((GroupKey(labels.get(GROUP_NAME_LABEL, ""), int(index)), one.clusters))
    return ClusterGroups(found)

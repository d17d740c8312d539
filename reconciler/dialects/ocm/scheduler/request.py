"""The question that the plugins are asked, and how a plugin refuses it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.dialects.ocm.api.placement import Placement
from reconciler.errors import UserError
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName
from reconciler.model.moments import parse_instant
from reconciler.schedule.columns import Numbers
from reconciler.schedule.framework import NO_CLUSTERS, Mask


@dataclass(frozen=True, slots=True)
class PluginReport:
    """An AddOnPlacementScore: name to value, and until when it is valid, `None` for ever."""

    values: Mapping[str, int]
    valid_until: datetime | None = None


Reports = Mapping[tuple[str, str], PluginReport]
"""(cluster, resource name) to the scores reported there."""


@dataclass(frozen=True, slots=True)
class Reported:
    """One score of every cluster, as the reports say it; 0 where it is not there."""

    values: Numbers
    missing: Mask
    expired: Mask


@dataclass(frozen=True, slots=True)
class OtherChoices:
    """How often anyone else has chosen each cluster, and the most chosen of all.

    The most chosen one need not be among the clusters, nor exist.
    """

    column: Numbers
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What wants placing, and what is known beside the clusters.

    Attributes:
        placement: What is asked for.
        candidates: Clusters that may be chosen from.
        decided: Clusters in the placement's decisions so far, those that still exist.
        others: How often anyone else has chosen each cluster, `None` where no score asks.
        reports: Scores of add-ons.
    """

    placement: Placement
    candidates: Mask
    decided: Mask = NO_CLUSTERS
    others: OtherChoices | None = None
    reports: Reports = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scores:
    """One plugin's answer: a score for each feasible cluster, ascending by name.

    Attributes:
        column: The scores, 0 where there is none.
        silent: Clusters that it said nothing about.
        expired: Those whose scores ran out, as `cluster/resource`, sorted.
        missing: Those for which no score is reported; it stands as 0.
    """

    column: Numbers
    silent: Mask = NO_CLUSTERS
    expired: tuple[str, ...] = ()
    missing: tuple[ClusterName, ...] = ()


def decode_report(body: Body) -> PluginReport:
    """Return the scores of an AddOnPlacementScore; of one name the last counts.

    Raises:
        UserError: A field has the wrong type, or its text cannot be read.

    Source: ocm@00f84c3 vendor/open-cluster-management.io/api/cluster/v1alpha1
    `AddOnPlacementScoreStatus`.
    """
    status = fields.mapping(body, "status")
    until = fields.text(status, "validUntil")
    try:
        valid_until = parse_instant(until) if until else None
    except ValueError as error:
        raise UserError(str(error), field="validUntil") from error
    return PluginReport(
        values={
            fields.text(item, "name"): fields.number(item, "value")
            for item in fields.bodies(status, "scores")
        },
        valid_until=valid_until,
    )

"""The question that the plugins are asked, and how a plugin refuses it."""

from dataclasses import dataclass, field

from reconciler.dialects.ocm.api.placement import Placement
from reconciler.dialects.scores.reports import Reports
from reconciler.model.identity import ClusterName
from reconciler.schedule.columns import Numbers
from reconciler.schedule.framework import NO_CLUSTERS, Mask


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

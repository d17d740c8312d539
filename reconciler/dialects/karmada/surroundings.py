"""What the bindings of a round are decided with."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.cluster_inventory import Earlier
from reconciler.dialects.copy_reports import CopyReports
from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.api.settings import Failover
from reconciler.dialects.karmada.federatedresourcequota.enforcement import (
    Refusal,
    nothing_refused,
)
from reconciler.dialects.scores.reports import Reports
from reconciler.model.availability import Silence
from reconciler.model.identity import ObjectKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What all bindings of a round share.

    `propagate_empty` keeps selected clusters that get no replica. `clusters_before` has the fleet
    of the last pass, `None` if it is the same; only what is told of causes depends on it. `refusal`
    says whether quotas take a change, `refusal_before` whether those of the last pass would have,
    `None` if they are the same. `scores_before` are the scores of the last pass.
    `path_of` returns where the file of a binding stands.
    """

    members: Members
    failover: Failover
    propagate_empty: bool
    copies: CopyReports
    silence: Silence
    now: datetime
    path_of: Callable[[ObjectKey], str]
    clusters_before: Earlier[Members] | None = None
    refusal: Refusal = nothing_refused
    refusal_before: Earlier[Refusal] | None = None
    scores_before: Earlier[Reports] | None = None

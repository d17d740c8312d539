"""What the bindings of a round are decided with."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.cluster_inventory import Earlier
from reconciler.dialects.copy_reports import CopyReports
from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.api.settings import Failover
from reconciler.dialects.karmada.api.work.binding_spec import requests_of
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.federatedresourcequota.enforcement import (
    Refusal,
    nothing_refused,
)
from reconciler.dialects.karmada.protected_room import BindingRoom, ProtectedFleet
from reconciler.dialects.scores.reports import Reports
from reconciler.model.availability import Silence
from reconciler.model.identity import ObjectKey
from reconciler.model.resources import decode_resources


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What all bindings of a round share.

    `propagate_empty` keeps selected clusters that get no replica. `clusters_before` has the fleet
    of the last pass, `None` if it is the same; only what is told of causes depends on it. `refusal`
    says whether quotas take a change, `refusal_before` whether those of the last pass would have,
    `None` if they are the same. `batched` are the bindings that a limited rebalance is moving,
    `None` where that is not known. `scores_before` are the scores of the last pass. `rooms` is what
    is free, `None` where no room is protected.
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
    rooms: ProtectedFleet | None = None
    batched: frozenset[ObjectKey] | None = None

    def is_batched(self, binding: ObjectKey) -> bool:
        """Return whether a limited rebalance may still move a binding."""
        return self.batched is None or binding in self.batched

    def room_of(self, draft: Draft) -> BindingRoom | None:
        """Return what is free for a binding, `None` where no room is protected.

        Raises:
            UserError: What one replica asked for so far is no quantity.
        """
        if self.rooms is None:
            return None
        return BindingRoom(
            fleet=self.rooms.at(self.members),
            holder=draft.key,
            stood=dict(draft.stood.clusters),
            request=decode_resources(requests_of(draft.stood)),
        )

"""RolloutStrategy: how fast changes may reach the clusters, with the defaults of the CRD."""

from dataclasses import dataclass

from reconciler.dialects.kubefleet.scheduler.failure import as_integer
from reconciler.model import fields
from reconciler.model.world import Body

ROLLING_UPDATE = "RollingUpdate"
SERVER_SIDE_APPLY = "ServerSideApply"
DEFAULT_SHARE = "25%"  # defaulter/placement.go DefaultMaxUnavailableValue, DefaultMaxSurgeValue
DEFAULT_PERIOD_SECONDS = 60  # defaulter/placement.go DefaultUnavailablePeriodSeconds

_APPLY_DEFAULTS = {
    "type": "ClientSideApply",
    "comparisonOption": "PartialComparison",
    "whenToApply": "Always",
    "whenToTakeOver": "Always",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutStrategy:
    """Limits of a rolling update; shares are numbers or percentages, as written."""

    type: str
    max_unavailable: int | str
    max_surge: int | str
    period_seconds: int
    apply: Body


def decode_strategy(body: Body) -> RolloutStrategy:
    """Return the strategy of a placement, defaults applied.

    Args:
        body: `spec.strategy`, empty if there is none.

    Raises:
        UserError: A field has the wrong type.

    Source: kubefleet@e160c1c pkg/utils/defaulter/placement.go `SetPlacementDefaults`.
    """
    rolling = fields.mapping(body, "rollingUpdate")
    period = fields.number_or_none(rolling, "unavailablePeriodSeconds")
    return RolloutStrategy(
        type=fields.text(body, "type") or ROLLING_UPDATE,
        max_unavailable=_share(rolling, "maxUnavailable"),
        max_surge=_share(rolling, "maxSurge"),
        period_seconds=DEFAULT_PERIOD_SECONDS if period is None else period,
        apply=apply_strategy(fields.mapping(body, "applyStrategy")),
    )


def _share(body: Body, field: str) -> int | str:
    value = body.get(field)
    return value if isinstance(value, int | str) else DEFAULT_SHARE


def apply_strategy(body: Body) -> Body:
    """Return how resources are applied, defaults filled in; empty fields count as missing.

    Source: kubefleet@e160c1c pkg/utils/defaulter/placement.go `SetDefaultsApplyStrategy`.
    """
    told = {name: value for name, value in body.items() if value not in (None, "")}
    filled = {**_APPLY_DEFAULTS, **told}
    if filled["type"] == SERVER_SIDE_APPLY and "serverSideApplyConfig" not in filled:
        filled["serverSideApplyConfig"] = {"force": False}
    return filled


def share_of(share: int | str, total: int) -> int:
    """Return a number, or a percentage of the total rounded up; what is neither counts as 0.

    >>> share_of(2, 10), share_of("25%", 10), share_of("many", 10)
    (2, 3, 0)

    Source: k8s.io/apimachinery pkg/util/intstr/intstr.go `GetScaledValueFromIntOrPercent`.
    """
    if isinstance(share, int):
        return share
    percent = as_integer(share.removesuffix("%")) if share.endswith("%") else None
    return 0 if percent is None else -(-percent * total // 100)

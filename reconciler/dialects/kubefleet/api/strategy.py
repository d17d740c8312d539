"""RolloutStrategy: how fast changes may reach the clusters, and how they are applied there."""

from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.defaults import DEFAULT_SHARE
from reconciler.dialects.kubefleet.scheduler.failure import as_integer
from reconciler.model import fields
from reconciler.model.body import Body

EXTERNAL = "External"
"""The type of a strategy that leaves the rollout to staged update runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutStrategy:
    """Limits of a rolling update; shares are numbers or percentages, as written."""

    type: str
    max_unavailable: int | str
    max_surge: int | str
    period_seconds: int
    apply: Body


def decode_strategy(body: Body) -> RolloutStrategy:
    """Return the strategy of a placement.

    Args:
        body: `spec.strategy` with its defaults.

    Raises:
        UserError: A field has the wrong type.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `RolloutStrategy`.
    """
    rolling = fields.mapping(body, "rollingUpdate")
    return RolloutStrategy(
        type=fields.text(body, "type"),
        max_unavailable=_share(rolling, "maxUnavailable"),
        max_surge=_share(rolling, "maxSurge"),
        period_seconds=fields.number(rolling, "unavailablePeriodSeconds"),
        apply=fields.mapping(body, "applyStrategy"),
    )


def waits_for_runs(placement: Body) -> bool:
    """Return whether a placement is rolled out by runs only, given its manifest."""
    strategy = fields.mapping(fields.mapping(placement, "spec"), "strategy")
    return fields.text(strategy, "type") == EXTERNAL


def _share(body: Body, field: str) -> int | str:
    value = body.get(field)
    return value if isinstance(value, int | str) else DEFAULT_SHARE


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

"""What KubeFleet's webhook and CEL rules refuse in the strategy of a placement."""

from collections.abc import Iterator

from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import mapping, mapping_or_none, text
from reconciler.model.message_text import shown


def refuse_strategy(strategy: Body) -> Iterator[Violation]:
    """Yield what is wrong with a strategy; its limits and options go with their type.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validateRolloutStrategy`.
    """
    if text(strategy, "type") == "External" and "rollingUpdate" in strategy:
        yield Violation(
            "/spec/strategy/rollingUpdate",
            "placement-strategy-external",
            "`rollingUpdate` must not stand beside `type: External`",
            "one of the two",
        )
    yield from _rolling(mapping(strategy, "rollingUpdate"))
    yield from _apply(mapping(strategy, "applyStrategy"))
    yield from refuse_report(strategy)


def _rolling(rolling: Body) -> Iterator[Violation]:
    """Limits are numbers from 0 on, or percentages.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validateRollingUpdateConfig`.
    """
    for field in ("maxUnavailable", "maxSurge", "unavailablePeriodSeconds"):
        value = rolling.get(field)
        if isinstance(value, int) and value < 0:
            yield Violation(
                f"/spec/strategy/rollingUpdate/{field}",
                "placement-strategy-negative",
                f"`{field}` must be greater than or equal to 0",
                "0 or more",
            )
        if isinstance(value, str) and not value.endswith("%"):
            yield Violation(
                f"/spec/strategy/rollingUpdate/{field}",
                "placement-strategy-share",
                f"`{field}` must be a number, or text that ends with %",
                f"{value} without quotes, or {shown(f'{value}%')}",
            )


def _apply(apply: Body) -> Iterator[Violation]:
    """Options of server-side apply go with that type."""
    server_side = mapping_or_none(apply, "serverSideApplyConfig")
    if server_side is not None and text(apply, "type") != "ServerSideApply":
        yield Violation(
            "/spec/strategy/applyStrategy/serverSideApplyConfig",
            "placement-strategy-apply",
            "`serverSideApplyConfig` must go with `type: ServerSideApply`",
            "type: ServerSideApply, or no serverSideApplyConfig",
        )


def refuse_report(strategy: Body) -> Iterator[Violation]:
    """What is mirrored has a destination.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `ReportBackStrategy`, its CEL rule, which fails where the field is missing.
    """
    report = mapping(strategy, "reportBackStrategy")
    if text(report, "type") == "Mirror" and not text(report, "destination"):
        yield Violation(
            "/spec/strategy/reportBackStrategy",
            "placement-report-destination",
            "`destination` must be given where `type` is Mirror",
            "OriginalResource or WorkAPI",
        )

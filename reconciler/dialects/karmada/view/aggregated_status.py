"""What clusters report of a binding: aggregatedStatus, and the FullyApplied condition.

A cluster that never reported counts as applied and healthy a while after it was chosen; the moments
at which clusters were chosen stand in an annotation of the binding.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.karmada.api.cluster_reports import Reports
from reconciler.dialects.karmada.api.work.binding_metadata import BindingMetadata
from reconciler.dialects.karmada.api.work.binding_status import (
    AggregatedStatusItem,
    BindingStatus,
    assumed_item,
)
from reconciler.manifests.annotation_json import read_moments, write_note
from reconciler.model.availability import assume
from reconciler.model.conditions import Condition, set_condition
from reconciler.model.moments import earliest, format_moment, parse_moment, stamp

PLACED_AT = "reconciler.dev/placed-at"
FULLY_APPLIED = "FullyApplied"


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """What is known of a binding's clusters.

    Attributes:
        placed_at: The annotation: cluster to the moment at which it was chosen, as JSON.
        aggregated: aggregatedStatus, by name of cluster.
        condition: FullyApplied.
        until: When an assumption would change this, `None` if none would.
    """

    placed_at: str
    aggregated: Sequence[AggregatedStatusItem]
    condition: Condition
    until: datetime | None


def gather(
    clusters: Iterable[str],
    metadata: BindingMetadata,
    reports: Reports,
    *,
    assume_after_seconds: int | None,
    now: datetime,
) -> Feedback:
    """Return what is known of the clusters of a binding.

    Args:
        clusters: Names of the clusters that it is on.
        metadata: The binding's metadata at the last pass; the moment of a cluster stays as long as
            the binding is on it.
        reports: What the clusters say themselves; nothing is assumed of those that say anything.
        assume_after_seconds: See `model/availability.py`.
        now: Moment for clusters newly chosen.
    """
    names = sorted(clusters)
    known = read_moments(metadata.note(PLACED_AT))
    first_at = format_moment(now)
    placed_at = {name: known.get(name) or first_at for name in names}
    reported = reports.items(names)
    silent = [name for name in names if name not in reported]
    assumptions = {
        at: assume(parse_moment(at), assume_after_seconds, now)
        for at in {placed_at[name] for name in silent}
    }
    assumed = [name for name in silent if assumptions[placed_at[name]].available]
    items = {name: assumed_item(name) for name in assumed}
    items |= reported
    return Feedback(
        placed_at=write_note(placed_at),
        aggregated=[items[name] for name in names if name in items],
        condition=_fully_applied(names, items, assumed, assume_after_seconds),
        until=earliest(*(assumption.until for assumption in assumptions.values())),
    )


def _fully_applied(
    names: Sequence[str],
    items: Mapping[str, AggregatedStatusItem],
    assumed: Sequence[str],
    assume_after_seconds: int | None,
) -> Condition:
    """Return the FullyApplied condition; its reason says what is assumed.

    Source: karmada@f8fdd02 pkg/util/helper/workstatus.go `AggregateResourceBindingWorkStatus`;
    the assumed reason is ours.
    """
    if not names or any(item.refused for item in items.values()):
        return Condition(
            FULLY_APPLIED,
            "False",
            "FullyAppliedFailed",
            "Failed to apply all works, see status.aggregatedStatus for details",
        )
    waiting = ", ".join(name for name in names if name not in items)
    if waiting:
        return Condition(
            FULLY_APPLIED, "False", "AwaitingFeedback", f"No report yet from {waiting}"
        )
    if not assumed:
        return Condition(
            FULLY_APPLIED, "True", "FullyAppliedSuccess", "All works have been successfully applied"
        )
    silent = "No cluster reported, all" if len(assumed) == len(names) else ", ".join(assumed)
    return Condition(
        FULLY_APPLIED,
        "True",
        "FullyAppliedAssumed",
        f"{silent} are assumed to have applied it {assume_after_seconds} s after they were chosen",
    )


def with_feedback(status: BindingStatus, feedback: Feedback, now: datetime) -> BindingStatus:
    """Return a binding's status with what is known of its clusters."""
    return status._replace(
        conditions=set_condition(status.conditions or (), feedback.condition, at=stamp(now)),
        reports=[item.body for item in feedback.aggregated],
    )

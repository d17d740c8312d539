"""The status of a binding: what the scheduler saw, and what its clusters report."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from reconciler.dialects.karmada.api.work.binding_spec import text_or_none
from reconciler.model import fields
from reconciler.model.body import Body


class AggregatedStatusItem(NamedTuple):
    """What one cluster reports of a binding's workload; `body` is that as it is written.

    Source: karmada@f8fdd02 pkg/apis/work/v1alpha2/binding_types.go `AggregatedStatusItem`.
    """

    cluster: str
    applied: bool
    health: str
    body: Body

    @property
    def refused(self) -> bool:
        """Whether the cluster says that it could not apply it."""
        return self.body.get("applied") is False

    @property
    def message(self) -> str:
        """Why it is not applied."""
        return fields.text(self.body, "appliedMessage")

    @property
    def status(self) -> Body:
        """The status of the workload there."""
        return fields.mapping(self.body, "status")


class BindingStatus(NamedTuple):
    """The status of a ResourceBinding or ClusterResourceBinding; `None` is an absent field.

    Attributes:
        observed_generation: The generation that the scheduler saw last.
        observed_affinity: The affinity group that it took.
        last_scheduled_time: When it scheduled last, as written.
        conditions: As written.
        reports: aggregatedStatus, as written.
    """

    observed_generation: int | None = None
    observed_affinity: str | None = None
    last_scheduled_time: str | None = None
    conditions: Sequence[Body] | None = None
    reports: Sequence[Body] = ()

    @property
    def aggregated(self) -> tuple[AggregatedStatusItem, ...]:
        """What the clusters report, decoded when it is asked for."""
        return tuple(map(decode_item, self.reports))

    @property
    def health(self) -> dict[str, str]:
        """Cluster to health."""
        text = fields.text
        return {text(item, "clusterName"): text(item, "health") for item in self.reports}


def decode_status(manifest: Body) -> BindingStatus:
    """Return the status of a binding's manifest.

    Raises:
        UserError: A field has the wrong type.

    Source: karmada@f8fdd02 pkg/apis/work/v1alpha2/binding_types.go `ResourceBindingStatus`; the
    JSON name of SchedulerObservedAffinityName is schedulerObservingAffinityName.
    """
    status = fields.mapping(manifest, "status")
    return BindingStatus(
        observed_generation=fields.number_or_none(status, "schedulerObservedGeneration"),
        observed_affinity=text_or_none(status, "schedulerObservingAffinityName"),
        last_scheduled_time=text_or_none(status, "lastScheduledTime"),
        conditions=fields.bodies_or_none(status, "conditions"),
        reports=fields.bodies(status, "aggregatedStatus"),
    )


def encode_status(status: BindingStatus) -> Body:
    """Return the status as it is written, in the order of the file."""
    written = {
        "schedulerObservedGeneration": status.observed_generation,
        "schedulerObservingAffinityName": status.observed_affinity,
        "lastScheduledTime": status.last_scheduled_time,
        "conditions": None if status.conditions is None else list(status.conditions),
        "aggregatedStatus": list(status.reports) or None,
    }
    return {name: value for name, value in written.items() if value is not None}


def decode_item(body: Body) -> AggregatedStatusItem:
    """Return what one cluster reports."""
    applied = body.get("applied") is True
    return AggregatedStatusItem(
        fields.text(body, "clusterName"), applied, fields.text(body, "health"), body
    )


def reported_item(
    cluster: str, status: Body, *, message: str, applied: bool, health: str
) -> AggregatedStatusItem:
    """Return the entry of a cluster that reports.

    Source: karmada@f8fdd02 pkg/util/helper/workstatus.go `assembleWorkStatus`.
    """
    entry: dict[str, object] = {"clusterName": cluster}
    if status:
        entry["status"] = status
    if message:
        entry["appliedMessage"] = message
    body = {**entry, "applied": applied, "health": health}
    return AggregatedStatusItem(cluster, applied, health, body)


@lru_cache(maxsize=1 << 13)
def assumed_item(name: str) -> AggregatedStatusItem:
    """Return the entry of a cluster of which health is assumed; the same object for equal ones."""
    return reported_item(name, {}, message="", applied=True, health="Healthy")

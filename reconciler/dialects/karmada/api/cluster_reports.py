"""What member clusters report of one workload's copies."""

from collections.abc import Iterable
from typing import NamedTuple

from reconciler.dialects.copy_reports import CopyReports
from reconciler.dialects.karmada.api.work.binding_status import AggregatedStatusItem, reported_item
from reconciler.dialects.karmada.api.work.reflected_status import (
    reflected_status,
    status_without_conditions,
)
from reconciler.model.content import at
from reconciler.model.copy_report import CopyReport
from reconciler.model.health import Health
from reconciler.model.identity import ObjectKey


class Reports(NamedTuple):
    """The reports of one workload's copies.

    Attributes:
        workload: Its key.
        copies: Of all workloads.
        by_first_rules: Whether all of a status but its conditions is kept, as the first rules had.
    """

    workload: ObjectKey
    copies: CopyReports
    by_first_rules: bool = False

    def of(self, cluster: str) -> CopyReport | None:
        """Return what a cluster reports, `None` if it reports nothing."""
        return self.copies.of(self.workload, cluster)

    def health(self, cluster: str) -> Health | None:
        """Return the health that a cluster reports, `None` if it reports nothing."""
        report = self.of(cluster)
        return None if report is None else report.health

    def covers(self, cluster: str, replicas: int) -> bool:
        """Return whether a cluster reports as many available replicas, and health."""
        report = self.of(cluster)
        if report is None or report.health is not Health.HEALTHY:
            return False
        available = at(report.body, "status").get("availableReplicas")
        return isinstance(available, int) and available >= replicas

    def items(self, clusters: Iterable[str]) -> dict[str, AggregatedStatusItem]:
        """Return the entries of aggregatedStatus of the clusters that report."""
        if not self.copies:
            return {}
        found = ((name, self.item(name)) for name in clusters)
        return {name: item for name, item in found if item is not None}

    def item(self, cluster: str) -> AggregatedStatusItem | None:
        """Return a cluster's entry of aggregatedStatus, `None` if it reports nothing."""
        report = self.of(cluster)
        if report is None:
            return None
        reflect = status_without_conditions if self.by_first_rules else reflected_status
        return reported_item(
            cluster,
            reflect(report.body),
            message=report.message,
            applied=report.applied,
            health=str(report.health),
        )

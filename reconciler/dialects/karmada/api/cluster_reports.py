"""What member clusters report of one workload's copies."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from reconciler.dialects.copy_reports import CopyReports
from reconciler.model.body import Body
from reconciler.model.copy_report import CopyReport
from reconciler.model.fields import mapping, text
from reconciler.model.health import Health, reported_status
from reconciler.model.identity import ObjectKey, group_of


@dataclass(frozen=True, slots=True)
class Reports:
    """The reports of one workload's copies; `workload` is its key."""

    workload: ObjectKey
    copies: CopyReports = field(repr=False)

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
        available = reported_status(report.body).get("availableReplicas")
        return isinstance(available, int) and available >= replicas

    def items(self, clusters: Iterable[str]) -> dict[str, Body]:
        """Return the entries of aggregatedStatus of the clusters that report."""
        if not self.copies:
            return {}
        found = ((name, self.item(name)) for name in clusters)
        return {name: item for name, item in found if item is not None}

    def item(self, cluster: str) -> Body | None:
        """Return a cluster's entry of aggregatedStatus, `None` if it reports nothing.

        Source: karmada@f8fdd02 pkg/util/helper/workstatus.go `assembleWorkStatus`.
        """
        report = self.of(cluster)
        if report is None:
            return None
        entry: dict[str, object] = {"clusterName": cluster}
        status = reported_status(report.body)
        if status:
            entry["status"] = status
        if report.message:
            entry["appliedMessage"] = report.message
        return {**entry, "applied": report.applied, "health": str(report.health)}


def reports_of(spec: Body, copies: CopyReports) -> Reports:
    """Return the reports of the workload that a binding's spec names."""
    return Reports(workload_of(spec), copies)


def workload_of(spec: Body) -> ObjectKey:
    """Return the workload that a binding's spec names."""
    resource = mapping(spec, "resource")
    return ObjectKey(
        group_of(text(resource, "apiVersion")),
        text(resource, "kind"),
        text(resource, "namespace"),
        text(resource, "name"),
    )

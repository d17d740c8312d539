"""What member clusters report of one workload's copies."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reconciler.model.fields import mapping, text
from reconciler.model.health import Health, health_of, reported_status
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.world import Body, Manifest


@dataclass(frozen=True, slots=True)
class Reports:
    """The reports of one workload's copies; `workload` is its key."""

    workload: ObjectKey
    feedback: Mapping[ObjectKey, Manifest] = field(repr=False)

    def of(self, cluster: str) -> Body | None:
        """Return what a cluster reports, `None` if it reports nothing."""
        found = (
            self.feedback.get(self.workload._replace(reporter=cluster)) if self.feedback else None
        )
        return None if found is None else found.body

    def health(self, cluster: str) -> Health | None:
        """Return the health that a cluster reports, `None` if it reports nothing."""
        report = self.of(cluster)
        return None if report is None else health_of(report)

    def covers(self, cluster: str, replicas: int) -> bool:
        """Return whether a cluster reports as many available replicas, and health."""
        report = self.of(cluster)
        if report is None or health_of(report) is not Health.HEALTHY:
            return False
        available = reported_status(report).get("availableReplicas")
        return isinstance(available, int) and available >= replicas

    def items(self, clusters: Iterable[str]) -> dict[str, Body]:
        """Return the entries of aggregatedStatus of the clusters that report."""
        if not self.feedback:
            return {}
        found = ((name, self.item(name)) for name in clusters)
        return {name: item for name, item in found if item is not None}

    def item(self, cluster: str) -> Body | None:
        """Return a cluster's entry of aggregatedStatus, `None` if it reports nothing.

        Source: karmada@f8fdd02 pkg/util/helper/workstatus.go `AggregateResourceBindingWorkStatus`.
        """
        report = self.of(cluster)
        if report is None:
            return None
        entry: dict[str, object] = {"clusterName": cluster}
        status = reported_status(report)
        if status:
            entry["status"] = status
        return {**entry, "applied": True, "health": str(health_of(report))}


def reports_of(spec: Body, feedback: Mapping[ObjectKey, Manifest]) -> Reports:
    """Return the reports of the workload that a binding's spec names."""
    resource = mapping(spec, "resource")
    key = ObjectKey(
        group_of(text(resource, "apiVersion")),
        text(resource, "kind"),
        text(resource, "namespace"),
        text(resource, "name"),
    )
    return Reports(key, feedback)

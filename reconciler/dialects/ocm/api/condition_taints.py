"""The taint that a cluster gets since its agent says that it is unwell, or says nothing."""

from reconciler.dialects.ocm.api.placement import GROUP
from reconciler.manifests.taint_dates import taint_id
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.settings import Settings

UNREACHABLE = f"{GROUP}/unreachable"
UNAVAILABLE = f"{GROUP}/unavailable"
AVAILABLE = "ManagedClusterConditionAvailable"
NO_SELECT = "NoSelect"


def taints_of(body: Body, settings: Settings, _record: Body | None) -> tuple[Body, ...]:
    """Return the taints of a cluster that scheduling uses: those written, and that one."""
    written = bodies(mapping(body, "spec"), "taints")
    return (*written, *condition_taints(body, declared=settings.declared_clusters))


def condition_taints(body: Body, *, declared: bool) -> list[Body]:
    """Return the taint that follows from the Available condition, if any.

    A condition that is missing or Unknown makes a cluster unreachable, False unavailable. A
    cluster without a status is a declaration, and available.

    Source: ocm@00f84c3 pkg/registration/hub/taint/controller.go `sync`.
    """
    status = mapping(body, "status")
    if not status and declared:
        return []
    conditions = bodies(status, "conditions")
    available: Body = next((c for c in conditions if c.get("type") == AVAILABLE), {})
    verdict = text(available, "status")
    if verdict == "True":
        return []
    key = UNAVAILABLE if verdict == "False" else UNREACHABLE
    derived: dict[str, object] = {"key": key, "effect": NO_SELECT}
    since = text(available, "lastTransitionTime")
    if since:
        derived["timeAdded"] = since
    written = {taint_id(taint) for taint in bodies(mapping(body, "spec"), "taints")}
    return [] if taint_id(derived) in written else [derived]

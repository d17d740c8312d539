"""What of a Work counts as a report."""

from collections.abc import Iterator

from reconciler.dialects.agent_reports import (
    counted_conditions,
    counted_manifests,
    counted_metadata,
)
from reconciler.dialects.importer import AgentReport
from reconciler.dialects.karmada.api.work.reflected_status import keeps_conditions
from reconciler.dialects.karmada.api.work_reports import reports_in
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey

IDENTIFIER = ("group", "kind", "name", "namespace", "ordinal", "resource", "version")


def _counted(work: Body) -> Body:
    status = mapping(work, "status")
    found = {
        "conditions": counted_conditions(status),
        "manifestStatuses": [_manifest(one) for one in bodies(status, "manifestStatuses")],
    }
    return {
        "apiVersion": work["apiVersion"],
        "kind": work["kind"],
        "metadata": counted_metadata(work, labels=(), annotations=()),
        "spec": {"workload": {"manifests": counted_manifests(work)}},
        "status": {name: one for name, one in found.items() if one},
    }


def _manifest(one: Body) -> Body:
    named, status = mapping(one, "identifier"), mapping(one, "status")
    kept = {name: status[name] for name in sorted(status) if name != "conditions"}
    told = counted_conditions(status) if keeps_conditions(_versioned(named)) else ()
    if told:
        kept["conditions"] = told
    return {
        **({"health": one["health"]} if "health" in one else {}),
        "identifier": {name: named[name] for name in IDENTIFIER if name in named},
        **({"status": kept} if kept else {}),
    }


def _versioned(named: Body) -> tuple[str, str]:
    """Return the apiVersion and the kind of an identifier."""
    group, version = text(named, "group"), text(named, "version")
    return (f"{group}/{version}" if group else version, text(named, "kind"))


def _about(work: Body) -> Iterator[ObjectKey]:
    return (key for key, _ in reports_in(work))


WORK_REPORT = AgentReport(counted=_counted, about=_about)

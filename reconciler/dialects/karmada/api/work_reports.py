"""What a Work of Karmada says of the object that it carries."""

from collections.abc import Iterator

from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.copy_report import CopyReport
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.health import Health
from reconciler.model.identity import ObjectKey

APPLIED = "Applied"


def reports_in(work: Body) -> Iterator[tuple[ObjectKey, CopyReport]]:
    """Yield what a Work says of each of its manifests; one that is being deleted says nothing.

    A manifest without a status, such as a ConfigMap, is told of by the Work alone.

    Source: karmada@f8fdd02 pkg/util/helper/workstatus.go `assembleWorkStatus`.
    """
    if mapping(work, "metadata").get("deletionTimestamp") is not None:
        return
    status = mapping(work, "status")
    conditions = bodies(status, "conditions")
    told = next((one for one in conditions if text(one, "type") == APPLIED), {})
    applied = text(told, "status") == "True"
    message = "" if applied else text(told, "message")
    manifests = bodies(mapping(mapping(work, "spec"), "workload"), "manifests")
    silent: list[Body] = [{"identifier": _identifier(one)} for one in manifests]
    for one in (*silent, *bodies(status, "manifestStatuses")):
        yield _report(one, applied=applied, message=message)


def _identifier(manifest: Body) -> Body:
    """Return by what a manifest is known; its content is not checked anywhere before."""
    group, _, version = _word(manifest, "apiVersion").rpartition("/")
    metadata = at(manifest, "metadata")
    own = {field: _word(metadata, field) for field in ("namespace", "name")}
    return {"group": group, "version": version, "kind": _word(manifest, "kind"), **own}


def _word(body: Body, field: str) -> str:
    value = body.get(field)
    return value if isinstance(value, str) else ""


def _report(manifest: Body, *, applied: bool, message: str) -> tuple[ObjectKey, CopyReport]:
    named = mapping(manifest, "identifier")
    group, version = text(named, "group"), text(named, "version")
    kind, namespace, name = (text(named, field) for field in ("kind", "namespace", "name"))
    body = {
        "apiVersion": f"{group}/{version}" if group else version,
        "kind": kind,
        "metadata": {"namespace": namespace, "name": name} if namespace else {"name": name},
        "status": mapping(manifest, "status") if applied else {},
    }
    judged = Health(text(manifest, "health") or Health.UNKNOWN)
    report = CopyReport(body=body, applied=applied, message=message, judged=judged)
    return ObjectKey(group, kind, namespace, name), report

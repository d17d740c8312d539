"""What agents of a hub report: the Works and ManifestWorks of a control plane."""

from collections.abc import Collection

from reconciler.dialects.importer import AgentReport
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import KnownKinds


def reporter_of(key: ObjectKey, known: KnownKinds) -> str:
    """Return the cluster whose agent reports an object, as its namespace has it; `""` if of none.

    Raises:
        KeyError: Agents report no such kind.
    """
    before, after = known.reported[key.group, key.kind].split("{}")
    named = key.namespace.startswith(before) and key.namespace.endswith(after)
    return key.namespace.removeprefix(before).removesuffix(after) if named else ""


def why_left_out(
    body: Body, report: AgentReport, reporter: str, cluster: str, there: Collection[ObjectKey]
) -> str:
    """Return why an agent's report becomes no file, `""` if it does.

    Args:
        body: The Work or ManifestWork.
        report: How its kind is kept.
        reporter: Of which cluster it is, `""` if of none.
        cluster: The member cluster that the export is of, `""` for a control plane.
        there: The objects of the repository, those of this import among them.
    """
    if not reporter:
        return "its namespace names no cluster"
    if cluster and cluster != reporter:
        return f"it is of the cluster {reporter}"
    if not mapping(body, "status") and not report.tells_without_status(body):
        return "it has no status to report"
    if not any(key in there for key in report.about(body)):
        return "it is of nothing in the repository"
    return ""

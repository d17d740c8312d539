"""Who takes over an object of an export, and why some are left where they are."""

from collections.abc import Mapping

from reconciler.core.dialects import DIALECTS, dialect_of
from reconciler.dialects.importer import AgentReport, Importer
from reconciler.imports.counted_fields import is_made_by_others
from reconciler.imports.export import LiveObject
from reconciler.imports.rooms import NODE, POD
from reconciler.manifests.paths import folder_of, plural_of
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import KnownKinds

IMPORTERS: Mapping[str, Importer] = {dialect.cluster[0]: dialect.importer() for dialect in DIALECTS}
SERVER_MADE = tuple(name for importer in IMPORTERS.values() for name in importer.server_made)


def agent_report_of(key: ObjectKey) -> AgentReport | None:
    """Return how an agent's report is kept, `None` for all other kinds."""
    importer = importer_of(key)
    return None if importer is None else importer.reports.get((key.group, key.kind))


def importer_of(key: ObjectKey) -> Importer | None:
    """Return what takes over the objects of an API, `None` for workloads."""
    dialect = dialect_of(key.group)
    return None if dialect is None else IMPORTERS[dialect.cluster[0]]


def why_skipped(one: LiveObject, workloads: frozenset[str], known: KnownKinds) -> str:
    """Return why an object becomes no file, `""` if it is a workload that was asked for.

    Args:
        one: The object.
        workloads: Kinds and resources of workloads that become files, in lower case.
        known: All kinds that are known.
    """
    key, importer = one.key, importer_of(one.key)
    if importer is not None and (key.group, key.kind) in importer.live:
        return "a decision; --adopt makes it state"
    once = known.removable | (importer.once if importer is not None else frozenset())
    if (key.group, key.kind) in once:
        return "it would run once more; it belongs to the control plane that ran it"
    if key.group in known.groups:
        return "nothing reads it here"
    if (key.group, key.kind) in (NODE, POD):
        return "what a cluster has; --cluster says of which"
    made = is_made_by_others(key, one.body)
    if made:
        return made
    if (key.group, key.kind) == ("", "Secret"):
        return "a Secret in plain must not come into Git; encrypt it first"
    return "" if workloads & names_of(key) else "a workload; --workloads takes it"


def names_of(key: ObjectKey) -> frozenset[str]:
    """Return by which words a kind is asked for, as kubectl has them; short names are not known."""
    words = {key.kind.lower(), plural_of(key.kind), folder_of(key.group, key.kind), "all"}
    return frozenset(words)

"""Who takes over an object of an export, and why some are left where they are."""

from collections.abc import Mapping
from datetime import datetime

from reconciler.core.dialects import DIALECTS, dialect_of
from reconciler.dialects.importer import Adopted, AgentReport, Importer
from reconciler.imports.counted_fields import is_made_by_others
from reconciler.imports.export import LiveObject
from reconciler.imports.rooms import NODE, POD
from reconciler.imports.wanted import Wanted
from reconciler.manifests.built_in import is_built_in
from reconciler.manifests.paths import folder_of, plural_of
from reconciler.manifests.secrets import without_secrets
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind, KnownKinds
from reconciler.model.world import World

IMPORTERS: Mapping[str, Importer] = {dialect.cluster[0]: dialect.importer() for dialect in DIALECTS}
SERVER_MADE = tuple(name for importer in IMPORTERS.values() for name in importer.server_made)

NAMESPACE: Kind = ("", "Namespace")
SECRET: Kind = ("", "Secret")

BUILT_IN = "every API server has it by itself"
RESERVED = "its namespace is the control plane's own"
NOISE = (BUILT_IN, RESERVED)
"""Why an object is none of anybody's business; there are hundreds, so they are told together."""
PLAIN_SECRET = "a Secret in plain must not come into Git; encrypt it first"  # noqa: S105


def agent_report_of(key: ObjectKey) -> AgentReport | None:
    """Return how an agent's report is kept, `None` for all other kinds."""
    importer = importer_of(key)
    return None if importer is None else importer.reports.get((key.group, key.kind))


def importer_of(key: ObjectKey) -> Importer | None:
    """Return what takes over the objects of an API, `None` for workloads."""
    dialect = dialect_of(key.group)
    return None if dialect is None else IMPORTERS[dialect.cluster[0]]


def adopted_by_all(world: World, live: Mapping[ObjectKey, Body], now: datetime) -> Adopted:
    """Return the live decisions of all APIs as state of ours."""
    outputs: dict[ObjectKey, Body] = {}
    left: dict[ObjectKey, str] = {}
    lacking: dict[ObjectKey, ObjectKey] = {}
    missing: dict[ObjectKey, ObjectKey] = {}
    contents: dict[ObjectKey, tuple[str, str]] = {}
    for importer in IMPORTERS.values():
        adopted = importer.adopt(world, live, now)
        outputs |= adopted.outputs
        left |= adopted.left
        lacking |= adopted.lacking
        missing |= adopted.missing
        contents |= adopted.contents
    return Adopted(outputs=outputs, left=left, lacking=lacking, missing=missing, contents=contents)


def why_skipped(one: LiveObject, wanted: Wanted, known: KnownKinds) -> str:
    """Return why an object becomes no file, `""` if it is a workload that is wanted.

    Args:
        one: The object.
        wanted: What a person wants of the export.
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
    return (
        why_noise(key, wanted.reserved)
        or is_made_by_others(key, one.body)
        or why_secret(one.body)
        or why_unwanted(key, wanted)
    )


def why_noise(key: ObjectKey, reserved: frozenset[str]) -> str:
    """Return why an object is a control plane's own, `""` if it may be anybody's.

    Args:
        key: The object.
        reserved: The namespaces that the control plane has for itself.
    """
    if is_built_in(key):
        return BUILT_IN
    own = key.namespace in reserved or (key[:2] == NAMESPACE and key.name in reserved)
    return RESERVED if own else ""


def why_secret(body: Body) -> str:
    """Return why an object must not come into Git as it is, `""` if no Secret is in it."""
    return PLAIN_SECRET if without_secrets(body) is not body else ""


def why_unwanted(key: ObjectKey, wanted: Wanted) -> str:
    """Return why nobody wants a workload, `""` if somebody does."""
    found = wanted.propagated
    if wanted.workloads & names_of(key):
        return ""
    if found is None:
        return "a workload; --workloads takes it"
    if key[:2] in found.kinds or key in found.objects:
        return ""
    return "no policy, placement or decision names its kind; --workloads takes it"


def names_of(key: ObjectKey) -> frozenset[str]:
    """Return by which words a kind is asked for, as kubectl has them; short names are not known."""
    words = {key.kind.lower(), plural_of(key.kind), folder_of(key.group, key.kind), "all"}
    return frozenset(words)

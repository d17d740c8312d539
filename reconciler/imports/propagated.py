"""What of a control plane is meant for clusters, and what it has for itself alone."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from reconciler.dialects.importer import Propagated
from reconciler.imports.export import LiveObject
from reconciler.imports.importers import IMPORTERS, NAMESPACE, importer_of, why_skipped
from reconciler.imports.wanted import Wanted
from reconciler.manifests.built_in import SYSTEM_NAMESPACE
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import KnownKinds


def propagated_in(live: Mapping[ObjectKey, Body]) -> Propagated:
    """Return what the live objects of all APIs name to be taken to clusters."""
    found = [importer.propagated(live) for importer in IMPORTERS.values()]
    return Propagated(
        kinds=frozenset().union(*(one.kinds for one in found)),
        objects=frozenset().union(*(one.objects for one in found)),
    )


def reserved_in(live: Iterable[ObjectKey]) -> frozenset[str]:
    """Return the namespaces of an export that are a control plane's own.

    Those of Kubernetes are, and those of the APIs that the export has objects of: a name that one
    API reserves may be anybody's on the hub of another.
    """
    keys = tuple(live)
    groups = {key.group for key in keys}
    there = [
        importer
        for importer in IMPORTERS.values()
        if any(importer_of(ObjectKey(group, "", "", "")) is importer for group in groups)
    ]
    names = {key.name if key[:2] == NAMESPACE else key.namespace for key in keys} - {""}
    return frozenset(
        name
        for name in names
        if name.startswith(SYSTEM_NAMESPACE)
        or any(importer.is_reserved(name) for importer in there)
    )


def with_needs(wanted: Wanted, live: Iterable[LiveObject], known: KnownKinds) -> Wanted:
    """Return what is wanted with the namespaces of the workloads that become files.

    Where only some types are wanted, namespaces are wanted if they are among these.
    """
    found = wanted.propagated
    if found is None or wanted.cluster:
        return wanted
    taken = {
        one.key.namespace
        for one in live
        if one.key.namespace
        and importer_of(one.key) is None
        and not why_skipped(one, wanted, known)
    }
    namespaces = {ObjectKey(*NAMESPACE, "", name) for name in taken}
    return replace(wanted, propagated=replace(found, objects=found.objects | namespaces))

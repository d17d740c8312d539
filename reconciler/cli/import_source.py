"""Where the live objects come from: files, folders and standard input, or kubectl."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.imports.export import LiveObject
    from reconciler.model.kinds import Kind
    from reconciler.model.world import World
    from reconciler.shell.processes.kubectl import Kubectl


SUFFIXES = (".json", ".yaml", ".yml")
STDIN = "-"
DEPLOYMENT = ("apps", "Deployment")
NOT_REPORTED = frozenset({("", "ConfigMap"), ("", "Secret"), ("", "ServiceAccount")})
"""Kinds without a status; asking for them would show what nobody needs to see."""


@dataclass(slots=True)
class Export:
    """What was found, what could not be listed and why, and the kinds that were listed whole."""

    live: list["LiveObject"] = field(default_factory=list)
    not_served: list[str] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    listed: set["Kind"] = field(default_factory=set)


def read_files(names: Sequence[str], start: Path, world: "World") -> Export:
    """Read exports from files, folders and standard input.

    Raises:
        UsageError: There is no such file, or it is no export.
    """
    from reconciler.cli.progress import tracked
    from reconciler.imports.export import read_export

    contents = list(_contents(names, start))
    export = Export()
    for name, data in tracked(contents, len(contents), what="Reading exports"):
        export.live += read_export(data, name, world.known, world.known.scopes)
    return export


def _contents(names: Iterable[str], start: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each export with the name that messages call it."""
    for name in names:
        place = start / name
        if name == STDIN:
            yield "<stdin>", sys.stdin.buffer.read()
        elif place.is_dir():
            found = sorted(p for p in place.rglob("*") if p.suffix in SUFFIXES and p.is_file())
            if not found:
                raise UsageError(f'"{place}" has no {", ".join(SUFFIXES)} in it')
            for path in found:
                yield str(path), path.read_bytes()
        elif place.is_file():
            yield name, place.read_bytes()
        else:
            raise UsageError(f'"{place}" does not exist')


def ask_kubectl(
    kubectl: "Kubectl",
    world: "World",
    *,
    cluster: str,
    workloads: Iterable[str],
    adopt: bool,
    propagated: bool,
    controllers: bool = False,
) -> Export:
    """List what is imported from a live server; what it does not have, or refuses, is noted.

    Args:
        kubectl: The context.
        world: The repository; of a member cluster the kinds of its workloads are listed.
        cluster: The member cluster that it is, `""` for a control plane.
        workloads: Resources that are listed on top.
        adopt: Whether decisions are.
        propagated: Whether the kinds are that policies, placements and decisions name.
        controllers: Whether the Deployments are, among which are those of a control plane.

    Raises:
        UsageError: There is no kubectl, or no such context.
        ShellError: The server cannot be reached.
    """
    from reconciler.manifests.paths import folder_of

    decisions = adopt or propagated
    asked = reported_resources(world) if cluster else control_resources(decisions=decisions)
    if controllers:
        asked |= {folder_of(*DEPLOYMENT): DEPLOYMENT}
    export = Export()
    _list(kubectl, world, list(dict.fromkeys((*asked, *workloads))), export)
    if not kubectl.namespace:
        answered = asked.keys() - {*export.not_served, *export.forbidden}
        export.listed |= {asked[resource] for resource in answered}
    if propagated:
        _list(kubectl, world, propagated_resources(kubectl, world, export), export)
    return export


def _list(kubectl: "Kubectl", world: "World", resources: Sequence[str], export: Export) -> None:
    """Add what a server has of some resources to an export."""
    from reconciler.cli.progress import tracked
    from reconciler.imports.export import read_export
    from reconciler.shell.processes.kubectl import NotServed, ResourceForbidden

    for resource in tracked(resources, len(resources), what="Asking kubectl"):
        try:
            data = kubectl.get(resource)
        except NotServed:
            export.not_served.append(resource)
        except ResourceForbidden as error:
            export.problems.append(str(error))
            export.forbidden.append(resource)
        else:
            name = f"kubectl get {resource}"
            export.live += read_export(data, name, world.known, world.known.scopes)


def propagated_resources(kubectl: "Kubectl", world: "World", export: Export) -> list[str]:
    """Return what else is to be listed of a control plane: the kinds that its objects name.

    What they are called there is asked for, since a CRD gives its plural as it likes. Kinds that
    the server does not have are noted. Secrets are not asked for: none would be written.

    Raises:
        UsageError: There is no kubectl, or no such context.
        ShellError: The server cannot be reached.
    """
    from reconciler.imports.importers import NAMESPACE, SECRET
    from reconciler.imports.plan import propagated_in
    from reconciler.manifests.paths import folder_of

    found = propagated_in({one.key: one.body for one in export.live})
    kinds = {*found.kinds, *(key[:2] for key in found.objects)}
    kinds = {kind for kind in kinds if kind[0] not in world.known.groups} - {SECRET}
    if not kinds:
        return []
    discovery = kubectl.discover()
    export.problems += discovery.problems
    export.not_served += sorted(folder_of(*kind) for kind in kinds - discovery.resources.keys())
    served = (kinds | {NAMESPACE}) & discovery.resources.keys()
    return [discovery.resources[kind] for kind in sorted(served)]


def control_resources(*, decisions: bool) -> dict[str, "Kind"]:
    """Return the resources of a control plane, of all APIs, with their kinds."""
    from reconciler.core.dialects import DIALECTS
    from reconciler.manifests.paths import folder_of

    importers = [dialect.importer() for dialect in DIALECTS]
    kinds = [
        kind
        for one in importers
        for kind in (*one.kinds, *one.reports, *(one.live if decisions else ()))
    ]
    return {folder_of(*kind): kind for kind in kinds}


def reported_resources(world: "World") -> dict[str, "Kind"]:
    """Return what a member cluster is asked for: its nodes and pods, and kinds of workloads."""
    from reconciler.imports.importers import NODE, POD
    from reconciler.manifests.paths import folder_of

    kinds = {(key.group, key.kind) for key in world.inputs if key.group not in world.known.groups}
    reported = sorted(kinds - NOT_REPORTED)
    return {folder_of(*kind): kind for kind in (NODE, POD, *reported)}

"""Where the live objects come from: files, folders and standard input, or kubectl."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.imports.export import LiveObject
    from reconciler.model.known_kinds import Kind
    from reconciler.model.world import World
    from reconciler.shell.processes.kubectl import Kubectl

SUFFIXES = (".json", ".yaml", ".yml")
STDIN = "-"
NOT_REPORTED = frozenset({("", "ConfigMap"), ("", "Secret"), ("", "ServiceAccount")})
"""Kinds without a status; asking for them would show what nobody needs to see."""


@dataclass(slots=True)
class Export:
    """What was found, what could not be listed, and the kinds that were listed whole."""

    live: list["LiveObject"] = field(default_factory=list)
    not_served: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    listed: set["Kind"] = field(default_factory=set)


def read_files(names: Sequence[str], start: Path, world: "World") -> Export:
    """Read exports from files, folders and standard input.

    Raises:
        UsageError: There is no such file, or it is no export.
    """
    from reconciler.cli.printing.progress import tracked
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
    kubectl: "Kubectl", world: "World", *, cluster: str, workloads: Iterable[str], adopt: bool
) -> Export:
    """List what is imported from a live server; what it does not have, or refuses, is noted.

    Args:
        kubectl: The context.
        world: The repository; of a member cluster the kinds of its workloads are listed.
        cluster: The member cluster that it is, `""` for a control plane.
        workloads: Resources that are listed on top.
        adopt: Whether decisions are.

    Raises:
        UsageError: There is no kubectl, or no such context.
        ShellError: The server cannot be reached.
    """
    from reconciler.cli.printing.progress import tracked
    from reconciler.imports.export import read_export
    from reconciler.shell.processes.kubectl import NotServed, ResourceForbidden

    asked = reported_resources(world) if cluster else control_resources(adopt=adopt)
    resources = list(dict.fromkeys((*asked, *workloads)))
    export = Export()
    for resource in tracked(resources, len(resources), what="Asking kubectl", few=0):
        try:
            data = kubectl.get(resource)
        except NotServed:
            export.not_served.append(resource)
        except ResourceForbidden as error:
            export.problems.append(str(error))
        else:
            name = f"kubectl get {resource}"
            export.live += read_export(data, name, world.known, world.known.scopes)
            if resource in asked and not kubectl.namespace:
                export.listed.add(asked[resource])
    return export


def control_resources(*, adopt: bool) -> dict[str, "Kind"]:
    """Return the resources of a control plane, of all APIs, with their kinds."""
    from reconciler.core.dialects import DIALECTS
    from reconciler.manifests.paths import folder_of

    importers = [dialect.importer() for dialect in DIALECTS]
    kinds = [
        kind
        for one in importers
        for kind in (*one.kinds, *one.reports, *(one.live if adopt else ()))
    ]
    return {folder_of(*kind): kind for kind in kinds}


def reported_resources(world: "World") -> dict[str, "Kind"]:
    """Return what a member cluster is asked for: its nodes and pods, and kinds of workloads."""
    from reconciler.imports.rooms import NODE, POD
    from reconciler.manifests.paths import folder_of

    kinds = {(key.group, key.kind) for key in world.inputs if key.group not in world.known.groups}
    reported = sorted(kinds - NOT_REPORTED)
    return {folder_of(*kind): kind for kind in (NODE, POD, *reported)}

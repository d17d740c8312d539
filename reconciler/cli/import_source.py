"""What is imported: the options, and live objects of files, folders, standard input or kubectl."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.delivery import delivery_options
from reconciler.cli.options import (
    Option,
    RemoteAccess,
    access_options,
    gathered,
    layout_options,
    output_option,
    tolerance_option,
)
from reconciler.cli.trust import SigningOptions, signing_options
from reconciler.errors import UsageError
from reconciler.model.identity import RepositoryLayout
from reconciler.model.records import dataclass, field

if TYPE_CHECKING:
    from reconciler.imports.export import LiveObject
    from reconciler.model.kinds import Kind
    from reconciler.model.world import World
    from reconciler.shell.processes.kubectl import Kubectl


PROPAGATED, NONE = "propagated", "none"
"""Words of --workloads that are no types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What a person asked for, by the names of the options."""

    sources: tuple[str, ...]
    context: str | None
    kubeconfig: Path | None
    namespace: str
    timeout_seconds: float
    cluster: str
    in_place: bool
    workloads: tuple[str, ...]
    adopt: bool
    tolerance: int
    dry_run: bool
    check_switch: bool
    host_context: str | None
    output: str
    branch: str | None
    author: str | None
    remote: str | None
    access: RemoteAccess
    signing: SigningOptions
    layout: RepositoryLayout

    def check(self) -> None:
        """Refuse what does not go together."""
        from reconciler.model.text import SUBDOMAIN_RULE, is_subdomain, shown

        if bool(self.sources) == (self.context is not None):
            raise UsageError("name files, folders or - for standard input, or give --context NAME")
        if self.remote is not None and self.branch is None:
            raise UsageError("--remote requires --branch, the branch to commit to")
        signing = ("--signing-key",) if self.signing.signing_key else ()
        if self.remote is None and (unused := (*self.access.files, *signing)):
            raise UsageError(f"{unused[0]} requires --remote")
        if self.cluster and not is_subdomain(self.cluster):
            raise UsageError(f"--cluster is {shown(self.cluster)}, it must be {SUBDOMAIN_RULE}")
        if self.in_place and not self.cluster:
            raise UsageError("--in-place requires --cluster, the member cluster that reports")
        if NONE in self._words and len(self._words) > 1:
            raise UsageError("--workloads none cannot be combined with other types")
        if self.cluster and PROPAGATED in self._words:
            raise UsageError(
                "--workloads propagated needs a control plane; --cluster names a member cluster"
            )
        if self.cluster and self.adopt:
            raise UsageError("--adopt needs a control plane; --cluster names a member cluster")
        self._check_question()

    def _check_question(self) -> None:
        """Refuse what does not go together with a question that writes nothing."""
        if self.host_context is not None and not self.check_switch:
            raise UsageError("--host-context requires --check")
        given = {
            "--adopt": self.adopt,
            "--branch": self.branch is not None,
            "--cluster": bool(self.cluster),
            "--remote": self.remote is not None,
        }
        refused = next((name for name, is_given in given.items() if is_given), None)
        if self.check_switch and refused is not None:
            raise UsageError(f"--check does not write; omit {refused}")

    @property
    def types(self) -> frozenset[str]:
        """The types of workloads, in lower case, without the words that are none."""
        return self._words - {PROPAGATED, NONE}

    @property
    def takes_propagated(self) -> bool:
        """Whether what is meant for clusters is taken; decisions are of no use without that."""
        meant = self.adopt or self.check_switch
        return PROPAGATED in self._words or (meant and not self._words)

    @property
    def _words(self) -> frozenset[str]:
        words_given = (
            word.strip().lower() for words in self.workloads for word in words.split(",")
        )
        return frozenset(words_given) - {""}


IMPORT_OPTIONS: tuple[Option, ...] = (
    click.argument("sources", nargs=-1, metavar="[FILE|DIR|-]..."),
    click.option(
        "--context", metavar="NAME", help="Read through kubectl from this context instead of files."
    ),
    click.option(
        "--kubeconfig",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="With --context: the kubeconfig file  [default: kubectl's]",
    ),
    click.option(
        "-n",
        "--namespace",
        metavar="NS",
        default="",
        help="With --context: only this namespace.",
    ),
    click.option(
        "--timeout-seconds",
        type=click.FloatRange(min=0.1),
        default=60.0,
        show_default=True,
        help="With --context: timeout of each request.",
    ),
    click.option(
        "--cluster",
        metavar="NAME",
        default="",
        help="The input is an export of this member cluster: nodes and pods become its capacity, "
        "the status of workloads becomes feedback.",
    ),
    click.option(
        "--in-place",
        is_flag=True,
        help="With --cluster: write the cluster's capacity into its own file, not below feedback/.",
    ),
    click.option(
        "--workloads",
        metavar="TYPE,...",
        multiple=True,
        help="Also import workloads of these types, such as deployments,services; propagated "
        "imports the kinds named by policies, placements and decisions, with their Namespaces and "
        "PriorityClasses; all imports all, with --context kubectl's category all.  [default: "
        "propagated with --adopt, else none]",
    ),
    click.option(
        "--adopt",
        is_flag=True,
        help="Adopt the live decisions as the initial state; nothing moves.",
    ),
    tolerance_option,
    click.option("--dry-run", is_flag=True, help="Show what would be written, without writing."),
    click.option(
        "--check",
        "check_switch",
        is_flag=True,
        help="Show what remains to be done to switch from this hub, without writing.",
    ),
    click.option(
        "--host-context",
        metavar="NAME",
        help="With --check: kubectl context of the cluster that runs the hub's control plane, if "
        "it is a different one.",
    ),
    output_option("text", "json"),
    delivery_options,
    click.option(
        "--remote",
        metavar="URL",
        envvar="RECONCILER_IMPORT_REMOTE",
        help="With --branch: commit to that branch of this remote and push; if someone else "
        "pushes in the meantime, start over.",
    ),
    access_options,
    signing_options,
    layout_options,
)


def import_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the argument and the options of an import; the verb gets them as its `asked`."""
    return gathered(function, "asked", ImportOptions, IMPORT_OPTIONS)


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
            paths = sorted(p for p in place.rglob("*") if p.suffix in SUFFIXES and p.is_file())
            if not paths:
                raise UsageError(f'"{place}" has no {", ".join(SUFFIXES)} in it')
            for path in paths:
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

    resources = propagated_in({one.key: one.body for one in export.live})
    kinds = {*resources.kinds, *(key[:2] for key in resources.objects)}
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
    """Return what a member cluster is asked for: its nodes and pods, and kinds of workloads.

    And the ReplicaSets, by which pods belong to Deployments, where an API asks for that.
    """
    from reconciler.imports.importers import NODE, POD, REPLICA_SET, asks_for_scheduling
    from reconciler.manifests.paths import folder_of

    kinds = {(key.group, key.kind) for key in world.inputs if key.group not in world.known.groups}
    asked = {REPLICA_SET} if asks_for_scheduling(world) else set()
    reported = sorted((kinds | asked) - NOT_REPORTED)
    return {folder_of(*kind): kind for kind in (NODE, POD, *reported)}

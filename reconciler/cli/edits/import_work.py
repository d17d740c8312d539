"""What `reconciler import` does, whatever becomes of the files: read, plan, adopt, print."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.cli.options.options import here
from reconciler.cli.options.remote_access import RemoteAccess
from reconciler.cli.options.trust import SigningOptions
from reconciler.errors import UsageError
from reconciler.model.repository_layout import RepositoryLayout

if TYPE_CHECKING:
    from reconciler.cli.edits.edited_world import Files
    from reconciler.cli.edits.import_source import Export
    from reconciler.core.inputs.document_rules import Rules
    from reconciler.imports.absence import Absence
    from reconciler.imports.adoption import Adoption
    from reconciler.imports.export import LiveObject
    from reconciler.imports.plan import ImportedObject
    from reconciler.imports.wanted import Wanted
    from reconciler.model.body import Body
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World

PROPAGATED, NONE = "propagated", "none"
"""Words of --workloads that are no types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What a person asked for, by the names of the options."""

    directory: Path
    sources: tuple[str, ...]
    context: str | None
    kubeconfig: Path | None
    namespace: str
    timeout_seconds: float
    cluster: str
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
        from reconciler.manifests.names import SUBDOMAIN_RULE, is_subdomain
        from reconciler.model.message_text import shown

        if bool(self.sources) == (self.context is not None):
            raise UsageError("name files, folders or - for standard input, or give --context NAME")
        if self.remote is not None and self.branch is None:
            raise UsageError("--remote needs --branch: the branch of it that gets the commit")
        signing = ("--signing-key",) if self.signing.signing_key else ()
        if self.remote is None and (unused := (*self.access.files, *signing)):
            raise UsageError(f"{unused[0]} goes with --remote, where it is used")
        if self.cluster and not is_subdomain(self.cluster):
            raise UsageError(f"--cluster is {shown(self.cluster)}, it must be {SUBDOMAIN_RULE}")
        if NONE in self._words and len(self._words) > 1:
            raise UsageError("--workloads none goes with no other type")
        if self.cluster and PROPAGATED in self._words:
            raise UsageError(
                "--workloads propagated asks a control plane; --cluster names a member of one"
            )
        if self.cluster and self.adopt:
            raise UsageError("--adopt takes over a control plane; --cluster names a member of one")
        self._check_question()

    def _check_question(self) -> None:
        """Refuse what does not go together with a question that writes nothing."""
        if self.host_context is not None and not self.check_switch:
            raise UsageError("--host-context goes with --check, which looks at what runs the hub")
        given = {
            "--adopt": self.adopt,
            "--branch": self.branch is not None,
            "--cluster": bool(self.cluster),
            "--remote": self.remote is not None,
        }
        refused = next((name for name, is_given in given.items() if is_given), None)
        if self.check_switch and refused is not None:
            raise UsageError(f"--check writes nothing, and {refused} says how to write")

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
        found = (word.strip().lower() for words in self.workloads for word in words.split(","))
        return frozenset(found) - {""}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """What an import comes to: each object, the state, and every file to write."""

    objects: "tuple[ImportedObject, ...]"
    adoption: "Adoption | None"
    export: "Export"
    files: Mapping[str, bytes]

    @property
    def code(self) -> int:
        """The exit code: 1 if something could not be imported."""
        failed = any(one.became == "failed" for one in self.objects)
        return 1 if failed or self.export.problems else 0


def compute(options: ImportOptions, world: "World", content: "Files") -> ImportResult:
    """Return what an import into a world comes to."""
    from reconciler.core.dialects import KINDS
    from reconciler.core.inputs.admissions import ADMISSIONS
    from reconciler.core.inputs.document_rules import Rules
    from reconciler.imports.absence import Absence
    from reconciler.imports.plan import decisions_among, plan_import
    from reconciler.imports.rooms import with_rooms
    from reconciler.shell.resources import load_schemas

    export = export_of(options, world)
    live = with_rooms(export.live, world, options.cluster)
    wanted = wanted_of(options, live, export)
    schemas = load_schemas()
    rules = Rules(schemas, ADMISSIONS, KINDS)
    plan = plan_import(world, content, live, wanted, rules)
    files, adoption = dict(plan.files), None
    if options.adopt:
        outputs = Rules(schemas, {}, KINDS, status_only=True)
        absence = Absence({one.key: one for one in plan.objects}, wanted)
        adoption, state = _adopt(plan.world, decisions_among(live), outputs, absence)
        files |= state
    return ImportResult(objects=plan.objects, adoption=adoption, export=export, files=files)


def wanted_of(options: ImportOptions, live: "Sequence[LiveObject]", export: "Export") -> "Wanted":
    """Return what a person wants of an export.

    Args:
        options: What was asked for.
        live: The objects of the export.
        export: What else is known of it.
    """
    from reconciler.imports.propagated import propagated_in, reserved_in
    from reconciler.imports.wanted import Wanted

    objects = {one.key: one.body for one in live}
    return Wanted(
        cluster=options.cluster,
        workloads=options.types,
        propagated=propagated_in(objects) if options.takes_propagated else None,
        reserved=reserved_in(objects),
        tolerance_percent=options.tolerance,
        adopt=options.adopt or options.check_switch,
        listed=frozenset(export.listed),
    )


def _adopt(
    world: "World", live: "Mapping[ObjectKey, Body]", rules: "Rules", absence: "Absence"
) -> "tuple[Adoption, dict[str, bytes]]":
    """Return what is adopted, and its files."""
    from reconciler.imports.adoption import adopt
    from reconciler.imports.files import written
    from reconciler.manifests.paths import output_path

    adoption = adopt(world, live, next_moment(world), rules, absence)
    root = world.output_root
    files = {output_path(root, k): written(body) for k, body in adoption.outputs.items()}
    return adoption, files | {path: text.encode() for path, text in adoption.contents.items()}


def next_moment(world: "World") -> datetime:
    """Return the present moment, but for a clock that is behind: then the first after a pass."""
    from reconciler.core.record import last_pass
    from reconciler.shell.clock import SystemClock

    last, clock = last_pass(world.outputs), SystemClock().now()
    return clock if last is None else max(clock, last.at + timedelta(seconds=1))


def export_of(options: ImportOptions, world: "World") -> "Export":
    """Return the live objects."""
    from reconciler.cli.edits.import_source import ask_kubectl, read_files
    from reconciler.shell.processes.kubectl import Kubectl

    if options.context is None:
        return read_files(options.sources, here(), world)
    kubectl = Kubectl(
        context=options.context,
        kubeconfig=options.kubeconfig,
        namespace=options.namespace,
        timeout_seconds=options.timeout_seconds,
    )
    return ask_kubectl(
        kubectl,
        world,
        cluster=options.cluster,
        workloads=sorted(options.types),
        adopt=options.adopt or options.check_switch,
        propagated=options.takes_propagated,
        controllers=options.check_switch,
    )


def message_of(options: ImportOptions, result: ImportResult, like: str) -> str:
    """Return the message of the commit: a subject, and the state that it adopts as a trailer.

    `like` is a git id, whose format blob ids have.
    """
    from reconciler.core.message import LONGEST_SUBJECT, plain

    source = options.context or "an export"
    what = f"Import what {options.cluster} reports" if options.cluster else f"Import {source}"
    subject = plain(f"Adopt {source}" if options.adopt else what)[:LONGEST_SUBJECT]
    trailer = adopting(options, result, like)
    return f"{subject}\n\n{trailer}\n" if trailer else subject


def adopting(options: ImportOptions, result: ImportResult, like: str) -> str:
    """Return the trailer by which `verify` knows the commit that adopts, `""` if none does."""
    from reconciler.audit.proofs.adopted_state import ADOPTED, state_digest
    from reconciler.manifests.paths import blob_id

    state = {path: data for path, data in result.files.items() if options.layout.is_output(path)}
    if not state:
        return ""
    known = state_digest((path, blob_id(data, like=like)) for path, data in state.items())
    return f"{ADOPTED}: {known}"


def print_result(options: ImportOptions, result: ImportResult) -> None:
    """Print what an import comes to."""
    from reconciler.cli.edits.import_report import import_json, print_text
    from reconciler.cli.printing.print_json import print_json

    if options.output == "json":
        written = [] if options.dry_run else sorted(result.files)
        print_json(import_json(result.objects, result.adoption, result.export, written))
    else:
        print_text(result.objects, result.adoption, result.export)

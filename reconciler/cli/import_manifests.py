"""What `reconciler import` does: read, plan, adopt, print, and put the files where they go.

The files go into a checkout, onto a new branch, or, with `--remote`, onto a branch of a remote:
there with a lease, and again if the branch moved.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.delivery import Delivery, commit_author
from reconciler.cli.edits import edited_world
from reconciler.cli.import_source import Export, ImportOptions, ask_kubectl, read_files
from reconciler.cli.options import here
from reconciler.cli.trust import signing_key
from reconciler.errors import UsageError
from reconciler.model.records import dataclass
from reconciler.model.text import short_id
from reconciler.shell.git.repository import Repository

if TYPE_CHECKING:
    from reconciler.cli.edits import Files
    from reconciler.core.inputs.validation import Rules
    from reconciler.imports.adoption import Adoption
    from reconciler.imports.export import LiveObject
    from reconciler.imports.importers import Wanted
    from reconciler.imports.plan import Absence, ImportedObject
    from reconciler.model.body import Body
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World
    from reconciler.shell.git.remotes.mirror import Mirror


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """What an import comes to: each object, the state, and every file to write."""

    objects: "tuple[ImportedObject, ...]"
    adoption: "Adoption | None"
    export: Export
    files: Mapping[str, bytes]

    @property
    def code(self) -> int:
        """The exit code: 1 if something could not be imported."""
        failed = any(one.became == "failed" for one in self.objects)
        return 1 if failed or self.export.problems else 0


def compute(options: ImportOptions, world: "World", content: "Files") -> ImportResult:
    """Return what an import into a world comes to."""
    from reconciler.core.cluster_reports import without_reports
    from reconciler.core.dialects import KINDS
    from reconciler.core.inputs.admissions import ADMISSIONS
    from reconciler.core.inputs.validation import Rules
    from reconciler.imports.importers import with_rooms, with_scheduling
    from reconciler.imports.plan import Absence, decisions_among, plan_import
    from reconciler.shell.resources import load_schemas

    export = export_of(options, world)
    live = with_scheduling(export.live, world, options.cluster, export.listed)
    measured = without_reports(world) if options.in_place else world
    live = with_rooms(live, measured, options.cluster)
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


def wanted_of(options: ImportOptions, live: "Sequence[LiveObject]", export: Export) -> "Wanted":
    """Return what a person wants of an export.

    Args:
        options: What was asked for.
        live: The objects of the export.
        export: What else is known of it.
    """
    from reconciler.imports.importers import Wanted
    from reconciler.imports.plan import propagated_in, reserved_in

    objects = {one.key: one.body for one in live}
    return Wanted(
        cluster=options.cluster,
        in_place=options.in_place,
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
    from reconciler.imports.plan import written
    from reconciler.manifests.paths import output_path

    adoption = adopt(world, live, next_moment(world), rules, absence)
    root = world.output_root
    files = {output_path(root, k): written(body) for k, body in adoption.outputs.items()}
    return adoption, files | {path: text.encode() for path, text in adoption.contents.items()}


def next_moment(world: "World") -> datetime:
    """Return the present moment, but for a clock that is behind: then the first after a pass."""
    from reconciler.core.record import last_pass
    from reconciler.shell.resources import SystemClock

    last, clock = last_pass(world.outputs), SystemClock().now()
    return clock if last is None else max(clock, last.at + timedelta(seconds=1))


def export_of(options: ImportOptions, world: "World") -> Export:
    """Return the live objects."""
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
    from reconciler.audit.proof import ADOPTED, state_digest
    from reconciler.manifests.paths import blob_id

    state = {path: data for path, data in result.files.items() if options.layout.is_output(path)}
    if not state:
        return ""
    digest = state_digest((path, blob_id(data, like=like)) for path, data in state.items())
    return f"{ADOPTED}: {digest}"


def print_result(options: ImportOptions, result: ImportResult) -> None:
    """Print what an import comes to."""
    from reconciler.cli.import_report import import_json, print_text
    from reconciler.cli.printing import print_json

    if options.output == "json":
        written = [] if options.dry_run else sorted(result.files)
        print_json(import_json(result.objects, result.adoption, result.export, written))
    else:
        print_text(result.objects, result.adoption, result.export)


def run(directory: Path, asked: ImportOptions) -> int:
    """Import what is asked for; return the exit code."""
    asked.check()
    if asked.check_switch:
        from reconciler.cli.import_report import check_here

        return check_here(directory, asked)
    if asked.remote is not None:
        return import_and_push(directory, asked)
    return import_here(directory, asked)


def import_here(directory: Path, options: ImportOptions) -> int:
    """Import into the files of the checkout, or onto a new branch."""
    repository = Repository.open(directory)
    delivery = Delivery(
        directory=directory,
        repository=repository,
        base=_base(repository, options),
        branch=options.branch,
        author=options.author,
    )
    delivery.check()
    world, content = edited_world(delivery, options.layout)
    result = compute(options, world, content)
    said = "nothing that counts has changed"
    if result.files:
        said = f"nothing is written (--dry-run); {len(result.files)} files would be"
        if not options.dry_run:
            said = delivery.deliver(result.files, message_of(options, result, delivery.base))
            said += _how_to_commit(options, result, delivery.base)
    print_result(options, result)
    click.echo(said, err=True)
    return result.code


def _how_to_commit(options: ImportOptions, result: ImportResult, base: str) -> str:
    """Return how to commit what is adopted into the checkout, so that `verify` knows it."""
    trailer = adopting(options, result, base) if options.branch is None else ""
    return f"\ncommit them with: git commit --trailer '{trailer}'" if trailer else ""


def _base(repository: Repository, options: ImportOptions) -> str:
    """Return the commit that is imported onto, `""` if there is none yet."""
    branch = repository.find(repository.head_branch())
    if branch is None and (options.adopt or options.branch is not None):
        raise UsageError(
            "the repository has no commits yet; create one first: git commit --allow-empty -m Start"
        )
    return branch or ""


ATTEMPTS = 5  # each computes everything again


def import_and_push(directory: Path, options: ImportOptions) -> int:
    """Import onto a branch of a remote, and push it as a fast-forward of what was read.

    Raises:
        UsageError: The remote has no such branch.
        LostRace: Others pushed each time.
    """
    from reconciler.cli.serving import default_mirror
    from reconciler.shell.git.command import LostRace
    from reconciler.shell.git.remotes.mirror import Mirror

    remote = options.remote or ""
    own = default_mirror(remote).with_suffix(".import.git")  # a daemon may have the other one
    access, seconds = options.access.read(), options.access.remote_timeout_seconds
    with Mirror.open(remote, own, access=access, timeout_seconds=seconds) as mirror:
        mirror.recover()  # no pass runs in this one, and does it
        for attempt in range(ATTEMPTS):
            try:
                result, said = _attempt(directory, options, mirror)
                break
            except LostRace:
                if attempt + 1 == ATTEMPTS:
                    raise
    print_result(options, result)
    click.echo(said, err=True)
    return result.code


def _attempt(directory: Path, options: ImportOptions, mirror: "Mirror") -> tuple[ImportResult, str]:
    """Read the branch, import, commit and push once."""
    from reconciler.cli.edits import committed_world
    from reconciler.cli.options import parse_author
    from reconciler.core.changes import WriteFile
    from reconciler.core.message import CommitPurpose, Purpose
    from reconciler.shell.git.commits import write_commit
    from reconciler.shell.git.signing import CommitSigning
    from reconciler.shell.resources import SystemClock

    branch, repository = options.branch or "", mirror.repository
    head = mirror.fetch(branch)
    if head is None:
        raise UsageError(f'the remote has no branch "{branch}"; push one first')
    delivery = Delivery(
        directory=directory,
        repository=repository,
        base=head,
        branch=branch,
        author=options.author,
    )
    world, content = committed_world(delivery, options.layout)
    result = compute(options, world, content)
    if not result.files:
        return result, "nothing that counts has changed"
    if options.dry_run:
        return result, f"nothing is pushed (--dry-run); {_files(len(result.files))} would be"
    with repository.held:
        commit = write_commit(
            repository,
            [WriteFile(path, data.decode()) for path, data in sorted(result.files.items())],
            parent=head,
            message=message_of(options, result, head),
            at=SystemClock().now(),
            author=parse_author(options.author or commit_author(repository)),
            signing=CommitSigning.by(
                signing_key(options.signing),
                CommitPurpose(Purpose.REPORTS, branch, repository.prefix),
            ),
        )
        mirror.push(branch, old=head, new=commit)
    return result, pushed_text(len(result.files), branch, commit)


def pushed_text(count: int, branch: str, commit: str) -> str:
    """Return that so many files were pushed to a branch, in which commit."""
    are = "is" if count == 1 else "are"
    return f"{_files(count)} {are} pushed to {branch} ({short_id(commit)})"


def _files(count: int) -> str:
    return f"{count} file{'' if count == 1 else 's'}"

"""Proof of other branches: each holds what the decision asks for that its head follows."""

from collections.abc import Iterator
from dataclasses import dataclass

from reconciler.audit.proofs.proof_differences import ProofFinding
from reconciler.audit.short_id import short_id
from reconciler.core.memo import undelivered
from reconciler.delivery.deliver import deliver_to
from reconciler.delivery.destinations import roots_of
from reconciler.delivery.settings import decode_delivery
from reconciler.errors import ReconcilerError
from reconciler.manifests.paths import DELIVERY
from reconciler.model.settings import settings_in
from reconciler.model.world import World
from reconciler.shell.git.errors import GitError
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.branch_delivery import RECORD, delivered_from, record_in
from reconciler.shell.reading.branch_files import on_branch
from reconciler.shell.reading.delivered_files import DeliveredFiles
from reconciler.shell.reading.listings import Listings
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.sources import Sources
from reconciler.shell.reading.trees import GitTrees


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchProof:
    """What is known of one branch.

    Attributes:
        branch: Its name.
        commit: The decision commit that its head follows, `""` if it names none.
        files: How many files were held against what that asks for.
        findings: What is not as it asks for, sorted by path.
    """

    branch: str
    commit: str
    files: int
    findings: tuple[ProofFinding, ...]


def prove_branches(repository: Repository, loader: Loader, world: World) -> Iterator[BranchProof]:
    """Yield a proof for each branch that a world is delivered to and that is there."""
    for name in decode_delivery(settings_in(world)).branches:
        head = repository.find(name)
        if head is None:
            continue
        sources = delivered_from(repository, head)
        commit = "" if sources is None else sources.outputs
        try:
            if sources is None:
                raise GitError("its head names none")
            yield _proof(repository, loader, name, head, sources)
        except ReconcilerError as error:
            message = (
                f"the decision commit {short_id(commit) or 'it follows'} cannot be read: {error}"
            )
            finding = ProofFinding("", message)
            yield BranchProof(branch=name, commit=commit, files=0, findings=(finding,))


def _proof(
    repository: Repository, loader: Loader, name: str, head: str, sources: Sources
) -> BranchProof:
    """Hold the files of a branch against what a decision commit asks for."""
    world = sources.load(loader)
    commit = sources.outputs
    settings = settings_in(world)
    roots = frozenset(roots_of(decode_delivery(settings).on(name).destinations))
    listings, files = Listings(GitTrees(repository), DELIVERY.name), DeliveredFiles(name)
    record = record_in(repository, listings.entries(head))
    there = on_branch(world, name, listings, head, files, roots)
    found = deliver_to(name, there, world, settings, record, undelivered())
    said = f"is not what {short_id(commit)} asks for"
    wrong = dict.fromkeys(found.written, said)
    wrong |= dict.fromkeys(found.gone, f"is there, and {short_id(commit)} does not ask for it")
    wrong |= {} if found.record == record else {f"{name}:{RECORD}": said}
    findings = [ProofFinding(path, message) for path, message in sorted(wrong.items())]
    findings += [ProofFinding("", fault.message) for fault in found.faults]
    count = len(there.delivered)
    return BranchProof(branch=name, commit=commit, files=count, findings=tuple(findings))

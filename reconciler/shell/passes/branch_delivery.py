"""Delivery to other branches, which follow the one that is served.

What waiting commits did to our folders is put back when a pass writes on top of them.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

from reconciler.core.changes import Change, DeleteFile, Outcome, WriteFile
from reconciler.core.message import CommitPurpose, Purpose
from reconciler.core.reconcile import undelivered
from reconciler.delivery.deliver import Delivered, deliver_to
from reconciler.delivery.memory import DeliveryMemory
from reconciler.delivery.settings import (
    decode_delivery,
    destinations_in,
    folders_of_passes,
    roots_of,
)
from reconciler.errors import ShellError, UserError
from reconciler.manifests.paths import DELIVERY
from reconciler.manifests.text.emitter import encode
from reconciler.manifests.text.raw import Oversized
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass, field, replace
from reconciler.model.settings import Settings, settings_in
from reconciler.model.world import Fault, World, is_at_or_below
from reconciler.shell.git.checkout.moves import KeptEdit
from reconciler.shell.git.command import GitError
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.history import read_commits
from reconciler.shell.git.objects import TreeEntry, changed_files, read_blobs
from reconciler.shell.git.publish import BranchMove
from reconciler.shell.git.repository import COMMIT_ID, CommitIdentity, Repository
from reconciler.shell.git.signing import CommitSigning, SigningKey
from reconciler.shell.reading.load import DeliveredFiles, Loader
from reconciler.shell.reading.sources import Heads, ServedBranches, Sources, on_branch
from reconciler.shell.reading.trees import GitTrees, Listings

RECORD = f"{DELIVERY.name}.yaml"
DELIVERED_FROM, INPUTS_FROM = "Delivered-From", "Delivered-Inputs"


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchDelivered:
    """What came of one branch: its commit and how many files differ, or why nothing could be.

    `kept` are a person's edits that stay in checkouts of it.
    """

    branch: str
    commit: str | None
    files: int
    faults: tuple[Fault, ...]
    kept: tuple[KeptEdit, ...] = ()


@dataclass(slots=True, eq=False)
class _Followed:
    """What is known of one branch; it only saves work."""

    files: DeliveredFiles
    memory: DeliveryMemory = field(default_factory=undelivered)
    listings: Listings | None = None
    seen: tuple[Sources, str | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedDelivery:
    """What a branch is to become: where it goes from its head, and what is told of it then."""

    head: str | None
    told: BranchDelivered

    @property
    def move(self) -> BranchMove | None:
        """Where the branch goes, `None` if it stays."""
        new = self.told.commit
        return None if new is None else BranchMove(self.told.branch, self.head, new)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedPass:
    """A pass whose decision other branches follow.

    Attributes:
        served: What is served; other branches are beside it.
        loader: Loads the world of the served branch.
        author: Who commits.
        sources: The commits of what is served.
        at: The moment of the pass.
    """

    served: ServedBranches
    loader: Loader
    author: CommitIdentity
    sources: Sources
    at: datetime


@dataclass(slots=True, eq=False)
class BranchDelivery:
    """Delivers what was decided to the branches that the configuration names.

    They move together with the decision, unless the remote has no transactions, or a checkout must
    follow one of them. Then the decision comes first; a branch that lags, as after a crash, catches
    up with the next pass.

    Attributes:
        key: Who signs the commits, `None` for nobody.
    """

    key: SigningKey | None = None
    _followed: dict[str, _Followed] = field(default_factory=dict)

    def deliver(self, decided: DecidedPass) -> list[BranchDelivered]:
        """Bring all branches to what a pass asks for, and return those that moved or could not.

        Raises:
            LostRace: A branch moved meanwhile; deliver again.
            ShellError: As `prepare` says.
        """
        reports = []
        for prepared in self.prepare(decided):
            report = prepared.told
            if prepared.move is not None:
                try:
                    kept = decided.served.publish_other(prepared.move)
                except BaseException:
                    self.forget()
                    raise
                report = replace(report, kept=kept)
            reports.append(report)
        return reports

    def prepare(self, decided: DecidedPass) -> Iterator[PreparedDelivery]:
        """Write what a pass asks for to each branch, and yield those that move or cannot.

        Raises:
            ShellError: Git or the remote refused, or a branch is the served one.
        """
        served, world = decided.served, decided.sources.load(decided.loader)
        settings = settings_in(world)
        if settings.suspend:
            return
        names = decode_delivery(settings).branches
        for name in (served.inputs.name, served.moved):
            if name in names:
                raise ShellError(
                    f"delivery names the branch {name}, which is served; leave `branch` out"
                )
        for name in names:
            prepared = self._prepare(name, decided, world, settings)
            if prepared is not None:
                yield prepared

    def forget(self) -> None:
        """Forget what is known of the branches, which is of what was prepared and never came."""
        self._followed.clear()

    def _prepare(
        self, name: str, decided: DecidedPass, world: World, settings: Settings
    ) -> PreparedDelivery | None:
        """Write what a pass asks for to one branch, which stays where it is."""
        served, sources = decided.served, decided.sources
        followed = self._followed.setdefault(name, _Followed(DeliveredFiles(name)))
        head, trusted = served.other(name)
        if followed.seen == (sources, head):
            return None
        repository = served.repository
        followed.listings = followed.listings or Listings(GitTrees(repository), DELIVERY.name)
        listed = {} if trusted is None else followed.listings.entries(trusted)
        record = record_in(repository, listed)
        configured = decode_delivery(settings).on(name).destinations
        had = () if record is None else destinations_in(record)
        roots = roots_of((*configured, *(replace(destination, branch=name) for destination in had)))
        before = followed.memory.world or _before(repository, decided.loader, trusted) or world
        there = on_branch(before, name, followed.listings, trusted, followed.files, roots)
        delivery = deliver_to(name, there, world, settings, record, followed.memory)
        changes = tuple(_changes(name, delivery, record))
        folders = (RECORD, *(root.removeprefix(f"{name}:") for root in roots))
        changes += _put_back(repository, head, trusted, changes, folders)
        new = head or trusted
        if changes:
            purpose = CommitPurpose(Purpose.DELIVERY, name, repository.prefix)
            new = write_commit(
                repository,
                changes,
                parent=new,
                message=_message(changes, sources, decided.at),
                at=decided.at,
                author=decided.author,
                signing=CommitSigning.by(self.key, purpose),
            )
        followed.seen = (sources, new)
        moved = None if new == head else new
        count = 0 if moved is None else len(changes)
        report = BranchDelivered(branch=name, commit=moved, files=count, faults=delivery.faults)
        return PreparedDelivery(head=head, told=report) if moved or delivery.faults else None


def _put_back(
    repository: Repository,
    head: str | None,
    trusted: str | None,
    changes: tuple[Change, ...],
    folders: tuple[str, ...],
) -> tuple[Change, ...]:
    """Return what undoes in folders of delivery what came after the commit that is trusted."""
    if trusted is None or head is None or head == trusted:
        return ()
    written = {change.path for change in changes}
    return tuple(restored(repository, trusted, head, folders=folders, but=written))


def record_in(repository: Repository, listed: Mapping[str, TreeEntry]) -> Body | None:
    """Return what the files of a branch say of its delivery, `None` if nothing that can be read."""
    entry = listed.get(RECORD)
    if entry is None:
        return None
    for _, content in read_blobs(repository, [entry.blob]):
        if not isinstance(content, Oversized):
            documents = read(content, RECORD).documents
            return documents[0].body if documents else None
    return None


def _before(repository: Repository, loader: Loader, head: str | None) -> World | None:
    """Return the world that a branch was delivered from, `None` if it cannot be told."""
    sources = delivered_from(repository, head) if head else None
    try:
        return sources.load(loader) if sources else None
    except (GitError, ShellError, UserError):
        return None


def delivered_from(repository: Repository, head: str) -> Sources | None:
    """Return what a commit of another branch follows, `None` if it names nothing."""
    for commit in read_commits(repository, [head]):
        trailers = dict(commit.trailers)
        outputs = trailers.get(DELIVERED_FROM, "")
        inputs = trailers.get(INPUTS_FROM, outputs)
        if COMMIT_ID.fullmatch(outputs) and COMMIT_ID.fullmatch(inputs):
            return Sources(inputs, outputs)
    return None


def _changes(name: str, found: Delivered, record: Body | None) -> Iterator[Change]:
    """Yield the changes on a branch, its record among them."""
    prefix = f"{name}:"
    for path, text in found.written.items():
        yield WriteFile(path.removeprefix(prefix), text)
    for path in sorted(found.gone):
        yield DeleteFile(path.removeprefix(prefix))
    if found.record is not None and found.record != record:
        yield WriteFile(RECORD, encode(found.record))


def _message(changes: tuple[Change, ...], sources: Sources, at: datetime) -> str:
    files = f"{len(changes)} file{'s' if len(changes) != 1 else ''}"
    inputs = f"{INPUTS_FROM}: {sources.inputs}\n" if sources.inputs != sources.outputs else ""
    return (
        f"Deliver {files}\n\n{DELIVERED_FROM}: {sources.outputs}\n{inputs}"
        f"Reconciled-At: {format_moment(at)}\n"
    )


def put_back(
    repository: Repository, heads: Heads, world: World, outcome: Outcome
) -> Iterator[Change]:
    """Yield what makes the folders of a pass those that it decided from, but for what it changes.

    Args:
        repository: Where the commits are.
        heads: Where the pass read; without a tip nothing waits.
        world: What it read.
        outcome: What it writes by itself.
    """
    if heads.tip is not None and heads.outputs is not None:
        folders = folders_of_passes(world)
        written = {change.path for change in outcome.files}
        yield from restored(repository, heads.outputs, heads.tip, folders=folders, but=written)


def restored(
    repository: Repository,
    trusted: str,
    tip: str,
    *,
    folders: Collection[str],
    but: Collection[str],
) -> Iterator[Change]:
    """Yield what makes folders at a tip those of a commit that is trusted.

    Args:
        repository: Where the commits are, and the root that the folders are below.
        trusted: Full hex id of the commit.
        tip: The same of what stands on the branch.
        folders: Paths of folders, and of files.
        but: Paths that are written anyway.
    """
    for change in changed_files(repository, trusted, tip, prefix=repository.prefix):
        if change.path in but or not any(is_at_or_below(change.path, folder) for folder in folders):
            continue
        if change.before is None:
            yield DeleteFile(change.path)
            continue
        for _, content in read_blobs(repository, [change.before.blob]):
            if isinstance(content, Oversized):
                raise ShellError(f"{change.path} is too large to be put back")
            try:
                yield WriteFile(change.path, content.decode())
            except UnicodeDecodeError:
                raise ShellError(f"{change.path} is not UTF-8 and cannot be put back") from None

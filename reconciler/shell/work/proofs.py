"""Proves a history: here, or stretch by stretch by the workers of an executor.

A stretch is a value: it can be proven where its repository is not. What a proof may look at is
known before it is made, except for old versions of faulty files. Whatever a stretch lacks is
`NotSent`, and must be proven beside the repository.

A record has which commits were proven, so that a proof that was interrupted goes on where it ended.
A proof depends on a commit, which names all that led to it, on the root, and on our code. So a file
for each root and each state of the code has what was proven, a line a commit. Each line has its own
check sum: a line that is cut off or altered is not believed, and the commit is proven again.
Commits with findings are never recorded. The file may be deleted at any time.

Other branches are proven, too: each must have what the decision asks for that its head follows.
"""

import contextlib
import hashlib
import os
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Generic, TypeVar

from reconciler.audit.history.revisions import (
    Commit,
    FileChange,
    Provable,
    UnreadableRevision,
    claim_of,
)
from reconciler.audit.proof import Proof, ProofFinding, ProofState, prove
from reconciler.core.reconcile import Memo, undelivered
from reconciler.delivery.deliver import deliver_to
from reconciler.delivery.settings import decode_delivery, roots_of
from reconciler.errors import ReconcilerError
from reconciler.manifests.paths import DELIVERY
from reconciler.manifests.text.raw import Oversized
from reconciler.model.identity import RepositoryLayout
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import Versioned, differing_keys
from reconciler.model.settings import settings_in
from reconciler.model.text import short_id
from reconciler.model.world import World
from reconciler.shell.git.command import GitError
from reconciler.shell.git.history import changes_between
from reconciler.shell.git.objects import ChangedFile, TreeEntry, list_files, read_blobs
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.branch_delivery import RECORD, delivered_from, record_in
from reconciler.shell.reading.load import DeliveredFiles, Loader
from reconciler.shell.reading.revisions import GitRevisions, load_pair, text_of
from reconciler.shell.reading.sources import Sources, on_branch
from reconciler.shell.reading.trees import GitTrees, Listings, is_manifest, shown_change
from reconciler.shell.resources import load_schemas, package_digest
from reconciler.shell.work.executors import Workers, results_of, size_of_pieces

KEPT = frozenset({ProofState.PROVEN, ProofState.INPUT})
OURS_ONLY = 0o600


class ProofRecord:
    """What is proven of one root; without a file nothing is, and nothing is kept."""

    def __init__(self, key: str, descriptor: int | None) -> None:
        """Read what is recorded; see `open_record`."""
        self._key = key
        self._descriptor = descriptor
        self._states = {} if descriptor is None else dict(self._read(descriptor))

    def find(self, commit: Commit) -> Proof | None:
        """Return the proof of a commit that was proven before."""
        state = self._states.get(commit.revision)
        return None if state is None else Proof(commit=commit, state=state)

    def add(self, proof: Proof) -> None:
        """Keep a proof, unless a person must look at it; from now on no kill loses it."""
        if self._descriptor is None or proof.state not in KEPT or proof.findings:
            return
        try:
            os.write(self._descriptor, self._line(proof.commit.revision, proof.state))
        except OSError:  # such as a full disk: the next proof begins a little earlier
            self._descriptor = None

    def _read(self, descriptor: int) -> Iterator[tuple[str, ProofState]]:
        """Yield the lines that are whole."""
        with open(descriptor, "rb", closefd=False) as file:
            for line in file:
                revision, _, rest = line.decode("ascii", errors="replace").partition(" ")
                for state in KEPT:
                    if rest.startswith(f"{state} ") and line == self._line(revision, state)[1:]:
                        yield revision, state

    def _line(self, revision: str, state: ProofState) -> bytes:
        """Return a line; the line feed before it ends one that was cut off."""
        said = f"{revision} {state}"
        check = hashlib.sha256(f"{self._key} {said}".encode()).hexdigest()
        return f"\n{said} {check}\n".encode()


@contextlib.contextmanager
def open_record(
    folder: Path | None, *, prefix: str, layout: RepositoryLayout
) -> Iterator[ProofRecord]:
    """Open the record of a root until the block ends.

    Args:
        folder: Where records are; made if it is not there. `None` keeps none.
        prefix: The root inside of its repository, `""` for its top.
        layout: Where passes write.
    """
    said = "\0".join((package_digest(), prefix, layout.output_root))
    key = hashlib.sha256(said.encode(errors="surrogateescape")).hexdigest()
    descriptor = None if folder is None else _open(folder, key)
    try:
        yield ProofRecord(key, descriptor)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _open(folder: Path, key: str) -> int | None:
    """Open a file that is ours alone, `None` where there can be none."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder / key, flags, OURS_ONLY)
    except OSError:
        return None
    facts = os.fstat(descriptor)
    if stat.S_IMODE(facts.st_mode) & ~OURS_ONLY or facts.st_uid != os.geteuid():
        os.close(descriptor)
        return None
    return descriptor


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
    """Yield a proof for each branch that a world is delivered to, as it is here or was fetched."""
    for name in decode_delivery(settings_in(world)).branches:
        label, head = name, repository.find(name)
        if head is None and repository.is_only_fetched(name):
            label, head = f"origin/{name}", repository.find_fetched(name)
        if head is None:
            continue
        sources = delivered_from(repository, head)
        commit = "" if sources is None else sources.outputs
        try:
            if sources is not None:
                yield replace(_proof(repository, loader, name, head, sources), branch=label)
                continue
            message = "its head names no decision commit, so nothing was delivered to it"
            yield BranchProof(
                branch=label, commit="", files=0, findings=(ProofFinding("", message),)
            )
        except ReconcilerError as error:
            message = f"the decision commit {short_id(commit)} cannot be read: {error}"
            finding = ProofFinding("", message)
            yield BranchProof(branch=label, commit=commit, files=0, findings=(finding,))


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
    delivery = deliver_to(name, there, world, settings, record, undelivered())
    said = f"is not what {short_id(commit)} asks for"
    wrong = dict.fromkeys(delivery.written, said)
    wrong |= dict.fromkeys(delivery.gone, f"is there, and {short_id(commit)} does not ask for it")
    wrong |= {} if delivery.record == record else {f"{name}:{RECORD}": said}
    findings = [ProofFinding(path, message) for path, message in sorted(wrong.items())]
    findings += [ProofFinding("", fault.message) for fault in delivery.faults]
    count = len(there.delivered)
    return BranchProof(branch=name, commit=commit, files=count, findings=tuple(findings))


class NotSent(Exception):
    """A stretch does not carry what was asked for; no statement about the repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Commits to be proven, with all that their proofs look at.

    Attributes:
        layout: Where passes write.
        prefix: The root inside of the repository, `""` for its top.
        commits: In the order of their proofs.
        steps: Commits and what each of them has that the one before has not; the first has all.
        changes: What each commit to be proven changed, by commit.
        blobs: Contents, by blob id.
        lines: Whether a commit leads to another, by both.
    """

    layout: RepositoryLayout
    prefix: str = ""
    commits: tuple[Commit, ...]
    steps: tuple[tuple[str, tuple[ChangedFile, ...]], ...] = ()
    changes: Mapping[str, tuple[FileChange, ...]] = field(default_factory=dict)
    blobs: Mapping[str, bytes | Oversized] = field(default_factory=dict)
    lines: Mapping[tuple[str, str], bool] = field(default_factory=dict)


def cut_stretch(
    revisions: GitRevisions, commits: Sequence[Commit], *, last_inputs: str | None
) -> Stretch:
    """Return a stretch with everything that the repository has for it.

    Args:
        revisions: Where the commits are.
        commits: At least one, the oldest first.
        last_inputs: The inputs of the pass before these commits, `None` if unknown.

    Raises:
        GitError: Something is missing in the repository.
    """
    layout = revisions.layout
    wanted = [last_inputs, commits[0].parent, *(commit.revision for commit in commits)]
    steps = tuple(_steps(revisions.repository, list(dict.fromkeys(filter(None, wanted)))))
    entries = ((file.path, file.after) for _, changed in steps for file in changed if file.after)
    blobs = {  # a proof looks into no other file
        entry.blob
        for path, entry in entries
        if (not entry.is_gitlink if layout.is_output(path) else is_manifest(path, entry))
    }
    revisions.prepare(commits)
    return Stretch(
        layout=layout,
        prefix=revisions.repository.prefix,
        commits=tuple(commits),
        steps=steps,
        changes={commit.revision: revisions.changes(commit) for commit in commits},
        blobs=dict(read_blobs(revisions.repository, sorted(blobs))),
        lines={pair: revisions.leads_to(*pair) for pair in filter(None, map(_line, commits))},
    )


def _steps(
    repository: Repository, revisions: Sequence[str]
) -> Iterator[tuple[str, tuple[ChangedFile, ...]]]:
    """Yield what each commit has below the root that the one before has not."""
    files = list_files(repository, revisions[0], prefix=repository.prefix).items()
    yield revisions[0], tuple(shown_change(ChangedFile(path, None, entry)) for path, entry in files)
    changes = changes_between(repository, pairwise(revisions))
    root = f"{repository.prefix}/" if repository.prefix else ""
    for revision in revisions[1:]:
        changed = (change for change in changes.get(revision, ()) if change.path.startswith(root))
        below = (change._replace(path=change.path.removeprefix(root)) for change in changed)
        yield revision, tuple(map(shown_change, below))


def _line(commit: Commit) -> tuple[str, str] | None:
    """Return which commit must lead to which, `None` if no pass is claimed."""
    claim = claim_of(commit)
    if claim is None or claim.inputs is None or commit.parent is None:
        return None
    return claim.inputs, commit.parent


@dataclass(slots=True)
class SentTrees:
    """The trees of a stretch."""

    _files: dict[str, Versioned[str, TreeEntry]] = field(default_factory=dict)
    _blobs: Mapping[str, bytes | Oversized] = field(default_factory=dict)

    def take(self, stretch: Stretch) -> None:
        """Go on with another stretch."""
        files: Versioned[str, TreeEntry] = Versioned()
        self._files, self._blobs = {}, stretch.blobs
        for revision, changed in stretch.steps:
            came = {file.path: file.after for file in changed if file.after}
            files = files.patched(came, [file.path for file in changed if not file.after])
            self._files[revision] = files

    def files(self, revision: str, /) -> Mapping[str, TreeEntry]:
        """Return every file of a commit."""
        if revision not in self._files:
            raise NotSent(revision)
        return self._files[revision]

    def changed(self, old: str, new: str, /, *, but: str = "") -> tuple[ChangedFile, ...]:
        """Return what differs between two commits."""
        if old not in self._files:
            raise GitError(f"commit {old} is of another stretch")
        before, after = self._files[old], self.files(new)
        left_out = f"{but}/" if but else "/"  # which no path begins with
        paths = sorted(p for p in differing_keys(after, before) if not p.startswith(left_out))
        pairs = ((path, before.get(path), after.get(path)) for path in paths)
        return tuple(ChangedFile(path, old, new) for path, old, new in pairs if old != new)

    def blobs(self, ids: Iterable[str], /) -> Iterator[tuple[str, bytes | Oversized]]:
        """Yield blobs with their content or size."""
        for blob in ids:
            if blob not in self._blobs:
                raise NotSent(blob)
            yield blob, self._blobs[blob]

    def leads_to(self, ancestor: str, revision: str, /) -> bool:
        """Return whether a commit is one of the ancestors of another; that is not sent."""
        raise NotSent(f"{ancestor}..{revision}")


class SentRevisions:
    """Answers from stretches of one root; what it remembers of earlier ones only saves work."""

    def __init__(self, layout: RepositoryLayout) -> None:
        self._trees = SentTrees()
        self._loader = Loader(self._trees, load_schemas(), layout=layout)
        self._changes: Mapping[str, tuple[FileChange, ...]] = {}
        self._lines: Mapping[tuple[str, str], bool] = {}

    def take(self, stretch: Stretch) -> None:
        """Go on with another stretch."""
        self._trees.take(stretch)
        self._changes, self._lines = stretch.changes, stretch.lines

    def changes(self, commit: Commit, /) -> tuple[FileChange, ...]:
        """Return what a commit changed against its first parent."""
        if commit.revision not in self._changes:
            raise NotSent(commit.revision)
        return self._changes[commit.revision]

    def differences(self, old: str, new: str, /) -> tuple[FileChange, ...]:
        """Return nothing: only passes over commits that wait ask, and they are proven elsewhere."""
        raise NotSent(f"{old}..{new}")

    @property
    def layout(self) -> RepositoryLayout:
        """Where passes write; a branch of outputs is proven beside the repository."""
        return self._loader.layout

    def world(
        self, inputs: str, outputs: str | None, /, *, reports: str | None = None
    ) -> World | UnreadableRevision:
        """Return the inputs of one commit with the outputs of another."""
        if outputs is None or reports:
            raise NotSent(inputs)
        return load_pair(self._loader, inputs, outputs, reports)

    def text(self, blob: str, /) -> str:
        """Return the content of a blob for people to read."""
        return text_of(self._trees.blobs([blob]))

    def leads_to(self, ancestor: str, revision: str, /) -> bool:
        """Return whether a commit exists and is the other one or one of its ancestors."""
        if (ancestor, revision) not in self._lines:
            raise NotSent(ancestor)
        return self._lines[ancestor, revision]


LEAST, MOST = 8, 64  # commits of a stretch: what a kill costs, against what a beginning costs
ENOUGH = 128  # commits for each process, which needs a second before its first proof


R = TypeVar("R", bound=Provable)


@dataclass(frozen=True, slots=True)
class Prover(Generic[R]):
    """Proves commits one by one; neighbours in history share most of their work."""

    revisions: R
    memo: Memo = field(default_factory=Memo)

    def prove(self, commit: Commit) -> Proof:
        """Prove one commit."""
        return prove(commit, self.revisions, memo=self.memo)


def prove_rest(
    revisions: GitRevisions,
    commits: Sequence[Commit],
    *,
    workers: Workers | None,
    record: ProofRecord,
) -> Iterator[Proof]:
    """Prove commits as `prove_all` does, but for those that the record has; it gets the others."""
    recorded = {commit.revision: record.find(commit) for commit in commits}
    rest = [commit for commit in commits if recorded[commit.revision] is None]
    proving = prove_all(revisions, rest, workers=workers)
    for commit in commits:
        proof = recorded[commit.revision]
        if proof is None:
            proof = next(proving)
            record.add(proof)
        yield proof


def prove_all(
    revisions: GitRevisions,
    commits: Sequence[Commit],
    *,
    workers: Workers | None,
) -> Iterator[Proof]:
    """Prove commits, in the order given.

    Args:
        revisions: Where they are.
        commits: Neighbours should be neighbours in history, too, the oldest first.
        workers: Who proves; `None` is this process.
    """
    here = Prover(revisions)
    stretches = _cut(revisions, commits, workers)
    for stretch, proofs in results_of(workers, prove_stretch, stretches):
        for commit, proof in zip(stretch.commits, proofs, strict=True):
            yield here.prove(commit) if proof is None else proof


def _cut(
    revisions: GitRevisions, commits: Sequence[Commit], workers: Workers | None
) -> Iterator[Stretch]:
    """Yield the stretches of a history; one that is not whole in the repository is empty."""
    size = size_of_pieces(len(commits), workers, least=LEAST, most=MOST)
    listed = {commit.revision for commit in commits}
    inputs: str | None = None
    for start in range(0, len(commits), size):
        piece = commits[start : start + size]
        # One that carries nothing is proven beside the repository.
        empty = Stretch(layout=revisions.layout, commits=tuple(piece))
        if revisions.layout.apart:
            yield empty
            continue
        try:
            yield cut_stretch(revisions, piece, last_inputs=inputs)
        except GitError:  # of a commit, which its proof tells
            yield empty
        claimed = [claim.inputs for claim in map(claim_of, piece) if claim is not None]
        inputs = next((one for one in reversed(claimed) if one in listed), inputs)


class _Kept(threading.local):
    """What a worker keeps between stretches, by root; a worker may have several threads."""

    def __init__(self) -> None:
        self.root = ("", RepositoryLayout())
        self.prover: Prover[SentRevisions] | None = None


_KEPT = _Kept()


def prove_stretch(stretch: Stretch) -> list[Proof | None]:
    """Prove a stretch where its repository need not be; `None` of what it lacks something for."""
    root = (stretch.prefix, stretch.layout)
    if _KEPT.prover is None or _KEPT.root != root:
        _KEPT.root = root
        _KEPT.prover = Prover(SentRevisions(stretch.layout))
    prover = _KEPT.prover
    prover.revisions.take(stretch)
    return [_prove_sent(prover, commit) for commit in stretch.commits]


def _prove_sent(prover: Prover[SentRevisions], commit: Commit) -> Proof | None:
    """Prove a commit, `None` if that takes more than was sent."""
    try:
        return prover.prove(commit)
    except NotSent:
        return None

"""Which commits of a branch are decided from: those that allowed keys signed, one after the other.

A branch is followed along first parents from the commit that was accepted last. That one is kept in
a reference of our own, outside of every tree and branch, one for each root, beside the first commit
that waits there; where there is none, the operator names a commit that is trusted as it is, or else
the whole line must be signed. A commit that no allowed key has signed, one of our own that was
signed for another place, and all that come after it, wait: passes go on at the last one that was
accepted.

A commit that our key signs must name branch, root and purpose, and differ from its parent only in
what that purpose writes: the output root, the folders of delivery, and documents of rebalancers
that are finished. Otherwise it is out of its place.

Whoever can push chooses what there is to judge, so each look has limits: git walks the new commits
for a second of a processor at most, and it gets their sizes before it is asked whose they are.
"""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple

from reconciler.audit.history.revisions import COMMIT_ID, FROM, OUTPUTS
from reconciler.audit.proof import misplacement, said_purpose
from reconciler.core.message import CommitPurpose, Purpose
from reconciler.core.rebalances import loses_demands_only
from reconciler.delivery.settings import decode_delivery, destinations_in, roots_of
from reconciler.errors import ShellError
from reconciler.manifests.paths import DELIVERY, FEEDBACK, output_path
from reconciler.manifests.text.raw import MAX_READ_BYTES, Oversized
from reconciler.manifests.text.reader import read
from reconciler.model.identity import RepositoryLayout
from reconciler.model.records import dataclass, field, replace
from reconciler.model.settings import CONFIGURATION_PATH, decode_settings
from reconciler.model.text import enumerated, short_id
from reconciler.model.world import is_at_or_below
from reconciler.shell.git.command import GitError, GitKilled
from reconciler.shell.git.history import (
    CommitRecord,
    changes_of,
    is_ancestor,
    list_range,
    read_commit,
    read_commits,
)
from reconciler.shell.git.objects import ChangedFile, object_sizes, read_blobs, read_file
from reconciler.shell.git.repository import Repository, check_branch, check_commit
from reconciler.shell.git.signing import AllowedKeys, Signature, read_signatures
from reconciler.shell.passes.used_reports import why_no_cut

NAMED = 3
DELIVERED = f"{DELIVERY.name}.yaml"
"""What a branch of delivery says of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPlaces:
    """Finds commits that are out of their place.

    Attributes:
        repository: Where they are, and the root that is served.
        layout: Where passes write in that root.
        own: Fingerprint of the key of the daemon.
        reporters: Fingerprints of keys that may report some clusters and write nothing else, each
            with their names.
    """

    repository: Repository
    layout: RepositoryLayout
    own: str
    reporters: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def find_misplaced(
        self, signed: Sequence[Signature], *, branch: str, purpose: Purpose
    ) -> Mapping[str, str]:
        """Return why commits do not count on a branch, for those that do not.

        Args:
            signed: The commits; those whose signature does not count are left out.
            branch: Where they stand.
            purpose: What commits of ours do there.
        """
        keys = {commit.revision: commit.key for commit in signed if not commit.problem}
        ours = {revision: key == self.own for revision, key in keys.items()}
        reasons: dict[str, str] = {}
        written: list[CommitRecord] = []
        for record in read_commits(self.repository, ours):
            own = ours[record.revision]
            if record.unread:
                reasons[record.revision] = "its message is too long to be read"
                continue
            why = misplacement(record.trailers, branch=branch, purpose=purpose, ours=own)
            if why:
                reasons[record.revision] = why
            elif own or keys[record.revision] in self.reporters:
                written.append(record)
        held_against = {one.revision: next(iter(one.parents), None) for one in written}
        changes = changes_of(self.repository, held_against) if written else {}
        for record in written:
            changed, key = changes.get(record.revision, ()), keys[record.revision]
            limited = self.reporters.get(key)
            why = self._beyond_its_clusters(changed, limited) if limited is not None else ""
            if key == self.own:
                why = self._beyond(record, changed)
            if why:
                reasons[record.revision] = why
        return reasons

    def _beyond_its_clusters(
        self, changes: Sequence[ChangedFile], clusters: AbstractSet[str]
    ) -> str:
        """Return what a commit changes that its key may not, `""` for nothing."""
        own = {self.repository.from_top(f"{FEEDBACK}/{name}") for name in clusters}
        strays = (one for one in changes if not any(is_at_or_below(one.path, at) for at in own))
        stray = next(strays, None)
        if stray is None:
            return ""
        may = f"its key may report {enumerated(sorted(clusters), NAMED)} only"
        return f"it changes {stray.path!r}, and {may}"

    def is_of_root(self, record: CommitRecord) -> bool:
        """Return whether a commit says that it is for the root that is served."""
        said = said_purpose(record.trailers)
        return said is not None and said.root == self.repository.prefix

    def _beyond(self, commit: CommitRecord, changes: Sequence[ChangedFile]) -> str:
        """Return how a commit of ours is more than it says, `""` if it is not."""
        said = said_purpose(commit.trailers)
        if said is None or said.purpose is Purpose.REPORTS:
            return ""  # of a branch of reports nothing but reports are read
        if len(commit.parents) > 1:
            return "it is a merge by the daemon's key, which merges nothing"
        path = next(self._strays(commit, said, changes), None)
        return "" if path is None else f"it changes {path!r}, which {said.purpose} do not"

    def _strays(
        self, commit: CommitRecord, said: CommitPurpose, changes: Sequence[ChangedFile]
    ) -> Iterator[str]:
        """Yield the paths that a commit of ours has no business with."""
        if said.root != self.repository.prefix:
            yield from (one.path for one in changes if not self._is_of(said.root, one.path))
            return
        delivery = said.purpose is Purpose.DELIVERY
        own = self.repository.from_top(DELIVERED if delivery else self.layout.output_root)
        rest = [change for change in changes if not is_at_or_below(change.path, own)]
        delivered = [*self._delivered_to(commit, said.purpose)] if rest else []
        for change in rest:
            if any(is_at_or_below(change.path, root) for root in delivered):
                continue
            if said.purpose is not Purpose.DECISIONS or not self._is_removal(change):
                yield change.path

    def _is_of(self, root: str, path: str) -> bool:
        """Return whether a file is another root's, and not of the one that is served."""
        ours = self.repository.prefix
        return _is_below(path, root) and (_is_below(root, ours) or not _is_below(path, ours))

    def _delivered_to(self, commit: CommitRecord, purpose: Purpose) -> Iterator[str]:
        """Yield the folders that are delivered to before or after a commit, from the top.

        A pass owns those, too, that its inputs configure and that wait for a person's word.
        """
        delivery = purpose is Purpose.DELIVERY
        record = DELIVERED if delivery else output_path(self.layout.output_root, DELIVERY)
        for revision in (commit.revision, *commit.parents):
            content = read_file(self.repository, revision, self.repository.from_top(record))
            for document in read(content or b"", record).documents:
                roots = filter(None, roots_of(destinations_in(document.body)))
                yield from map(self.repository.from_top, roots)
        inputs = dict(commit.trailers).get(FROM, "")
        named = purpose is Purpose.DECISIONS and COMMIT_ID.fullmatch(inputs) is not None
        if named and is_ancestor(self.repository, inputs, inputs):  # it is here
            yield from self._configured(inputs)

    def _configured(self, inputs: str) -> Iterator[str]:
        """Yield the folders of delivery that the configuration of a commit names, from the top."""
        place = self.repository.from_top(CONFIGURATION_PATH)
        content = read_file(self.repository, inputs, place)
        for document in read(content or b"", CONFIGURATION_PATH).documents:
            configured = decode_delivery(decode_settings(document.body)).on("")
            roots = filter(None, roots_of(configured.destinations))
            yield from map(self.repository.from_top, roots)

    def _is_removal(self, change: ChangedFile) -> bool:
        """Return whether a file of people lost finished rebalancers, and nothing else."""
        before, after = change.before, change.after
        if before is None or not before.is_file or not (after is None or after.is_file):
            return False
        wanted = [entry.blob for entry in (before, after) if entry is not None]
        texts = [content for _, content in read_blobs(self.repository, wanted)]
        if any(isinstance(text, Oversized) for text in texts):
            return False
        contents = [text for text in texts if isinstance(text, bytes)]
        return loses_demands_only(contents[0], contents[1] if after else None, change.path)


def _is_below(path: str, folder: str) -> bool:
    return not folder or is_at_or_below(path, folder)


SIGN_IT = "sign it by an allowed key, or name it with --trust-from once it is reviewed"
TAKE_IT_OFF = "take it off the branch, or name it with --trust-from once it is reviewed"
BRING_IT_BACK = "push that again, or name a newer commit of the branch with --trust-from"
PUSH_LESS = "take it off the branch, or push it in smaller pieces"
UNJUDGED = "git cannot say whose its signature is"
TOO_MUCH = "it takes more than a second of a processor to follow the branch to it"
TOO_LARGE = f"it is larger than {MAX_READ_BYTES >> 20} MB, and is not looked at"
UNKNOWN = "somebody unknown"
WALK_SECONDS = 1  # of a processor: some 200,000 new commits, of which there are a few at each look
TOGETHER = 20  # commits whose signatures are asked for at once; ssh-keygen runs twice for each
TOGETHER_BYTES = 4 << 20  # of those commits: git and ssh-keygen read each of them three times
MOST_AFTER = 2000  # commits that wait, of which it is looked whether they are ours
MOST_AFTER_BYTES = 16 << 20  # of those
MOST_OWN = 300  # of those that say so


class _Judged(NamedTuple):
    """The commits that count, up to the first one that does not, if there is one."""

    good: list[str]
    bad: Signature | None
    misplaced: bool = False


class RefusedCommit(NamedTuple):
    """A commit that is not decided from: where, which, by whom, why, how many wait, what helps."""

    branch: str
    revision: str
    author: str
    problem: str
    waiting: int
    expected: str = SIGN_IT

    def __str__(self) -> str:
        after = f" and {self.waiting - 1} after it" if self.waiting > 1 else ""
        return (
            f"{self.branch} has {short_id(self.revision)} by {self.author}, which waits{after}: "
            f"{self.problem}; {self.expected}"
        )


def unfetched_commit(branch: str, revision: str, problem: str) -> RefusedCommit:
    """Return the refusal of a commit that could not be fetched, so nobody knows who wrote it."""
    return RefusedCommit(branch, revision, UNKNOWN, problem, 1, PUSH_LESS)


class AcceptedLine(NamedTuple):
    """How far a branch is trusted.

    `commit` was accepted last. `written` is the newest pass of the root that the daemon itself
    signed since, or else `commit`: there the outputs are. `refused` is the first commit that waits.
    """

    commit: str
    written: str
    refused: RefusedCommit | None = None


class NothingTrusted(ShellError):
    """No commit of a branch can be decided from."""


@dataclass(slots=True, eq=False)
class Trust:
    """Tells how far branches are trusted, and keeps what was accepted last.

    Attributes:
        repository: Where the branches are, and the root that is served.
        layout: Where passes write in that root.
        allowed: Whose signatures count.
        own: Fingerprint of the key of the daemon.
        anchors: Full hex ids of commits that are trusted as they are, with all before them.
        reporters: Keys that may report some clusters and write nothing else.
        refused: Branch to the commit that waits there.
    """

    repository: Repository
    layout: RepositoryLayout
    allowed: AllowedKeys
    own: str
    anchors: tuple[str, ...] = ()
    reporters: Mapping[str, frozenset[str]] = field(default_factory=dict)
    refused: dict[str, RefusedCommit] = field(default_factory=dict)
    _known: dict[str, tuple[tuple[str, str | None], AcceptedLine]] = field(default_factory=dict)

    def accepted(self, branch: str) -> str | None:
        """Return the commit of a branch that was accepted last, `None` if there is none.

        A root that has accepted nothing yet goes on from what was accepted for all roots, as was
        done before each had its own.
        """
        revision = self.repository.find_reference(
            reference_of(self.repository, Kept.ACCEPTED, branch)
        )
        return revision or self.repository.find_reference(f"{ACCEPTED}{check_branch(branch)}")

    def accept(
        self, branch: str, head: str, before: str | None, *, purpose: Purpose = Purpose.DECISIONS
    ) -> AcceptedLine:
        """Accept what allowed keys signed on a branch, and return how far it is trusted.

        Args:
            branch: Its name.
            head: Full hex id of its commit.
            before: What `accepted` returned before the head was looked at. Asked for later, it
                could be what another daemon accepted of a newer head, and look like a branch that
                was set back.
            purpose: What commits of the daemon do on that branch.

        Raises:
            NothingTrusted: There is no such commit, nor one that was accepted earlier.
        """
        question = (head, before)
        if branch in self._known and self._known[branch][0] == question:
            return self._known[branch][1]
        line = self.follow(branch, head, before, purpose=purpose)
        self._keep(branch, line.commit, before)
        self._keep_waiting(branch, line.refused)
        self.refused.pop(branch, None)
        if line.refused is not None:
            self.refused[branch] = line.refused
        self._known[branch] = ((head, line.commit), line)
        return line

    def accept_own(self, branch: str, commit: str, before: str | None) -> None:
        """Accept what the daemon itself wrote on top of the commit that was accepted last.

        Where that cannot be kept now, whoever looks at the branch next accepts it.
        """
        with contextlib.suppress(GitError):
            self._keep(branch, commit, before)

    def _keep(self, branch: str, commit: str, before: str | None) -> None:
        """Keep what was accepted, unless another daemon of the root has kept something meanwhile.

        What it kept stays: the next pass goes on from there.
        """
        reference = reference_of(self.repository, Kept.ACCEPTED, branch)
        present = self.repository.find_reference(reference)
        if present == commit or present not in (before, None):
            return
        try:
            self.repository.git.output(
                "update-ref", reference, commit, present or "0" * len(commit)
            )
        except GitError:
            if self.repository.find_reference(reference) == present:
                raise

    def _keep_waiting(self, branch: str, refused: RefusedCommit | None) -> None:
        """Keep which commit waits, for whoever asks how the repository stands."""
        reference = reference_of(self.repository, Kept.WAITING, branch)
        present = self.repository.find_reference(reference)
        if refused is not None and refused.revision != present:
            self.repository.git.output("update-ref", reference, refused.revision)
        elif refused is None and present is not None:
            self.repository.git.output("update-ref", "-d", reference)

    def follow(
        self, branch: str, head: str, before: str | None, *, purpose: Purpose = Purpose.DECISIONS
    ) -> AcceptedLine:
        """Return how far a branch is trusted, and keep nothing of it; see `accept`."""
        if head == before:
            return AcceptedLine(head, head)
        if before is not None and self._is_too_much(head, before):
            refused = RefusedCommit(branch, head, UNKNOWN, TOO_MUCH, 1, TAKE_IT_OFF)
            return AcceptedLine(before, self._written_before(branch, before), refused)
        bases = self._bases(branch, head, before)
        problem = "" if before is None or bases else self._why_rewritten(head, before, purpose)
        if before is not None and problem:
            refused = self._refusal(branch, head, problem, 1)._replace(expected=BRING_IT_BACK)
            return AcceptedLine(before, self._written_since(branch, head, before, purpose), refused)
        line = list_range(self.repository, head, but=bases)
        judged = self._judged_to_first_refused(line[::-1], branch, purpose)
        if judged.bad is None:
            return AcceptedLine(head, head)
        bad, good = judged.bad, len(judged.good)
        ours = self._passes_among(line[::-1][good + 1 :], branch, purpose)
        waiting = len(line) - good - len(ours)
        refused = self._refusal(branch, bad.revision, bad.problem, waiting)
        if judged.misplaced or bad.problem == TOO_LARGE:
            refused = refused._replace(expected=TAKE_IT_OFF)
        commit = self._newest(judged.good, line[-1], bases)
        if commit is None and before is not None:  # nothing of what would cut the branch counts
            return AcceptedLine(before, self._written_before(branch, before), refused)
        if commit is None:
            raise NothingTrusted(str(refused))
        newest = (one.revision for one in reversed(ours) if self._leads(commit, one.revision))
        return AcceptedLine(commit, next(newest, commit), refused)

    def _why_rewritten(self, head: str, before: str, purpose: Purpose) -> str:
        """Return why a branch without what was accepted does not count, `""` of one that was cut.

        Only a branch of reports may be cut, where each commit has all that counts.
        """
        if purpose is not Purpose.REPORTS:
            return f"{short_id(before)}, which was accepted last, is no part of the branch any more"
        return why_no_cut(self.repository, list_range(self.repository, head), before)

    def _is_too_much(self, head: str, before: str) -> bool:
        """Return whether git needs too long to walk what is new: huge messages, mostly.

        What follows walks the same commits again, some five times.
        """
        git = replace(self.repository.git, processor_seconds=WALK_SECONDS)
        try:
            git.run("rev-list", "--count", check_commit(head), f"^{check_commit(before)}", "--")
        except GitKilled:
            return True
        return False

    def _written_before(self, branch: str, before: str) -> str:
        """Return the newest of our passes that is known to come after what was accepted."""
        _, line = self._known.get(branch, (None, None))
        return line.written if line is not None and line.commit == before else before

    def _judged_to_first_refused(
        self, line: Sequence[str], branch: str, purpose: Purpose
    ) -> "_Judged":
        """Return the commits that count, the oldest first, up to the first that does not.

        Whoever can push chooses how many come after that one, so they are not looked at. What
        cannot be judged is refused like what is not signed.
        """
        good: list[str] = []
        while len(good) < len(line):
            piece = self._piece(line[len(good) : len(good) + TOGETHER])
            if not piece:
                return _Judged(good, Signature(line[len(good)], "", TOO_LARGE))
            try:
                signed, misplaced = self._judged(piece, branch, purpose)
            except GitError:
                signed, misplaced = self._judged_singly(piece, branch, purpose)
            for commit in signed:
                if commit.problem:
                    return _Judged(good, commit, misplaced=commit.revision in misplaced)
                good.append(commit.revision)
        return _Judged(good, None)

    def _piece(self, line: Sequence[str]) -> Sequence[str]:
        """Return the first commits of a line that git is asked about at once.

        None if the first is so large that it is not asked about it at all.
        """
        sizes = object_sizes(self.repository, line)
        if sizes[0] > MAX_READ_BYTES:
            return ()
        within = [total <= TOGETHER_BYTES for total in accumulate(sizes)]
        return line[: max(1, sum(within))]

    def _judged_singly(
        self, line: Sequence[str], branch: str, purpose: Purpose
    ) -> tuple[list[Signature], Mapping[str, str]]:
        """Return the same of each by itself, up to the first that does not count."""
        signatures: list[Signature] = []
        for revision in line:
            try:
                [signed], misplaced = self._judged([revision], branch, purpose)
            except GitError:
                signed, misplaced = Signature(revision, "", UNJUDGED), {}
            signatures.append(signed)
            if signed.problem:
                return signatures, misplaced
        return signatures, {}

    def _passes_among(
        self, line: Sequence[str], branch: str, purpose: Purpose
    ) -> list[CommitRecord]:
        """Return our own passes among commits that wait, the oldest first.

        Those are asked that say that they are, the newest of them: the rest is not looked at. A
        pass of another root does not count: it leaves here what commits that wait did.
        """
        newest = line[-MOST_AFTER:]
        sizes = object_sizes(self.repository, newest)
        within = [total <= MOST_AFTER_BYTES for total in accumulate(reversed(sizes))]
        read = newest[len(newest) - sum(within) :]
        said = [
            record.revision
            for record in read_commits(self.repository, read)
            if self._places.is_of_root(record)
        ]
        try:
            signed = self._judged(said[-MOST_OWN:], branch, purpose)[0]
        except GitError:
            return []
        ours = [one.revision for one in signed if one.key == self.own and not one.problem]
        return [one for one in read_commits(self.repository, ours) if self._places.is_of_root(one)]

    def _judged(
        self, line: Sequence[str], branch: str, purpose: Purpose
    ) -> tuple[list[Signature], Mapping[str, str]]:
        """Return who signed commits, and which of them are out of their place, and why."""
        signed = read_signatures(self.repository, line, self.allowed)
        misplaced = self._places.find_misplaced(signed, branch=branch, purpose=purpose)
        signatures = [
            replace(one, problem=misplaced.get(one.revision, one.problem)) for one in signed
        ]
        return signatures, misplaced

    @property
    def _places(self) -> CommitPlaces:
        """What tells which commits of ours are out of their place."""
        return CommitPlaces(
            repository=self.repository,
            layout=self.layout,
            own=self.own,
            reporters=self.reporters,
        )

    def _bases(self, branch: str, head: str, before: str | None) -> tuple[str, ...]:
        """Return the trusted commits that lead to a head.

        What the operator names counts where it says more than what was accepted, of this branch or
        of another one: whoever can push may set any of them to a commit that another one is at.
        """
        named = [anchor for anchor in self.anchors if self._leads(anchor, head)]
        if before is None:
            return tuple(named)
        if named:
            kept = list_kept(self.repository, Kept.ACCEPTED)
            accepted = (before, *(commit for name, commit in kept.items() if name != branch))
            named = [one for one in named if not any(self._leads(one, at) for at in accepted)]
        return (*named, *([before] if self._leads(before, head) else []))

    def _leads(self, ancestor: str, revision: str) -> bool:
        return is_ancestor(self.repository, ancestor, revision)

    def _newest(self, signed: Sequence[str], first: str, bases: Sequence[str]) -> str | None:
        """Return the newest commit that counts on a line, `None` if none does.

        One beside what is trusted counts once a signed commit joins it to that: until then it would
        set the branch back.
        """
        base = self._base(first, bases) if len(bases) > 1 else next(iter(bases), None)
        if base is None:
            return signed[-1] if signed else None
        return next((one for one in reversed(signed) if self._leads(base, one)), base)

    def _base(self, first: str, bases: Sequence[str]) -> str | None:
        """Return the trusted commit that the first one of a line stands on, `None` if none does."""
        parents = read_commit(self.repository, first).parents
        on_line = [one for one in bases if parents and self._leads(parents[0], one)]
        return next(iter(on_line or bases), None)

    def _written_since(self, branch: str, head: str, before: str, purpose: Purpose) -> str:
        """Return the newest of our passes on a branch that no longer has what was accepted.

        Each must say that its outputs are those that were accepted, or those of such a pass: a line
        that was left may be pushed again, with passes that are older.
        """
        line = list_range(self.repository, head, but=(before,))
        ours = [before]
        for commit in self._passes_among(line[::-1], branch, purpose):
            if purpose is Purpose.DELIVERY or dict(commit.trailers).get(OUTPUTS) in ours:
                ours.append(commit.revision)
        return ours[-1]

    def _refusal(self, branch: str, revision: str, problem: str, waiting: int) -> RefusedCommit:
        large = object_sizes(self.repository, [revision])[0] > MAX_READ_BYTES
        author = UNKNOWN if large else str(read_commit(self.repository, revision).author)
        return RefusedCommit(branch, revision, author, problem, waiting)


OURS = "refs/reconciler/"
ACCEPTED = f"{OURS}accepted/"
"""Where the commit is kept that was accepted last for the top of a repository, by branch."""


DIGITS = 16


class Kept(StrEnum):
    """What is kept of a branch."""

    ACCEPTED = "accepted"
    WAITING = "waiting"


def reference_of(repository: Repository, kept: Kept, branch: str) -> str:
    """Return where a commit of a branch is kept for a root."""
    return f"{_folder(repository, kept)}{check_branch(branch)}"


def list_kept(repository: Repository, kept: Kept) -> Mapping[str, str]:
    """Return the commits that are kept for a root, by the name of the branch."""
    folder = _folder(repository, kept)
    listed = repository.git.output("for-each-ref", "--format=%(objectname) %(refname)", folder)
    lines = listed.decode(errors="surrogateescape").splitlines()
    pairs = (line.split(" ", 1) for line in lines)
    return {name.removeprefix(folder): commit for commit, name in pairs}


def _folder(repository: Repository, kept: Kept) -> str:
    """Return the folder of the references of a root: the top or, by a digest, a folder."""
    if not repository.prefix:
        return f"{OURS}{kept}/"
    root = repository.prefix.encode(errors="surrogateescape")
    return f"{OURS}{kept}-below/{hashlib.sha256(root).hexdigest()[:DIGITS]}/"

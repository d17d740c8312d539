"""Our own bare copy of a remote: fetched by URL, pushed by URL, configured by us alone.

What a remote answers says who must act, and whether a retry helps.

Source: git 2.39 to 2.50 transport.c `print_one_push_status` for the porcelain lines; the rest was
measured against real servers. Messages are in English, since git runs with `LC_ALL=C`.
"""

import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from reconciler.errors import UsageError
from reconciler.model.records import replace
from reconciler.shell.git.command import (
    Finished,
    Git,
    GitError,
    LostRace,
    RemoteMisconfigured,
    RemoteRefused,
    RemoteUnreachable,
    TookTooLong,
    one_line,
)
from reconciler.shell.git.commits import check_path, remove_dead_imports
from reconciler.shell.git.history import check_forward, is_ancestor
from reconciler.shell.git.publish import BranchMove, publish
from reconciler.shell.git.remotes.mirror_folder import MirrorFolder, Upkeep, open_folder
from reconciler.shell.git.remotes.remote import Access, Remote, parse_remote
from reconciler.shell.git.repository import EMPTY_TREES, Repository, check_branch, check_commit
from reconciler.shell.processes.limits import limit_said, refusal

FETCHED_BYTES = 256 << 20  # ours: manifests of the largest fleets are a tenth of that, packed
FETCHED_SECONDS = 30  # of a processor, for each process: git unpacks some 20 MB in one
AGAIN_SECONDS = 3600.0  # a network that was slow for a while stops no branch for good
ONE_PACK = {"fetch.unpackLimit": "1"}  # one file, so that the limit is one of all that is fetched
NOBODY = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "reconciler"), ("EMAIL", "reconciler@"), ("DATE", "@0 +0000"))
}
NEVER_THERE = "refs/heads/reconciler-checks-whether-it-may-push"


class Unfetched(NamedTuple):
    """Where a branch is at the remote that could not be brought here, and why.

    `revision` is `""` as long as it is not certain which commit it was. It is tried again once the
    branch has moved, or at `again_at`, by the stopwatch of the mirror.
    """

    branch: str
    revision: str
    problem: str
    again_at: float


class Mirror:
    """A remote, and the bare repository in which it is read and written.

    Branches have the names that they have at the remote. Only one process uses a folder at a time;
    once it is shared its threads do, and take turns.
    """

    def __init__(
        self, remote: Remote, place: MirrorFolder, repository: Repository, access: Access
    ) -> None:
        """Use `Mirror.open`."""
        self.remote = remote
        self.folder = place.folder
        self.repository = repository
        self.upkeep = Upkeep(repository.git)
        self.unfetched: dict[str, Unfetched] = {}
        self.moment: Callable[[], float] = time.monotonic
        self._filled = _has_branches(place.repository)
        self._place = place
        self._access = access
        self._closed = False
        self._turn = threading.RLock()

    @classmethod
    def open(
        cls,
        url: str,
        folder: Path,
        *,
        insecure: bool = False,
        prefix: str = "",
        object_format: str = "sha1",
        access: Access | None = None,
        timeout_seconds: float = 120.0,
    ) -> "Mirror":
        """Make or reuse the mirror of a remote.

        Args:
            url: Of the remote. Credentials in it reach git through its environment only.
            folder: Where the mirror is kept; made if absent. It is ours alone.
            insecure: Accept http and git, which anybody on the way can read and change.
            prefix: The folder of the repository that matters, POSIX; `""` for all of it.
            object_format: `sha1`, or `sha256` if the remote is so.
            access: How the operator lets git into the remote; `None` adds nothing to the URL.
            timeout_seconds: Limit for a fetch or a push. Locks twice as old are removed.

        Raises:
            UsageError: The URL or the access is not accepted, or the folder holds something else.
            MirrorBusy: Another process uses the folder.
        """
        remote = parse_remote(url, insecure=insecure)
        access = access or Access()
        access.check(remote)
        place = open_folder(
            folder.resolve(),
            remote,
            object_format=object_format,
            limit_seconds=2 * timeout_seconds,
        )
        try:
            git = _git(place, remote, timeout_seconds)
            if not place.is_readable(git, thoroughly=False):
                place.rebuild()
            repository = Repository(
                git=git,
                git_dir=place.repository,
                common_dir=place.repository,
                work_tree=None,
                prefix=check_path(prefix) if prefix else "",
                object_format=object_format,
            )
        except BaseException:
            os.close(place.lock)
            raise
        return cls(remote, place, repository, access)

    def share(self) -> None:
        """Let threads use it together: leftovers go once no command can be writing them still."""
        self.recover()
        limit_seconds = 2 * self.repository.git.timeout_seconds
        self._place = replace(self._place, youngest_seconds=limit_seconds)

    def recover(self) -> None:
        """Remove what git commands left that were killed since; call it before a pass."""
        with self._turn:
            if not self.upkeep.is_running():  # or else what it is writing would go
                self._place.remove_leftovers()
            remove_dead_imports(self.repository)

    def repair(self) -> bool:
        """Begin anew if git cannot read the mirror, and return whether that was so.

        All in it can be had again from the remote, but for what was accepted last: that is counted
        from the operator's anchor again. What was not pushed will be decided again.
        """
        with self._turn:
            if self._place.is_readable(self.repository.git, thoroughly=True):
                return False
            self._rebuild()
            return True

    def fetch(self, branch: str) -> str | None:
        """Bring a branch here as the remote has it, rewinds included.

        Whoever can push chooses what that takes, so it has limits, once there is something here to
        go on from. A head beyond them is in `unfetched`, and the branch stays here as it was.

        Returns:
            Full hex id of its head; `None` if the remote has no such branch.

        Raises:
            RemoteUnreachable: Back off and retry.
            RemoteMisconfigured: An operator must act.
        """
        git, reference = self.repository.git, f"refs/heads/{check_branch(branch)}"
        with self._turn:
            present = None if not self._filled else self._known(branch)
            before = self.unfetched.pop(branch, None)
            advertised = "" if before is None else self._advertised(reference)
            stays = before is not None and bool(advertised) and before.revision == advertised
            if before is not None and stays and self.moment() < before.again_at:
                self.unfetched[branch] = before
                return self.repository.find(branch)
            finished = self._fetch(reference)
            if finished.code != 0 and not self._place.is_readable(git, thoroughly=False):
                self._rebuild()
                finished = self._fetch(reference)
            if finished.code == 0:
                self._filled = True
                head = self.repository.find(branch)
                if head != present:
                    self.upkeep.note_pack()
                return head
            if f"couldn't find remote ref {reference}" in finished.stderr:
                git.output("update-ref", "-d", reference)
                return None
            if self._filled and is_beyond_limits(finished):
                now = self._advertised(reference)
                revision = now if now == advertised else ""
                self.unfetched[branch] = self._given_up(branch, revision)
                return self.repository.find(branch)
        raise answer_to_transport(self.remote.url, finished)

    def _known(self, branch: str) -> str | None:
        """Return where a branch is here, `None` if that cannot be read: it is fetched then."""
        with contextlib.suppress(GitError):
            return self.repository.find(branch)
        return None

    def _given_up(self, branch: str, revision: str) -> Unfetched:
        """Return what is told of a head that took too much; `""` for one that is tried again."""
        problem = (
            f"it takes more than {FETCHED_BYTES >> 20} MB, {FETCHED_SECONDS} s of a processor or "
            f"{self.repository.git.timeout_seconds:g} s to be fetched, or git cannot unpack it"
        )
        return Unfetched(branch, revision, problem, self.moment() + AGAIN_SECONDS)

    def _advertised(self, reference: str) -> str:
        """Return the commit at which the remote says that a branch is, `""` if it is not there."""
        finished = self._run("ls-remote", "--end-of-options", self.remote.url, reference)
        if finished.code != 0:
            raise answer_to_transport(self.remote.url, finished)
        lines = finished.stdout.decode(errors="replace").splitlines()
        pairs = (line.partition("\t") for line in lines)
        return next((found for found, _, name in pairs if name == reference), "")

    def references(self, folder: str) -> dict[str, str]:
        """Return what stands below a folder of references at the remote: name to full hex id.

        Args:
            folder: Such as `refs/reconciler/observed`; names are relative to it.

        Raises:
            RemoteUnreachable: Back off and retry.
            RemoteMisconfigured: An operator must act.
        """
        finished = self._run("ls-remote", "--end-of-options", self.remote.url, f"{folder}/*")
        if finished.code != 0:
            raise answer_to_transport(self.remote.url, finished)
        lines = finished.stdout.decode(errors="replace").splitlines()
        pairs = (line.partition("\t") for line in lines)
        return {name.removeprefix(f"{folder}/"): found for found, _, name in pairs}

    def put_mark(self, reference: str, message: str) -> None:
        """Let a reference at the remote be a commit with nothing but a message, whatever it was.

        Such a commit has no files, no parent and the moment 0, so the same message is the same
        commit, which repositories hold once, however often it is pushed.

        Args:
            reference: No branch; nobody's history stands there.
            message: Of the commit.

        Raises:
            RemoteRefused: A hook or protection rule said no.
            RemoteUnreachable: Nothing is known, or the remote is busy; back off and retry.
            RemoteMisconfigured: An operator must act.
        """
        empty = EMPTY_TREES[self.repository.object_format]
        git = self.repository.git.having(variables=NOBODY)
        mark = git.line("commit-tree", "-m", message, empty)
        finished = self._run(
            "push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no", "--no-verify",
            "--end-of-options", self.remote.url, f"+{mark}:{reference}",
        )  # fmt: skip
        if finished.code != 0:
            raise answer_to_push(self.remote.url, finished)

    def try_push(self) -> None:
        """See whether the remote would take a push from us; nothing is sent.

        Raises:
            RemoteUnreachable: Back off and retry.
            RemoteMisconfigured: An operator must act.
        """
        finished = self._run(
            "push", "--dry-run", "--porcelain", "--no-verify", "--recurse-submodules=no",
            "--end-of-options", self.remote.url, f":{NEVER_THERE}",
        )  # fmt: skip
        if finished.code not in (0, 1):  # 1: the remote let us in, and has no such branch
            raise answer_to_transport(self.remote.url, finished)

    def _fetch(self, reference: str) -> Finished:
        git = self.repository.git.having(settings=ONE_PACK)
        if self._filled:
            git = replace(git, processor_seconds=FETCHED_SECONDS, file_bytes=FETCHED_BYTES)
        return self._run(
            "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules",
            "--no-auto-maintenance", "--force", "--update-head-ok", "--end-of-options",
            self.remote.url, f"+{reference}:{reference}", git=git,
        )  # fmt: skip

    def _rebuild(self) -> None:
        self._filled = False
        self.upkeep.end()
        self._place.rebuild()

    def push(self, branch: str, *, old: str | None, new: str) -> None:
        """Move a branch at the remote from `old` to `new`, or leave it as it was.

        Whatever happens to the connection, the answer is certain if this returns or says
        `LostRace`: after a failure of transport the remote is asked what it has.

        Args:
            branch: Name without `refs/heads/`.
            old: Full hex id that the remote must be at; `None` if it must have no such branch.
            new: Full hex id of a commit that has `old` among its ancestors.

        Raises:
            LostRace: The remote is not at `old`. Fetch, reconcile again, push again.
            RemoteRefused: A hook or protection rule said no.
            RemoteUnreachable: Nothing is known, or the remote is busy; back off and retry.
            RemoteMisconfigured: An operator must act.
            ValueError: `new` does not come after `old`: it would remove commits of others.
        """
        finished = self._push([BranchMove(branch, old, new)])
        if finished.code != 0:
            self._finish(branch, finished, old=old, new=new)
        self._follow(branch, new)

    def replace(self, branch: str, *, old: str, new: str) -> None:
        """Let a branch at the remote begin anew at `new`, if it is at `old` exactly.

        What was on it goes: only for branches on which every commit has all that counts.

        Raises:
            LostRace: The remote is not at `old`.
            GitError: As for `push`; where nothing is known, the next fetch finds out.
        """
        reference = BranchMove(branch, old, new).reference
        finished = self._run(
            "push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no", "--no-verify",
            f"--force-with-lease={reference}:{check_commit(old)}", "--end-of-options",
            self.remote.url, f"{check_commit(new)}:{reference}",
        )  # fmt: skip
        if finished.code != 0:
            raise answer_to_push(self.remote.url, finished)
        self._follow(branch, new)

    def push_together(self, moves: Sequence[BranchMove]) -> bool:
        """Move branches at the remote in one transaction, or none of them.

        Why it could not be done is not told: a push of one branch after the other finds out, also
        what arrived where the answer was lost.

        Args:
            moves: From where to where, full hex ids.

        Returns:
            Whether all of them have moved for certain.
        """
        if self._push(moves, "--atomic").code != 0:
            return False
        for move in moves:
            self._follow(move.name, move.new)
        return True

    def _push(self, moves: Sequence[BranchMove], *options: str) -> Finished:
        """Push branches, each only from where it must be, and only forward."""
        leases, pairs = [], []
        for move in moves:
            check_forward(self.repository, move.old, move.new)
            leases.append(f"--force-with-lease={move.reference}:{move.old or ''}")
            pairs.append(f"{move.new}:{move.reference}")
        return self._run(
            "push", "--porcelain", *options, "--no-follow-tags", "--recurse-submodules=no",
            "--no-verify", *leases, "--end-of-options", self.remote.url, *pairs,
        )  # fmt: skip

    def _follow(self, branch: str, new: str) -> None:
        """Move a branch here to where it is at the remote; if not, the next fetch does."""
        with self._turn, contextlib.suppress(GitError):
            publish(self.repository, branch, old=self.repository.find(branch), new=new)

    def _finish(self, branch: str, finished: Finished, *, old: str | None, new: str) -> None:
        """Find out what became of a push that did not succeed; raise unless it arrived."""
        answer = answer_to_push(self.remote.url, finished)
        if isinstance(answer, LostRace | RemoteRefused):
            raise answer
        try:
            present = self.fetch(branch)
        except GitError:
            raise answer from None
        if present is not None and is_ancestor(self.repository, new, present):
            return
        if present != old:
            raise LostRace(f"{self.remote.url} moved while it was not reachable") from answer
        raise answer

    def _run(self, *arguments: str, git: Git | None = None) -> Finished:
        """Run a command that talks to the remote; a time limit gone by is no answer."""
        try:
            remote = self._access.applied(self.remote)
        except UsageError as error:  # the file of a credential was there when we began
            raise RemoteMisconfigured(str(error)) from None
        reaching = (git or self.repository.git).having(
            variables=remote.variables, settings=remote.settings
        )
        try:
            return replace(reaching, secrets=remote.secrets).run(*arguments)
        except TookTooLong as error:
            return Finished(TOO_SLOW, b"", str(error))
        except GitError as error:
            return Finished(128, b"", str(error))

    def maintain(self) -> None:
        """Go on with the upkeep, which is due every hour; call it while no pass is due.

        Git's own is off, so that it never runs in the middle of a pass. This one may: it starts a
        process or looks at one, and waits for none.
        """
        with self._turn:
            self.upkeep.go_on()

    def close(self) -> None:
        """Let another process use the folder."""
        if not self._closed:
            self.upkeep.end()
            os.close(self._place.lock)
            self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _has_branches(repository: Path) -> bool:
    """Return whether anything was fetched into a mirror."""
    loose = (path.is_file() for path in (repository / "refs/heads").rglob("*"))
    return any(loose) or (repository / "packed-refs").is_file()


def _git(place: MirrorFolder, remote: Remote, timeout_seconds: float) -> Git:
    """Return git in the mirror; what lets a command into the remote is added when it runs."""
    return Git(
        folder=place.folder,
        options=(f"--git-dir={place.repository}",),
        variables={"GIT_ASKPASS": str(place.askpass), "GIT_ALLOW_PROTOCOL": remote.protocol},
        secrets=remote.secrets,
        timeout_seconds=timeout_seconds,
        inherited=(place.lock,),
    )


PREFIX = "remote: "
REFUSED = re.compile(r"^!\t[^\t]*\t\[([^\]]+)\] ?(?:\((.*)\))?", re.MULTILINE)

RACES = (
    "fetch first",
    "non-fast-forward",
    "stale info",
    "needs force",
    "already exists",
    "remote ref updated since checkout",
    "incorrect old value provided",
)
LOCKED = (
    "failed to update ref",
    "cannot lock ref",
    "failed to lock",
    "failed to write",
    "unpacker error",
)
ENDED = (
    "invalid index-pack output",
    "unpack-objects died",
    "unpack-objects failed",
    "index-pack died",
    "index-pack failed",
    "did not send all necessary objects",
)
"""What git says where a process of its own gave up what was fetched."""
BROKEN = ("early eof", "unexpected disconnect", "hung up", "rpc failed", "reset by peer")
"""What it says beside it where the connection ended, not the process."""
TOO_SLOW = 124  # what timeout(1) answers
LOST = ("possible repository corruption on the remote side", "not our ref")
OPERATOR = ("branch is currently checked out", "refusing to update checked out branch")

REDIRECTED = (
    "returned error: 301",
    "returned error: 302",
    "returned error: 307",
    "returned error: 308",
)
MISCONFIGURED = (
    "authentication failed",
    "permission denied",
    "returned error: 401",
    "returned error: 403",
    "returned error: 404",
    "does not appear to be a git repository",
    "not found",
    "access denied",
    "host key verification failed",
    "certificate",
    "dubious ownership",
    "service not enabled",
    "not exported",
    "mismatched algorithms",
    "no such file or directory",
    *REDIRECTED,
)
HINTS = (
    ("host key verification failed", "compare its key and add it to --known-hosts-file"),
    ("certificate", "the machine or --ca-file must have the authority that signed it"),
    *((sign, "name the address that it redirects to") for sign in REDIRECTED),
)
"""What git says of a misconfiguration, to what an operator does about it."""
UNNAMED = ("could not read username", "could not read password")
"""What git says where nobody gave it a credential that the remote takes."""
NEEDS_CREDENTIAL = (
    "give a credential that the remote takes (--credential-file FILE or RECONCILER_CREDENTIAL, "
    "with USER:PASSWORD or Bearer TOKEN; for a token of a forge x-access-token:TOKEN)"
)
CHECK = "check the URL and the credentials"
MISCONFIGURED_EXCEPTIONS = ("could not resolve host",)


def answer_to_push(url: str, finished: Finished) -> GitError:
    """Return the error that a push which did not succeed stands for.

    Args:
        url: Without credentials, for the message.
        finished: A command that ended with another code than 0.

    Returns:
        `LostRace`, `RemoteRefused`, `RemoteMisconfigured` or `RemoteUnreachable`. Only with exit
        code 1 and a line about the reference has the remote surely not moved.
    """
    line = REFUSED.search(finished.stdout.decode(errors="replace"))
    if finished.code != 1 or line is None:
        return answer_to_transport(url, finished)
    place, why = line[1], line[2] or ""
    _, theirs = _voices(finished.stderr)
    detail = f"{why}{theirs}"
    if any(race in why for race in RACES):
        return LostRace(f"{url} moved: {why}")
    if any(state in why for state in OPERATOR):
        return RemoteMisconfigured(
            f"{url} has the branch checked out; push to a bare repository or to another branch"
        )
    if place == "remote failure" or any(lock in why for lock in LOCKED):
        return RemoteUnreachable(f"{url} is busy: {detail}")
    return RemoteRefused(f"{url} refused the push ({place}): {detail}")


def answer_to_transport(url: str, finished: Finished) -> GitError:
    """Return the error that a command stands for which got no proper answer from the remote."""
    ours, theirs = _voices(finished.stderr)
    said = f"{one_line(ours) or f'exit code {finished.code}'}{theirs}"
    text = ours.lower()  # a server may print anything: its words decide nothing
    if any(sign in text for sign in LOST):
        return RemoteMisconfigured(
            f"{url}: its repository has lost objects; run git fsck there, and bring back what it "
            f"names from a clone that has it ({said})"
        )
    misconfigured = any(sign in text for sign in MISCONFIGURED)
    if any(sign in text for sign in UNNAMED):
        return RemoteMisconfigured(f"{NEEDS_CREDENTIAL}: {url}: {said}; {CHECK}")
    if misconfigured and not any(sign in text for sign in MISCONFIGURED_EXCEPTIONS):
        hint = next((hint for sign, hint in HINTS if sign in text), CHECK)
        return RemoteMisconfigured(f"{url}: {said}; {hint}")
    return RemoteUnreachable(f"{url}: {said}")


def is_beyond_limits(finished: Finished) -> bool:
    """Return whether a fetch was given up for what it brought, and not for what lies between.

    Args:
        finished: A command that ended with another code than 0; `TOO_SLOW` if its time was over.
    """
    if finished.code == TOO_SLOW:
        return True
    text = _voices(finished.stderr)[0].lower()
    if any(sign in text for sign in BROKEN) or refusal(text, "") or limit_said(text):
        return False
    return any(sign in text for sign in ENDED)


def _voices(stderr: str) -> tuple[str, str]:
    """Return what git itself said, and what the server printed, marked as its words.

    Git shows the server's lines with a prefix. A carriage return would begin a line without one.
    """
    lines = stderr.split("\n")
    ours = "\n".join(line for line in lines if not line.startswith(PREFIX))
    theirs = one_line(
        "\n".join(line.removeprefix(PREFIX) for line in lines if line.startswith(PREFIX))
    )
    return ours, f'; the server says: "{theirs}"' if theirs else ""

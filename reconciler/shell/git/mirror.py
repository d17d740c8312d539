"""Our own bare copy of a remote: fetched by URL, pushed by URL, configured by us alone."""

import contextlib
import fcntl
import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from reconciler.errors import UsageError
from reconciler.shell.git.answers import answer_to_push, answer_to_transport
from reconciler.shell.git.command import Finished, Git
from reconciler.shell.git.commits import check_path
from reconciler.shell.git.errors import GitError, LostRace, MirrorBusy, RemoteRefused
from reconciler.shell.git.publish import publish
from reconciler.shell.git.remote import ASKPASS, Remote, parse_remote
from reconciler.shell.git.repository import Repository, check_branch, check_commit

CONFIGURATION = """\
# Written by reconciler at every start; edits are lost.
[core]
\trepositoryformatversion = 1
\tbare = true
[extensions]
\tobjectFormat = {object_format}
[gc]
\tauto = 0
[http]
\tlowSpeedLimit = 1000
\tlowSpeedTime = 30
"""

LEFTOVERS = ("**/*.lock", "objects/pack/tmp_*", "objects/??/tmp_obj_*")


class Mirror:
    """A remote, and the bare repository in which it is read and written.

    Branches have the names that they have at the remote. Only one process uses a folder at a time.
    """

    def __init__(self, remote: Remote, folder: Path, repository: Repository, lock: int) -> None:
        """Use `Mirror.open`."""
        self.remote = remote
        self.folder = folder
        self.repository = repository
        self._lock = lock

    @classmethod
    def open(
        cls,
        url: str,
        folder: Path,
        *,
        insecure: bool = False,
        prefix: str = "",
        object_format: str = "sha1",
        variables: Mapping[str, str] | None = None,
        timeout_seconds: float = 120.0,
    ) -> "Mirror":
        """Make or reuse the mirror of a remote.

        Args:
            url: Of the remote. Credentials in it reach git through its environment only.
            folder: Where the mirror is kept; made if absent. It is ours alone.
            insecure: Accept http and git, which anybody on the way can read and change.
            prefix: The folder of the repository that matters, POSIX; `""` for all of it.
            object_format: `sha1`, or `sha256` if the remote is so.
            variables: Environment that the operator gives to git, such as `GIT_SSL_CAINFO`.
            timeout_seconds: Limit for a fetch or a push. Locks twice as old are removed.

        Raises:
            UsageError: The URL is not accepted, or the folder holds something else.
            MirrorBusy: Another process uses the folder.
        """
        remote = parse_remote(url, insecure=insecure)
        folder = folder.resolve()
        _claim(folder, remote)
        lock = _lock(folder)
        try:
            _remove_leftovers(folder, older_than_seconds=2 * timeout_seconds)
            _configure(folder, object_format)
            repository = Repository(
                git=_git(folder, remote, variables or {}, timeout_seconds),
                git_dir=folder,
                common_dir=folder,
                work_tree=None,
                prefix=check_path(prefix) if prefix else "",
                object_format=object_format,
            )
        except BaseException:
            os.close(lock)
            raise
        return cls(remote, folder, repository, lock)

    def fetch(self, branch: str) -> str | None:
        """Bring a branch here as the remote has it, rewinds included.

        Returns:
            Full hex id of its head; `None` if the remote has no such branch.

        Raises:
            RemoteUnreachable: Back off and retry.
            RemoteMisconfigured: An operator must act.
        """
        reference = f"refs/heads/{check_branch(branch)}"
        finished = self._run(
            "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules",
            "--no-auto-maintenance", "--force", "--update-head-ok", "--end-of-options",
            self.remote.url, f"+{reference}:{reference}",
        )  # fmt: skip
        if finished.code == 0:
            return self.repository.find(branch)
        if f"couldn't find remote ref {reference}" in finished.stderr:
            self.repository.git.output("update-ref", "-d", reference)
            return None
        raise answer_to_transport(self.remote.url, finished)

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
        reference = f"refs/heads/{check_branch(branch)}"
        self._check_forward(old, check_commit(new))
        finished = self._run(
            "push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no", "--no-verify",
            f"--force-with-lease={reference}:{old or ''}", "--end-of-options",
            self.remote.url, f"{new}:{reference}",
        )  # fmt: skip
        if finished.code != 0:
            self._settle(branch, finished, old=old, new=new)
        with contextlib.suppress(GitError):  # the remote has it; the next fetch brings it here
            publish(self.repository, branch, old=self.repository.find(branch), new=new)

    def _settle(self, branch: str, finished: Finished, *, old: str | None, new: str) -> None:
        """Find out what became of a push that did not succeed; raise unless it arrived."""
        answer = answer_to_push(self.remote.url, finished)
        if isinstance(answer, LostRace | RemoteRefused):
            raise answer
        try:
            present = self.fetch(branch)
        except GitError:
            raise answer from None
        if present is not None and self._contains(present, new):
            return
        if present != old:
            raise LostRace(f"{self.remote.url} moved while it was not reachable") from answer
        raise answer

    def _check_forward(self, old: str | None, new: str) -> None:
        if old is not None and not self._contains(new, check_commit(old)):
            raise ValueError(f"{new} does not come after {old}")

    def _contains(self, tip: str, commit: str) -> bool:
        return self.repository.git.run("merge-base", "--is-ancestor", commit, tip).code == 0

    def _run(self, *arguments: str) -> Finished:
        """Run a command that talks to the remote; a time limit gone by is no answer."""
        try:
            return self.repository.git.run(*arguments)
        except GitError as error:
            return Finished(128, b"", str(error))

    def maintain(self) -> None:
        """Pack what many small fetches and commits left; call it about once a day.

        Git's own automatic upkeep is off, so that it never runs in the middle of a pass.
        """
        self.repository.git.output("gc", "--quiet")

    def close(self) -> None:
        """Let another process use the folder."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _claim(folder: Path, remote: Remote) -> None:
    """Refuse a folder that is not this remote's mirror: we are about to write to it."""
    mark = folder / "reconciler-remote"
    if folder.exists() and not folder.is_dir():
        raise UsageError(f'"{folder}" is not a folder; name an empty or new one for the mirror')
    if not folder.exists() or not any(folder.iterdir()):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        mark.write_text(f"{remote.url}\n")
        return
    if not mark.is_file():
        raise UsageError(f'"{folder}" is not empty and not a mirror; name an empty folder')
    if mark.read_text().strip() != remote.url:
        raise UsageError(
            f'"{folder}" is the mirror of {mark.read_text().strip()}; name another folder'
        )


def _configure(folder: Path, object_format: str) -> None:
    """Make the repository if there is none, and write every file that could run a program."""
    Git(folder=folder).output(
        "init", "--quiet", "--bare", "--template=", f"--object-format={object_format}", str(folder)
    )
    (folder / "config").write_text(CONFIGURATION.format(object_format=object_format))
    askpass = folder / "reconciler-askpass"
    askpass.write_text(ASKPASS)
    askpass.chmod(0o700)


def _git(folder: Path, remote: Remote, variables: Mapping[str, str], timeout_seconds: float) -> Git:
    return Git(
        folder=folder,
        options=(f"--git-dir={folder}",),
        variables={
            "GIT_ASKPASS": str(folder / "reconciler-askpass"),
            **remote.variables,
            **variables,
            "GIT_ALLOW_PROTOCOL": remote.protocol,
        },
        secrets=remote.secrets,
        timeout_seconds=timeout_seconds,
    )


def _lock(folder: Path) -> int:
    descriptor = os.open(folder / "reconciler-lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise MirrorBusy(f'another process uses "{folder}"; stop it or name another') from None
    return descriptor


def _remove_leftovers(folder: Path, *, older_than_seconds: float) -> None:
    """Remove what a killed git left behind. Here only: a lock elsewhere is somebody's."""
    for pattern in LEFTOVERS:
        for path in folder.glob(pattern):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime > older_than_seconds:
                    path.unlink()

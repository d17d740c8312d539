"""What can go wrong with git, by what to do about it."""

import shlex
from pathlib import Path

from reconciler.errors import ShellError


class GitError(ShellError):
    """A git command failed, or took longer than its limit."""


class TookTooLong(GitError):
    """A git command took longer than its limit, and was ended."""


class GitKilled(GitError):
    """A signal ended a git command, so it has said nothing; what it was to do may be done."""


class LostRace(GitError):
    """The branch moved; read it again, compute again, publish again."""


class RemoteRefused(GitError):
    """The remote answered no: a hook or a protection rule. Retrying the same cannot help."""


class RemoteUnreachable(GitError):
    """The remote did not answer, or not now; back off and retry."""


class RemoteMisconfigured(GitError):
    """The remote is absent, or does not know us; an operator must act."""


class LostObjects(GitError):
    """A branch needs objects that git has no more; a person must bring them back."""

    def __init__(self, what: str, folder: Path) -> None:
        super().__init__(
            f"{what} (git gc --prune took it, or the disk lost it); bring it back from a clone "
            "that has it: git -C CLONE pack-objects --all --stdout < /dev/null | "
            f"git -C {shlex.quote(str(folder))} unpack-objects"
        )


class HistoryMissing(GitError):
    """The history ends in this clone before it begins; more of it must be fetched."""


class PartialClone(HistoryMissing):
    """What is asked for was left out when this was cloned; a person must fetch it.

    Git would fetch it by the way, from whatever the repository names, so that is switched off.
    """

    def __init__(self, remote: str, objects: str) -> None:
        super().__init__(
            f"this clone is partial ({objects}), and what is needed here was not fetched; fetch "
            f"the rest with git fetch --refetch --no-filter {shlex.quote(remote)}"
        )


class PathBlocked(GitError):
    """A folder stands where a file must go, or something else where a folder must."""


class CheckoutBusy(ShellError):
    """A checkout cannot follow without touching a person's work; the message says what to do."""


class MirrorBusy(ShellError):
    """Another process uses the folder of a mirror."""

"""Who signed commits, and whether that key is one of those that an operator allows.

Git asks ssh-keygen and gpg, with the operator's files alone: a repository names neither keys nor
programs.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reconciler.shell.git.errors import GitError
from reconciler.shell.git.repository import Repository, check_commit
from reconciler.shell.git.signing import PROGRAMS

OPENPGP = re.compile(r"[0-9A-F]{40,64}")  # a fingerprint; that of SSH has its hash in front
FORMAT = "--format=tformat:%H%x00%G?%x00%GF%x00%GK"
PER_COMMAND = 1000
GOOD, UNDECIDED = "G", "U"
PROBLEMS: Mapping[str, str] = {
    "B": "its signature is not one of this commit",
    "N": "it is not signed",
    "R": "its key is revoked",
    "X": "its signature has expired",
    "Y": "its key has expired",
}
"""What git says of a signature that is not good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedKeys:
    """Whose signatures count.

    Attributes:
        signers: A file of allowed signers as ssh-keygen(1) has it, `None` for no SSH keys.
        keyring: A folder of gpg in which every key counts, `None` for no OpenPGP keys.
    """

    signers: Path | None = None
    keyring: Path | None = None

    @property
    def settings(self) -> Mapping[str, str]:
        """What tells git to check against them and nothing else."""
        gpg = "false" if self.keyring is None else "gpg"
        return {
            **PROGRAMS,
            "gpg.minTrustLevel": "undefined",
            "gpg.openpgp.program": gpg,
            "gpg.program": gpg,
            "gpg.ssh.allowedSignersFile": str(self.signers or "/dev/null"),
            "gpg.ssh.revocationFile": "/dev/null",
        }

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment that gpg needs."""
        return {} if self.keyring is None else {"GNUPGHOME": str(self.keyring)}


@dataclass(frozen=True, slots=True)
class Signature:
    """What was found out about the signature of one commit.

    `key` is the fingerprint of the key, `""` if none is known. `problem` says why the signature
    does not count, `""` if it does.
    """

    revision: str
    key: str
    problem: str


def read_signatures(
    repository: Repository, revisions: Sequence[str], allowed: AllowedKeys
) -> list[Signature]:
    """Return the signature of each commit, in the order given.

    Args:
        repository: Where to read.
        revisions: Full hex commit ids.
        allowed: Whose signatures count.

    Raises:
        GitError: A commit cannot be read.
    """
    git = repository.git.having(settings=allowed.settings, variables=allowed.variables)
    found: list[Signature] = []
    for start in range(0, len(revisions), PER_COMMAND):
        asked = revisions[start : start + PER_COMMAND]
        lines = "".join(f"{check_commit(one)}\n" for one in asked).encode()
        said = git.output("log", "--no-walk=unsorted", "--no-color", FORMAT, "--stdin", stdin=lines)
        answers = [_signature(line) for line in said.decode(errors="replace").splitlines()]
        if [one.revision for one in answers] != list(asked):
            raise GitError("git log did not answer for each commit that was asked for")
        found.extend(answers)
    return found


def _signature(line: str) -> Signature:
    """Return what a line of git says."""
    revision, state, fingerprint, named = line.split("\0")
    key = fingerprint or named
    if state == GOOD and key:
        return Signature(revision, key, "")
    if state == UNDECIDED and OPENPGP.fullmatch(key):
        return Signature(revision, key, "")
    told = f"its key {key} is not an allowed one" if key else "its key is not an allowed one"
    return Signature(revision, key, PROBLEMS.get(state, told))

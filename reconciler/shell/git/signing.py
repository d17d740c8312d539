"""Signs commits by a key of the operator, and reads who signed: SSH or OpenPGP.

Git runs ssh-keygen for SSH and gpg for OpenPGP. The private key never leaves its place: git hands
the text of a commit to the program that has it. Which program and which key is said here, and
outranks whatever a repository configures. A signature counts if its key is one that the operator
allows; that check, too, runs with the operator's files alone. A repository names neither keys nor
programs.
"""

import contextlib
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from reconciler.core.message import CommitPurpose
from reconciler.errors import UsageError
from reconciler.model.records import dataclass, replace
from reconciler.shell.git.command import GitError
from reconciler.shell.git.repository import (
    EMPTY_TREES,
    CommitIdentity,
    KeptProcesses,
    Repository,
    check_commit,
    check_identity,
)

PROGRAMS: Mapping[str, str] = {
    "gpg.openpgp.program": "gpg",
    "gpg.program": "gpg",
    "gpg.ssh.program": "ssh-keygen",
    "gpg.x509.program": "false",  # certificates are not accepted
}
"""What signs and what checks, whatever a repository names."""


class KeyFormat(StrEnum):
    """What kind of key signs."""

    SSH = "ssh"
    GPG = "gpg"


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A key that signs commits.

    Attributes:
        format: Of the key.
        name: The file of an SSH key, absolute; the id of an OpenPGP key.
        home: The folder in which gpg has its keys; `None` for SSH.
    """

    format: KeyFormat
    name: str
    home: Path | None = None

    @property
    def settings(self) -> Mapping[str, str]:
        """What tells git to sign by it."""
        return {
            **PROGRAMS,
            "gpg.format": "ssh" if self.format is KeyFormat.SSH else "openpgp",
            "i18n.commitEncoding": "UTF-8",
            "user.signingkey": self.name,
        }

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment that gpg needs."""
        return {} if self.home is None else {"GNUPGHOME": str(self.home)}


@dataclass(frozen=True, slots=True)
class CommitSigning:
    """The key that signs a commit, and what it is signed for: without a purpose none is signed."""

    key: SigningKey
    purpose: CommitPurpose

    @classmethod
    def by(cls, key: SigningKey | None, purpose: CommitPurpose) -> "CommitSigning | None":
        """Return how a key signs, `None` if there is none."""
        return None if key is None else cls(key, purpose)


def write_signed(
    repository: Repository,
    key: SigningKey,
    *,
    tree: str,
    parent: str | None,
    message: str,
    at: datetime,
    author: CommitIdentity,
) -> str:
    """Write a commit over a tree, signed; no branch moves.

    Args:
        repository: Where to write.
        key: Who signs.
        tree: Full hex id of the tree, or of a commit that has it.
        parent: Full hex id of a commit, `None` for none.
        message: As it is to stand there, with a line end.
        at: Aware moment of author and committer.
        author: Author and committer.

    Raises:
        GitError: The key did not sign.
    """
    return write_tree(
        repository,
        key,
        tree=tree,
        parents=() if parent is None else (parent,),
        message=message,
        at=at,
        author=author,
    )


def write_tree(
    repository: Repository,
    key: SigningKey | None,
    *,
    tree: str,
    parents: Sequence[str],
    message: str,
    at: datetime,
    author: CommitIdentity,
) -> str:
    """Write a commit over a tree with any parents, signed if there is a key; no branch moves.

    Raises:
        GitError: The key did not sign, or git failed.
    """
    check_identity(author)
    settings, variables = (key.settings, key.variables) if key is not None else ({}, {})
    signer = repository.git.having(settings=settings, variables={**variables, **_named(author, at)})
    sign = () if key is None else ("-S",)
    listed = [word for parent in parents for word in ("-p", check_commit(parent))]
    arguments = ("commit-tree", *sign, *listed, f"{check_commit(tree)}^{{tree}}")
    finished = signer.run(*arguments, stdin=message.encode())
    if finished.code != 0:
        said = signer.error(arguments, finished)
        raise said if key is None else GitError(f'the key "{key.name}" does not sign: {said}')
    return finished.stdout.decode().strip()


def _named(author: CommitIdentity, at: datetime) -> Mapping[str, str]:
    """Return the environment that names who writes a commit, and when."""
    moment = f"@{int(at.timestamp())} +0000"
    return {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", author.name), ("EMAIL", author.email), ("DATE", moment))
    }


@contextlib.contextmanager
def tried(
    repository: Repository, key: SigningKey, at: datetime
) -> Iterator[tuple[Repository, str]]:
    """Sign a commit without files, dated now and aside: nothing of it stays.

    Yields:
        A repository that has the commit, and the commit.

    Raises:
        UsageError: The key does not sign.
    """
    with tempfile.TemporaryDirectory(prefix="reconciler-") as folder:
        aside = repository.git.having(variables={"GIT_OBJECT_DIRECTORY": folder})
        there = replace(repository, git=aside, kept=KeptProcesses())
        try:
            commit = write_signed(
                there,
                key,
                tree=EMPTY_TREES[repository.object_format],
                parent=None,
                message="Try the key\n",
                at=at,
                author=CommitIdentity("reconciler", "reconciler@localhost"),
            )
        except GitError as error:
            raise UsageError(f"--signing-key: {error}") from None
        yield there, commit


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
    signatures: list[Signature] = []
    for start in range(0, len(revisions), PER_COMMAND):
        asked = revisions[start : start + PER_COMMAND]
        lines = "".join(f"{check_commit(revision)}\n" for revision in asked).encode()
        said = git.output("log", "--no-walk=unsorted", "--no-color", FORMAT, "--stdin", stdin=lines)
        answers = [_signature(line) for line in said.decode(errors="replace").splitlines()]
        if [answer.revision for answer in answers] != list(asked):
            raise GitError("git log did not answer for each commit that was asked for")
        signatures.extend(answers)
    return signatures


def _signature(line: str) -> Signature:
    revision, state, fingerprint, named = line.split("\0")
    key = fingerprint or named
    if state == GOOD and key:
        return Signature(revision, key, "")
    if state == UNDECIDED and OPENPGP.fullmatch(key):
        return Signature(revision, key, "")
    unknown = f"its key {key} is not an allowed one" if key else "its key is not an allowed one"
    return Signature(revision, key, PROBLEMS.get(state, unknown))

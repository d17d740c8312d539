"""Real keys for tests, made by ssh-keygen and gpg, and commits that people sign with them."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from reconciler.shell.git.signing import KeyFormat, SigningKey
from tests.shell.repositories import ENVIRONMENT, Checkout


@dataclass(frozen=True)
class SshKey:
    """An SSH key: its private file, and the line that allows it."""

    file: Path
    line: str

    @property
    def signing(self) -> SigningKey:
        """The key as the one that signs."""
        return SigningKey(format=KeyFormat.SSH, name=str(self.file))

    @property
    def fingerprint(self) -> str:
        """What git calls the key."""
        return run("ssh-keygen", "-l", "-f", str(self.file)).split()[1]


def new_ssh_key(folder: Path, who: str) -> SshKey:
    """Make an SSH key of somebody."""
    folder.mkdir(exist_ok=True)
    file = folder / who
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", who, "-f", str(file))
    public = file.with_suffix(".pub").read_text()
    return SshKey(file, f"{who}@example.com {public}")


def allowing(folder: Path, *keys: SshKey) -> Path:
    """Write a file that allows some keys."""
    place = folder / "allowed_signers"
    place.write_text("".join(key.line for key in keys))
    return place


@contextmanager
def gpg_home() -> Iterator[Path]:
    """Make a folder of gpg with a key of `robot@example.com`; the agent ends with the block."""
    with TemporaryDirectory(prefix="gpg-", dir="/tmp") as name:  # sockets have short paths
        home = Path(name)
        options = ("--homedir", name, "--batch", "--quiet", "--passphrase", "")
        run("gpg", *options, "--quick-generate-key", "robot@example.com", "ed25519", "sign", "0")
        try:
            yield home
        finally:
            run("gpgconf", "--homedir", name, "--kill", "all")


def run(*command: str) -> str:
    """Run a program that must succeed, and return its output."""
    found = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert 0 == found.returncode, found.stderr
    return found.stdout


def commit_signed(checkout: Checkout, key: SshKey, files: Mapping[str, str]) -> str:
    """Commit as a person who signs by a key."""
    checkout.git("config", "gpg.format", "ssh")
    checkout.git("config", "user.signingkey", str(key.file))
    checkout.git("config", "commit.gpgsign", "true")
    try:
        return checkout.commit(files)
    finally:
        checkout.git("config", "commit.gpgsign", "false")

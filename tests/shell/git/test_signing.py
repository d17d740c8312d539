"""Commits that are signed by files or agents, and what is said of signatures."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from reconciler.core.changes import WriteFile
from reconciler.core.message import CommitPurpose, Purpose
from reconciler.errors import UsageError
from reconciler.model.records import replace
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.history import read_commit
from reconciler.shell.git.objects import list_files
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.signing import (
    AllowedKeys,
    CommitSigning,
    KeyFormat,
    Signature,
    SigningKey,
    read_signatures,
    tried,
)
from tests.shell.fleet import DAEMON
from tests.shell.keys import allowing, commit_signed, gpg_home, new_ssh_key, run
from tests.shell.repositories import NOW, git, new_checkout

PURPOSE = CommitPurpose(Purpose.DECISIONS, "main")


def opened(folder: Path) -> Repository:
    """A repository with one commit."""
    return Repository.open(new_checkout(folder, {"a": "a\n"}).folder)


def written(repository: Repository, key: SigningKey | None, text: str = "b\n") -> str:
    """Write a commit on top of the branch."""
    return write_commit(
        repository,
        [WriteFile("b", text)],
        parent=repository.resolve("main"),
        message="Place ä\n\nReconciled-At: now",
        at=NOW,
        author=DAEMON,
        signing=CommitSigning.by(key, PURPOSE),
    )


def problems(repository: Repository, allowed: AllowedKeys, *revisions: str) -> list[str]:
    """What speaks against the signatures of commits."""
    return [one.problem for one in read_signatures(repository, revisions, allowed)]


def test_a_signature_and_its_purpose_are_all_that_a_key_changes(tmp_path: Path) -> None:
    """Tree, parents, author, moments and message are those of the commit without one."""
    repository = opened(tmp_path / "r")
    robot = new_ssh_key(tmp_path / "keys", "robot")
    plain, signed = written(repository, None), written(repository, robot.signing)

    trailers = (("Reconciled-At", "now"), ("Reconciled-For", "decisions main"))
    assert replace(read_commit(repository, plain), trailers=trailers) == replace(
        read_commit(repository, signed), revision=plain
    )
    assert list_files(repository, plain) == list_files(repository, signed)
    raw = git(repository.git_dir, "cat-file", "commit", signed)
    head, _, rest = raw.partition("gpgsig ")
    signature_ended = rest.partition("-----END SSH SIGNATURE-----\n")[2]
    told = f"{git(repository.git_dir, 'cat-file', 'commit', plain)}\nReconciled-For: {PURPOSE}"
    assert told == head + signature_ended


def test_a_commit_that_an_ssh_key_signed_is_told_with_its_key(tmp_path: Path) -> None:
    """The fingerprint is that of ssh-keygen."""
    repository = opened(tmp_path / "r")
    robot = new_ssh_key(tmp_path / "keys", "robot")
    signed = written(repository, robot.signing)

    found = read_signatures(repository, [signed], AllowedKeys(signers=allowing(tmp_path, robot)))

    assert [Signature(signed, robot.fingerprint, "")] == found


def test_a_key_of_gpg_signs_and_is_checked_in_its_folder(tmp_path: Path) -> None:
    """Another folder of gpg does not know it, and without one no such key counts."""
    repository = opened(tmp_path / "r")
    with gpg_home() as home, gpg_home() as other:
        key = SigningKey(format=KeyFormat.GPG, name="robot@example.com", home=home)
        signed = written(repository, key)

        assert [""] == problems(repository, AllowedKeys(keyring=home), signed)
        assert ["not an allowed one"] == [
            said[-18:] for said in problems(repository, AllowedKeys(keyring=other), signed)
        ]
        assert [] != [said for said in problems(repository, AllowedKeys(), signed) if said]


def test_what_is_not_signed_by_an_allowed_key_says_why(tmp_path: Path) -> None:
    """Without a signature, by a stranger, with a signature that was cut out of another commit."""
    repository = opened(tmp_path / "r")
    robot, stranger = (new_ssh_key(tmp_path / "keys", who) for who in ("robot", "stranger"))
    by_stranger = written(repository, stranger.signing)
    raw = git(repository.git_dir, "cat-file", "commit", written(repository, robot.signing))
    forged = git(
        repository.git_dir, "hash-object", "-t", "commit", "-w", "--stdin",
        stdin=raw.replace("Place", "Move").encode() + b"\n",
    )  # fmt: skip
    key = run("ssh-keygen", "-l", "-f", str(stranger.file)).split()[1]

    assert [
        "it is not signed",
        f"its key {key} is not an allowed one",
        "its signature is not one of this commit",
    ] == problems(
        repository,
        AllowedKeys(signers=allowing(tmp_path, robot)),
        written(repository, None), by_stranger, forged,
    )  # fmt: skip


def test_the_repository_names_no_keys_and_no_programs(tmp_path: Path) -> None:
    """Its configuration would allow the stranger, and run a program of its own."""
    repository = opened(tmp_path / "r")
    robot, stranger = (new_ssh_key(tmp_path / "keys", who) for who in ("robot", "stranger"))
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\n")
    program.chmod(0o755)
    theirs = tmp_path / "theirs"
    theirs.write_text(stranger.line)
    for name in ("gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.x509.program"):
        git(repository.git_dir, "config", name, str(program))
    git(repository.git_dir, "config", "gpg.ssh.allowedSignersFile", str(theirs))
    git(repository.git_dir, "config", "gpg.ssh.defaultKeyCommand", str(program))
    git(repository.git_dir, "config", "user.signingkey", str(stranger.file))
    git(repository.git_dir, "config", "gpg.minTrustLevel", "never")
    hook = repository.git_dir / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(program.read_text())
    hook.chmod(0o755)
    allowed = AllowedKeys(signers=allowing(tmp_path, robot))

    found = problems(
        repository,
        allowed,
        written(repository, robot.signing),
        written(repository, stranger.signing),
    )

    assert (True, False, False) == (found[0] == "", found[1] == "", ran.exists())


def test_a_key_that_does_not_sign_is_told_at_the_start(tmp_path: Path) -> None:
    """One sentence, and nothing is left of the attempt."""
    repository = opened(tmp_path / "r")
    broken = tmp_path / "broken"
    broken.write_text("no key\n")
    broken.chmod(0o600)
    before = git(repository.git_dir, "count-objects", "-v")

    with (
        pytest.raises(UsageError, match=r"--signing-key: the key .*broken.* does not sign"),
        tried(repository, SigningKey(format=KeyFormat.SSH, name=str(broken)), NOW),
    ):
        pass

    assert before == git(repository.git_dir, "count-objects", "-v")


def test_a_key_is_tried_without_a_trace(tmp_path: Path) -> None:
    """The commit is there while it is looked at, and not afterwards."""
    repository = opened(tmp_path / "r")
    robot = new_ssh_key(tmp_path / "keys", "robot")
    before = git(repository.git_dir, "count-objects", "-v")
    allowed = AllowedKeys(signers=allowing(tmp_path, robot))

    with tried(repository, robot.signing, NOW) as (there, commit):
        found = problems(there, allowed, commit)

    assert ([""], before) == (found, git(repository.git_dir, "count-objects", "-v"))


def test_a_person_signs_as_git_does(tmp_path: Path) -> None:
    """What git commit wrote counts like what a pass wrote."""
    checkout = new_checkout(tmp_path / "r", {"a": "a\n"})
    ada = new_ssh_key(tmp_path / "keys", "ada")
    signed = commit_signed(checkout, ada, {"b": "b\n"})

    allowed = AllowedKeys(signers=allowing(tmp_path, ada))
    assert [""] == problems(Repository.open(checkout.folder), allowed, signed)


@contextmanager
def agent(key: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run an agent that holds a key."""
    with TemporaryDirectory(prefix="agent-", dir="/tmp") as name:  # sockets have short paths
        said = run("ssh-agent", "-a", f"{name}/socket")
        (pid,) = [word.rstrip(";") for word in said.split() if word.rstrip(";").isdecimal()][:1]
        monkeypatch.setenv("SSH_AUTH_SOCK", f"{name}/socket")
        try:
            run("env", f"SSH_AUTH_SOCK={name}/socket", "ssh-add", "-q", str(key))
            yield
        finally:
            run("kill", pid)


def test_a_public_key_signs_by_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The private half is nowhere but in the agent."""
    robot = new_ssh_key(tmp_path / "keys", "robot")
    allowed = AllowedKeys(signers=allowing(tmp_path, robot))
    public = SigningKey(format=KeyFormat.SSH, name=str(robot.file.with_suffix(".pub")))
    with agent(robot.file, monkeypatch):
        robot.file.unlink()
        repository = opened(tmp_path / "r")

        assert [""] == problems(repository, allowed, written(repository, public))


def test_a_key_with_a_passphrase_that_no_agent_knows_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once: nothing asks for it, and nothing waits."""
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    robot = new_ssh_key(tmp_path / "keys", "robot")
    run("ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", str(robot.file))

    with (
        pytest.raises(UsageError, match="does not sign"),
        tried(opened(tmp_path / "r"), robot.signing, NOW),
    ):
        pass


@pytest.mark.parametrize(
    ("dates", "counts"),
    [
        pytest.param('valid-before="20261121"', True, id="still"),
        pytest.param('valid-before="20261119"', False, id="no-more"),
        pytest.param('valid-after="20261119"', True, id="already"),
        pytest.param('valid-after="20261122"', False, id="not-yet"),
    ],
)
def test_a_key_counts_on_its_days(tmp_path: Path, dates: str, *, counts: bool) -> None:
    """By the date of the commit."""
    robot = new_ssh_key(tmp_path / "keys", "robot")
    who, rest = robot.line.split(" ", 1)
    signers = tmp_path / "signers"
    signers.write_text(f"{who} {dates} {rest}")
    repository = opened(tmp_path / "r")

    (problem,) = problems(
        repository, AllowedKeys(signers=signers), written(repository, robot.signing)
    )

    assert counts == (problem == "")

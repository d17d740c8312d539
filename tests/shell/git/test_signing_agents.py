"""Keys that an agent holds, that need a passphrase, and that count for a while only."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from reconciler.errors import UsageError
from reconciler.shell.git.signing import AllowedKeys, KeyFormat, SigningKey, tried
from tests.shell.git.test_signing import opened, problems, written
from tests.shell.keys import allowing, new_ssh_key, run
from tests.shell.repositories import NOW


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

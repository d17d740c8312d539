"""Daemons before a remote in trouble: what is told by log and probe, and that they recover."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from reconciler.cli.main import run
from tests.shell.fleet import EXAMPLE, decisions, eventually, load_world, running
from tests.shell.remote_servers import (
    Trouble,
    WebServer,
    basic,
    new_certificate,
    web_server,
)
from tests.shell.repositories import git, new_bare

PROTECTED = """\
#!/bin/sh
echo 'error: GH006: Protected branch update failed for refs/heads/main.' >&2
exit 1
"""
"""What GitHub answers to a push to a protected branch."""


@dataclass
class Served:
    """A remote on a web server, and the options that reach it."""

    folder: Path
    web: WebServer

    @property
    def remote(self) -> Path:
        """The repository."""
        return self.folder / "remote"

    @property
    def options(self) -> list[str]:
        """Options of `run` and `reconcile`."""
        return [
            *("--remote", f"{self.web.url}/remote", "--mirror", str(self.folder / "mirror")),
            *("--ca-file", str(self.folder / "server.pem")),
            *("--credential-file", str(self.folder / "credential")),
        ]

    def refuse_pushes(self) -> None:
        """Protect the branch."""
        hook = self.remote / "hooks/pre-receive"
        hook.write_text(PROTECTED)
        hook.chmod(0o755)

    def allow_pushes(self) -> None:
        """Take the protection away."""
        (self.remote / "hooks/pre-receive").unlink()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A remote with the example, and a server that asks for a password."""
    new_bare(tmp_path / "remote", EXAMPLE)
    (tmp_path / "credential").write_text("me:pass-word\n")
    with web_server(tmp_path, certificate=new_certificate(tmp_path)) as web:
        web.credential = basic("me", "pass-word")
        yield Served(tmp_path, web)


@contextmanager
def daemon(served: Served) -> Iterator["Watched"]:
    """Run a daemon with a listener while the block lasts."""
    log = served.folder / "log"
    options = [*served.options, "--poll-seconds", "0.2", "--listen", "0", "--log-format", "json"]
    with running(served.folder, *options, log=log):
        yield Watched(log)
    assert "pass-word" not in log.read_text()


@dataclass
class Watched:
    """A daemon that runs, as its operator sees it."""

    log: Path

    def ready(self) -> tuple[int, str]:
        """Ask its probe."""
        ports = re.findall(r'"port": ?(\d+)', self.log.read_text())
        if not ports:
            return 0, ""
        answer = httpx.get(f"http://127.0.0.1:{ports[0]}/readyz")
        return answer.status_code, answer.text

    def is_green(self) -> bool:
        """True once it is ready."""
        return self.ready()[0] == 200

    def failures(self) -> list[str]:
        """Return what the log tells of passes that failed."""
        lines = map(json.loads, self.log.read_text().splitlines())
        return [line["error"] for line in lines if line["msg"].startswith("pass failed")]

    def until_red(self, reason: str) -> None:
        """Wait until the probe is red for a reason, which the log has, too."""
        eventually(lambda: self.ready()[0] == 503 and reason in self.ready()[1], reason)
        assert any(reason in failure for failure in self.failures())


def recovers(watched: Watched, served: Served) -> None:
    """The daemon becomes ready by itself, and what it decided is at the remote."""
    eventually(watched.is_green, "recovery")
    assert 3 == len(decisions(load_world(served.remote)))


def test_a_protected_branch_is_told(served: Served) -> None:
    """With the server's words; once it lets the push through, all is well."""
    served.refuse_pushes()
    with daemon(served) as watched:
        watched.until_red("refused the push (remote rejected): pre-receive hook declined")
        assert 'the server says: "GH006: Protected branch' in watched.ready()[1]
        served.allow_pushes()
        recovers(watched, served)


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        pytest.param(Trouble.STRANGER, "check the URL and the credentials", id="authentication"),
        pytest.param(Trouble.FORBIDDEN, "returned error: 403; check the URL", id="permission"),
        pytest.param(Trouble.AWAY, "unable to access", id="network"),
    ],
)
def test_a_remote_that_lets_nobody_in_is_told(
    served: Served, trouble: Trouble, reason: str
) -> None:
    """Its reason on the probe and in the log, without the password; afterwards it goes on."""
    served.web.trouble = trouble
    with daemon(served) as watched:
        watched.until_red(reason)
        served.web.trouble = Trouble.NONE
        recovers(watched, served)


def test_a_remote_that_stops_in_a_pack_is_given_up(served: Served) -> None:
    """After the time limit of the options, in words."""
    served.web.trouble = Trouble.STALL
    assert 1 == run(["reconcile", *served.options, "--remote-timeout-seconds", "1"])
    served.web.trouble = Trouble.NONE
    assert 0 == run(["reconcile", *served.options])


def test_a_push_whose_outcome_is_not_known_is_found_out(served: Served) -> None:
    """The answer is lost each time, and yet everything is decided once."""
    served.web.trouble = Trouble.LOST_ANSWER
    with daemon(served) as watched:
        recovers(watched, served)
    assert [] == watched.failures()
    placed = git(served.remote, "log", "--grep=^Place ", "--format=%H", "main")
    assert 1 == len(placed.splitlines())


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        pytest.param(Trouble.STRANGER, "check the URL and the credentials", id="authentication"),
        pytest.param(Trouble.AWAY, "unable to access", id="network"),
    ],
)
def test_one_pass_that_cannot_reach_its_remote_says_no(
    served: Served, capsys: pytest.CaptureFixture[str], trouble: Trouble, said: str
) -> None:
    """Exit code 1, and a sentence."""
    served.web.trouble = trouble

    assert 1 == run(["reconcile", *served.options])
    assert said in capsys.readouterr().err


def test_one_pass_that_is_refused_says_no(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, and the server's words."""
    served.refuse_pushes()

    assert 1 == run(["reconcile", *served.options])
    assert "GH006: Protected branch" in capsys.readouterr().err

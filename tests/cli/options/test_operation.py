"""Operating options of `run`: secrets come from files or the environment, and mistakes are told."""

import json
import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from reconciler.cli.main import run
from reconciler.shell.git.command import forms_of
from reconciler.shell.http.listener import MOST_CONNECTIONS
from tests.shell.daemon.test_run_remote import clone, push_patiently
from tests.shell.fleet import (
    EXAMPLE,
    commit_beside_daemon,
    decisions,
    eventually,
    load_world,
    new_fleet,
    running,
)
from tests.shell.listening import SECRET, signed
from tests.shell.receivers import Reply, contract_faults, receiver
from tests.shell.repositories import new_bare


def port_in(log: Path) -> int:
    """Return the port on which a daemon says that it listens."""
    lines = map(json.loads, log.read_text().splitlines())
    return next(int(line["port"]) for line in lines if line["msg"] == "listening")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param("short", "must hold at least 16 characters", id="short"),
        pytest.param("\n", "must hold at least 16 characters", id="empty"),
        pytest.param(None, "cannot be read: No such file or directory", id="absent"),
    ],
)
def test_a_secret_that_is_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, says: str
) -> None:
    """Before anything is served."""
    fleet = new_fleet(tmp_path / "fleet")
    file = tmp_path / "secret"
    if content is not None:
        file.write_text(content)

    options = ["run", "--listen", "0", "--webhook-secret-file", str(file)]
    assert 2 == run(["-C", str(fleet.folder), *options])
    assert says in capsys.readouterr().err


def test_a_webhook_needs_a_listener(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A secret alone would wait for hooks that never come."""
    fleet = new_fleet(tmp_path / "fleet")
    monkeypatch.setenv("RECONCILER_WEBHOOK_SECRET", SECRET)

    assert 2 == run(["-C", str(fleet.folder), "run"])
    assert "a webhook secret requires --listen" in capsys.readouterr().err


def test_a_hook_is_as_good_as_a_poll(tmp_path: Path) -> None:
    """A person's push is decided though the next poll is an hour away; probes and metrics tell."""
    remote = new_bare(tmp_path / "remote", EXAMPLE)
    person = clone(remote, tmp_path / "person")
    secret, log = tmp_path / "secret", tmp_path / "log"
    secret.write_text(f"{SECRET}\n")
    options = [
        *("--remote", str(remote), "--mirror", str(tmp_path / "m"), "--poll-seconds", "3600"),
        *("--listen", "0", "--webhook-secret-file", str(secret), "--log-format", "json"),
    ]
    with running(tmp_path, *options, log=log):
        base = f"http://127.0.0.1:{port_in(log)}"
        eventually(lambda: len(decisions(load_world(remote))) == 3, "first placement")
        more = EXAMPLE["workloads/settings.yaml"].replace("name: settings", "name: more")
        person.commit({"workloads/more.yaml": more})
        push_patiently(person)
        header = {"X-Signature": f"sha256={signed(b'')}"}
        assert 202 == httpx.post(f"{base}/hook", headers=header).status_code
        eventually(lambda: len(decisions(load_world(remote))) == 4, "the new workload")

        lag = "reconciler_decision_lag_seconds_count 1.0\n"
        eventually(lambda: lag in httpx.get(f"{base}/metrics").text, "the lag of the decision")
        assert "ok\n" == httpx.get(f"{base}/readyz").text
    assert SECRET not in log.read_text()


def test_a_daemon_that_cannot_reach_its_remote_is_red_and_keeps_its_secrets(
    tmp_path: Path,
) -> None:
    """Log, probes and metrics hold the reason, and no credential in any form."""
    token = "t0ken/of the+operator"  # noqa: S105  # of tests only
    url = f"https://me:{quote(token, safe='')}@127.0.0.1:1/fleet.git"
    secret, log = tmp_path / "secret", tmp_path / "log"
    secret.write_text(f"{SECRET}\n")
    options = [
        *("--remote", url, "--mirror", str(tmp_path / "m"), "--log-format", "json"),
        *("--listen", "0", "--webhook-secret-file", str(secret)),
    ]
    with running(tmp_path, *options, log=log):
        eventually(lambda: "pass failed" in log.read_text(), "the failure")
        port = port_in(log)
        ready = httpx.get(f"http://127.0.0.1:{port}/readyz")
        metrics = httpx.get(f"http://127.0.0.1:{port}/metrics").text

    assert 503 == ready.status_code
    assert "the last pass failed" in ready.text
    assert "127.0.0.1" in ready.text
    assert 'reconciler_reconcile_total{result="failed"}' in metrics
    for said in (log.read_text(), ready.text, metrics):
        assert [] == [form for one in (token, SECRET) for form in forms_of(one) if form in said]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param(
            ["--report", "github", "https://github.com/a/b"], "--report-token-file", id="no-token"
        ),
        pytest.param(
            ["--report", "webhook", "https://example.com/"], "--report-secret-file", id="no-secret"
        ),
        pytest.param(["--report", "bitbucket", "https://x/a/b"], "'bitbucket'", id="unknown"),
        pytest.param(
            ["--report", "github", "https://x/a/b", "--report", "gitea", "https://x/a/b"],
            "one forge",
            id="two-forges",
        ),
    ],
)
def test_reports_that_cannot_be_sent_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    """With what is missing."""
    fleet = new_fleet(tmp_path / "fleet")

    assert 2 == run(["-C", str(fleet.folder), "run", *options])
    assert says in capsys.readouterr().err


def test_a_daemon_reports_to_its_forge_and_to_a_webhook(tmp_path: Path) -> None:
    """By options alone; both end well with it, and the log has neither token nor secret."""
    fleet = new_fleet(tmp_path / "fleet")
    token, secret, log = tmp_path / "token", tmp_path / "secret", tmp_path / "log"
    token.write_text("0123456789abcdef0123\n")
    secret.write_text(f"{SECRET}\n")
    with receiver() as forge, receiver(Reply(503), Reply(204)) as hook:
        options = [
            *("--report", "gitea", f"{forge.url}/acme/fleet", "--report-context", "fleet/eu"),
            *("--report-token-file", str(token), "--report-secret-file", str(secret)),
            *("--report", "webhook", f"{hook.url}/events", "--log-format", "json"),
        ]
        with running(fleet.folder, *options, log=log):
            eventually(lambda: len(hook.received) >= 2 and len(forge.received) >= 1, "the reports")

    states = {one.fields["state"] for one in forge.received}
    assert "success" in states <= {"pending", "success"}
    assert {"fleet/eu"} == {one.fields["context"] for one in forge.received}
    assert [] == [
        fault for one in forge.received for fault in contract_faults("gitea", one, base="/api/v1")
    ]
    assert {f"sha256={signed(one.body)}" for one in hook.received} == {
        one.headers["X-Signature"] for one in hook.received
    }
    text = log.read_text()
    assert [] == [
        one for key in (SECRET, "0123456789abcdef0123") for one in forms_of(key) if one in text
    ]


def test_a_token_of_two_lines_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would stand in a header."""
    fleet = new_fleet(tmp_path / "fleet")
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\nX-Admin: yes\n")

    options = ["--report", "github", "https://x.example/a/b", "--report-token-file", str(file)]
    assert 2 == run(["-C", str(fleet.folder), "run", *options])
    assert "one line of ASCII" in capsys.readouterr().err


def test_slow_clients_delay_no_pass(tmp_path: Path) -> None:
    """As many as are served at a time, none of which ends its request."""
    fleet = new_fleet(tmp_path / "fleet")
    log = tmp_path / "log"
    with (
        running(fleet.folder, "--listen", "0", "--log-format", "json", log=log),
        ExitStack() as slow,
    ):
        address = ("127.0.0.1", port_in(log))
        for _ in range(MOST_CONNECTIONS):
            connection = slow.enter_context(socket.create_connection(address))
            connection.sendall(b"POST /hook HTTP/1.1\r\nContent-Length: 9\r\n")
        eventually(lambda: len(decisions(load_world(fleet.folder))) == 3, "first placement")
        more = EXAMPLE["workloads/settings.yaml"].replace("name: settings", "name: more")
        commit_beside_daemon(fleet, {"workloads/more.yaml": more})
        eventually(lambda: len(decisions(load_world(fleet.folder))) == 4, "the new workload")


def test_a_lock_that_git_left_behind_makes_unready(tmp_path: Path) -> None:
    """The probe names it, and is green again once a person has removed it."""
    fleet = new_fleet(tmp_path / "fleet")
    log = tmp_path / "log"
    lock = fleet.folder / ".git/refs/heads/main.lock"
    lock.touch()
    with running(fleet.folder, "--listen", "0", "--log-format", "json", log=log):
        probe = f"http://127.0.0.1:{port_in(log)}/readyz"
        eventually(lambda: "main.lock" in httpx.get(probe).text, "the reason")
        assert 503 == httpx.get(probe).status_code
        lock.unlink()
        eventually(lambda: httpx.get(probe).status_code == 200, "a pass")


def test_the_environment_may_say_who_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a unit or a container does: kinds and addresses, one after the other."""
    fleet = new_fleet(tmp_path / "fleet")
    monkeypatch.setenv("RECONCILER_REPORT_TOKEN", "0123456789abcdef0123")
    monkeypatch.setenv("RECONCILER_REPORT_SECRET", SECRET)
    monkeypatch.setenv("RECONCILER_REPORT", "webhook https://x.example/h gitea https://x.example/")

    assert 2 == run(["-C", str(fleet.folder), "run"])
    assert 'gitea "https://x.example/" must name a repository' in capsys.readouterr().err

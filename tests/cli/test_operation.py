"""Operating options of `run`: files, the environment, settings, and how a process ends."""

import json
import re
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import click
import httpx
import pytest

from reconciler.cli.main import cli, run
from reconciler.cli.reconcile import MOST_DECISIONS
from reconciler.cli.settings import read_settings
from reconciler.cli.verbs.run import run_command
from reconciler.errors import UsageError
from reconciler.shell.git.command import forms_of
from reconciler.shell.http.listener import MOST_CONNECTIONS
from tests.builders import cluster, deployment, path_of, policy, text
from tests.shell.daemon.test_roots import ask
from tests.shell.daemon.test_run import clone, push_patiently
from tests.shell.fleet import (
    EXAMPLE,
    ROOT,
    commit_beside_daemon,
    decisions,
    eventually,
    load_world,
    new_fleet,
    process_environment,
    reconciler,
    running,
)
from tests.shell.repositories import Checkout, git, new_bare, new_checkout
from tests.shell.servers import SECRET, Reply, contract_faults, receiver, signed


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


def settings_of(tmp_path: Path, text: str) -> dict[str, object]:
    """Return how a file is read."""
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    return read_settings(click.Context(run_command, info_name="run"), file)


def test_options_stand_in_the_file_by_their_names(tmp_path: Path) -> None:
    """Those that may be repeated as lists."""
    text = (
        "poll-seconds: 30\nroot: [teams/a, teams/b]\nauthor: bot <bot@example.com>\n"
        "report: [[github, https://github.com/acme/fleet]]\n"
        "page-forge: [github, https://github.com/acme/fleet]\n"
    )
    expected = {
        "poll_seconds": "30",
        "roots": ["teams/a", "teams/b"],
        "author": "bot <bot@example.com>",
        "report": [["github", "https://github.com/acme/fleet"]],
        "page_forge": ["github", "https://github.com/acme/fleet"],
    }

    assert expected == settings_of(tmp_path, text)
    assert {} == settings_of(tmp_path, "# nothing yet\n")


def test_the_file_of_the_page_is_one(tmp_path: Path) -> None:
    """docs/operations.md shows it."""
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```yaml\n(remote: .*?)^```$", page, re.MULTILINE | re.DOTALL)

    assert {"remote", "credential_file", "roots", "listen", "report"} == set(
        settings_of(tmp_path, example)
    )


def test_what_is_given_or_in_the_environment_counts_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is for what neither says."""
    file = tmp_path / "settings.yaml"
    file.write_text("branch: file\nmirror: file\nlisten: '1'\n")
    monkeypatch.setenv("RECONCILER_MIRROR", "environment")

    above = cli.make_context("reconciler", [], resilient_parsing=True)
    context = run_command.make_context(
        "run", ["--settings", str(file), "--branch", "given"], parent=above, obj=tmp_path
    )

    found = [str(context.params[name]) for name in ("branch", "mirror", "listen")]
    assert ["given", "environment", "1"] == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: [", r'settings.yaml":1 must be YAML', id="no-yaml"),
        pytest.param("- a", "must be a mapping of options", id="list"),
        pytest.param(
            "branch: a\npol: 3", r'":2: `pol` must be one of .*, poll-seconds, ', id="unknown"
        ),
        pytest.param("settings: x", "`settings` must be one of", id="itself"),
        pytest.param("poll-seconds: soon", "`poll-seconds`: 'soon' is not a valid", id="type"),
        pytest.param("branch: [a, b]", "`branch` must be a single value", id="one"),
        pytest.param("root: a", "`root` must be a list", id="many"),
        pytest.param("page-forge: github", "`page-forge` must be a list", id="pair"),
    ],
)
def test_a_broken_file_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    """And with what would be right."""
    with pytest.raises(UsageError, match=message):
        settings_of(tmp_path, text)


def test_a_daemon_does_not_start_with_broken_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no last good one yet."""
    fleet = new_fleet(tmp_path / "fleet")
    missing = str(tmp_path / "missing")

    assert 2 == run(["-C", str(fleet.folder), "run", "--settings", missing])
    assert f'--settings "{missing}" cannot be read: No such file' in capsys.readouterr().err


def test_settings_count_anew_when_they_change(tmp_path: Path) -> None:
    """A broken file, and one that cannot be served, keep the last good one and are reported."""
    fleet = new_fleet(tmp_path / "fleet")
    file, log = tmp_path / "settings.yaml", tmp_path / "log"
    file.write_text("author: first <first@example.com>\nlog-format: json\n")

    def author() -> str:
        return git(fleet.folder, "log", "-1", "--format=%an", "main")

    def refusals() -> list[str]:
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return [line["error"] for line in lines if line["msg"].startswith("settings refused")]

    def refused() -> bool:
        return "reconciler_settings_refused 1.0" in ask(log, "/metrics")[1]

    with running(fleet.folder, "--settings", str(file), "--listen", "0", log=log):
        eventually(lambda: author() == "first", "the first author")
        assert not refused()
        file.write_text("author: nonsense: [")
        eventually(lambda: len(refusals()) == 1, "the broken file")
        assert refused()
        file.write_text("author: no mail address\nlog-format: json\n")
        eventually(lambda: len(refusals()) == 2, "the file that cannot be served")
        fleet.git("revert", "--no-edit", "HEAD")
        eventually(lambda: author() == "first", "the last good settings")
        assert refused()
        file.write_text("author: second <second@example.com>\nlog-format: json\n")
        eventually(lambda: log.read_text().count('"msg": "serving"') >= 3, "the other settings")
        fleet.git("revert", "--no-edit", "HEAD")
        eventually(lambda: author() == "second", "the second author")
        assert not refused()
    assert "must be NAME <EMAIL>" in refusals()[1]


NOW = "2027-01-01T00:00:00Z"
MORE = 3


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A repository whose first pass places a few more workloads than are printed."""
    count = MOST_DECISIONS + MORE
    bodies = [cluster(), policy(), *(deployment(f"web-{number:03}") for number in range(count))]
    return new_checkout(tmp_path / "fleet", {path_of(body): text(body) for body in bodies})


def test_a_large_pass_prints_its_beginning(checkout: Checkout) -> None:
    """The first decisions, how many there are besides, and what became of the pass."""
    told = reconciler(checkout.folder, "reconcile", "--now", NOW).stdout.splitlines()

    assert MOST_DECISIONS + 2 == len(told)
    assert told[MOST_DECISIONS - 1].startswith(f"default/web-{MOST_DECISIONS - 1:03}: ")
    assert f"and {MORE} more; -v shows all" == told[MOST_DECISIONS]
    assert " files changed in " in told[-1]


def test_a_large_pass_prints_all_where_it_is_asked_to(checkout: Checkout) -> None:
    """Each decision, and in a dry run each file."""
    brief = reconciler(checkout.folder, "reconcile", "--dry-run", "--now", NOW).stdout
    whole = reconciler(checkout.folder, "reconcile", "--dry-run", "--now", NOW, "-v").stdout
    lines = whole.splitlines()
    count = MOST_DECISIONS + MORE

    assert count == sum(line.startswith("default/web-") for line in lines)
    assert f"{sum(line.startswith('write ') for line in lines)} files would change" == lines[-1]
    assert 2 == sum(line.startswith("and ") for line in brief.splitlines())
    assert 2 * MOST_DECISIONS + 3 == len(brief.splitlines())


COMMAND = """
import sys, threading, weakref
from reconciler.cli import main

class Held:
    def __del__(self, say=print):
        say("tidied", flush=True)

def others():
    threading.main_thread().join()
    print("thread ended")

def run(arguments):
    main.held = Held()
    weakref.finalize(main.held, print, "finalized")
    threading.Thread(target=others).start()
    print("printed")
    return code(arguments)

code = main.run
main.run = run
main.main(sys.argv[1:])
"""


COMPLETION = {
    "_RECONCILER_COMPLETE": "bash_complete",
    "COMP_WORDS": "reconciler versi",
    "COMP_CWORD": "1",
}


@pytest.mark.parametrize(
    ("arguments", "variables", "code"),
    [
        pytest.param(("version",), {}, 0, id="answered"),
        pytest.param(("fetch",), {}, 2, id="asked-wrongly"),
        pytest.param((), COMPLETION, 0, id="completed"),
    ],
)
def test_threads_and_exit_handlers_end_and_the_rest_is_left(
    arguments: tuple[str, ...], variables: dict[str, str], code: int
) -> None:
    """Objects are not visited once more, all that was printed arrives, and the code is kept."""
    ended = subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        cwd=ROOT,
        env={**process_environment(), **variables},
        capture_output=True,
        text=True,
        check=False,
    )

    assert code == ended.returncode
    assert ended.stdout.startswith("printed\n")
    assert ["thread ended", "finalized"] == ended.stdout.splitlines()[-2:]
    assert "tidied" not in ended.stdout

"""Several roots of one repository in one daemon: each by itself, through one checkout or mirror."""

import json
import re
import signal
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import httpx
import pytest

from reconciler.cli.main import run
from reconciler.model.records import replace
from reconciler.shell.daemon.events import DaemonEvent, Observer, PassBegun, PassFinished
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.daemon.watch import Wakeups, run_beside
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.branches import LocalBranch
from tests.shell.daemon.test_serve_branch import Steps
from tests.shell.fleet import (
    EXAMPLE,
    MANIFESTS,
    PATIENCE_SECONDS,
    Clock,
    commit_beside_daemon,
    decisions,
    eventually,
    load_world,
    new_passes,
    patiently,
    running,
)
from tests.shell.repositories import git, new_bare, new_checkout

ROOTS = ("teams/a", "teams/b")
MARK = "reconciler.yaml"
LATER = "2099-01-01T00:00:00Z"
WATCHED = ["--poll-seconds", "0.2", "--listen", "0", "--log-format", "json"]


def fleets(*roots: str) -> Mapping[str, str]:
    """Return the files of the example in each of some folders."""
    return {f"{root}/{path}": EXAMPLE[path] for root in roots for path in MANIFESTS}


def unmarked(*roots: str) -> Mapping[str, str]:
    """Return the same without what a pattern knows a root by."""
    return {path: text for path, text in fleets(*roots).items() if not path.endswith(f"/{MARK}")}


def options(*roots: str) -> list[str]:
    """Return the options that serve them."""
    return [word for root in roots for word in ("--root", root)]


def placed(repository: Path, root: str) -> int:
    """Return how many bindings a root has at the head of main."""
    files = git(repository, "ls-tree", "-r", "--name-only", "main", f"{root}/status/").splitlines()
    return len([path for path in files if "/resourcebindings.work.karmada.io/" in path])


def ask(log: Path, path: str) -> tuple[int, str]:
    """Ask the listener of a daemon."""
    port = re.findall(r'"port": ?(\d+)', log.read_text())[-1]
    answer = httpx.get(f"http://127.0.0.1:{port}{path}")
    return answer.status_code, answer.text


def test_each_root_of_a_checkout_is_decided(tmp_path: Path) -> None:
    """By one process, into its own outputs; what is logged and counted names the root."""
    fleet = new_checkout(tmp_path / "fleet", fleets(*ROOTS))
    log = tmp_path / "log"
    with running(fleet.folder, *options(*ROOTS), *WATCHED, log=log):
        eventually(lambda: ask(log, "/readyz")[0] == 200, "both roots")
        assert [3, 3] == [placed(fleet.folder, root) for root in ROOTS]
        metrics = ask(log, "/metrics")[1]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {"listening"} == {line["msg"] for line in lines if line.get("root") not in ROOTS}
    for root in ROOTS:
        assert f'reconciler_reconcile_total{{result="committed",root="{root}"}}' in metrics
    assert 1 == len(re.findall(r"^# TYPE reconciler_ready ", metrics, re.MULTILINE))
    assert "" == fleet.status()
    assert 3 == len(decisions(load_world(fleet.folder / ROOTS[0])))


def test_a_root_that_fails_delays_no_other(tmp_path: Path) -> None:
    """Its clock is behind its last pass, which only a person mends; the other goes on."""
    fleet = new_checkout(tmp_path / "fleet", fleets(*ROOTS))
    assert 0 == run(["-C", str(fleet.folder / ROOTS[0]), "reconcile", "--now", LATER])
    log = tmp_path / "log"
    with running(fleet.folder, *options(*ROOTS), *WATCHED, log=log):
        eventually(lambda: placed(fleet.folder, ROOTS[1]) == 3, "the other root")
        text = EXAMPLE["workloads/settings.yaml"].replace("name: settings", "name: more")
        commit_beside_daemon(fleet, {f"{root}/workloads/more.yaml": text for root in ROOTS})
        eventually(lambda: placed(fleet.folder, ROOTS[1]) == 4, "the next commit")
        eventually(lambda: ask(log, "/readyz")[0] == 503, "the failure")
        reason = ask(log, "/readyz")[1]
        metrics = ask(log, "/metrics")[1]

    assert re.match(r"teams/a: the last pass failed.*clock", reason)
    assert "teams/b:" not in reason
    assert 3 == placed(fleet.folder, ROOTS[0])
    assert 'reconciler_ready{root="teams/a"} 0.0' in metrics
    assert 'reconciler_ready{root="teams/b"} 1.0' in metrics


def test_roots_of_a_remote_share_a_mirror(tmp_path: Path) -> None:
    """One mirror, a commit for each root, pushed one after the other."""
    remote = new_bare(tmp_path / "remote", fleets(*ROOTS, "teams/c"))
    service = ["--remote", str(remote), "--mirror", str(tmp_path / "mirror")]
    log = tmp_path / "log"
    with running(tmp_path, *service, *options(*ROOTS), *WATCHED, log=log):
        eventually(lambda: [placed(remote, root) for root in ROOTS] == [3, 3], "both roots")
        eventually(lambda: ask(log, "/readyz")[0] == 200, "calm")
    assert 0 == placed(remote, "teams/c")
    assert 1 == len(list(tmp_path.glob("mirror*")))


def test_a_root_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    """The daemon is ready, and decides about it once somebody commits it."""
    fleet = new_checkout(tmp_path / "fleet", fleets(ROOTS[0]))
    log = tmp_path / "log"
    with running(fleet.folder, *options(*ROOTS), *WATCHED, log=log):
        eventually(lambda: ask(log, "/readyz")[0] == 200, "both roots")
        before = [placed(fleet.folder, root) for root in ROOTS]
        commit_beside_daemon(fleet, fleets(ROOTS[1]))
        eventually(lambda: placed(fleet.folder, ROOTS[1]) == 3, "the other root")

    assert [3, 0] == before


def test_a_root_that_is_slow_delays_no_other(tmp_path: Path) -> None:
    """The pass of one begins to compute only when the other has ended its own."""
    fleet = new_checkout(tmp_path / "fleet", fleets(*ROOTS))
    branch = LocalBranch(Repository.open(fleet.folder), "main")
    decided = Event()
    waited: list[bool] = []

    def slow(event: DaemonEvent) -> None:
        if isinstance(event, PassBegun):
            waited.append(decided.wait(PATIENCE_SECONDS))

    def quick(event: DaemonEvent) -> None:
        if isinstance(event, PassFinished):
            decided.set()

    def one_pass(root: str, observer: Observer) -> Daemon:
        passes = new_passes(fleet.folder / root, Clock())
        passes = replace(passes, branches=replace(passes.branches, inputs=branch.below(root)))
        turn = Steps(iter([lambda: None]))
        return Daemon(passes=passes, wakeups=turn, poll_seconds=60, observers=(observer,))

    run_beside({"a": one_pass(ROOTS[0], slow), "b": one_pass(ROOTS[1], quick)})

    assert [True] == waited[:1]
    assert [3, 3] == [placed(fleet.folder, root) for root in ROOTS]


def test_a_signal_given_to_the_thread_of_a_root_ends_them_all(tmp_path: Path) -> None:
    """The kernel chooses any thread, and does not wake the one that answers to it."""
    fleet = new_checkout(tmp_path / "fleet", fleets(*ROOTS))
    wakeups = {root: Wakeups(None, poll_seconds=PATIENCE_SECONDS) for root in ROOTS}

    def stop() -> None:
        for one in wakeups.values():
            one.stop()

    def end(event: DaemonEvent) -> None:
        if isinstance(event, PassFinished):
            signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

    def endless(root: str) -> Daemon:
        passes = new_passes(fleet.folder / root, Clock())
        return Daemon(
            passes=passes, wakeups=wakeups[root], poll_seconds=PATIENCE_SECONDS, observers=(end,)
        )

    late = threading.Timer(PATIENCE_SECONDS / 10, stop)  # or else a failure would never end
    before = signal.signal(signal.SIGTERM, lambda *_: stop())
    late.start()
    try:
        run_beside({root: endless(root) for root in ROOTS})
    finally:
        signal.signal(signal.SIGTERM, before)
        was_asked_in_time = late.is_alive()
        late.cancel()

    assert was_asked_in_time


def test_a_pattern_serves_the_roots_that_there_are(tmp_path: Path) -> None:
    """Those that come later, too; those that go are left, and the last ones stay."""
    marks = {path: text for path, text in fleets(*ROOTS).items() if path.endswith(f"/{MARK}")}
    first = {path: text for path, text in marks.items() if path.startswith(ROOTS[0])}
    fleet = new_checkout(tmp_path / "fleet", {**unmarked(*ROOTS), **first})
    log = tmp_path / "log"

    def serving() -> set[str]:
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        begun = [line["root"] for line in lines if line["msg"] == "serving"]
        ended = [line["root"] for line in lines if line["msg"] == "stopped"]
        return {root for root in ROOTS if begun.count(root) > ended.count(root)}

    with running(fleet.folder, "--roots", "teams/*", *WATCHED, log=log):
        eventually(lambda: placed(fleet.folder, ROOTS[0]) == 3, "the first root")
        before = [placed(fleet.folder, root) for root in ROOTS]
        commit_beside_daemon(fleet, marks)
        eventually(lambda: placed(fleet.folder, ROOTS[1]) == 3, "the other root")
        eventually(lambda: serving() == {*ROOTS}, "both roots")
        patiently(fleet, "rm", "--quiet", f"{ROOTS[0]}/{MARK}")
        patiently(fleet, "commit", "--quiet", "--message=Serve one")
        eventually(lambda: serving() == {ROOTS[1]}, "one root")
        patiently(fleet, "rm", "--quiet", f"{ROOTS[1]}/{MARK}")
        patiently(fleet, "commit", "--quiet", "--message=Serve none")
        text = EXAMPLE["workloads/settings.yaml"].replace("name: settings", "name: more")
        commit_beside_daemon(fleet, {f"{ROOTS[1]}/workloads/more.yaml": text})
        eventually(lambda: placed(fleet.folder, ROOTS[1]) == 4, "the last root, still")

    assert [3, 0] == before


def test_a_pattern_that_matches_nothing_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody would notice otherwise that nothing is served."""
    fleet = new_checkout(tmp_path / "fleet", unmarked(*ROOTS))

    assert 2 == run(["-C", str(fleet.folder), "run", "--roots", "teams/*"])
    assert "no such folder of main has a reconciler.yaml" in capsys.readouterr().err


def test_daemons_share_the_roots(tmp_path: Path) -> None:
    """Each has a fixed part of them, and together they have all, once."""
    roots = ("teams/a", "teams/c")
    fleet = new_checkout(tmp_path / "fleet", fleets(*roots))
    remote = new_bare(tmp_path / "remote.git")
    fleet.git("push", "--quiet", str(remote), "main")
    logs = [tmp_path / "first", tmp_path / "second"]

    with ExitStack() as stack:
        for number, log in enumerate(logs, start=1):
            mirror = str(tmp_path / f"mirror{number}")
            served = ("--remote", f"file://{remote}", "--mirror", mirror, "--roots", "teams/*")
            share = ("--share", f"{number}/2")
            stack.enter_context(running(tmp_path, *served, *share, *WATCHED, log=log))
        eventually(lambda: {placed(remote, root) for root in roots} == {3}, "both roots")

    lines = [[json.loads(line) for line in log.read_text().splitlines()] for log in logs]
    parts = [{line["root"] for line in part if line["msg"] == "serving"} for part in lines]
    assert [{"teams/a"}, {"teams/c"}] == parts


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        pytest.param(("--share", "3/2"), '"3/2" must be a part of the roots such as 2/5', id="3/2"),
        pytest.param(("--share", "1/2"), "--share requires --roots or --root", id="of what"),
        pytest.param(
            ("--roots", "teams/*", "--share", "2/2"),
            "--share 2/2: none of the roots that there are belongs to it",
            id="none",
        ),
    ],
)
def test_shares_of_nothing_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: tuple[str, ...], message: str
) -> None:
    """Nobody would notice otherwise that nothing is served."""
    fleet = new_checkout(tmp_path / "fleet", fleets("teams/a"))

    assert 2 == run(["-C", str(fleet.folder), "run", *asked])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("roots", "message"),
    [
        pytest.param(("../a",), "must be a folder such as teams/a", id="outside"),
        pytest.param(("teams", "teams/a"), '--root "teams" holds "teams/a"', id="nested"),
    ],
)
def test_roots_that_cannot_be_served_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], roots: tuple[str, ...], message: str
) -> None:
    """Before anything is decided."""
    fleet = new_checkout(tmp_path / "fleet", fleets(*ROOTS))

    assert 2 == run(["-C", str(fleet.folder), "run", *options(*roots)])
    assert message in capsys.readouterr().err

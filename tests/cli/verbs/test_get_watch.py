"""`get --watch`: a table, then a line for each row that a commit changes, until Ctrl-C."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.cli.get_watch import Watch
from reconciler.cli.kinds import asked_kinds, kinds_present
from reconciler.cli.selection import Query
from reconciler.library.fleet import open_repository
from reconciler.shell.resources import SystemClock
from tests.shell.fleet import EXAMPLE, PATIENCE_SECONDS, new_fleet, process_environment, run_pass
from tests.shell.repositories import NOW, Checkout

SHOP = EXAMPLE["workloads/shop.yaml"]
QUERY = Query(
    words=("rb",),
    namespace="default",
    all_namespaces=False,
    selector=None,
    output="table",
    show_labels=False,
    label_columns=(),
    sort_by=None,
    no_headers=False,
    show_secrets=False,
)


@contextmanager
def watching(fleet: Checkout, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Run `get --watch` as a process of its own, and end it as Ctrl-C does."""
    process = subprocess.Popen(
        [sys.executable, "-m", "reconciler", "get", *arguments, "--watch"],
        cwd=fleet.folder,
        env=process_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=PATIENCE_SECONDS)
        assert (130, "", "") == (process.returncode, rest, err.strip())
    finally:
        process.kill()
        process.wait()


def line(process: "subprocess.Popen[str]") -> list[str]:
    """Return the cells of the next line."""
    assert process.stdout is not None
    return process.stdout.readline().split()


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """A fleet without any pass."""
    return new_fleet(tmp_path / "fleet")


def test_a_line_follows_for_each_row_that_changes(fleet: Checkout) -> None:
    """Not for the others, nor for a commit that changes nothing that is shown."""
    with watching(fleet, "deploy") as process:
        first = [line(process) for _ in range(3)]
        fleet.commit({"workloads/frontend.yaml": f"# Ours.\n{EXAMPLE['workloads/frontend.yaml']}"})
        fleet.commit({"workloads/shop.yaml": SHOP.replace("replicas: 2", "replicas: 5")})
        then = line(process)

    assert [["NAME", "REPLICAS", "AGE"], ["frontend", "6", "<none>"]] == first[:2]
    assert ["shop", "5", "<none>"] == then


def test_decisions_are_followed(fleet: Checkout) -> None:
    """The pass that places a workload prints its binding, below the head."""
    with watching(fleet, "rb/shop-deployment", "--output-watch-events") as process:
        assert process.stderr is not None
        assert "no rb named shop-deployment" in process.stderr.readline()
        run_pass(fleet.folder, 0)
        head, row = line(process), line(process)

    assert ["EVENT", "NAME", "CLUSTERS"] == head[:3]
    assert ["ADDED", "shop-deployment", "member1(2)"] == row[:3]


def test_events_say_what_became_of_a_row(fleet: Checkout) -> None:
    """A row that is gone is printed once more, as it was."""
    with watching(fleet, "deploy", "-n", "default", "--output-watch-events") as process:
        first = [line(process) for _ in range(3)]
        fleet.commit({"workloads/shop.yaml": SHOP.replace("replicas: 2", "replicas: 5")})
        changed = line(process)
        fleet.git("rm", "--quiet", "workloads/shop.yaml")
        fleet.git("commit", "--quiet", "--message=Remove the shop")
        gone = line(process)

    assert ["EVENT", "ADDED", "ADDED"] == [cells[0] for cells in first]
    assert ["MODIFIED", "shop", "5", "<none>"] == changed
    assert ["DELETED", "shop", "5", "<none>"] == gone


def test_manifests_are_followed_whole(fleet: Checkout) -> None:
    """One JSON object for each change, as kubectl prints them."""
    with watching(fleet, "deploy", "shop", "-o", "name") as process:
        assert [["deployment.apps/shop"]] == [line(process)]
        fleet.commit({"workloads/shop.yaml": SHOP.replace("replicas: 2", "replicas: 5")})
        assert ["deployment.apps/shop"] == line(process)

    with watching(fleet, "deploy", "shop", "-o", "json") as process:
        assert process.stdout is not None
        text = ""
        for read in process.stdout:
            text += read
            if read == "}\n":
                break

    assert 5 == json.loads(text)["spec"]["replicas"]


def test_what_is_assumed_by_then_is_no_line_of_its_own(
    fleet: Checkout, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that changes one binding prints that one, as it is by now."""
    run_pass(fleet.folder, 0)
    loaded = open_repository(fleet.folder)
    before = loaded.world()
    asked = asked_kinds(before.known, kinds_present(before), ("rb",))
    watch = Watch(loaded.repository, loaded.revisions.loader, "main", asked, QUERY, events=False)
    monkeypatch.setattr(SystemClock, "now", lambda _: NOW)
    watch._show(before, None)
    first = capsys.readouterr().out
    fleet.commit({"workloads/shop.yaml": SHOP.replace("replicas: 2", "replicas: 5")})
    run_pass(fleet.folder, 60)
    monkeypatch.setattr(SystemClock, "now", lambda _: NOW + timedelta(hours=1))
    watch._show(loaded.world(), before)

    assert "Assumed" not in first
    assert [["shop-deployment", "member1(5)", "<none>", "True", "Assumed"]] == [
        cells.split()[:5] for cells in capsys.readouterr().out.splitlines()
    ]

"""An update that is held back for lack of room: told everywhere, and proven without delivery."""

from pathlib import Path

import pytest

from reconciler.model.fields import mapping
from tests.builders import configuration, path_of, text
from tests.cli.history import answer
from tests.dialects.kubefleet.test_protected_room import room, selecting, web
from tests.shell.fleet import run_pass
from tests.shell.repositories import Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]

AT_ONCE = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}}


def new_fleet(folder: Path) -> Checkout:
    """A placement of two cpu on a cluster of five."""
    placement = selecting("a")
    placement = {**placement, "spec": {**mapping(placement, "spec"), "strategy": AT_ONCE}}
    on = configuration(capacity={"protect": True})
    bodies = (on, room("m1", "5", whole="5"), *web("a"), placement)
    fleet = new_checkout(folder, {path_of(one): text(one) for one in bodies})
    run_pass(fleet.folder, 0)
    return fleet


def grow(fleet: Checkout, replicas: int) -> None:
    """Ask for more."""
    _, grown = web("a", replicas)
    fleet.commit({path_of(grown): text(grown)}, "Grow")


@pytest.mark.parametrize("replicas", [3, 9])
def test_passes_are_proven(tmp_path: Path, capsys: Capsys, replicas: int) -> None:
    """What the binding is held on is read from history, as when the pass decided."""
    fleet = new_fleet(tmp_path / "fleet")
    grow(fleet, replicas)
    for seconds in (30, 90, 800):
        run_pass(fleet.folder, seconds)

    code, out, _ = answer(fleet, capsys, "verify", "--afresh")

    assert (fleet.folder / "status/faults.yaml").exists() is False
    assert (0, "verified, 2 human commits\n") == (code, out[out.index("verified") :])


LACK = "it waits for room: m1 cannot hold what would be added, missing cpu 4"


@pytest.mark.parametrize(
    "question",
    [
        pytest.param(("status",), id="status"),
        pytest.param(("why", "crp/a"), id="why"),
        pytest.param(("describe", "crp/a"), id="describe"),
        pytest.param(("events", "--limit", "0"), id="events"),
        pytest.param(("history", "crp/a"), id="history"),
    ],
)
def test_what_is_missing_is_told(tmp_path: Path, capsys: Capsys, question: tuple[str, ...]) -> None:
    """After the pass, to whoever asks, and in the message of the commit."""
    fleet = new_fleet(tmp_path / "fleet")
    grow(fleet, 9)
    run_pass(fleet.folder, 30)

    assert LACK in answer(fleet, capsys, *question)[1]
    assert LACK in fleet.git("log", "-1", "--format=%B")


def test_what_would_be_missing_is_told_before_the_merge(tmp_path: Path, capsys: Capsys) -> None:
    """`plan` names it."""
    fleet = new_fleet(tmp_path / "fleet")
    fleet.git("switch", "--quiet", "--create", "more")
    grow(fleet, 9)

    assert LACK in answer(fleet, capsys, "plan", "--base", "main")[1]


def test_what_waits_for_room_goes_on_once_there_is_some(tmp_path: Path, capsys: Capsys) -> None:
    """And nothing waits any more."""
    fleet = new_fleet(tmp_path / "fleet")
    grow(fleet, 9)
    run_pass(fleet.folder, 30)
    larger = room("m1", "16", whole="16")
    fleet.commit({path_of(larger): text(larger)}, "Add nodes")
    run_pass(fleet.folder, 60)

    assert "waits for room" not in answer(fleet, capsys, "status")[1]
    assert "The update is held" not in answer(fleet, capsys, "why", "crp/a")[1]

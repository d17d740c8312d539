"""`verify` of passes that hold an update back for lack of room, without any delivery."""

from pathlib import Path

import pytest

from reconciler.model.fields import mapping
from tests.builders import configuration, path_of, text
from tests.cli.history import answer
from tests.dialects.kubefleet.test_protected_room import room, selecting, web
from tests.shell.fleet import run_pass
from tests.shell.repositories import new_checkout

AT_ONCE = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}}


@pytest.mark.parametrize("replicas", [3, 9])
def test_a_held_update_is_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], replicas: int
) -> None:
    """What the binding is held on is read from history, as when the pass decided."""
    placement = selecting("a")
    placement = {**placement, "spec": {**mapping(placement, "spec"), "strategy": AT_ONCE}}
    on = configuration(capacity={"protect": True})
    bodies = (on, room("m1", "5", whole="5"), *web("a"), placement)
    fleet = new_checkout(tmp_path / "fleet", {path_of(one): text(one) for one in bodies})
    run_pass(fleet.folder, 0)
    _, grown = web("a", replicas)
    fleet.commit({path_of(grown): text(grown)}, "Grow")
    for seconds in (30, 90, 800):
        run_pass(fleet.folder, seconds)

    code, out, _ = answer(fleet, capsys, "verify", "--afresh")

    held = fleet.git("grep", "-c", "missing cpu 4", "--", "status") if replicas == 9 else ""
    assert bool(held) == (replicas == 9)
    assert not (fleet.folder / "status/faults.yaml").exists()
    assert (0, "proven, 2 by people\n") == (code, out[out.index("proven") :])

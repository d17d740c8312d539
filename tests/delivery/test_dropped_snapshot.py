"""What a snapshot that was dropped had delivered, in a real repository."""

from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.builders import Body, configmap, configuration, deployment, path_of, text
from tests.delivery.test_folders import FOLDERS
from tests.delivery.test_kubefleet_folders import limited
from tests.dialects.kubefleet.fleet import member
from tests.shell.fleet import Clock, new_passes, run_pass
from tests.shell.repositories import NOW, new_checkout

UNHEARD = configuration(delivery=FOLDERS, feedback={"assumeAfterSeconds": None})


def files(*bodies: Body) -> dict[str, str]:
    """Each object in a file of its own."""
    return {path_of(body): text(body) for body in bodies}


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("warm", [True, False], ids=["one-process", "always-a-new-one"])
def test_it_stays_and_is_proven(tmp_path: Path, limit: int, warm: bool) -> None:  # noqa: FBT001  # a table
    """By one process or by many, and `verify` finds every commit of a fresh clone right."""
    inputs = files(member("a"), member("b"), limited(limit, "a", "b"), deployment(), configmap())
    fleet = new_checkout(tmp_path / "fleet", {**inputs, **files(UNHEARD)})
    clock = Clock(NOW)
    passes = new_passes(fleet.folder, clock)
    passes.run()
    first = (fleet.folder / "delivery/b/default/configmaps/settings.yaml").read_bytes()
    fleet.git("rm", "-q", path_of(configmap()))
    fleet.git("commit", "-qm", "Drop the settings")
    for number in range(limit + 2):
        clock.moment = NOW + timedelta(seconds=10 * (number + 1))
        _ = passes.run() if warm else run_pass(fleet.folder, 10 * (number + 1))
        fleet.commit(files(deployment(labels={"tier": str(number)})), f"Edit {number}")
    clone = tmp_path / "clone"
    fleet.git("clone", "-q", str(fleet.folder), str(clone))

    assert not any("web-0-snapshot" in path for path in fleet.git("ls-files").splitlines())
    assert first == (clone / "delivery/b/default/configmaps/settings.yaml").read_bytes()
    assert 0 == run(["-C", str(clone), "verify"])

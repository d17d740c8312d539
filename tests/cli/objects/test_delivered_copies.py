"""With delivery on an object has one place that people write, whatever verb names it."""

from pathlib import Path

import pytest

from tests.builders import configuration, text
from tests.cli.history import SCALED, answer
from tests.shell.fleet import new_fleet, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]
FILE = "workloads/shop.yaml"
PATHS = {"default": "delivery/{cluster}", "named": "rollout/of/{cluster}"}
VERBS = [
    pytest.param(["get", "deployment", "shop", "-o", "wide"], FILE, id="get"),
    pytest.param(["get", "deployment", "-o", "name"], "deployment.apps/shop", id="get-all"),
    pytest.param(["get", "deployment", "shop", "-o", "yaml"], "replicas: 5", id="get-yaml"),
    pytest.param(["describe", "deployment/shop"], FILE, id="describe"),
    pytest.param(["why", "deployment/shop"], "asked    5 replicas", id="why"),
    pytest.param(["history", "deployment/shop"], "member1(5)", id="history"),
    pytest.param(["blame", "deployment/shop"], "member1", id="blame"),
    pytest.param(["events", "deployment/shop"], "ScheduleBindingSucceed", id="events"),
    pytest.param(["tree", "deployment/shop"], "replicas: 5", id="tree"),
    pytest.param(["suspend", "deployment/shop", "--dry-run"], f"+++ {FILE}", id="suspend"),
    pytest.param(["rebalance", "deployment/shop", "--dry-run"], "name: shop", id="rebalance"),
    pytest.param(["validate"], "", id="validate"),
    pytest.param(["simulate", "--scale", "deployment/shop=7"], "2 replicas start", id="simulate"),
]


@pytest.fixture(scope="module", params=["default", "named", "switched-off"])
def fleet(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The shop scaled to 5, delivered; in the end delivery may be off, and its files are kept."""
    path = PATHS.get(request.param, PATHS["named"])
    delivery = {"reconciler.yaml": text(configuration(delivery={"folders": {"path": path}}))}
    found = new_fleet(tmp_path_factory.mktemp("copies") / "fleet", delivery)
    run_pass(found.folder, 0)
    found.commit(SCALED, "Scale the shop")
    run_pass(found.folder, 60)
    if request.param == "switched-off":
        found.commit({"reconciler.yaml": text(configuration())}, "Switch delivery off")
        run_pass(found.folder, 120)
    return found


def copies(fleet: Checkout) -> list[str]:
    """The delivered files of the shop."""
    tracked = fleet.git("ls-files").splitlines()
    return [path for path in tracked if "shop" in path and path.split("/")[0] in _ROOTS]


_ROOTS = {path.partition("/")[0] for path in PATHS.values()}


@pytest.mark.parametrize(("words", "expected"), VERBS)
def test_no_verb_takes_a_copy_for_the_object(
    fleet: Checkout, capsys: Capsys, words: list[str], expected: str
) -> None:
    """Its own file is named, and no copy is but as what a cluster has."""
    assert copies(fleet)

    code, out, err = answer(fleet, capsys, *words)

    lines = [line for line in (out + err).splitlines() if "folders" not in line]
    assert 0 == code
    assert expected in out
    assert [] == [line for line in lines if any(path in line for path in copies(fleet))]


def test_a_plan_takes_no_edited_copy_for_a_change(fleet: Checkout, capsys: Capsys) -> None:
    """It is written anew by the next pass, and scales nothing."""
    (copy,) = copies(fleet)
    file: Path = fleet.folder / copy
    before = file.read_text()
    file.write_text(before.replace("replicas: 5", "replicas: 9"))
    try:
        code, out, _ = answer(fleet, capsys, "plan")
    finally:
        file.write_text(before)

    assert (0, True) == (code, "Nothing moves" in out)

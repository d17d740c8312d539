"""`reconciler import --check`: what of the switch from a live hub is not done yet."""

import json
import os
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.model.body import Body
from tests.cli.history import answer
from tests.imports.hubs import karmada_hub, key_of, ocm_hub
from tests.imports.imported import FOLDERS, deployment, with_spec
from tests.shell.kubectl_stand_in import stand_in
from tests.shell.repositories import Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]
TYPES = ("--workloads", "deployments")
SCHEDULER = deployment("karmada-system/karmada-scheduler", 1)
MOVED = [{"name": "member7", "replicas": 4}]


@pytest.fixture
def fleet(tmp_path: Path, capsys: Capsys) -> Checkout:
    """A repository with a Karmada hub adopted."""
    fleet = new_checkout(tmp_path / "fleet", {"reconciler.yaml": FOLDERS})
    answer(fleet, capsys, "import", export(tmp_path, kept(2)), "--adopt", *TYPES)
    return fleet


def kept(count: int) -> list[Body]:
    """A hub whose objects stay when bindings go."""
    return [
        with_spec(one, preserveResourcesOnDeletion=True) if _is_binding(one) else one
        for one in karmada_hub(count)
    ]


def _is_binding(body: Body) -> bool:
    return key_of(body).kind == "ResourceBinding"


def export(folder: Path, bodies: list[Body]) -> str:
    """Write an export, and return its path."""
    place = folder / "export.json"
    listed = {"apiVersion": "v1", "kind": "List", "items": bodies}
    place.write_text(json.dumps(listed), encoding="utf-8")
    return str(place)


def test_each_step_has_a_line(fleet: Checkout, tmp_path: Path, capsys: Capsys) -> None:
    """With its state, and what to do about it."""
    source = export(tmp_path, [*kept(2), SCHEDULER])
    code, out, err = answer(fleet, capsys, "import", source, "--check", *TYPES)
    lines = [" ".join(line.split()) for line in out.splitlines()]

    assert (1, "") == (code, err)
    assert ["karmada", "STEP STATE WHAT NOW", "import done"] == lines[:3]
    assert "scheduler open (1) stop karmada-system/karmada-scheduler" in lines


def test_nothing_is_written(fleet: Checkout, tmp_path: Path, capsys: Capsys) -> None:
    """Neither files nor state, though there is something to import."""
    before = fleet.status()
    answer(fleet, capsys, "import", export(tmp_path, karmada_hub(3)), "--check", *TYPES)

    assert before == fleet.status()


def test_what_moved_on_the_hub_is_told(fleet: Checkout, tmp_path: Path, capsys: Capsys) -> None:
    """Where it is there, where our state has it, and where the next pass would have it."""
    hub = [with_spec(one, clusters=MOVED) if _is_binding(one) else one for one in kept(1)]
    _, out, _ = answer(fleet, capsys, "import", export(tmp_path, hub), "--check", *TYPES)
    told = "default/web-0000-deployment: hub member7(4), here member1(4), next pass member1(4)"

    assert ["1 differs on the hub:", f"  {told}"] == out.splitlines()[-2:]


def test_kubectl_is_asked_for_the_hub_and_for_what_runs_it(
    fleet: Checkout, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two contexts, `get` only; once the scheduler is gone from its cluster, all is done."""
    tools = tmp_path / "tools"
    stand_in(tools, kept(2), context="karmada")
    stand_in(tools, [SCHEDULER], context="host")
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    both = ("--context", "karmada", "--host-context", "host", "--check", *TYPES)
    running, out, _ = answer(fleet, capsys, "import", *both)
    stand_in(tools, [deployment("karmada-system/karmada-scheduler", 0)], context="host")
    stopped, _, _ = answer(fleet, capsys, "import", *both)

    assert (1, True) == (running, "stop karmada-system/karmada-scheduler" in out)
    assert 0 == stopped
    asked = (tools / "asked").read_text(encoding="utf-8").splitlines()
    assert all(" get " in line for line in asked)


def test_machines_get_every_object(fleet: Checkout, tmp_path: Path, capsys: Capsys) -> None:
    """That a step is open for."""
    arguments = ["-C", str(fleet.folder), "import", export(tmp_path, kept(3)), "--check", *TYPES]
    code = run([*arguments, "-o", "json"])
    told = json.loads(capsys.readouterr().out)
    (api,) = told["apis"]
    steps = {one["step"]: one for one in api["steps"]}

    assert (1, False, "karmada") == (code, told["ready"], api["api"])
    assert "web-0002-deployment" in [one["name"] for one in steps["adopt"]["objects"]]
    assert ("unseen", "done") == (steps["scheduler"]["state"], steps["keep"]["state"])


def test_two_apis_have_a_table_each(fleet: Checkout, tmp_path: Path, capsys: Capsys) -> None:
    """In the order in which a pass asks them."""
    source = export(tmp_path, [*kept(2), *ocm_hub(1)])
    _, out, _ = answer(fleet, capsys, "import", source, "--check", *TYPES)

    assert ["karmada", "ocm"] == [line for line in out.splitlines() if line in ("karmada", "ocm")]


def test_an_export_of_no_hub_is_not_ready(fleet: Checkout, tmp_path: Path, capsys: Capsys) -> None:
    """Nobody knows what it shows."""
    code, out, _ = answer(fleet, capsys, "import", export(tmp_path, [SCHEDULER]), "--check")

    assert (1, True) == (code, out.startswith("no objects of a hub were found"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("--check", "--adopt"), "--check does not write", id="adopt"),
        pytest.param(("--check", "--branch", "b"), "--check does not write", id="branch"),
        pytest.param(("--check", "--cluster", "a"), "--check does not write", id="cluster"),
        pytest.param(("--host-context", "host"), "--host-context requires --check", id="host"),
    ],
)
def test_wrong_usage_is_told(
    fleet: Checkout, capsys: Capsys, arguments: tuple[str, ...], words: str
) -> None:
    """With exit code 2."""
    code, _, err = answer(fleet, capsys, "import", "-", *arguments)

    assert (2, True) == (code, words in err)

"""What stands in the place of outputs disturbs those outputs only."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.manifests.paths import FAULTS
from reconciler.model.fields import bodies
from tests.shell.fleet import EXAMPLE, decisions, load_world, new_fleet, run_pass
from tests.shell.repositories import Checkout

BINDINGS = "status/resourcebindings.work.karmada.io"
SHOP = f"{BINDINGS}/default/shop-deployment.yaml"


def link_at(path: str) -> Callable[[Checkout], str]:
    """Replace a path by a symbolic link that leads out of the repository."""

    def block(fleet: Checkout) -> str:
        fleet.git("rm", "-r", "--quiet", path)
        (fleet.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (fleet.folder / path).symlink_to(fleet.folder.parent)
        fleet.git("add", path)
        fleet.git("commit", "--quiet", "--message=Link it")
        return path

    return block


def folder_for_file(fleet: Checkout) -> str:
    """Put a folder where a binding is."""
    fleet.git("rm", "--quiet", SHOP)
    fleet.commit({f"{SHOP}/notes.txt": "mine\n", f"{SHOP}/x.yaml": "a: 1\n"})
    return SHOP


def file_for_folder(fleet: Checkout) -> str:
    """Put a file where bindings are."""
    fleet.git("rm", "-r", "--quiet", f"{BINDINGS}/default")
    fleet.commit({f"{BINDINGS}/default": "mine\n"})
    return f"{BINDINGS}/default"


CASES = [
    pytest.param(link_at(SHOP), id="a-link-for-a-binding"),
    pytest.param(folder_for_file, id="a-folder-for-a-binding"),
    pytest.param(link_at(f"{BINDINGS}/default"), id="a-link-for-a-folder"),
    pytest.param(file_for_folder, id="a-file-for-a-folder"),
]

ROLE = """apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
"""
POLICY = """apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata: {name: roles}
spec:
  resourceSelectors: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole}]
  placement: {clusterAffinity: {clusterNames: [member1]}}
"""


@pytest.mark.parametrize("block", CASES)
def test_the_others_are_decided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], block: Callable[[Checkout], str]
) -> None:
    """The path is reported, nothing is written through it, and the next pass is quiet."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    run_pass(fleet.folder, 5)
    before = decisions(load_world(fleet.folder))

    blocked = block(fleet)
    fleet.commit({"role.yaml": ROLE, "roles.yaml": POLICY})
    code = run(["-C", str(fleet.folder), "reconcile", "--now", "2026-11-20T12:00:10Z"])

    assert 1 == code
    assert f"{blocked}: what must be a plain " in capsys.readouterr().err
    world = load_world(fleet.folder)
    assert "ClusterResourceBinding.work.karmada.io reader-clusterrole" in decisions(world)
    report = world.outputs[FAULTS]
    assert [blocked] == [fault["path"] for fault in bodies(report.body, "faults")]
    assert run_pass(fleet.folder, 15).commit is None
    run(["-C", str(fleet.folder), "verify"])
    assert "2 of 2 decision commits verified" in capsys.readouterr().out

    fleet.git("rm", "-r", "--quiet", blocked)
    fleet.git("commit", "--quiet", "--message=Remove it")
    run_pass(fleet.folder, 20)

    after = decisions(load_world(fleet.folder))
    assert before.keys() <= after.keys()
    assert not (fleet.folder / "status/faults.yaml").exists()


def test_notes_beside_outputs_are_nobodys_business(tmp_path: Path) -> None:
    """A README below the root blocks nothing."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    fleet.commit({f"{BINDINGS}/README.md": "mine\n", "status/NOTES": "mine\n"})
    run_pass(fleet.folder, 5)

    assert () == load_world(fleet.folder).faults


def test_a_root_that_is_a_link_holds_the_pass(tmp_path: Path) -> None:
    """What was recorded is not known then."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    link_at("status")(fleet)
    fleet.commit({"workloads/shop.yaml": EXAMPLE["workloads/shop.yaml"] + "# edited\n"})

    report = run_pass(fleet.folder, 5)

    assert report.commit is None
    assert ["status"] == [fault.path for fault in report.outcome.faults]

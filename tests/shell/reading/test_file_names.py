"""A manifest whose file has a name that no eye can read is told, and what was in force stays."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.core.inputs.index import InputFiles
from reconciler.manifests.paths import is_escaped, is_manifest_name, shown_path, stored_path
from tests.builders import cluster, deployment, groups, path_of, policy, text
from tests.shell.fleet import (
    Clock,
    commit_beside_daemon,
    decisions,
    eventually,
    load_world,
    new_passes,
    reconciler,
    run_pass,
    running,
)
from tests.shell.repositories import NOW, Checkout, new_checkout

WEB = path_of(deployment())
FOLDER, _, FILE = WEB.rpartition("/")
STEM = FILE.removesuffix(".yaml")
BODIES = (cluster("a"), cluster("b"), policy(placement=groups(["a"], ["b"])), deployment())

ODD = [
    pytest.param(f"{FOLDER}/{STEM}\u00a0.yaml", "U+00A0 NO-BREAK SPACE", id="a no-break space"),
    pytest.param(f"{FOLDER}/{STEM}\u202e.yaml", "U+202E RIGHT-TO-LEFT OVERRIDE", id="a bidi mark"),
    pytest.param(f"{FOLDER}/\x1b[2J{FILE}", "U+001B", id="an escape"),
    pytest.param(f"{FOLDER}/web\n.yaml", "U+000A", id="a line break"),
    pytest.param(f"{FOLDER}/caf\udce9.yaml", "the byte 351", id="bytes of Latin-1"),
    pytest.param(f"{WEB}\u200b", "U+200B ZERO WIDTH SPACE", id="something behind the suffix"),
    pytest.param(f"{FOLDER}\u2028/{FILE}", "U+2028 LINE SEPARATOR", id="a folder"),
    pytest.param(f"{FOLDER}/web\\302\\240.yaml", "a backslash", id="an escape that is spelled out"),
]


def placed(tmp_path: Path) -> Checkout:
    """A fleet whose workload is placed."""
    fleet = new_checkout(tmp_path / "fleet", {path_of(body): text(body) for body in BODIES})
    run_pass(fleet.folder, 0)
    return fleet


def placed_replicas(fleet: Checkout) -> object:
    """How many replicas the workload has on the first cluster."""
    (clusters,) = decisions(load_world(fleet.folder)).values()
    return clusters[0]["replicas"]


def rename(fleet: Checkout, name: str) -> None:
    """Give the workload's file another name, its content the same to the letter."""
    target = fleet.folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    os.rename(fleet.folder / WEB, target)  # noqa: PTH104  # a name that is not UTF-8
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message=Rename")


@pytest.mark.parametrize(("name", "held"), ODD)
def test_a_rename_to_an_odd_name_removes_nothing(tmp_path: Path, name: str, held: str) -> None:
    """The pass tells it with its name escaped and exits with 1; mending the name mends all."""
    fleet = placed(tmp_path)
    before = decisions(load_world(fleet.folder))
    rename(fleet, name)

    told = reconciler(fleet.folder, "reconcile", "--now", "2026-11-20T12:00:10Z")
    checked = reconciler(fleet.folder, "validate")
    of_commit = reconciler(fleet.folder, "validate", "--rev", "HEAD")
    again = run_pass(fleet.folder, 20)

    assert before == decisions(load_world(fleet.folder))
    assert (1, 1, 1) == (told.code, checked.code, of_commit.code)
    for said in (told.stderr, checked.stdout, of_commit.stdout):
        assert f"{shown_path(name)}:1:1: " in said
        assert f"the path of the file holds {held}" in said
        assert "Deployment default/web does not take effect; what was in force stays" in said
        assert f"such as {FOLDER}/" in said
    assert [shown_path(name)] == [fault.path for fault in again.outcome.faults]
    assert again.commit is None

    os.rename(fleet.folder / os.fsencode(name).decode(errors="surrogateescape"), fleet.folder / WEB)  # noqa: PTH104
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message=Mend")
    mended = run_pass(fleet.folder, 30)

    assert () == mended.outcome.faults
    assert before == decisions(load_world(fleet.folder))


def test_a_daemon_that_follows_tells_an_odd_name_too(tmp_path: Path) -> None:
    """What a pass told from the commit before finds is what a first look finds."""
    fleet = placed(tmp_path)
    clock = Clock(NOW + timedelta(seconds=10))
    passes = new_passes(fleet.folder, clock)
    passes.run()
    rename(fleet, f"{FOLDER}/web\u00a0.yaml")
    clock.moment += timedelta(seconds=5)

    followed = passes.run()

    assert ["file-name"] == [fault.rule for fault in followed.outcome.faults]
    assert [{"name": "a", "replicas": 2}] in decisions(load_world(fleet.folder)).values()


def test_an_odd_name_holds_what_it_names_only(tmp_path: Path) -> None:
    """A workload that is deleted in the same commit is deleted; one beside it is scaled."""
    fleet = placed(tmp_path)
    api = deployment("api")
    fleet.commit({path_of(api): text(api)})
    run_pass(fleet.folder, 5)
    fleet.git("rm", "--quiet", path_of(api))
    rename(fleet, f"{FOLDER}/web\u00a0.yaml")

    run_pass(fleet.folder, 10)

    bindings = decisions(load_world(fleet.folder))
    assert 1 == len(bindings)
    assert "web-deployment" in next(iter(bindings))


def test_a_file_of_another_program_may_have_any_name(tmp_path: Path) -> None:
    """It holds no manifest, so nobody is told."""
    fleet = placed(tmp_path)
    fleet.commit({"data/odd\u00a0.yaml": "colours: [red]\n"})

    assert () == run_pass(fleet.folder, 10).outcome.faults
    assert 0 == reconciler(fleet.folder, "validate").code


@pytest.mark.parametrize("folder", ["status/resourcebindings.work.karmada.io", "delivery/a"])
def test_an_odd_name_among_our_files_stops_nothing(tmp_path: Path, folder: str) -> None:
    """It is neither read nor removed."""
    configuration = {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": "ReconcilerConfiguration",
        "metadata": {"name": "fleet"},
        "spec": {"delivery": {"folders": {}}},
    }
    fleet = placed(tmp_path)
    fleet.commit({"reconciler.yaml": text(configuration)})
    run_pass(fleet.folder, 5)
    odd = f"{folder}/odd\u00a0.yaml"
    fleet.commit({odd: text(deployment("odd"))})

    report = run_pass(fleet.folder, 10)

    assert () == report.outcome.faults
    assert (fleet.folder / odd).exists()


def test_the_work_tree_is_planned_with_its_odd_names(tmp_path: Path) -> None:
    """An uncommitted rename moves nothing in the plan either."""
    fleet = placed(tmp_path)
    os.rename(fleet.folder / WEB, fleet.folder / f"{FOLDER}/caf\udce9.yaml")  # noqa: PTH104

    planned = reconciler(fleet.folder, "plan", "--worktree")

    assert "caf\\351.yaml" in planned.stdout + planned.stderr
    assert "nowhere" not in planned.stdout


def test_paths_are_shown_one_to_one() -> None:
    """A shown name leads back to its stored one, and is printable."""
    for name in (param.values[0] for param in ODD):
        shown = shown_path(str(name))

        assert name == stored_path(shown)
        assert shown.isprintable()
        assert is_escaped(shown)
        assert is_manifest_name(shown)
        assert InputFiles(("status/",))(shown)


def test_the_daemon_tells_an_odd_name(tmp_path: Path) -> None:
    """The daemon runs on, tells the fault, and takes the next edit."""
    fleet = placed(tmp_path)
    with running(fleet.folder):
        commit_beside_daemon(fleet, {"workloads/odd\u00a0.yaml": text(deployment("odd"))})
        eventually((fleet.folder / "status/faults.yaml").exists, "the fault is told")
        assert "rule: file-name" in (fleet.folder / "status/faults.yaml").read_text()
        commit_beside_daemon(fleet, {WEB: text(deployment(replicas=5))})
        eventually(lambda: 5 == placed_replicas(fleet), "the next edit")

"""Which folder a command takes for the root, wherever it is run."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.builders import configuration, text
from tests.cli.history import SCALED
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass
from tests.shell.repositories import Checkout, git, new_checkout

Capsys = pytest.CaptureFixture[str]
CONFIGURATION = text(configuration())
CLUSTER = EXAMPLE["clusters/member1.yaml"]
NOTHING = "no manifest was found in {}; -C DIR names another folder"


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The example in which one pass has run."""
    checkout = new_fleet(tmp_path / "fleet")
    run_pass(checkout.folder, 0)
    return checkout


def stand(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Change to a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(folder)


def output_roots(folder: Path) -> list[str]:
    """Return where a pass has written."""
    found = folder.rglob("reconciler.yaml")
    records = [file for file in found if "\nkind: ReconcilerStatus\n" in file.read_text()]
    return [file.parent.relative_to(folder).as_posix() for file in records]


@pytest.mark.parametrize("place", ["clusters", "status", "clusters/deep/er", ".github/workflows"])
def test_a_pass_in_a_sub_folder_is_one_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """No second output tree is committed, whatever else there is called reconciler.yaml."""
    checkout = new_fleet(tmp_path / "fleet")
    if place == "status":
        run_pass(checkout.folder, 0)
    stand(monkeypatch, checkout.folder / place)

    assert 0 == run(["reconcile"])
    assert ["status"] == output_roots(checkout.folder)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["get", "clusters", "-o", "name"], "cluster.cluster.karmada.io/m", id="get"),
        pytest.param(["verify"], "1 of 1 decision commit verified", id="verify"),
        pytest.param(["plan", "--base", "HEAD"], "default/shop (changed)", id="plan"),
        pytest.param(["why", "deployment/shop"], "member1", id="why"),
        pytest.param(["top", "clusters"], "member1", id="top"),
        pytest.param(["tree", "pp/shop"], "deployment/shop", id="tree"),
        pytest.param(["events"], "Binding has been scheduled", id="events"),
    ],
)
def test_a_question_in_a_sub_folder_is_about_the_repository(
    fleet: Checkout,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capsys,
    arguments: list[str],
    expected: str,
) -> None:
    """Each verb finds the same root."""
    fleet.write(SCALED)
    stand(monkeypatch, fleet.folder / "policies")

    assert 0 == run(arguments)
    assert expected in capsys.readouterr().out


def test_validate_in_a_sub_folder_checks_the_repository(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """The count is that of the whole root, paths are told from there."""
    fleet.write({"workloads/wrong.yaml": CLUSTER.replace("kind: Cluster\n", "kind: cluster\n")})
    assert 1 == run(["-C", str(fleet.folder), "validate"])
    expected = capsys.readouterr()
    stand(monkeypatch, fleet.folder / "policies")

    assert 1 == run(["validate"])
    assert expected == capsys.readouterr()
    assert expected.out.startswith("workloads/wrong.yaml:")


def test_an_explicit_folder_is_the_root_literally(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """Nothing is looked for above it, the folder that one stands in included."""
    stand(monkeypatch, fleet.folder / "clusters")

    assert 0 == run(["-C", ".", "get", "pp", "-A"])
    assert ("", "no pp\n") == capsys.readouterr()
    assert 0 == run(["get", "pp", "-A", "-o", "name"])
    assert "propagationpolicy.policy.karmada.io/shop" in capsys.readouterr().out


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"prod/reconciler.yaml": CONFIGURATION}, id="configuration"),
        pytest.param({"prod/status/reconciler.yaml": "kind: ReconcilerStatus\n"}, id="outputs"),
    ],
)
def test_the_nearest_folder_upwards_that_is_ours_is_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys, files: Mapping[str, str]
) -> None:
    """By its configuration or its outputs, also below the top of the repository."""
    checkout = new_checkout(tmp_path / "mono", {"other/member1.yaml": CLUSTER, **files})
    checkout.commit({"prod/clusters/c.yaml": CLUSTER.replace("name: member1", "name: inside")})
    stand(monkeypatch, checkout.folder / "prod/clusters")

    assert 0 == run(["validate", "-v"])
    assert "other" not in capsys.readouterr().err


def test_outputs_elsewhere_are_found_by_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """The option that names the output root says what is looked for."""
    checkout = new_checkout(
        tmp_path / "mono",
        {"prod/out/reconciler.yaml": "kind: ReconcilerStatus\n", "prod/c/member1.yaml": CLUSTER},
    )
    stand(monkeypatch, checkout.folder / "prod/c")

    assert 0 == run(["validate", "--output-root", "out", "-v"])
    assert "c/member1.yaml: Cluster member1\n" in capsys.readouterr().err


def test_what_is_above_the_repository_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """A reconciler.yaml in a parent of the clone is another project's."""
    (tmp_path / "reconciler.yaml").write_text(CONFIGURATION)
    checkout = new_checkout(tmp_path / "fleet", {"clusters/member1.yaml": CLUSTER})
    stand(monkeypatch, checkout.folder / "clusters")

    assert 0 == run(["validate", "-v"])
    assert "clusters/member1.yaml: Cluster member1\n" in capsys.readouterr().err


def test_a_linked_worktree_is_a_repository_of_its_own(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """Its top is told by a file `.git`."""
    fleet.git("worktree", "add", "--quiet", "-b", "side", "side")
    stand(monkeypatch, fleet.folder / "side" / "policies")

    assert 0 == run(["get", "clusters", "-o", "name"])
    assert "member1" in capsys.readouterr().out


def test_without_git_and_marks_the_present_folder_is_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """As before."""
    stand(monkeypatch, tmp_path / "files")
    Path("member1.yaml").write_text(CLUSTER)

    assert 0 == run(["validate"])
    assert "1 manifest valid, 0 faults\n" == capsys.readouterr().err


def test_a_path_is_named_from_where_one_stands(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """Its objects alone are judged; references are looked up in the root if that is asked for."""
    fleet.write({"workloads/wrong.yaml": "kind: Cluster\n"})
    stand(monkeypatch, fleet.folder / "policies")

    assert 0 == run(["validate", "shop.yaml"])
    assert "1 manifest valid, 0 faults\n" == capsys.readouterr().err
    (fleet.folder / "workloads/wrong.yaml").unlink()
    (fleet.folder / "workloads/shop.yaml").unlink()
    assert 0 == run(["validate", "shop.yaml", "--references"])
    assert "policies/shop.yaml:" in capsys.readouterr().out


def test_a_folder_elsewhere_can_be_judged(
    fleet: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """What the configuration of this root leaves out says nothing of it."""
    stand(monkeypatch, tmp_path / "elsewhere")

    assert 0 == run(["validate", "../fleet/policies"])
    assert " valid, 0 faults\n" in capsys.readouterr().err


EMPTY = {"README.md": "Nothing yet.\n"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["validate"], 1, id="validate"),
        pytest.param(["validate", "--fail-level", "never"], 0, id="never"),
        pytest.param(["verify"], 1, id="verify"),
        pytest.param(["get", "clusters"], 0, id="get"),
        pytest.param(["plan", "--base", "HEAD"], 0, id="plan"),
        pytest.param(["top", "clusters"], 0, id="top"),
        pytest.param(["reconcile"], 0, id="reconcile"),
        pytest.param(["events"], 0, id="events"),
        pytest.param(["simulate", "--fail-each"], 0, id="simulate"),
        pytest.param(["why", "deployment/shop"], 1, id="why"),
        pytest.param(["blame", "deployment/shop"], 1, id="blame"),
        pytest.param(["history", "deployment/shop"], 1, id="history"),
        pytest.param(["tree", "deployment/shop"], 2, id="tree"),
        pytest.param(["suspend", "deployment/shop"], 2, id="suspend"),
        pytest.param(["rebalance", "deployment/shop"], 2, id="rebalance"),
    ],
)
def test_an_answer_about_nothing_says_so(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capsys,
    arguments: list[str],
    code: int,
) -> None:
    """A repository without a manifest is most often the wrong one."""
    checkout = new_checkout(tmp_path / "fleet", EMPTY)
    stand(monkeypatch, checkout.folder / "docs")

    assert code == run(arguments)
    assert NOTHING.format(checkout.folder) in capsys.readouterr().err


def test_a_folder_of_nothing_is_no_success(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """A pipeline that checks a folder must not pass since the folder was renamed."""
    stand(monkeypatch, fleet.folder / "empty")

    assert 1 == run(["validate", "."])
    assert "no manifest was found\n" == capsys.readouterr().err


def test_a_named_file_without_a_manifest_is_no_failure(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hooks name every file that changed, other programs' included."""
    fleet.write({"compose.yaml": "services: {}\n"})
    monkeypatch.chdir(fleet.folder)

    assert 0 == run(["validate", "compose.yaml"])
    assert 0 == run(["validate", "--force-exclude", "status/reconciler.yaml"])


def test_a_bare_repository_is_its_own_root(
    fleet: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """Its files are those of a commit."""
    git(tmp_path, "clone", "--quiet", "--bare", str(fleet.folder), "bare.git")
    stand(monkeypatch, tmp_path / "bare.git")

    assert 0 == run(["get", "clusters", "-o", "name"])
    assert "member1" in capsys.readouterr().out


def test_an_empty_branch_of_a_remote_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """No other folder would help there."""
    checkout = new_checkout(tmp_path / "fleet", EMPTY)
    monkeypatch.chdir(tmp_path)
    mirror = tmp_path / "mirror.git"

    assert 0 == run(["reconcile", "--remote", str(checkout.folder), "--mirror", str(mirror)])
    assert "no manifest was found in this branch of the remote\n" in capsys.readouterr().err

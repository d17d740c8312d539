"""A person's edit of an output in the served checkout: the pass commits whole, the edit stays."""

from pathlib import Path

import pytest

from tests.builders import cluster, deployment, groups, policy, text
from tests.cli.history import answer, answer_json
from tests.shell.fleet import eventually, patiently, running
from tests.shell.repositories import Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]
BINDINGS = "status/resourcebindings.work.karmada.io/default"
WEB, SHOP = f"{BINDINGS}/web-deployment.yaml", f"{BINDINGS}/shop-deployment.yaml"
AGAIN = "git -C {} checkout HEAD -- {}"


def workloads(replicas: int) -> dict[str, str]:
    """Two workloads."""
    names = ("web", "shop")
    return {f"{name}.yaml": text(deployment(name, replicas=replicas)) for name in names}


@pytest.fixture
def fleet(tmp_path: Path, capsys: Capsys) -> Checkout:
    """Two workloads that were placed, and scaled since; the binding of one was edited."""
    placed = text(cluster("a"), cluster("b"), policy(placement=groups(["a"], ["b"])))
    fleet = new_checkout(tmp_path / "fleet", {"fleet.yaml": placed, **workloads(1)})
    assert 0 == answer(fleet, capsys, "reconcile", "--now", "2026-11-20T12:00:00Z")[0]
    fleet.commit(workloads(2), "Scale")
    with (fleet.folder / WEB).open("a") as file:
        file.write("# mine\n")
    return fleet


def test_a_pass_commits_whole_around_an_edited_output(fleet: Checkout, capsys: Capsys) -> None:
    """The edit alone is left in the work tree, and the command that is told takes ours."""
    edited = (fleet.folder / WEB).read_text()
    code, out, err = answer(fleet, capsys, "reconcile", "--now", "2026-11-20T12:10:00Z")

    assert 0 == code
    assert "files changed in" in out
    assert f'warning: "{WEB}" keeps an edit of yours in {fleet.folder}; ' in err
    assert AGAIN.format(fleet.folder, WEB) in err
    assert f" M {WEB}" == fleet.status()
    assert edited == (fleet.folder / WEB).read_text()
    assert "replicas: 2" in (fleet.folder / SHOP).read_text()
    assert "replicas: 2" in fleet.git("show", f"HEAD:{WEB}")
    fleet.git("checkout", "HEAD", "--", WEB)
    assert "" == fleet.status()


def test_status_lists_the_edits_with_their_command(fleet: Checkout, capsys: Capsys) -> None:
    """As text, and for machines; a calm checkout has no such line."""
    assert 0 == answer(fleet, capsys, "reconcile", "--now", "2026-11-20T12:10:00Z")[0]
    command = AGAIN.format(fleet.folder, WEB)

    assert f"{WEB}: {command}" in answer(fleet, capsys, "status")[1]
    assert [{"path": WEB, "command": command}] == answer_json(fleet, capsys, ["status"])[1][
        "keptEdits"
    ]
    fleet.git("checkout", "HEAD", "--", WEB)
    assert "Edited here" not in answer(fleet, capsys, "status")[1]


def test_the_daemon_logs_an_edit_that_stays(fleet: Checkout) -> None:
    """And goes on; when the edit is committed, it is what the next pass decides from."""
    with running(fleet.folder):
        eventually(lambda: "replicas: 2" in fleet.git("show", f"main:{WEB}"), "the decision")
        log = fleet.folder.with_name("fleet.log")
        eventually(lambda: "keeps a person's edit" in log.read_text(), "the log")
        assert f"checkout HEAD -- {WEB}" in log.read_text()
        patiently(fleet, "commit", "--quiet", "--message", "Mine", "--", WEB)
        eventually(lambda: "# mine" not in fleet.git("show", f"main:{WEB}"), "the next decision")
        eventually(lambda: "" == fleet.status(), "a calm checkout")

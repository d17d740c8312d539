"""Which of several people's commits caused which move, in the commit of the pass."""

from pathlib import Path

from reconciler.core.changes import CausingCommit, Outcome
from reconciler.core.message import commit_message
from tests.builders import NOTHING, NOW, rebalancer, text
from tests.cli.history import FAILED, SCALED
from tests.shell.fleet import EXAMPLE, new_fleet, reconciler, run_pass
from tests.shell.repositories import Checkout

NOTE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: n, namespace: default}\n"
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "frontend", "namespace": "default"}


def by(fleet: Checkout, author: str, files: dict[str, str], message: str = "Change") -> str:
    """Commit files under somebody's name."""
    fleet.write(files)
    fleet.git("add", "--all", "--", *files)
    mail = f"{author} <someone@example.com>"
    fleet.git("commit", "--quiet", "--message", message, "--author", mail)
    return fleet.head()


def caused(fleet: Checkout) -> list[str]:
    """What the newest commit says of who caused what."""
    told = fleet.git("log", "-1", "--format=%(trailers:key=Caused-By,valueonly)", "main")
    return [line for line in told.splitlines() if line]


def test_the_log_says_whose_commit_moved_what(tmp_path: Path) -> None:
    """Of two edits and a note in one pass; `verify` looks at none of that."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    scaled = by(fleet, "Ada", SCALED)
    by(fleet, "Bob", {"notes.txt": "Nothing to see here."})
    asked = by(fleet, "Carol", {"rebalancers/r.yaml": text(rebalancer("r", TARGET))})
    run_pass(fleet.folder, 60)

    assert [f"{scaled} default/shop (Ada)", f"{asked} default/frontend (Carol)"] == caused(fleet)
    assert 0 == reconciler(fleet.folder, "verify").code


def test_one_commit_alone_needs_no_such_line(tmp_path: Path) -> None:
    """`Reconciled-From` names it."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    by(fleet, "Ada", SCALED)
    run_pass(fleet.folder, 60)

    assert [] == caused(fleet)


def test_all_that_were_needed_are_named(tmp_path: Path) -> None:
    """A workload is scaled while its cluster fails, and a file that changes nothing is not."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    scaled = by(fleet, "Ada", SCALED)
    failed = by(fleet, "Bob", FAILED)
    edited = EXAMPLE["workloads/frontend.yaml"].replace("image: ", "image: docker.io/")
    by(fleet, "Carol", {"workloads/frontend.yaml": edited})
    run_pass(fleet.folder, 120)

    told = caused(fleet)
    assert [scaled, failed] == [line.split()[0] for line in told]
    assert "default/shop (Ada)" in told[0]
    assert "default/shop" in told[1]


def test_of_edited_clusters_those_are_named_that_mattered(tmp_path: Path) -> None:
    """A workload leaves the one that fails; the others, and who has none of it, do not matter."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    failed = by(fleet, "Bob", FAILED)
    noted = {"metadata:\n": "metadata:\n  annotations: {note: mine}\n"}
    path = "clusters/member2.yaml"
    [(old, new)] = noted.items()
    by(fleet, "Carol", {path: EXAMPLE[path].replace(old, new, 1)})
    run_pass(fleet.folder, 120)

    told = caused(fleet)
    assert [failed] == [line.split()[0] for line in told]
    assert "default/shop" in told[0]


def test_a_cluster_that_goes_was_taken_by_who_deleted_its_file(tmp_path: Path) -> None:
    """It is known by the file that it was in; another file that goes is not it."""
    fleet = new_fleet(tmp_path / "fleet", {**EXAMPLE, "notes/n.yaml": NOTE})
    run_pass(fleet.folder, 0)
    fleet.git("rm", "--quiet", "notes/n.yaml")
    by(fleet, "Carol", {})
    fleet.git("rm", "--quiet", "clusters/member1.yaml")
    gone = by(fleet, "Bob", {})
    run_pass(fleet.folder, 60)

    told = caused(fleet)
    assert [gone] == [line.split()[0] for line in told if "default/shop" in line]


def test_an_object_that_goes_was_taken_by_who_deleted_its_file(tmp_path: Path) -> None:
    """Beside somebody else's edit."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    by(fleet, "Bob", {"notes.txt": "Nothing to see here."})
    fleet.git("rm", "--quiet", "workloads/shop.yaml")
    gone = by(fleet, "Ada", {})
    run_pass(fleet.folder, 60)

    assert [f"{gone} default/shop (Ada)"] == caused(fleet)


def test_a_root_below_the_top_is_told_of_its_own_files(tmp_path: Path) -> None:
    """Commits beside it moved nothing there."""
    inner = {f"teams/a/{path}": data for path, data in EXAMPLE.items()}
    fleet = new_fleet(tmp_path / "fleet", inner)
    folder = fleet.folder / "teams/a"
    assert 0 == reconciler(folder, "reconcile", "--now", "2026-11-20T12:00:00Z").code
    scaled = by(fleet, "Ada", {f"teams/a/{path}": data for path, data in SCALED.items()})
    by(fleet, "Bob", SCALED)
    assert 0 == reconciler(folder, "reconcile", "--now", "2026-11-20T12:01:00Z").code

    assert [f"{scaled} default/shop (Ada)"] == caused(fleet)


def test_a_name_forges_no_trailer_and_many_moves_are_cut_off() -> None:
    """Line breaks and brackets are taken out of names, and a line stays a line."""
    many = tuple(f"default/w{number}" for number in range(30))
    author = "Eve\nReconciled-From: 1 [skip ci]" + "x" * 500
    message = commit_message(
        Outcome(),
        NOTHING,
        now=NOW,
        version="1",
        caused=(CausingCommit("1" * 40, author, many),),
    )

    [line] = [line for line in message.splitlines() if line.startswith("Caused-By: ")]
    assert 1 == sum(line.startswith("Reconciled-From: ") for line in message.splitlines())
    assert "[skip ci]" not in message
    assert "default/w9, and 20 more (Eve Reconciled-From: 1 (skip ci)" in line
    assert 400 > len(line)

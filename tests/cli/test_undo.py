"""`reconciler undo`: a commit is taken back, and the objects that it moved are where they were."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.audit.fleet.placed import placed_on
from reconciler.cli.main import run
from reconciler.core.dialects import PLACED
from reconciler.model.decision import Placed
from reconciler.model.identity import ObjectKey
from tests.bounded import examples
from tests.builders import (
    Body,
    cluster,
    configuration,
    deployment,
    divided,
    policy,
    rebalancer,
    taint,
    target,
    text,
)
from tests.cli.history import answer, answer_json
from tests.dialects.kubefleet.fleet import fixed, member
from tests.dialects.kubefleet.fleet import placement as fleet_placement
from tests.dialects.ocm.worlds import binding, cluster_set
from tests.dialects.ocm.worlds import cluster as hub_cluster
from tests.dialects.ocm.worlds import placement as hub_placement
from tests.shell.fleet import Clock, load_world, new_fleet, new_passes, run_pass
from tests.shell.repositories import NOW, Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]
Files = Mapping[str, str | None]


def on(*names: str) -> Body:
    """A policy that divides over clusters by name."""
    return policy(
        placement={
            "clusterAffinity": {"clusterNames": list(names)},
            "replicaScheduling": divided(),
        }
    )


START: Mapping[str, str] = {
    "reconciler.yaml": text(
        configuration(delivery={"folders": {}}, feedback={"assumeAfterSeconds": None})
    ),
    **{f"clusters/{name}.yaml": text(cluster(name)) for name in "ac"},
    **{f"members/{name}.yaml": text(member(name)) for name in "de"},
    **{f"hub/{name}.yaml": text(hub_cluster(name)) for name in "fgh"},
    "hub/set.yaml": text(cluster_set(), binding()),
    "policy.yaml": text(on("a", "b")),
    "api.yaml": text(deployment("api")),
    "web.yaml": text(deployment("web", replicas=4)),
    "crp.yaml": text(fleet_placement(fixed("d"))),
    "placement.yaml": text(hub_placement(numberOfClusters=1)),
}
EDITS: Mapping[str, Files] = {
    "policy": {"policy.yaml": text(on("c"))},
    "scale": {"web.yaml": text(deployment("web", replicas=1))},
    "removed": {"api.yaml": None},
    "added": {"new.yaml": text(deployment("new"))},
    "crp": {"crp.yaml": text(fleet_placement(fixed("e")))},
    "placement": {"placement.yaml": text(hub_placement(numberOfClusters=3))},
    "rebalancer": {"demo.yaml": text(rebalancer("demo", target(name="web"), target(name="api")))},
}


def commit(fleet: Checkout, files: Files, message: str) -> str:
    """Commit files, and files that go."""
    for path, content in files.items():
        if content is None:
            (fleet.folder / path).unlink()
    fleet.write({path: content for path, content in files.items() if content is not None})
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--allow-empty", "--message", message)
    return fleet.head()


def placed(fleet: Checkout, branch: str = "main") -> dict[ObjectKey, Placed]:
    """Where each object is."""
    world = load_world(fleet.folder, branch)
    keys = [key for key in world.outputs if key[:2] in PLACED]
    return {key: found for key in keys if (found := placed_on(world, key))}


class Fleet:
    """A repository with three APIs, a pass after each commit; outputs may have their own branch."""

    def __init__(self, folder: Path, apart: str | None = None) -> None:
        self.checkout = new_checkout(folder, dict(START))
        self.apart = apart
        self.seconds = 0
        self.decide()
        commit(self.checkout, {"clusters/b.yaml": text(cluster("b"))}, "Add b, which gets nothing")
        self.decide()

    def decide(self) -> str:
        """Run two passes; return the commit of the first, or the head if it changes nothing."""
        commits = []
        for _ in range(2):
            self.seconds += 600
            clock = Clock(NOW + timedelta(seconds=self.seconds))
            commits.append(new_passes(self.checkout.folder, clock, self.apart).run().commit)
        return commits[0] or self.checkout.git("rev-parse", self.apart or "HEAD")

    def placed(self) -> dict[ObjectKey, Placed]:
        """Where each object is."""
        return placed(self.checkout, self.apart or "main")

    def edit(self, name: str) -> tuple[str, str]:
        """Commit an edit and decide; return both commits."""
        return commit(self.checkout, EDITS[name], f"Edit {name}"), self.decide()

    def undo(self, revision: str, *options: str) -> str:
        """Undo a commit, commit that, and decide; return the commit of the person."""
        apart = ("--output-branch", self.apart) if self.apart else ()
        folder = str(self.checkout.folder)
        assert 0 == run(["-C", folder, "undo", revision, *apart, *options])
        undone = commit(self.checkout, {}, "Undo")
        self.decide()
        return undone


@pytest.mark.parametrize("apart", [None, "outputs"], ids=["one branch", "two"])
@pytest.mark.parametrize("whose", ["decision", "edit"])
@pytest.mark.parametrize("name", EDITS)
def test_undo_and_its_undo_bring_assignments_back(
    tmp_path: Path, name: str, whose: str, apart: str | None
) -> None:
    """Named by the commit of the pass or that of the person; within two passes, for each API."""
    fleet = Fleet(tmp_path / "fleet", apart)
    before = fleet.placed()
    edit, decision = fleet.edit(name)
    after = fleet.placed()
    assert before != after

    undone = fleet.undo(decision if whose == "decision" else edit)
    assert before == fleet.placed()

    fleet.undo(undone)
    assert after == fleet.placed()


@settings(
    max_examples=examples(6),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.permutations(sorted(EDITS)), st.integers(1, 4), st.sampled_from((None, "outputs")))
def test_undone_in_reverse_order_every_history_ends_where_it_began(
    tmp_path_factory: pytest.TempPathFactory, names: Sequence[str], count: int, apart: str | None
) -> None:
    """The last edit first; what stands between is as it was each time."""
    fleet = Fleet(tmp_path_factory.mktemp("fleet") / "fleet", apart)
    states = [fleet.placed()]
    edits = []
    for name in names[:count]:
        edits.append(fleet.edit(name)[0])
        states.append(fleet.placed())
    for edit, before in zip(reversed(edits), reversed(states[:-1]), strict=True):
        fleet.undo(edit)

        assert before == fleet.placed()


def test_the_undo_of_an_undo_says_what_moves(tmp_path: Path, capsys: Capsys) -> None:
    """By the outputs that it brings back; a second time there is nothing left."""
    fleet = Fleet(tmp_path / "fleet")
    _, decision = fleet.edit("policy")
    undone = fleet.undo(decision)
    capsys.readouterr()

    fleet.undo(undone)
    out = capsys.readouterr().out
    assert "  default/api: back to c(2)\n  default/web: back to c(4)\n" in out
    assert 2 == run(["-C", str(fleet.checkout.folder), "undo", undone])
    assert f"{undone[:12]} is undone already" in capsys.readouterr().err


APART = ("--output-branch", "outputs")


def test_with_a_branch_of_outputs_one_pass_is_asked_to_restore(
    tmp_path: Path, capsys: Capsys
) -> None:
    """It says so in its commit, is proven, and a later edit of the file restores nothing again."""
    fleet = Fleet(tmp_path / "fleet", "outputs")
    _, decision = fleet.edit("policy")
    asked = ["-C", str(fleet.checkout.folder), "undo", decision, *APART]
    before = fleet.checkout.git("rev-parse", f"{decision}~1")

    assert 0 == run([*asked, "--dry-run"])
    out = capsys.readouterr().out
    assert (
        "  deployment/web in namespace default: asks to be restored (reconciler.dev/restore)\n"
        in out
    )
    assert "  default/web: back to a(4)\n" in out

    undone = fleet.undo(decision)
    web = (fleet.checkout.folder / "web.yaml").read_text()
    assert f'"reconciler.dev/restore": "{before}"' in web
    message = fleet.checkout.git("log", "-1", "--format=%B", "outputs")
    assert f"c(4) -> a(4): restored (as of {before[:12]})" in message
    assert 0 == run(["-C", str(fleet.checkout.folder), "verify", *APART])
    assert "Undo" == fleet.checkout.git("log", "-1", "--format=%s", undone)

    fleet.edit("policy")
    moved = fleet.placed()
    commit(fleet.checkout, {"web.yaml": web.replace('"replicas": 4', '"replicas": 5')}, "Scale")
    fleet.decide()
    assert {"c": 5} == where(fleet, "web-deployment")
    assert {"c": 2} == where(fleet, "api-deployment")
    assert moved.keys() == fleet.placed().keys()


def where(fleet: Fleet, name: str) -> dict[str, int]:
    """Where an object is, by the name of what decisions about it bear."""
    found = fleet.placed()
    return dict(next(found[key] for key in found if key.name == name))


@pytest.mark.parametrize("merged", ["files", "a commit", "a branch behind main"])
def test_a_plan_restores_what_the_pass_after_the_merge_restores(
    tmp_path: Path, capsys: Capsys, merged: str
) -> None:
    """A commit of the branch is one of the merge, too, which is on no branch yet."""
    fleet = Fleet(tmp_path / "fleet")
    _, decision = fleet.edit("policy")
    git = fleet.checkout.git
    web = deployment("web", replicas=4)
    annotations = {"annotations": {"reconciler.dev/restore": git("rev-parse", f"{decision}~1")}}
    body = {**web, "metadata": {**cast(Body, web["metadata"]), **annotations}}
    asked = {"web.yaml": text(body), "policy.yaml": START["policy.yaml"]}
    git("checkout", "--quiet", "-b", "topic")
    fleet.checkout.write(asked)
    if merged != "files":
        commit(fleet.checkout, {}, "Ask")
    if merged == "a branch behind main":
        git("checkout", "--quiet", "main")
        commit(fleet.checkout, {"new.yaml": text(deployment("new"))}, "Add new")
        fleet.decide()
        git("checkout", "--quiet", "topic")

    _, planned = answer_json(fleet.checkout, capsys, ["plan", "--now", "2026-11-21T12:00:00Z"])

    assert [] == planned["faults"]
    moves = {one["subject"]: one["clusters"] for one in planned["objects"]}["default/web"]
    assert [("a", None, 4), ("c", 4, None)] == [
        (one["cluster"], one["before"], one["after"]) for one in moves
    ]
    if merged == "files":
        commit(fleet.checkout, {}, "Ask")
    git("checkout", "--quiet", "main")
    git("merge", "--quiet", "--no-edit", "topic")
    fleet.decide()
    assert {"a": 4} == where(fleet, "web-deployment")


@pytest.mark.parametrize("named", ["main", "outputs~1 as somebody else has it", "no commit"])
def test_only_commits_of_the_branch_with_the_outputs_are_restored(
    tmp_path: Path, named: str
) -> None:
    """What a stranger names is told, and nothing is taken from it."""
    fleet = Fleet(tmp_path / "fleet", "outputs")
    fleet.edit("policy")
    git = fleet.checkout.git
    forged = git("commit-tree", "outputs~1^{tree}", "-p", "outputs~1", "-m", "Forged")
    value = {"main": git("rev-parse", "main"), "no commit": "HEAD"}.get(named, forged)
    annotations = {"annotations": {"reconciler.dev/restore": value}}
    web = deployment("web", replicas=4)
    body = {**web, "metadata": {**cast(Body, web["metadata"]), **annotations}}
    commit(fleet.checkout, {"web.yaml": text(body)}, "Ask")

    fleet.decide()

    assert {"c": 4} == where(fleet, "web-deployment")
    faults = git("show", "outputs:status/faults.yaml")
    assert "rule: restore-commit\n" in faults
    assert "names no commit of the branch with the outputs, so nothing is restored" in faults


def test_what_was_decided_again_later_stays(tmp_path: Path, capsys: Capsys) -> None:
    """It is named, and taken along when that is asked for."""
    fleet = Fleet(tmp_path / "fleet")
    before = placed(fleet.checkout)
    _, decision = fleet.edit("policy")
    fleet.edit("scale")
    asked = ["-C", str(fleet.checkout.folder), "undo", decision, "--dry-run"]

    assert 0 == run(asked)
    out = capsys.readouterr().out
    assert "  policy.yaml: as before\n" in out
    assert "  default/api: back to a(2)\n" in out
    assert "  default/web stays: it was decided again later (--also)\n" in out
    assert "" == fleet.checkout.git("status", "--porcelain")

    fleet.undo(decision, "--also")
    key = next(key for key in before if key.name == "api-deployment")
    assert before[key] == placed(fleet.checkout)[key]


def test_a_file_that_was_edited_again_stays(tmp_path: Path, capsys: Capsys) -> None:
    """Or somebody's later edit would be lost with it."""
    fleet = Fleet(tmp_path / "fleet")
    _, decision = fleet.edit("policy")
    commit(fleet.checkout, {"policy.yaml": f"# ours\n{text(on('c'))}"}, "Comment")

    assert 0 == run(["-C", str(fleet.checkout.folder), "undo", decision])
    assert "policy.yaml stays: it was edited again later (--also)" in capsys.readouterr().out


def test_a_failure_is_not_undone(tmp_path: Path, capsys: Capsys) -> None:
    """It is refused, with what to do instead."""
    fleet = Fleet(tmp_path / "fleet")
    failed = cluster("a", taints=[taint(effect="NoExecute")])
    commit(fleet.checkout, {"clusters/a.yaml": text(failed)}, "Report that a is down")
    decision = fleet.decide()

    for whose in (decision, f"{decision}~1"):
        assert 2 == run(["-C", str(fleet.checkout.folder), "undo", whose])
        err = capsys.readouterr().err
        assert "default/web stays: evicted (a: spot:NoExecute); bring the cluster back, or" in err


def test_uncommitted_changes_are_never_overwritten(tmp_path: Path, capsys: Capsys) -> None:
    """Somebody edits that file."""
    fleet = Fleet(tmp_path / "fleet")
    _, decision = fleet.edit("policy")
    fleet.checkout.write({"policy.yaml": "# draft\n"})

    assert 2 == run(["-C", str(fleet.checkout.folder), "undo", decision])
    assert "policy.yaml has changes that are not committed" in capsys.readouterr().err


def test_it_may_go_to_a_branch_and_says_the_same_to_machines(
    tmp_path: Path, capsys: Capsys
) -> None:
    """The checkout stays as it is; `verify` knows the outputs as those of an ancestor."""
    fleet = Fleet(tmp_path / "fleet")
    _, decision = fleet.edit("policy")
    at = ["-C", str(fleet.checkout.folder)]
    author = ["--author", "Ada <ada@example.com>"]

    assert 0 == run([*at, "undo", decision, "--branch", "back", *author, "-o", "json"])
    told = json.loads(capsys.readouterr().out)
    assert [] == told["stays"]
    assert {"subject": "default/web", "clusters": {"a": 4}} in told["objects"]

    fleet.checkout.git("merge", "--quiet", "back")
    assert 0 == run([*at, "verify"])
    assert "1 reverted" in capsys.readouterr().out
    assert "" == fleet.checkout.git("diff", "--name-only", "HEAD~2", "--", "delivery")


def test_what_other_commits_delivered_in_the_same_pass_stays(tmp_path: Path) -> None:
    """Of two commits that one pass took, the undo of one takes no file of the other back."""
    fleet = Fleet(tmp_path / "fleet")
    released = text(deployment("web", replicas=4)).replace("example.org/web", "web:2")
    commit(fleet.checkout, {"web.yaml": released}, "Release web")
    noted = commit(fleet.checkout, {"NOTES.md": "Released.\n"}, "Note it")
    scaled = commit(fleet.checkout, {"api.yaml": text(deployment("api", replicas=5))}, "Scale api")
    decided = fleet.decide()
    assert fleet.checkout.git("grep", "-l", "web:2", "--", "delivery")

    fleet.undo(noted)
    assert "" == fleet.checkout.git("diff", "--name-only", decided, "--", "delivery", "status")

    fleet.undo(scaled)
    differ = fleet.checkout.git("diff", "--name-only", decided, "--", "delivery").splitlines()
    assert differ
    assert [] == [path for path in differ if "web" in path]


def test_a_commit_at_the_end_of_a_shallow_clone_is_refused(tmp_path: Path, capsys: Capsys) -> None:
    """What it changed is not there to be seen."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    fleet.git("clone", "--quiet", "--depth=1", f"file://{fleet.folder}", str(tmp_path / "clone"))

    code, out, err = answer(Checkout(tmp_path / "clone"), capsys, "undo", "HEAD")

    assert (1, "") == (code, out)
    assert err.startswith("reconciler: this clone is shallow, its history ends at ")


@pytest.mark.parametrize("apart", [None, "outputs"], ids=["one branch", "two"])
def test_a_file_that_was_renamed_and_edited_comes_back_under_its_name(
    tmp_path: Path, apart: str | None
) -> None:
    """Or its workloads would be in no file, and go from their clusters."""
    fleet = Fleet(tmp_path / "fleet", apart)
    before = fleet.placed()
    renamed = {"web.yaml": None, "moved.yaml": text(deployment("web", replicas=1))}
    commit(fleet.checkout, renamed, "Rename and scale")
    decision = fleet.decide()

    fleet.undo(decision)

    assert before == fleet.placed()
    assert not (fleet.checkout.folder / "moved.yaml").exists()
    assert (fleet.checkout.folder / "web.yaml").exists()


def test_a_rename_is_not_undone_by_half(tmp_path: Path, capsys: Capsys) -> None:
    """Where the new file was edited again it stays, and the old one does not come back."""
    fleet = Fleet(tmp_path / "fleet", None)
    renamed = {"web.yaml": None, "moved.yaml": text(deployment("web", replicas=1))}
    edited = {**renamed, **EDITS["policy"]}
    commit(fleet.checkout, edited, "Rename and scale")
    decision = fleet.decide()
    again = {"moved.yaml": (fleet.checkout.folder / "moved.yaml").read_text() + "# ours\n"}
    commit(fleet.checkout, again, "Say whose it is")

    _, out, _ = answer(fleet.checkout, capsys, "undo", decision)

    assert "moved.yaml stays: it was edited again later (--also)\n" in out
    assert "web.yaml stays: its objects moved from or to moved.yaml, which stays\n" in out
    assert not (fleet.checkout.folder / "web.yaml").exists()


def test_what_stands_in_a_list_asks_to_be_restored_as_well(tmp_path: Path) -> None:
    """Each item by an annotation of its own, and the next pass restores it."""
    fleet = Fleet(tmp_path / "fleet", "outputs")
    items = [deployment("api"), deployment("web", replicas=4)]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    commit(fleet.checkout, {"api.yaml": None, "web.yaml": text(listed)}, "Make it a list")
    fleet.decide()
    _, decision = fleet.edit("policy")

    fleet.undo(decision)

    assert 2 == (fleet.checkout.folder / "web.yaml").read_text().count("reconciler.dev/restore")
    log = fleet.checkout.git("log", "-1", "--format=%B", "outputs")
    assert "default/api: c(2) -> a(2): restored" in log
    assert "default/web: c(4) -> a(4): restored" in log


@pytest.mark.parametrize("apart", [None, "outputs"], ids=["one branch", "two"])
def test_what_people_took_away_since_is_not_said_to_come_back(
    tmp_path: Path, capsys: Capsys, apart: str | None
) -> None:
    """It has no file that could ask for that, before the next pass and after it."""
    fleet = Fleet(tmp_path / "fleet", apart)
    _, decision = fleet.edit("policy")
    commit(fleet.checkout, {"web.yaml": None}, "Remove web")
    options = ("--output-branch", apart) if apart else ()
    asked = ["-C", str(fleet.checkout.folder), "undo", decision, "--dry-run", *options]

    for also in ((), ("--also",)):
        capsys.readouterr()
        assert 0 == run([*asked, *also])
        out = capsys.readouterr().out
        assert "  default/web stays: no file has it any more\n" in out
        assert "  default/api: back to a(2)\n" in out
        assert "deployment/web" not in out
        fleet.decide()


def test_a_branch_of_outputs_that_is_not_here_is_refused(tmp_path: Path, capsys: Capsys) -> None:
    """Causes alone would be undone, and the objects stay where they are."""
    fleet = Fleet(tmp_path / "fleet", "outputs")
    edit, _ = fleet.edit("policy")
    asked = ["-C", str(fleet.checkout.folder), "undo", edit, "--dry-run"]

    assert 2 == run([*asked, "--output-branch", "absent"])
    assert 'no pass on the branch "absent" is known here' in capsys.readouterr().err

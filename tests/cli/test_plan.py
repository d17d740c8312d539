"""`reconciler plan` on real repositories, and what `--fail-on` does not let through."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from reconciler.audit.previews.wording import Heading
from reconciler.cli.main import run
from tests.builders import (
    cluster,
    cluster_policy,
    cluster_status,
    configmap,
    configuration,
    deployment,
    policy,
    rebalancer,
    selector,
    target,
    text,
)
from tests.cli.history import FAILED, SCALED, answer, answer_json, told_fleet
from tests.shell.fleet import EXAMPLE, decided_fleet, new_fleet, reconciler, run_pass
from tests.shell.git.test_repository import set_traps, trap
from tests.shell.repositories import Checkout, git, new_checkout

__all__ = ["trap"]  # a fixture

Capsys = pytest.CaptureFixture[str]
LATER = ("--now", "2026-11-20T12:10:00Z")
FORMATS = ("text", "markdown", "html", "json")
PASSWORD = "hunter2"  # noqa: S105  # the secret that must not appear


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """A fleet that was passed once, with a topic branch checked out."""
    checkout = decided_fleet(tmp_path / "fleet")
    checkout.git("checkout", "--quiet", "-b", "topic")
    return checkout


def test_a_branch_that_moves_work(fleet: Checkout, capsys: Capsys) -> None:
    """A headline, then for each binding a table with the reason."""
    fleet.commit(FAILED, "Fail member1")

    code, out, err = answer(fleet, capsys, "plan", *LATER)

    assert (0, "") == (code, err)
    lines = out.splitlines()
    assert "Plan: 3 bindings change; 6 replicas move" == lines[0]
    assert "merged into main" in lines[1]
    shop = lines.index(next(line for line in lines if line.startswith("~ default/shop")))
    assert "evicted (member1: " in lines[shop]
    assert [
        ["CLUSTER", "BEFORE", "AFTER", "CHANGE"],
        ["backup1", "-", "2", "+2"],
        ["member1", "2", "-", "-2"],
    ] == [line.split() for line in lines[shop + 1 : shop + 4]]


def test_uncommitted_files_count_by_default(fleet: Checkout, capsys: Capsys) -> None:
    """A person in a checkout sees what their files would do, and nothing is touched by it."""
    fleet.write(SCALED)
    (fleet.folder / "workloads/tools.yaml").unlink()
    before = (fleet.status(), git(fleet.folder, "count-objects", "-v"))

    code, out, _ = answer(fleet, capsys, "plan", *LATER)
    committed = answer(fleet, capsys, "plan", "--head", "HEAD", *LATER)[1]

    assert 0 == code
    assert " + 2 uncommitted files)" in out
    assert "~ default/shop (changed): replicas changed" in out
    assert "Nothing moves" in committed
    assert before == (fleet.status(), git(fleet.folder, "count-objects", "-v"))


def test_the_merge_decides_not_the_branch(fleet: Checkout, capsys: Capsys) -> None:
    """What the base got meanwhile stays: a topic that is behind undoes nothing."""
    fleet.git("checkout", "--quiet", "main")
    fleet.commit(FAILED, "Fail member1")
    run_pass(fleet.folder, 100)
    fleet.git("checkout", "--quiet", "topic")
    fleet.commit(SCALED, "Scale the shop")

    code, found = answer_json(fleet, capsys, ["plan", *LATER])

    assert 0 == code
    assert ["default/shop"] == [item["subject"] for item in found["objects"]]
    assert [("backup1", 2, 5)] == [
        (move["cluster"], move["before"], move["after"]) for move in found["objects"][0]["clusters"]
    ]
    assert [fleet.git("rev-parse", "main"), fleet.head()] == [
        found[side]["commit"] for side in ("base", "head")
    ]


def test_placements_of_ocm_have_decisions(fleet: Checkout, capsys: Capsys) -> None:
    """A binding is what Karmada and KubeFleet call it; together they are decisions, too."""
    reports = "placements/reports.yaml"
    text = (fleet.folder / reports).read_text()
    fleet.commit({reports: text.replace("numberOfClusters: 1", "numberOfClusters: 2")}, "More")
    ocm = answer(fleet, capsys, "plan", *LATER)[1]
    fleet.commit(FAILED, "Fail member1")
    both = answer(fleet, capsys, "plan", *LATER)[1]

    assert "Plan: 1 decision changes" == ocm.splitlines()[0]
    assert "Plan: 4 decisions change; 6 replicas move" == both.splitlines()[0]


def test_what_happens_anyway_stands_apart(fleet: Checkout, capsys: Capsys) -> None:
    """Work that the base would move without the merge is not blamed on it."""
    fleet.git("checkout", "--quiet", "main")
    fleet.commit(FAILED, "Fail member1")
    fleet.git("checkout", "--quiet", "topic")
    fleet.commit({"notes.txt": "nothing to place\n"}, "Take notes")

    _, found = answer_json(fleet, capsys, ["plan", *LATER])
    out = answer(fleet, capsys, "plan", *LATER)[1]

    assert [] == found["objects"]
    assert ["default/frontend", "default/settings", "default/shop"] == sorted(
        item["subject"] for item in found["anyway"]
    )
    assert "Already pending, independent of this change:\n  default/frontend: " in out


def test_what_stays_without_a_cluster_anyway_says_why(fleet: Checkout, capsys: Capsys) -> None:
    """It goes from nowhere to nowhere, which is no news."""
    workload, policy = EXAMPLE["workloads/shop.yaml"], EXAMPLE["policies/shop.yaml"]
    nowhere = policy.replace("- member1", "- lost").replace("- backup1", "- lost")
    cart = {
        "workloads/cart.yaml": workload.replace("name: shop", "name: cart"),
        "policies/cart.yaml": nowhere.replace("name: shop", "name: cart"),
    }
    fleet.git("checkout", "--quiet", "main")
    fleet.commit(cart, "Add the cart")
    fleet.git("checkout", "--quiet", "topic")

    out = answer(fleet, capsys, "plan")[1]

    assert "\n  default/cart: 0/3 clusters are available: " in out
    assert "nowhere -> nowhere" not in out


def test_detailed_exit_codes(fleet: Checkout, capsys: Capsys) -> None:
    """0 nothing, 2 changes, 1 any error; without the flag a change is no failure."""
    detailed = ("plan", *LATER, "--detailed-exitcode")

    assert 0 == answer(fleet, capsys, *detailed)[0]
    fleet.commit(SCALED, "Scale the shop")
    assert 2 == answer(fleet, capsys, *detailed)[0]
    assert 0 == answer(fleet, capsys, "plan", *LATER)[0]
    assert 1 == answer(fleet, capsys, *detailed, "--base", "nowhere")[0]


def test_a_conflict_is_told_in_one_line(fleet: Checkout, capsys: Capsys) -> None:
    """It names the file and what to do."""
    fleet.commit(SCALED, "Scale to 5")
    fleet.git("checkout", "--quiet", "main")
    text = EXAMPLE["workloads/shop.yaml"].replace("replicas: 2", "replicas: 9")
    fleet.commit({"workloads/shop.yaml": text}, "Scale to 9")
    fleet.git("checkout", "--quiet", "topic")

    code, out, err = answer(fleet, capsys, "plan")

    assert (1, "") == (code, out)
    assert "cannot be merged, both changed workloads/shop.yaml" in err
    assert 1 == err.count("\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--base", "nowhere"], "there is no revision", id="base"),
        pytest.param(["--head", "-x"], "there is no revision", id="dash"),
        pytest.param(["--head", "main", "--worktree"], "exclude each other", id="both"),
        pytest.param(["--now", "2026-11-20T12:00:00Z"], "later than the last pass", id="early"),
    ],
)
def test_mistakes_are_told_in_one_line(
    fleet: Checkout, capsys: Capsys, arguments: list[str], message: str
) -> None:
    """Wrong usage."""
    code, out, err = answer(fleet, capsys, "plan", *arguments)

    assert (2, "") == (code, out)
    assert message in err
    assert 1 == err.count("\n")


def test_histories_without_a_common_commit(fleet: Checkout, tmp_path: Path) -> None:
    """A shallow clone is told what to fetch."""
    fleet.commit(SCALED, "Scale")
    fleet.git("checkout", "--quiet", "main")
    fleet.commit({"notes.txt": "x"}, "Note")
    clone = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", "--no-single-branch", f"file://{fleet.folder}",
        str(clone))  # fmt: skip

    finished = reconciler(clone, "plan", "--head", "origin/topic")

    assert (2, "") == (finished.code, finished.stdout)
    assert "git fetch --unshallow" in finished.stderr


def test_the_base_may_be_a_remote_branch_and_the_clone_bare(
    fleet: Checkout, tmp_path: Path, capsys: Capsys
) -> None:
    """CI often has no local main; a bare repository has no files."""
    fleet.commit(SCALED, "Scale")
    git(tmp_path, "clone", "--quiet", "--branch=topic", str(fleet.folder), "clone")
    git(tmp_path, "clone", "--quiet", "--bare", str(fleet.folder), "bare.git")

    _, found = answer_json(Checkout(tmp_path / "clone"), capsys, ["plan", *LATER])
    bare = Checkout(tmp_path / "bare.git")

    assert ("origin/main", 1) == (found["base"]["name"], len(found["objects"]))
    assert "default/shop" in answer(bare, capsys, "plan", "--head", "topic", *LATER)[1]
    assert "name a revision with --head" in answer(bare, capsys, "plan")[2]


def test_links_and_ignored_files_are_not_followed(
    fleet: Checkout, capsys: Capsys, tmp_path: Path
) -> None:
    """What `git add` would leave out is left out, and a link leads nowhere."""
    (tmp_path / "outside.yaml").write_text(text(configmap("outside")))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "more.yaml").write_text(text(configmap("more")))
    (fleet.folder / "workloads" / "link.yaml").symlink_to(tmp_path / "outside.yaml")
    (fleet.folder / "linked").symlink_to(tmp_path / "folder")
    os.mkfifo(fleet.folder / "workloads" / "pipe.yaml")
    fleet.write({".gitignore": "drafts/\n", "drafts/draft.yaml": text(configmap("draft"))})

    code, out, _ = answer(fleet, capsys, "plan", *LATER)

    assert 0 == code
    assert out.startswith("Plan: Nothing moves\n")


def test_a_hostile_repository_runs_nothing(fleet: Checkout, trap: Path, capsys: Capsys) -> None:
    """Merge drivers, filters and monitors that a repository configures stay asleep."""
    fleet.commit({**SCALED, ".gitattributes": "* merge=evil filter=evil diff=evil\n"}, "Scale")
    fleet.git("checkout", "--quiet", "main")
    below = f"{EXAMPLE['workloads/shop.yaml']}# a comment\n"
    fleet.commit({"workloads/shop.yaml": below}, "Comment")
    fleet.git("checkout", "--quiet", "topic")
    set_traps(fleet.folder, trap)
    (fleet.folder / ".git" / "info").mkdir(exist_ok=True)
    (fleet.folder / ".git/info/attributes").write_text("* merge=evil filter=evil\n")
    fleet.write({"workloads/extra.yaml": text(configmap("extra"))})

    code, out, _ = answer(fleet, capsys, "plan", *LATER)

    assert 0 == code
    assert "~ default/shop (changed): replicas changed" in out


def test_warnings(fleet: Checkout, capsys: Capsys) -> None:
    """What a person should look at, each with its rule."""
    fleet.git("rm", "--quiet", "clusters/member1.yaml", "clusters/backup1.yaml")
    shop = "status/resourcebindings.work.karmada.io/default/shop-deployment.yaml"
    edited = (fleet.folder / shop).read_text().replace("member1", "member2")
    fleet.commit({shop: edited, "reconciler.yaml": text(configuration(suspend=False))}, "Break")

    _, found = answer_json(fleet, capsys, ["plan", *LATER])

    rules = {warning["rule"] for warning in found["warnings"]}
    assert {"unschedulable", "cluster-removed", "outputs-edited"} <= rules
    fleet.commit({"reconciler.yaml": text(configuration(suspend=True))}, "Suspend")
    assert ["suspended"] == [
        warning["rule"]
        for warning in answer_json(fleet, capsys, ["plan", *LATER])[1]["warnings"]
        if warning["rule"] == "suspended"
    ]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        pytest.param(
            {"maxMoves": 5},
            "cannot choose it; another one is needed later, or limits.waitForEviction: true",
            id="goes-now",
        ),
        pytest.param({"waitForEviction": True}, "waits for the end of that", id="waits"),
    ],
)
def test_a_target_under_eviction_is_warned_of(
    tmp_path: Path, capsys: Capsys, limits: dict[str, object], expected: str
) -> None:
    """A rebalance to a cluster that the work is still leaving would be undone, or waits."""
    fleet = told_fleet(tmp_path / "fleet")
    fleet.git("checkout", "--quiet", "-b", "topic")
    demand = text(rebalancer("back", target(name="shop"), limits=limits))
    fleet.commit({"clusters/member1.yaml": EXAMPLE["clusters/member1.yaml"]}, "Mend member1")
    fleet.commit({"rebalancers/back.yaml": demand}, "Bring it back")

    _, found = answer_json(fleet, capsys, ["plan", "--now", "2026-11-20T12:02:10Z"])

    told = f"it is still being evicted from member1, so WorkloadRebalancer back {expected}"
    assert [("under-eviction", "default/shop", told)] == [
        (warning["rule"], warning["subject"], warning["message"]) for warning in found["warnings"]
    ]


def test_new_faults_are_told_and_secrets_are_not(fleet: Checkout, capsys: Capsys) -> None:
    """A fault that the branch brings stands in every format; no value of a Secret does."""
    head = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: default}\n"
    number = "1_2345_6"
    bad = (
        f"stringData:\n  password: {number}\n",
        f"stringData:\n  password: {{{PASSWORD}\n",
        f"stringData:\n  password: 9{'1' * 5000}\n",
        f"stringData:\n  password: '{PASSWORD}\n",
        f"stringData: {{password: [{PASSWORD}]}}\n",
        f"data: {PASSWORD}\n",
        f"immutable: {PASSWORD}\n",
    )
    for i, data in enumerate(bad):
        fleet.write({f"workloads/secret{i}.yaml": head.replace("s,", f"s{i},") + data})

    for output in ("text", "json", "html", "markdown"):
        out = answer(fleet, capsys, "plan", *LATER, "-o", output)[1]

        assert "workloads/secret0.yaml" in out
        assert "workloads/secret3.yaml" in out
        assert [] == [secret for secret in (PASSWORD, number, "11111") if secret in out]


def test_html_is_one_escaped_page(fleet: Checkout, capsys: Capsys) -> None:
    """No script, no link, nothing from elsewhere."""
    fleet.commit({**SCALED, "x<img src=a>.yaml": "apiVersion: v1\nkind: [<script>"}, "Add")

    code, out, _ = answer(fleet, capsys, "plan", *LATER, "-o", "html")

    assert (0, True) == (code, out.startswith("<!doctype html>"))
    assert "default/shop" in out
    assert [] == re.findall(r"<(?:script|img|link|a)\b|https?://", out)


def test_svg_draws_what_moves_as_text_that_is_no_markup(fleet: Checkout, capsys: Capsys) -> None:
    """One picture by itself, with the clusters that lose and gain."""
    fleet.commit(FAILED, "Fail member1")

    code, out, _ = answer(fleet, capsys, "plan", *LATER, "-o", "svg")

    assert (0, True) == (code, out.startswith("<svg xmlns="))
    assert "member1 to backup1" in out
    assert [] == re.findall(r"<(?:script|image|a|foreignObject)\b|href|style=", out)


def test_a_subfolder_is_planned_by_itself(tmp_path: Path, capsys: Capsys) -> None:
    """With -C the root is a folder of a larger repository."""
    files = {f"prod/{path}": content for path, content in EXAMPLE.items()}
    fleet = new_fleet(tmp_path / "fleet", files)
    run_pass(fleet.folder / "prod", 0)
    fleet.git("checkout", "--quiet", "-b", "topic")
    fleet.write({f"prod/{path}": content for path, content in SCALED.items()})

    assert 0 == run(["-C", str(fleet.folder / "prod"), "plan", *LATER])
    assert "~ default/shop" in capsys.readouterr().out


def test_a_braked_removal_is_told_once_with_what_to_write(tmp_path: Path, capsys: Capsys) -> None:
    """In every format: the digest is whole, however long names are; written down, it lets go."""
    names = [f"{letter}{'x' * 150}" for letter in "abcdefghij"]
    files = {f"workloads/{name[0]}.yaml": text(configmap(name)) for name in names}
    fleet = new_fleet(tmp_path / "fleet")
    fleet.commit(
        {
            **files,
            "policies/all.yaml": text(cluster_policy("all", selectors=[selector("ConfigMap")])),
        },
        "Start",
    )
    run_pass(fleet.folder, 0)
    for path in files:
        (fleet.folder / path).unlink()

    told = {output: answer(fleet, capsys, "plan", *LATER, "-o", output)[1] for output in FORMATS}
    faults = json.loads(told["json"])["faults"]

    assert ["removal-braked"] == [fault["rule"] for fault in faults]
    [digest] = set(re.findall("sha256:[0-9a-f]{64}", "".join(told.values())))
    assert dict.fromkeys(FORMATS, (1, 1)) == {
        output: (shown.count("would be removed"), shown.count(f"allow: {digest}"))
        for output, shown in told.items()
    }
    assert 2 == answer(fleet, capsys, "plan", *LATER, "--detailed-exitcode")[0]
    fleet.write({"reconciler.yaml": text(configuration(safety={"allow": digest}))})
    assert [] == answer_json(fleet, capsys, ["plan", *LATER])[1]["faults"]


def test_a_workload_that_loses_its_policy_is_warned_of(fleet: Checkout, capsys: Capsys) -> None:
    """It stays where it is, so nothing moves; a reviewer would not know that nothing governs it."""
    fleet.git("rm", "--quiet", "policies/frontend.yaml")
    fleet.commit({}, "Remove a policy")

    _, found = answer_json(fleet, capsys, ["plan", *LATER])

    message = "no policy matches it any more; it keeps running, edits are not propagated"
    assert [("unclaimed", "default/frontend", message)] == warned(found)


def test_an_edit_that_no_policy_takes_anywhere_is_warned_of(
    fleet: Checkout, capsys: Capsys
) -> None:
    """Whoever scales what lost its policy, or adds what has none, waits in vain for replicas."""
    fleet.git("checkout", "--quiet", "main")
    fleet.git("rm", "--quiet", "policies/frontend.yaml")
    fleet.commit({}, "Remove a policy")
    run_pass(fleet.folder, 300)
    frontend = EXAMPLE["workloads/frontend.yaml"]
    fleet.write(
        {
            "workloads/frontend.yaml": frontend.replace("replicas: 6", "replicas: 9"),
            "workloads/new.yaml": frontend.replace("name: frontend", "name: new", 1),
            "workloads/carried.yaml": frontend.replace(
                "name: frontend", "name: carried\n  namespace: tools", 1
            ),
            "workloads/claimed.yaml": text(configmap("claimed")),
        }
    )

    _, found = answer_json(fleet, capsys, ["plan", "--base", "HEAD", "--worktree", *LATER])

    assert [
        ("unclaimed", "default/frontend", "no policy matches it, so it stays where it is"),
        ("unclaimed", "default/new", "no policy matches it, so it runs on no cluster"),
    ] == warned(found)


def test_a_workload_that_clusters_would_refuse_is_warned_of(
    passed_fleet: Checkout, capsys: Capsys
) -> None:
    """What the change brings, once; what stands there already is the affair of validate."""
    shop = EXAMPLE["workloads/shop.yaml"]
    wrong = shop.replace("        image:", "        imagePullPolice: Always\n        image:")
    passed_fleet.write({"workloads/shop.yaml": wrong})
    asked = ["plan", "--base", "HEAD", "--worktree", *LATER]

    _, found = answer_json(passed_fleet, capsys, asked)
    _, left = answer_json(passed_fleet, capsys, [*asked, "--kubernetes-version", "none"])

    message = (
        'clusters would refuse it: "imagePullPolice" is not a field of '
        'spec.template.spec.containers[0] (expected: Did you mean "imagePullPolicy"?)'
    )
    assert [("refused-by-clusters", "workloads/shop.yaml", message)] == warned(found)
    assert [] == warned(left)
    passed_fleet.commit({"workloads/shop.yaml": wrong}, "Be wrong")
    passed_fleet.write({"workloads/shop.yaml": wrong.replace("replicas: 2", "replicas: 3")})
    assert [] == warned(answer_json(passed_fleet, capsys, asked)[1])


def test_a_workload_that_another_policy_takes_over_has_one(fleet: Checkout, capsys: Capsys) -> None:
    """Neither a policy of another name nor the end of the workload itself is a loss."""
    renamed = EXAMPLE["policies/frontend.yaml"].replace("name: frontend", "name: web", 1)
    fleet.git(
        "rm", "--quiet", "policies/frontend.yaml", "policies/shop.yaml", "workloads/shop.yaml"
    )
    fleet.commit({"policies/web.yaml": renamed}, "Rename a policy, remove the shop")

    _, found = answer_json(fleet, capsys, ["plan", *LATER])

    assert [] == warned(found)


def warned(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the warnings of a plan."""
    return [(item["rule"], item["subject"], item["message"]) for item in found["warnings"]]


def test_files_that_hold_nothing_any_more_are_warned_of(fleet: Checkout, capsys: Capsys) -> None:
    """A file of comments, and one that is excluded, remove what they held."""
    fleet.commit(
        {
            "workloads/shop.yaml": "# moved to another repository\n",
            "reconciler.yaml": text(configuration(exclude=["workloads/frontend.yaml"])),
        },
        "Clean up",
    )

    _, found = answer_json(fleet, capsys, ["plan", *LATER])

    assert [
        ("file-emptied", "workloads/frontend.yaml"),
        ("file-emptied", "workloads/shop.yaml"),
    ] == sorted(item[:2] for item in warned(found))
    assert any("nothing but blanks and comments" in item[2] for item in warned(found))
    assert any("no longer cover" in item[2] for item in warned(found))


def test_a_rename_with_a_syntax_error_is_planned_as_no_move(
    fleet: Checkout, capsys: Capsys
) -> None:
    """The plan says what is held and why, before the merge."""
    fleet.git("mv", "clusters/member1.yaml", "clusters/one.yaml")
    fleet.commit({"clusters/one.yaml": "kind: [\napiVersion: x\n"}, "Rename member1")

    code, out, _ = answer(fleet, capsys, "plan", *LATER)

    assert 0 == code
    places = "clusters/member1.yaml, clusters/one.yaml"
    assert f"Plan: 2 faults in {places}; nothing moves" == out.splitlines()[0]
    assert "clusters/one.yaml cannot be understood, so Cluster member1 stays as it was" in out


SHOP = "status/resourcebindings.work.karmada.io/default/shop-deployment.yaml"
ROOTS = ("envs/dev", "envs/prod")


@pytest.fixture
def passed_fleet(tmp_path: Path) -> Checkout:
    """A fleet that was passed once, on its branch."""
    return decided_fleet(tmp_path / "fleet")


@pytest.fixture
def roots(tmp_path: Path) -> Checkout:
    """A repository of two roots, each passed once, with both scaled on a branch."""
    files = {f"{root}/{path}": text for root in ROOTS for path, text in EXAMPLE.items()}
    checkout = new_checkout(tmp_path / "roots", files)
    for second, root in enumerate(ROOTS):
        run_pass(checkout.folder / root, second)
    checkout.git("checkout", "--quiet", "-b", "topic")
    scaled = {f"{root}/{path}": text for root in ROOTS for path, text in SCALED.items()}
    checkout.commit(scaled, "Scale both")
    return checkout


def headline(fleet: Checkout, capsys: Capsys, *arguments: str) -> str:
    """Return the first line of a plan."""
    code, out, err = answer(fleet, capsys, "plan", *arguments, *LATER)
    assert (0, "") == (code, err)
    return out.splitlines()[0]


def test_a_commit_on_the_served_branch_is_compared_with_what_was_decided(
    passed_fleet: Checkout, capsys: Capsys
) -> None:
    """Without a remote: against the branch itself nothing would ever move."""
    decided = passed_fleet.head()
    passed_fleet.commit(SCALED, "Scale the shop")

    code, found = answer_json(passed_fleet, capsys, ["plan", *LATER])

    assert (0, "1 binding changes; 3 replicas start") == (code, found["headline"])
    assert {"name": "main as last decided", "commit": decided} == found["base"]
    assert [] == found["anyway"]


@pytest.mark.parametrize("head", [(), ("--head", "HEAD"), ("--head", "main")], ids=" ".join)
def test_a_commit_that_is_not_pushed_is_compared_with_the_remote(
    passed_fleet: Checkout, tmp_path: Path, capsys: Capsys, head: tuple[str, ...]
) -> None:
    """As `git status` does: the branch of the remote as it was fetched."""
    git(tmp_path, "clone", "--quiet", str(passed_fleet.folder), "clone")
    clone = Checkout(tmp_path / "clone")
    clone.commit(SCALED, "Scale the shop")

    code, found = answer_json(clone, capsys, ["plan", *head, *LATER])

    assert (0, "1 binding changes; 3 replicas start") == (code, found["headline"])
    assert {"name": "origin/main", "commit": passed_fleet.head()} == found["base"]


def test_a_clone_without_a_base_is_refused(
    passed_fleet: Checkout, tmp_path: Path, capsys: Capsys
) -> None:
    """A pipeline that fetches one commit has nothing to compare with; it passes no gate."""
    passed_fleet.git("checkout", "--quiet", "-b", "topic")
    passed_fleet.commit(SCALED, "Scale the shop")
    url = f"file://{passed_fleet.folder}"
    git(tmp_path, "clone", "--quiet", "--depth=1", "--branch=topic", url, "clone")

    code = run(["-C", str(tmp_path / "clone"), "plan", "--fail-on", "moves>0"])

    assert 2 == code
    assert capsys.readouterr().err.startswith(
        "reconciler: no base: neither main nor origin/main is in this clone; fetch it "
        "(git fetch origin main:refs/remotes/origin/main) or name one with --base"
    )


@pytest.mark.parametrize("taken", [(SHOP,), (SHOP, "workloads/shop.yaml")], ids=len)
def test_outputs_that_a_merge_takes_along_are_what_it_moves(
    passed_fleet: Checkout, capsys: Capsys, taken: tuple[str, ...]
) -> None:
    """An object is where the base has it decided, whatever the merge does to the record."""
    passed_fleet.git("checkout", "--quiet", "-b", "topic")
    for path in (*taken, "workloads/shop.yaml"):
        (passed_fleet.folder / path).unlink(missing_ok=True)
    passed_fleet.commit({}, "Take the shop away")

    code, out, _ = answer(passed_fleet, capsys, "plan", "--fail-on", "removed", *LATER)

    assert 3 == code
    assert "Plan: 1 removed; 2 replicas stop" == out.splitlines()[0]


def test_a_decision_that_a_merge_edits_is_a_move(passed_fleet: Checkout, capsys: Capsys) -> None:
    """A pass takes the edit for the decision before, so it has nothing to say of it."""
    passed_fleet.git("checkout", "--quiet", "-b", "topic")
    binding = (passed_fleet.folder / SHOP).read_text()
    passed_fleet.commit(
        {SHOP: binding.replace("  - name: member1\n", "  - name: backup1\n")}, "Move it"
    )

    assert "Plan: 1 binding changes; 2 replicas move" == headline(passed_fleet, capsys)


def test_what_a_sparse_checkout_leaves_out_stays(
    passed_fleet: Checkout, tmp_path: Path, capsys: Capsys
) -> None:
    """The files are in the index, so they are not removed; the rest is compared as ever."""
    git(tmp_path, "clone", "--quiet", "--sparse", str(passed_fleet.folder), "clone")
    clone = Checkout(tmp_path / "clone")
    clone.git("sparse-checkout", "set", "workloads")
    clone.git("checkout", "--quiet", "-b", "topic")
    clone.write(SCALED)

    assert not (clone.folder / "policies").exists()
    assert "Plan: 1 binding changes; 3 replicas start" == headline(clone, capsys)


def test_a_fault_stands_in_the_title(passed_fleet: Checkout, capsys: Capsys) -> None:
    """What is refused does not move, and that is not all there is to say; a gate may hold it."""
    passed_fleet.git("checkout", "--quiet", "-b", "topic")
    broken = EXAMPLE["policies/shop.yaml"].replace("spec:", "spec: 7 #", 1)
    passed_fleet.commit({"policies/shop.yaml": broken}, "Break the policy")

    assert "Plan: 1 fault in policies/shop.yaml; nothing moves" == headline(passed_fleet, capsys)
    code, _, err = answer(passed_fleet, capsys, "plan", "--fail-on", "warnings,faults", *LATER)
    assert (3, "reconciler: --fail-on faults: the plan has 1 fault\n") == (code, err)


def test_what_is_pending_already_stands_in_the_title(
    passed_fleet: Checkout, capsys: Capsys
) -> None:
    """No list of moves stands below "Nothing moves"."""
    passed_fleet.commit(SCALED, "Scale the shop")
    passed_fleet.git("checkout", "--quiet", "-b", "topic")
    passed_fleet.commit({"notes.txt": "nothing to place\n"}, "Take notes")

    assert "Plan: No move of its own; 1 object is pending already" == headline(passed_fleet, capsys)


def test_the_top_of_several_roots_names_those_that_change(roots: Checkout, capsys: Capsys) -> None:
    """The files of a root below are none of the top's, so it cannot say what they move."""
    found = headline(roots, capsys)

    assert "Plan: Nothing moves in this root; envs/dev, envs/prod below changes, too" == found


@pytest.mark.parametrize("output_root", ["status", "state/of/passes"])
def test_what_passes_write_is_no_root_below(
    tmp_path: Path, capsys: Capsys, output_root: str
) -> None:
    """A pass that is not pushed yet has changed the record of passes, `reconciler.yaml` there."""
    layout = ("--output-root", output_root)
    fleet = new_fleet(tmp_path / "fleet")
    answer(fleet, capsys, "reconcile", *layout, "--now", "2026-11-20T12:00:00Z")
    git(tmp_path, "clone", "--quiet", str(fleet.folder), "clone")
    clone = Checkout(tmp_path / "clone")
    clone.commit(SCALED, "Scale the shop")
    answer(clone, capsys, "reconcile", *layout, "--now", "2026-11-20T12:05:00Z")

    code, found = answer_json(clone, capsys, ["plan", *layout, *LATER])

    assert (0, "origin/main") == (code, found["base"]["name"])
    assert "root-below" not in {warning["rule"] for warning in found["warnings"]}


def test_each_root_has_a_title_and_a_comment_of_its_own(roots: Checkout, capsys: Capsys) -> None:
    """So that the comment of one does not take the place of the other's."""
    out = answer(roots, capsys, "plan", "--roots", "envs/*", "-o", "markdown", *LATER)[1]

    lines = out.splitlines()
    for root in ROOTS:
        first = lines.index(f"<!-- reconciler:plan {root} -->")
        assert f"### Plan of `{root}`: 1 binding changes; 3 replicas start" == lines[first + 1]
    code, found = answer_json(roots, capsys, ["plan", "--roots", "envs/*", *LATER])
    assert (0, [*ROOTS]) == (code, [one["root"] for one in found["roots"]])


def test_no_root_is_refused(roots: Checkout, capsys: Capsys) -> None:
    """A pattern that matches nothing is a mistake."""
    code, _, err = answer(roots, capsys, "plan", "--roots", "teams/*")

    assert (2, "reconciler: --roots teams/*: no such folder has a reconciler.yaml\n") == (code, err)


def test_a_marker_cannot_be_ended_by_a_root() -> None:
    """A folder may be named like the end of a comment."""
    assert "<!-- reconciler:plan a-%2D%3E -->" == Heading("plan", "", "a-->").marker


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        pytest.param(("-n", "default"), ["default/shop"], id="namespace"),
        pytest.param(("-n", "kube-system"), [], id="another-namespace"),
        pytest.param(("--only", "deployment/shop"), ["default/shop"], id="only"),
        pytest.param(("--only", "deployment/frontend"), [], id="only-another"),
        pytest.param(("-l", "app=shop"), ["default/shop"], id="labels"),
        pytest.param(("-l", "app=none"), [], id="no-such-labels"),
    ],
)
def test_a_part_is_shown(
    passed_fleet: Checkout, capsys: Capsys, options: tuple[str, ...], shown: list[str]
) -> None:
    """What is not asked for is counted; "Nothing moves" is said of what is asked only."""
    passed_fleet.write(SCALED)

    found = answer_json(passed_fleet, capsys, ["plan", *options, *LATER])[1]

    assert shown == [one["subject"] for one in found["objects"]]
    assert 1 - len(shown) == found["hidden"]
    assert shown or found["headline"].endswith("; 1 other object changes")


PLAN_LATER = ("plan", "--now", "2026-11-20T12:10:00Z")
SIX = "reconciler: --fail-on moves>5: the plan has 6 moves\n"
SETTINGS = "policies/settings.yaml"


def verdict(fleet: Checkout, capsys: Capsys, *conditions: str) -> tuple[int, str]:
    """Return the exit code, and what is said on standard error."""
    options = [word for condition in conditions for word in ("--fail-on", condition)]
    code, out, err = answer(fleet, capsys, *PLAN_LATER, *options)
    assert code == 2 or out.startswith("Plan: ")
    return code, err


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        pytest.param("moves>5", (3, SIX), id="5"),
        pytest.param("moves > 5", (3, SIX), id="blanks"),
        pytest.param("moves>6", (0, ""), id="6"),
        pytest.param("removed", (0, ""), id="removed"),
        pytest.param("unschedulable", (0, ""), id="unschedulable"),
    ],
)
def test_moves_are_counted(
    fleet: Checkout, capsys: Capsys, condition: str, expected: tuple[int, str]
) -> None:
    """Six replicas leave the cluster that fails; the plan is printed all the same."""
    fleet.commit(FAILED, "Fail member1")

    assert expected == verdict(fleet, capsys, condition)


def test_what_only_starts_is_no_move(fleet: Checkout, capsys: Capsys) -> None:
    """A workload that grows moves nothing."""
    fleet.commit(SCALED, "Scale the shop")

    assert (0, "") == verdict(fleet, capsys, "moves>0")


def test_an_object_without_replicas_moves_as_one(tmp_path: Path, capsys: Capsys) -> None:
    """A ConfigMap that leaves a cluster for another is a move, though no replica is."""
    policy = EXAMPLE[SETTINGS]
    placement = "  placement:\n    clusterAffinity:\n      clusterNames: [{}]\n"
    fleet = decided_fleet(tmp_path / "fleet", {SETTINGS: policy + placement.format("member1")})
    fleet.write({SETTINGS: policy + placement.format("member2")})

    expected = "reconciler: --fail-on moves>0: the plan has 1 move\n"
    assert (3, expected) == verdict(fleet, capsys, "moves>0")


def test_what_is_removed_is_found(fleet: Checkout, capsys: Capsys) -> None:
    """A workload whose manifest goes is on no cluster afterwards."""
    fleet.git("rm", "--quiet", "workloads/shop.yaml")
    fleet.commit({}, "Close the shop")

    expected = "reconciler: --fail-on removed: the plan has 1 object removed\n"
    assert (3, expected) == verdict(fleet, capsys, "removed", "unschedulable", "moves>0")


def test_removals_that_are_held_back_are_found(tmp_path: Path, capsys: Capsys) -> None:
    """The brake keeps the objects, yet whoever merges means to remove them."""
    files = {f"workloads/{name}.yaml": text(configmap(name)) for name in "abcdefghij"}
    everything = cluster_policy("all", selectors=[selector("ConfigMap")])
    fleet = decided_fleet(tmp_path / "fleet", {**files, "policies/all.yaml": text(everything)})
    for path in files:
        (fleet.folder / path).unlink()

    expected = "reconciler: --fail-on removed: the plan has removals that are held back\n"
    assert (3, expected) == verdict(fleet, capsys, "removed")


def test_what_no_cluster_can_take_is_found(fleet: Checkout, capsys: Capsys) -> None:
    """Each condition that is met is said."""
    policy = EXAMPLE["policies/shop.yaml"].replace("member1", "nowhere")
    fleet.commit({"policies/shop.yaml": policy.replace("backup", "nowhere")}, "Ask for nowhere")

    code, err = verdict(fleet, capsys, "unschedulable", "moves>0")
    assert (3, "reconciler: --fail-on unschedulable: the plan has 1 object unschedulable\n") == (
        code,
        err,
    )


def test_a_condition_wins_over_the_detailed_exit_code(fleet: Checkout, capsys: Capsys) -> None:
    """2 says that something changes; 3 that it must not."""
    fleet.commit(FAILED, "Fail member1")
    detailed = (*PLAN_LATER, "--detailed-exitcode", "--fail-on")

    assert [3, 2] == [answer(fleet, capsys, *detailed, one)[0] for one in ("moves>1", "removed")]


@pytest.mark.parametrize("condition", ["moves", "moves>", "moves>-1", "moves<3", "moved>3", ""])
def test_what_is_no_condition_is_refused(fleet: Checkout, capsys: Capsys, condition: str) -> None:
    """With those that there are."""
    code, err = verdict(fleet, capsys, condition)

    assert (2, True) == (
        code,
        "must be moves>N, unschedulable, removed, lazy, faults or warnings" in err,
    )


def test_md_is_markdown(fleet: Checkout, capsys: Capsys) -> None:
    """As a pipeline's author may write it; where there is no markdown it is none."""
    fleet.commit(SCALED, "Scale the shop")
    markdown = answer(fleet, capsys, *PLAN_LATER, "-o", "markdown")

    assert (0, True) == (markdown[0], markdown[1].startswith("<!-- reconciler:plan -->"))
    assert markdown == answer(fleet, capsys, *PLAN_LATER, "-o", "md")
    assert 2 == answer(fleet, capsys, "get", "rb", "-o", "md")[0]


def test_a_policy_that_loses_is_named(tmp_path: Path, capsys: Capsys) -> None:
    """A second policy of a higher priority takes nothing over, since it does not preempt."""
    fleet = decided_fleet(tmp_path / "fleet")
    fleet.git("checkout", "--quiet", "-b", "topic")
    higher = EXAMPLE["policies/shop.yaml"].replace("name: shop", "name: higher", 1)
    fleet.commit({"policies/higher.yaml": higher.replace("spec:", "spec:\n  priority: 4", 1)}, "A")

    out = answer(fleet, capsys, "plan", "--now", "2026-11-20T12:10:00Z")[1]

    told = "no effect: other policies hold what it selects, and its preemption is Never"
    assert f"warning: default/higher: {told}: default/shop (by shop)\n" in out


def test_a_cluster_that_would_be_over_committed_is_named(tmp_path: Path, capsys: Capsys) -> None:
    """A request of 250 cores in place of 250m is read, and placed; nobody means it."""
    files = {
        "a.yaml": text(cluster("a", status=cluster_status(cpu="16"))),
        "web.yaml": text(deployment("web", replicas=2, cpu="250m")),
        "policy.yaml": text(
            policy(
                selectors=[selector(name="web")],
                placement={"clusterAffinity": {"clusterNames": ["a"]}},
            )
        ),
    }
    fleet = new_checkout(tmp_path / "fleet", files)
    run_pass(fleet.folder, 0)
    fleet.git("checkout", "--quiet", "-b", "topic")
    fleet.commit({"web.yaml": files["web.yaml"].replace("250m", "250")}, "Ask for a bit more")

    out = answer(fleet, capsys, "plan", *LATER)[1]

    assert "warning: a: it would be over-committed: cpu 500 of 16 cores\n" in out


def test_what_is_not_committed_is_said_by_a_pass(tmp_path: Path, capsys: Capsys) -> None:
    """Right after `init` there are files, and no pass sees them."""
    fleet = new_checkout(tmp_path / "fleet", {"README.md": "a fleet\n"})
    fleet.write({path: EXAMPLE[path] for path in ("clusters/member1.yaml", "policies/shop.yaml")})

    code, out, err = answer(fleet, capsys, "reconcile")

    assert (0, "nothing to do\n") == (code, out)
    assert "2 manifests are not committed; passes decide from commits: git add" in err
    assert "no manifest was found" not in err

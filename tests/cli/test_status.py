"""`reconciler status`: a repository on one screen, a remote one, too, and what it counts."""

import json
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.model.fields import mapping
from tests.builders import (
    cluster,
    cluster_status,
    configuration,
    deployment,
    path_of,
    rebalancer,
    target,
    text,
)
from tests.cli.history import answer, told_fleet
from tests.dialects.kubefleet.test_decide import room, selecting, web
from tests.shell.fleet import EXAMPLE, decided_fleet, new_fleet, run_pass
from tests.shell.repositories import Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]
SHOP = "policies/shop.yaml"


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """A fleet that was passed once."""
    return decided_fleet(tmp_path / "fleet")


def told(fleet: Checkout, capsys: Capsys, *options: str) -> dict[str, list[str]]:
    """Return the lines of each part by its title, what follows a blank line by `""`."""
    code, out, err = answer(fleet, capsys, "status", *options)
    assert (0, "") == (code, err)
    head, _, rest = out.partition("\n\n")
    found: dict[str, list[str]] = {"": [" ".join(line.split()) for line in rest.splitlines()]}
    title = ""
    for line in head.splitlines():
        if not line.startswith(" "):
            title = line.partition(":")[0]
            found[title] = []
        found[title].append(" ".join(line.removeprefix(f"{title}:").split()))
    return found


def test_a_healthy_fleet_has_one_screen(tmp_path: Path, capsys: Capsys) -> None:
    """Where it is, what was done last, that nothing is wrong, and what there is."""
    fleet = told_fleet(tmp_path / "fleet")
    head, inputs = (fleet.git("rev-parse", "--short=12", name) for name in ("HEAD", "HEAD~1"))

    found = told(fleet, capsys)

    assert [
        "Problems",
        "Root",
        "Branch",
        "Decided",
        "Input",
        "Held files",
        "Suspended",
        "Coming",
        "Copies",
        "Objects",
    ] == [title for title in found if title]
    assert [f"{fleet.folder}, outputs in status/"] == found["Root"]
    assert [f"main at {head} (Evict default/shop from member1 (not ready))"] == found["Branch"]
    assert found["Decided"][0].startswith("2026-11-20T12:02:00Z, ")
    assert [f"{inputs}, nothing since"] == found["Input"]
    assert [["none"]] * 2 == [found[title] for title in ("Held files", "Suspended")]
    assert "2 deployments, 3 clusters," in " ".join(found["Objects"])


def test_before_the_first_pass_it_says_how_to_run_one(tmp_path: Path, capsys: Capsys) -> None:
    """There is no input then."""
    found = told(new_fleet(tmp_path / "fleet"), capsys)

    assert ["none yet; reconciler reconcile runs one"] == found["Decided"]
    assert "Input" not in found


def test_what_came_since_is_counted(fleet: Checkout, capsys: Capsys) -> None:
    """Commits of people that no pass has answered."""
    fleet.commit({"notes.txt": "a\n"}, "Take a note")
    fleet.commit({"notes.txt": "b\n"}, "Take another note")

    assert told(fleet, capsys)["Input"][0].endswith(", 2 commits since")


def test_a_fault_is_told_with_what_is_held(fleet: Checkout, capsys: Capsys) -> None:
    """Where it is, and whose last good version is in force; before a pass, too."""
    broken = EXAMPLE[SHOP].replace("  placement:", "  placment:")
    fleet.commit({SHOP: broken}, "Break the policy")
    before = told(fleet, capsys)
    run_pass(fleet.folder, 60)
    after = told(fleet, capsys)

    assert before["Problems"][:2] == after["Problems"][:2]
    assert "1 fault; edit the file" == after["Problems"][0]
    assert after["Problems"][1].startswith(f"{SHOP}:12:3: ")
    assert "(Break the policy), by Ada" in after["Problems"][2]
    assert [f"{SHOP}: using the last valid PropagationPolicy shop"] == after["Held files"]


def test_a_fault_that_only_a_pass_finds_is_told(fleet: Checkout, capsys: Capsys) -> None:
    """As the last pass recorded it, until somebody commits."""
    silent = text(rebalancer("demo", {**target(name="shop"), "namespace": ""}))
    fleet.commit({"rebalancers/demo.yaml": silent}, "Forget the namespace")
    run_pass(fleet.folder, 60)

    assert "1 fault; edit the file" == told(fleet, capsys)["Problems"][0]


def test_what_is_suspended_is_told(fleet: Checkout, capsys: Capsys) -> None:
    """One by one, or that everything is; each with its file, and what a resume would move."""
    annotated = EXAMPLE[SHOP].replace(
        "  name: shop\n", "  name: shop\n  annotations: {reconciler.dev/suspend: 'true'}\n", 1
    )
    fleet.commit({SHOP: annotated}, "Suspend the shop")
    one = told(fleet, capsys)["Suspended"]
    fleet.commit({"reconciler.yaml": text(configuration(suspend=True))}, "Suspend all")

    still = "resuming would move nothing now"
    assert [f"propagationpolicy/shop in namespace default ({SHOP}): {still}"] == one
    assert [f"everything (reconciler.yaml): {still}"] == told(fleet, capsys)["Suspended"]


def test_rebalancers_are_a_table(fleet: Checkout, capsys: Capsys) -> None:
    """With how far they are."""
    demand = text(rebalancer("demo", target(name="shop")))
    fleet.commit({"rebalancers/demo.yaml": demand}, "Rebalance the shop")
    run_pass(fleet.folder, 60)

    head, row = told(fleet, capsys)[""]
    assert "NAME SUCCESSFUL FAILED FINISHED AGE" == head
    assert row.startswith("workloadrebalancer.apps.karmada.io/demo 1/1 0 ")


def test_many_faults_stay_one_screen(fleet: Checkout, capsys: Capsys) -> None:
    """The first few, and how many more."""
    broken = "apiVersion: apps/v1\nkind: Deployment\nspec: [\n"
    fleet.commit({f"workloads/{name}.yaml": broken for name in "abcdefgh"}, "Break much")

    found = told(fleet, capsys)["Problems"]
    assert ("8 faults; edit the file", "and 3 more; see reconciler validate") == (
        found[0],
        found[-1],
    )


def test_the_past_is_told_as_it_was(tmp_path: Path, capsys: Capsys) -> None:
    """By the outputs of that time."""
    found = told(told_fleet(tmp_path / "fleet"), capsys, "--at", "HEAD~2")

    assert found["Branch"][0].startswith("HEAD~2 at ")
    assert found["Decided"][0].startswith("2026-11-20T12:01:00Z, ")


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Checkout, str]:
    """A checkout, and a bare repository that has its branch."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fleet = told_fleet(tmp_path / "fleet")
    bare = tmp_path / "bare.git"
    fleet.git("clone", "--quiet", "--bare", str(fleet.folder), str(bare))
    return fleet, f"file://{bare}"


@pytest.mark.usefixtures("an_hour_later")
@pytest.mark.parametrize("more", [(), ("--at", "HEAD~2"), ("-o", "json")])
def test_a_remote_is_told_as_its_checkout_is(
    remote: tuple[Checkout, str], tmp_path: Path, capsys: Capsys, more: tuple[str, ...]
) -> None:
    """But for where it is; asked from a folder without any repository."""
    fleet, url = remote
    (tmp_path / "elsewhere").mkdir()
    here = answer(fleet, capsys, "status", *more)[1].splitlines()

    for _ in range(2):  # the mirror is there, and asked again
        code = run(["-C", str(tmp_path / "elsewhere"), "status", "--remote", url, *more])
        there = capsys.readouterr().out.splitlines()

        assert 0 == code
        assert without_place(here) == without_place(there)
    if not more:
        assert f"Root:        {url}, outputs in status/" in there


def without_place(lines: list[str]) -> list[str]:
    """Return a status without where the repository is, and what its branch is called there."""
    return [line for line in lines if not line.startswith(("Root:", "Branch:", '  "branch"'))]


def test_a_branch_that_is_not_there_is_named(remote: tuple[Checkout, str], capsys: Capsys) -> None:
    """And which option names another."""
    _, url = remote

    code = run(["status", "--remote", url, "--branch", "other"])

    assert 2 == code
    assert f'{url} has no branch "other"; name one: --branch' in capsys.readouterr().err


def test_a_branch_goes_with_a_remote(capsys: Capsys) -> None:
    """Of a checkout a revision is asked for."""
    assert 2 == run(["status", "--branch", "other"])
    assert "--branch goes with --remote; --at names" in capsys.readouterr().err


def test_a_remote_that_is_not_there_is_told(tmp_path: Path, capsys: Capsys) -> None:
    """With the exit code of what a person did not write wrong."""
    code = run(["status", "--remote", f"file://{tmp_path}/none.git"])

    assert 1 == code
    assert "does not appear to be a git repository" in capsys.readouterr().err


AT_ONCE = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}}


def new_tight_fleet(folder: Path) -> Checkout:
    """A placement of two cpu on a cluster of five."""
    placement = selecting("a")
    placement = {**placement, "spec": {**mapping(placement, "spec"), "strategy": AT_ONCE}}
    on = configuration(capacity={"protect": True})
    bodies = (on, room("m1", "5", whole="5"), *web("a"), placement)
    fleet = new_checkout(folder, {path_of(one): text(one) for one in bodies})
    run_pass(fleet.folder, 0)
    return fleet


def grow(fleet: Checkout, replicas: int) -> None:
    """Ask for more."""
    _, grown = web("a", replicas)
    fleet.commit({path_of(grown): text(grown)}, "Grow")


@pytest.mark.parametrize("replicas", [3, 9])
def test_passes_are_proven(tmp_path: Path, capsys: Capsys, replicas: int) -> None:
    """What the binding is held on is read from history, as when the pass decided."""
    fleet = new_tight_fleet(tmp_path / "fleet")
    grow(fleet, replicas)
    for seconds in (30, 90, 800):
        run_pass(fleet.folder, seconds)

    code, out, _ = answer(fleet, capsys, "verify", "--afresh")

    assert (fleet.folder / "status/faults.yaml").exists() is False
    assert (0, "verified, 2 human commits\n") == (code, out[out.index("verified") :])


LACK = "it waits for room: m1 cannot hold what would be added, missing cpu 4"


@pytest.mark.parametrize(
    "question",
    [
        pytest.param(("status",), id="status"),
        pytest.param(("why", "crp/a"), id="why"),
        pytest.param(("describe", "crp/a"), id="describe"),
        pytest.param(("events", "--limit", "0"), id="events"),
        pytest.param(("history", "crp/a"), id="history"),
    ],
)
def test_what_is_missing_is_told(tmp_path: Path, capsys: Capsys, question: tuple[str, ...]) -> None:
    """After the pass, to whoever asks, and in the message of the commit."""
    fleet = new_tight_fleet(tmp_path / "fleet")
    grow(fleet, 9)
    run_pass(fleet.folder, 30)

    assert LACK in answer(fleet, capsys, *question)[1]
    assert LACK in fleet.git("log", "-1", "--format=%B")


def test_what_would_be_missing_is_told_before_the_merge(tmp_path: Path, capsys: Capsys) -> None:
    """`plan` names it."""
    fleet = new_tight_fleet(tmp_path / "fleet")
    fleet.git("switch", "--quiet", "--create", "more")
    grow(fleet, 9)

    assert LACK in answer(fleet, capsys, "plan", "--base", "main")[1]


def test_what_waits_for_room_goes_on_once_there_is_some(tmp_path: Path, capsys: Capsys) -> None:
    """And nothing waits any more."""
    fleet = new_tight_fleet(tmp_path / "fleet")
    grow(fleet, 9)
    run_pass(fleet.folder, 30)
    larger = room("m1", "16", whole="16")
    fleet.commit({path_of(larger): text(larger)}, "Add nodes")
    run_pass(fleet.folder, 60)

    assert "waits for room" not in answer(fleet, capsys, "status")[1]
    assert "The update is held" not in answer(fleet, capsys, "why", "crp/a")[1]


PLACEMENT = {
    "apiVersion": "cluster.open-cluster-management.io/v1beta1",
    "kind": "Placement",
    "metadata": {"name": "edge", "namespace": "default"},
    "spec": {},
}
BINDING = {
    "apiVersion": "cluster.open-cluster-management.io/v1beta2",
    "kind": "ManagedClusterSetBinding",
    "metadata": {"name": "global", "namespace": "default"},
    "spec": {"clusterSet": "global"},
}


@pytest.fixture
def projected_fleet(tmp_path: Path) -> Checkout:
    """Clusters of Karmada, and a placement of Open Cluster Management that sees them."""
    bodies = (configuration(inventory={"project": True}), cluster("a"), cluster("b"), PLACEMENT)
    return new_checkout(tmp_path / "fleet", {path_of(body): text(body) for body in bodies})


def test_a_cluster_is_listed_once_as_it_is_written(
    projected_fleet: Checkout, capsys: Capsys
) -> None:
    """Whoever asks for the other kind is told where to look."""
    run_pass(projected_fleet.folder, 0)

    _, clusters, _ = answer(projected_fleet, capsys, "get", "clusters", "-o", "name")
    _, nothing, told = answer(projected_fleet, capsys, "get", "managedclusters")
    _, top, _ = answer(projected_fleet, capsys, "top", "clusters")

    assert "cluster.cluster.karmada.io/a\ncluster.cluster.karmada.io/b\n" == clusters
    assert ("", "no managedclusters; its API sees 2 clusters, see top clusters\n") == (
        nothing,
        told,
    )
    assert 1 == top.count("\na ")


def test_a_missing_binding_of_a_set_is_told(projected_fleet: Checkout, capsys: Capsys) -> None:
    """It is not invented for projected clusters; with one, the set has them all."""
    run_pass(projected_fleet.folder, 0)
    _, before, _ = answer(projected_fleet, capsys, "why", "placement/edge")
    projected_fleet.write({"sets/binding.yaml": text(BINDING)})
    projected_fleet.git("add", "--all")
    projected_fleet.git("commit", "--quiet", "--message=Bind")
    run_pass(projected_fleet.folder, 60)
    _, after, _ = answer(projected_fleet, capsys, "why", "placement/edge")

    assert "No valid ManagedClusterSetBindings found" in before
    assert "default/edge is on a, b" in after


@pytest.fixture
def mistyped(tmp_path: Path) -> Checkout:
    """A label of a policy is mistyped, merged, and decided."""
    fleet = decided_fleet(tmp_path / "fleet")
    policy = EXAMPLE["policies/frontend.yaml"].replace("tier: production", "tier: productoin")
    fleet.commit({"policies/frontend.yaml": policy}, "Tidy up labels")
    run_pass(fleet.folder, 60)
    return fleet


def test_a_mistyped_label_is_named_with_what_clusters_have(
    mistyped: Checkout, capsys: Capsys
) -> None:
    """The one screen of the night names the label, the clusters' values, and the likely word."""
    code, out, _ = answer(mistyped, capsys, "status", "--check")

    lines = out.splitlines()
    assert 3 == code
    what_to_do = "`reconciler why OBJECT` says what each cluster lacks"
    assert f"Problems:    1 object not placed; {what_to_do}" == lines[0]
    assert "have label tier=productoin (it has tier=production; did you mean that?)" in lines[1]
    assert "backup1 would have to match clusterAffinity: have label tier=productoin" in lines[1]
    assert lines[2].strip().startswith("last decided ")
    assert "(Take default/frontend off member1(4), member2(2))" in lines[2]
    assert "1 warning; edit the file if that is not what was meant" == lines[3].strip()
    assert 'did you mean "production"?' in lines[4]
    assert lines[5].strip().startswith("last changed ")
    assert lines[5].endswith("(Tidy up labels), by Ada")
    assert (
        "(it has tier=production; did you mean that?)"
        in answer(mistyped, capsys, "why", "deployment/frontend")[1]
    )


@pytest.mark.parametrize("branch", ["main", "reports"])
def test_a_reported_failure_names_the_commit_of_the_report(
    fleet: Checkout, capsys: Capsys, branch: str
) -> None:
    """Not the last edit of the file of people, which says nothing of health."""
    body = cluster("member1", status=cluster_status("False"))
    report = text({name: body[name] for name in ("apiVersion", "kind", "metadata", "status")})
    if branch != "main":
        fleet.commit({"reconciler.yaml": text(configuration(feedback={"branch": branch}))})
    fleet.git("checkout", "--quiet", "-B", branch)
    fleet.commit({"feedback/member1/cluster.yaml": report}, "Report member1")
    fleet.git("checkout", "--quiet", "main")
    run_pass(fleet.folder, 60)

    problems = told(fleet, capsys)["Problems"]

    assert problems[1].startswith("member1: is not ready")
    assert problems[2].startswith("feedback/member1/cluster.yaml last changed ")
    assert "(Report member1)" in problems[2]


def test_a_machine_reads_the_same(mistyped: Checkout, capsys: Capsys) -> None:
    """Kinds and severities for scripts, words for people."""
    found = json.loads(answer(mistyped, capsys, "status", "-o", "json")[1])["problems"]

    assert [("object-not-placed", "error", 1), ("warning", "warning", 1)] == [
        (one["kind"], one["severity"], one["count"]) for one in found
    ]
    changes = [one["details"][0]["changed"]["title"] for one in found]
    assert ["Take default/frontend off member1(4), member2(2)", "Tidy up labels"] == changes


def test_a_pass_that_should_have_run_is_a_problem(mistyped: Checkout, capsys: Capsys) -> None:
    """A daemon that has died says nothing; the moment that went by does."""
    mistyped.commit({"policies/frontend.yaml": EXAMPLE["policies/frontend.yaml"]}, "Mend it")

    found = json.loads(answer(mistyped, capsys, "status", "-o", "json")[1])["problems"]

    [late] = [one for one in found if one["kind"] == "pass-overdue"]
    assert ("error", 1, "1 pass overdue") == (late["severity"], late["count"], late["words"])
    assert "default/frontend" in late["details"][0]["subject"]


def test_what_a_rebalancer_could_not_do_is_told(tmp_path: Path, capsys: Capsys) -> None:
    """With the reason; its commit says that a status changed, and no more. It fails no check."""
    fleet = new_fleet(tmp_path / "fleet")
    fleet.commit({"rebalancers/again.yaml": text(rebalancer("again", target(name="gone")))})
    run_pass(fleet.folder, 0)

    code, out, _ = answer(fleet, capsys, "status", "--check")

    lines = out.splitlines()
    assert 0 == code
    assert lines[0].startswith("Problems:    1 object not rebalanced; mend the reason")
    assert lines[1].strip().startswith("Deployment default/gone: ")
    assert "(WorkloadRebalancer again)" in lines[1]


def test_nothing_wrong_is_one_line(tmp_path: Path, capsys: Capsys) -> None:
    """And a check that passes."""
    fleet = decided_fleet(tmp_path / "fleet")

    code, out, _ = answer(fleet, capsys, "status", "--check")

    assert (0, "Problems:    none") == (code, out.splitlines()[0])


def test_what_nothing_selects_is_named(tmp_path: Path, capsys: Capsys) -> None:
    """People place a Deployment and wonder where its Service is; it does not fail a check."""
    fleet = new_fleet(tmp_path / "fleet")
    fleet.commit({"workloads/lost.yaml": text(deployment(name="lost"))}, "Add what nobody places")
    run_pass(fleet.folder, 0)

    code, out, _ = answer(fleet, capsys, "status", "--check")

    assert 0 == code
    expected = "Problems:    1 object that no policy or placement selects; write a policy"
    assert out.startswith(expected)
    assert out.splitlines()[1].split()[0] == "deployment/lost"

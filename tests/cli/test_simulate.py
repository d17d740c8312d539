"""`reconciler simulate` on a real repository, and Lists brought to what-ifs."""

import io
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.builders import cluster, deployment, text
from tests.cli.history import answer, answer_json, told_fleet
from tests.shell.fleet import EXAMPLE, decided_fleet, new_fleet, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]
LATER = ("--now", "2026-11-20T13:00:00Z")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A fleet that was passed once; tests only read it."""
    return decided_fleet(tmp_path_factory.mktemp("simulate") / "fleet")


def moved(fleet: Checkout, capsys: Capsys, *arguments: str) -> dict[str, dict[str, int | None]]:
    """Return subject to cluster to replicas afterwards, of all that would move."""
    code, found = answer_json(fleet, capsys, ["simulate", *LATER, *arguments])
    assert 0 == code
    return {
        item["subject"]: {
            move["cluster"]: move["after"] for move in item["clusters"] if move["after"] is not None
        }
        for item in found["objects"]
    }


def test_a_failing_cluster_is_left(fleet: Checkout, capsys: Capsys) -> None:
    """By an hour later every toleration has ended; the line says when it was decided."""
    before = (fleet.head(), fleet.status())

    code, out, err = answer(fleet, capsys, "simulate", *LATER, "--fail", "member1")

    assert (0, "") == (code, err)
    assert out.startswith("Simulation: 3 bindings change; 6 replicas move\n")
    assert "member1 fails, 3600 seconds later" in out
    assert "evaluated at 2026-11-20T14:00:00Z" in out
    assert before == (fleet.head(), fleet.status())


def test_a_removed_object_takes_its_file_along(fleet: Checkout, capsys: Capsys) -> None:
    """No warning says that the file was emptied."""
    code, out, err = answer(fleet, capsys, "simulate", *LATER, "--remove", "backup1")

    assert (0, "") == (code, err)
    assert "blanks and comments" not in out


def test_tolerations_run_from_the_failure(fleet: Checkout, capsys: Capsys) -> None:
    """The shop leaves at once, what tolerates five minutes is still there after one."""
    soon = moved(fleet, capsys, "--fail", "member1", "--after", "60")

    assert {"default/shop": {"backup1": 2}} == soon


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(
            ["--scale", "deployment/shop=7"], {"default/shop": {"member1": 7}}, id="scale"
        ),
        pytest.param(
            ["--set", "deploy/shop:/spec/replicas=7"], {"default/shop": {"member1": 7}}, id="set"
        ),
        pytest.param(
            ["--cordon", "member1", "--scale", "deploy/frontend=9"],
            {"default/frontend": {"member1": 6, "member2": 3}},
            id="cordon-spares-what-is-there",
        ),
        pytest.param(["--rebalance", "rb/shop-deployment"], {}, id="rebalance-in-place"),
        pytest.param(
            ["--remove", "member1", "--remove", "cluster/backup1", "--scale", "deploy/shop=2"],
            {
                "default/frontend": {"member2": 6},
                "default/settings": {"member2": None},
                "default/shop": {},
            },
            id="remove",
        ),
        pytest.param(["--fail", "edge2"], {"default/reports": {"edge1": 0}}, id="ocm"),
        pytest.param(["--cordon", "fleet1"], {}, id="kubefleet-keeps"),
        pytest.param(["--remove", "fleet1"], {"tools": {"fleet2": 0}}, id="kubefleet"),
    ],
)
def test_each_edit(
    fleet: Checkout,
    capsys: Capsys,
    arguments: list[str],
    expected: dict[str, dict[str, int | None]],
) -> None:
    """What would move, alone and together."""
    found = moved(fleet, capsys, *arguments)

    assert {key: sorted(value) for key, value in expected.items()} == {
        key: sorted(value) for key, value in found.items()
    }


def test_objects_can_be_added(fleet: Checkout, capsys: Capsys, tmp_path: Path) -> None:
    """A file of objects, as it would be merged; options about them may follow."""
    file = tmp_path / "more.yaml"
    file.write_text(text(deployment("more", replicas=1, labels={"app": "frontend"})))
    file.write_text(text(cluster("member3", labels={"env": "prod"}), deployment("shop")))

    found = moved(fleet, capsys, "--add", str(file), "--scale", "deploy/shop=3")

    assert {"default/shop": {"member1": 3}} == {"default/shop": found["default/shop"]}


def test_any_revision_can_be_asked(tmp_path: Path, capsys: Capsys) -> None:
    """Before member1 failed, its failure would have moved the shop; now it is gone from there."""
    fleet = told_fleet(tmp_path / "fleet")

    then = moved(fleet, capsys, "--at", "HEAD~2", "--fail", "member1", "--after", "1")
    now = moved(fleet, capsys, "--fail", "member1", "--after", "1")

    assert {"backup1": 5} == then["default/shop"]
    assert "default/shop" not in now


def test_each_cluster_fails_by_itself(fleet: Checkout, capsys: Capsys) -> None:
    """The worst first: here nothing is short, but a policy of one cluster would be."""
    code, out, err = answer(fleet, capsys, "simulate", *LATER, "--fail-each")
    _, found = answer_json(
        fleet, capsys, ["simulate", *LATER, "--fail-each", "--remove", "backup1"]
    )

    assert (0, "") == (code, err)
    assert out.splitlines()[0].split() == [
        "CLUSTER", "KIND", "UNSCHEDULABLE", "LOST", "MOVING", "CHANGED", "WHO",
    ]  # fmt: skip
    assert out.splitlines()[1].split()[:5] == ["member1", "Cluster", "0", "0", "6"]
    assert ["member1", ["default/shop"], 2] == [
        found["clusters"][0][field] for field in ("cluster", "unschedulable", "replicasLost")
    ]


def test_the_ranking_says_what_its_columns_count(fleet: Checkout, capsys: Capsys) -> None:
    """Each one that is no plain word."""
    table, _, legend = answer(fleet, capsys, "simulate", "--fail-each")[1].partition("\n\n")

    assert [] == [word for word in table.splitlines()[0].split()[2:] if word not in legend]
    assert "LOST: replicas that would run nowhere" in legend


def test_exit_codes(fleet: Checkout, capsys: Capsys) -> None:
    """As those of plan."""
    assert 2 == answer(fleet, capsys, "simulate", "--fail", "member1", "--detailed-exitcode")[0]
    assert (
        0 == answer(fleet, capsys, "simulate", "--scale", "deploy/shop=2", "--detailed-exitcode")[0]
    )


def test_a_workload_may_hold_anything(fleet: Checkout, capsys: Capsys) -> None:
    """What no API server would take for a spec is passed through; no answer fails on it."""
    assert {} == moved(fleet, capsys, "--set", "configmap/settings:/spec=3")


@pytest.mark.parametrize("output", ["markdown", "html"])
def test_it_prints_as_plan_does(fleet: Checkout, capsys: Capsys, output: str) -> None:
    """A comment or a page."""
    out = answer(fleet, capsys, "simulate", "--fail", "member1", "-o", output)[1]

    assert "Simulation: 3 bindings change" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "nothing to simulate", id="nothing"),
        pytest.param(["--fail", "member9"], "; known here: backup1, ", id="cluster"),
        pytest.param(["--scale", "shop=2"], "must be KIND/NAME", id="no-kind"),
        pytest.param(["--scale", "deploy/shop=x"], "must be KIND/NAME=N", id="no-number"),
        pytest.param(["--scale", "deploy/nobody=2"], "there is no deployment/nobody", id="absent"),
        pytest.param(["--set", "deploy/shop=2"], "must be KIND/NAME:/json", id="pointer"),
        pytest.param(
            ["--set", "cluster/member1:/spec/taints=3"], "must be a list", id="against-schema"
        ),
        pytest.param(
            ["--set", "cluster/member1:/metadata/name/x=3"], "which has no fields", id="through"
        ),
        pytest.param(["--rebalance", "cluster/member1"], "is not placed", id="rebalance"),
        pytest.param(["--add", "nowhere.yaml"], "cannot be read", id="file"),
        pytest.param(
            ["--fail-each", "--fail", "member1"], "--fail-each excludes --fail", id="both"
        ),
        pytest.param(["--at", "v9", "--fail", "member1"], "there is no revision", id="revision"),
    ],
)
def test_mistakes_are_told_in_one_line(
    fleet: Checkout, capsys: Capsys, arguments: list[str], message: str
) -> None:
    """Wrong usage, and nothing on standard output."""
    code, out, err = answer(fleet, capsys, "simulate", *arguments)

    assert (2, "") == (code, out)
    assert message in err
    assert 1 == err.count("\n")


def as_items(*paths: str) -> str:
    """A List of the documents of some files of the example."""
    items = []
    for path in paths:
        first, *rest = EXAMPLE[path].strip().splitlines()
        items += [f"- {first}", *(f"  {line}" for line in rest)]
    return "\n".join(["apiVersion: v1", "items:", *items, "kind: List", "metadata: {}"]) + "\n"


CLUSTERS = as_items("clusters/member1.yaml", "clusters/member2.yaml")


@pytest.fixture
def listed_fleet(tmp_path: Path) -> Checkout:
    """The example, its clusters in one List; one pass has run."""
    checkout = new_fleet(tmp_path / "fleet")
    for name in ("member1", "member2"):
        (checkout.folder / f"clusters/{name}.yaml").unlink()
    (checkout.folder / "workloads/shop.yaml").unlink()
    checkout.git("add", "--all")
    checkout.commit({"clusters/all.yaml": CLUSTERS, "shop.yaml": as_items("workloads/shop.yaml")})
    run_pass(checkout.folder, 0)
    return checkout


def test_what_kubectl_prints_is_checked_on_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """Item by item, each fault at its place."""
    wrong = CLUSTERS.replace("  spec:\n", "  spec:\n    typo: 1\n", 1)
    line = wrong.splitlines().index("    typo: 1") + 1
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(wrong.encode())))

    assert 1 == run(["validate", "-"])
    shown = capsys.readouterr()
    assert f'<stdin>:{line}:5: error: "typo" is not a field of spec' in shown.out
    assert "1 manifest valid, 1 fault\n" == shown.err


def test_nothing_on_standard_input_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """The command before it in the pipe has failed."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))

    assert 1 == run(["validate", "-"])
    assert "no manifest was found\n" == capsys.readouterr().err


def test_clusters_of_a_list_are_listed_with_their_file(
    listed_fleet: Checkout, capsys: Capsys
) -> None:
    """As those that have a file of their own."""
    code, out, _ = answer(listed_fleet, capsys, "get", "clusters", "-o", "wide")

    assert 0 == code
    assert 2 == out.count("clusters/all.yaml")
    assert (
        "member1" in answer(listed_fleet, capsys, "get", "rb", "shop-deployment", "-o", "yaml")[1]
    )


def test_what_leads_nowhere_is_at_its_item(listed_fleet: Checkout, capsys: Capsys) -> None:
    """A reference of a policy in a List."""
    policy = as_items("policies/shop.yaml").replace("- member1", "- membr1")
    (listed_fleet.folder / "policies/shop.yaml").write_text(policy)
    line = next(i for i, text in enumerate(policy.splitlines(), 1) if "- membr1" in text)

    code, out, _ = answer(listed_fleet, capsys, "validate")

    assert 0 == code
    assert f"policies/shop.yaml:{line}:" in out


def test_a_list_can_be_added_in_a_simulation(
    listed_fleet: Checkout, tmp_path: Path, capsys: Capsys
) -> None:
    """What another fleet's kubectl printed."""
    more = tmp_path / "more.yaml"
    more.write_text(
        CLUSTERS.replace("name: member1", "name: new1").replace("name: member2", "name: new2")
    )

    code, out, _ = answer(listed_fleet, capsys, "simulate", "--add", str(more), "--cordon", "new2")

    assert 0 == code
    assert "new2 cordoned" in out


def test_an_object_in_a_list_is_edited_by_a_person(listed_fleet: Checkout, capsys: Capsys) -> None:
    """The sentence says where it stands."""
    before = (listed_fleet.folder / "shop.yaml").read_text()
    code, _, err = answer(listed_fleet, capsys, "suspend", "deployment/shop")

    assert 2 == code
    assert " is part of a List (shop.yaml, /items/0); give it a document " in err
    assert before == (listed_fleet.folder / "shop.yaml").read_text()

"""`reconciler scale`: one line of a person's file, and what it would move."""

import json
from pathlib import Path

import pytest

from tests.cli.history import answer
from tests.shell.fleet import EXAMPLE, decided_fleet, decisions, load_world, new_fleet, run_pass
from tests.shell.repositories import Checkout

BY_ADA = ("--author", "Ada <ada@example.com>")
Capsys = pytest.CaptureFixture[str]
SHOP = "ResourceBinding.work.karmada.io default/shop-deployment"
BATCH = """\
# Nightly; ask Ada.
apiVersion: batch/v1
kind: Job
metadata: {name: nightly}
spec:
  parallelism: 2   # of eight cores each
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: store
spec:
    serviceName: store
---
apiVersion: example.org/v1
kind: Ring
metadata: {name: one, namespace: other}
spec: {replicas: 3, size: big}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The example after a pass, with workloads of other kinds."""
    return decided_fleet(tmp_path / "fleet", {"workloads/batch.yaml": BATCH})


def test_one_line_changes_and_the_plan_says_what_moves(fleet: Checkout, capsys: Capsys) -> None:
    """The difference, the plan, the file; merged, a pass does what the plan said."""
    path = "workloads/shop.yaml"
    code, out, err = answer(fleet, capsys, "scale", "deployment/shop", "--replicas=5")
    written = (fleet.folder / path).read_text()
    fleet.git("commit", "--quiet", "--all", "--message=Scale")
    run_pass(fleet.folder, 60)

    assert EXAMPLE[path].replace("replicas: 2", "replicas: 5") == written
    assert (0, f"{path} is written, not committed; it takes effect once it is merged\n") == (
        code,
        err,
    )
    assert {"-  replicas: 2", "+  replicas: 5"} < set(out.splitlines())
    assert "Plan: 1 binding changes; 3 replicas start" in out
    assert [{"name": "member1", "replicas": 5}] == decisions(load_world(fleet.folder))[SHOP]


@pytest.mark.parametrize(
    ("words", "before", "after"),
    [
        pytest.param(
            ["job/nightly"], "parallelism: 2   # of", "parallelism: 7   # of", id="parallelism"
        ),
        pytest.param(
            ["sts", "store"],
            "    serviceName: store\n",
            "    serviceName: store\n    replicas: 7\n",
            id="unset",
        ),
        pytest.param(["ring/one", "-n", "other"], "{replicas: 3,", "{replicas: 7,", id="custom"),
    ],
)
def test_each_kind_has_its_field(
    fleet: Checkout, capsys: Capsys, words: list[str], before: str, after: str
) -> None:
    """Other documents of the file, comments and blanks stay."""
    code, _, _ = answer(fleet, capsys, "scale", *words, "--replicas", "7")

    assert 0 == code
    assert BATCH.replace(before, after) == (fleet.folder / "workloads/batch.yaml").read_text()


def test_several_objects_in_one_commit(fleet: Checkout, capsys: Capsys) -> None:
    """On a branch; two of them stand in one file, and one has so many already."""
    words = ("deployment/frontend", "job/nightly", "sts/store", "sts/store")
    code, _, err = answer(
        fleet, capsys, "scale", *words, "--replicas=6", "--branch", "six", *BY_ADA
    )

    subject = fleet.git("log", "-1", "--format=%s", "six").strip()
    assert (0, "") == (code, fleet.status())
    assert "Scale job/nightly, statefulset/store to 6" == subject
    assert ["workloads/batch.yaml"] == fleet.git("diff", "--name-only", "main", "six").split()
    assert err.startswith("deployment/frontend in namespace default has 6 replicas already\n")


def test_a_dry_run_writes_nothing_and_tells_machines(fleet: Checkout, capsys: Capsys) -> None:
    """What would change, in which file, and the plan."""
    words = ("scale", "deploy/shop", "job/nightly", "--replicas=2", "--dry-run", "-o", "json")
    code, out, err = answer(fleet, capsys, *words)
    told = json.loads(out)

    assert (0, "") == (code, fleet.status())
    assert [False, False] == [one["changes"] for one in told["objects"]]
    assert ([], None) == (told["files"], told["plan"])
    assert "job/nightly in namespace default has 2 replicas already" in err


def test_what_machines_are_told_of_a_change(fleet: Checkout, capsys: Capsys) -> None:
    """The plan is that of `plan -o json`."""
    _, out, err = answer(
        fleet, capsys, "scale", "deploy/shop", "--replicas=9", "--dry-run", "-o", "json"
    )
    told = json.loads(out)

    assert ["workloads/shop.yaml"] == told["files"]
    assert "scaled to 9" == told["objects"][0]["becomes"]
    assert 7 == told["plan"]["counts"]["starting"]
    assert "nothing is written (--dry-run)\n" == err


def test_an_uncommitted_edit_is_told_apart(fleet: Checkout, capsys: Capsys) -> None:
    """The plan is that of this edit; what moves without it stands below."""
    answer(fleet, capsys, "scale", "deployment/frontend", "--replicas=9")
    _, out, _ = answer(fleet, capsys, "scale", "deployment/shop", "--replicas=5")

    edit, _, anyway = out.partition("Already pending, independent of this change:")
    assert ("default/shop" in edit, "default/frontend" in edit) == (True, False)
    assert "default/frontend" in anyway


def test_a_repository_without_a_commit_can_be_edited(tmp_path: Path, capsys: Capsys) -> None:
    """Nothing was decided there yet."""
    fleet = new_fleet(tmp_path / "fleet")
    fleet.git("checkout", "--quiet", "--orphan", "fresh")

    code, _, err = answer(fleet, capsys, "scale", "deployment/shop", "--replicas=5")

    assert (0, True) == (code, "workloads/shop.yaml is written" in err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["deployment/shop"], "Missing option '--replicas'", id="how-many"),
        pytest.param(["--replicas=3"], "Missing argument 'OBJECT...|KIND'", id="what"),
        pytest.param(["deploy", "--replicas=3"], "with -l or --all", id="which"),
        pytest.param(["deploy", "-l", "a=b", "--replicas=3"], "no deploy with a=b", id="none"),
        pytest.param(
            ["deploy/a", "--all", "--replicas=3"], "do not name objects as well", id="both"
        ),
        pytest.param(["rb", "--all", "--replicas=3"], "no rb in namespace", id="written-by-passes"),
        pytest.param(["deployment/shop", "--replicas=-1"], "not in the range", id="negative"),
        pytest.param(["deployment/shpo", "--replicas=3"], "near it: shop", id="unknown"),
        pytest.param(["cm/settings", "--replicas=3"], "a ConfigMap without a number", id="kind"),
        pytest.param(
            ["rb/shop-deployment", "--replicas=3"], "is written by passes", id="passes-write-it"
        ),
        pytest.param(
            ["deployment/shop", "--replicas=3", "--current-replicas=7"],
            '"2" replicas, and --current-replicas is 7',
            id="current",
        ),
        pytest.param(["ring/one", "--replicas=3"], "add -n other", id="elsewhere"),
    ],
)
def test_mistakes_are_told_in_one_line(
    fleet: Checkout, capsys: Capsys, arguments: list[str], message: str
) -> None:
    """What is wrong, and no file is touched."""
    code, out, err = answer(fleet, capsys, "scale", *arguments)

    assert (2, "", "") == (code, out, fleet.status())
    assert message in err


def test_an_item_of_a_list_is_for_people_to_edit(fleet: Checkout, capsys: Capsys) -> None:
    """The file stays as it is."""
    listed = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: apps/v1\n  kind: Deployment\n"
    listed += "  metadata: {name: inner}\n  spec: {replicas: 1}\n"
    fleet.write({"workloads/listed.yaml": listed})

    code, _, err = answer(fleet, capsys, "scale", "deployment/inner", "--replicas=2")

    assert (2, True) == (code, "is part of a List" in err)
    assert listed == (fleet.folder / "workloads/listed.yaml").read_text()


def test_the_present_number_counts(fleet: Checkout, capsys: Capsys) -> None:
    """`--current-replicas` of what the file says."""
    words = ["scale", "deployment/shop", "--current-replicas=2", "--replicas=3", "--dry-run"]
    code, out, _ = answer(fleet, capsys, *words)

    assert 0 == code
    assert "+  replicas: 3" in out.splitlines()


def test_without_a_plan_the_edit_alone_is_shown_and_checked(
    fleet: Checkout, capsys: Capsys
) -> None:
    """What would not be accepted is refused all the same."""
    asked = ("scale", "deployment/shop", "--replicas=5", "--no-plan")
    code, out, _ = answer(fleet, capsys, *asked, "--dry-run")
    _, told, _ = answer(fleet, capsys, *asked, "--dry-run", "-o", "json")
    refused, _, why = answer(fleet, capsys, "label", "deployment/shop", "a b=c", "--no-plan")
    answer(fleet, capsys, *asked)

    assert (0, ["-  replicas: 2", "+  replicas: 5"]) == (
        code,
        [line for line in out.splitlines() if line.startswith(("-  ", "+  "))],
    )
    assert "Plan" not in out
    assert (None, ["workloads/shop.yaml"]) == (json.loads(told)["plan"], json.loads(told)["files"])
    assert 2 == refused, why
    assert "replicas: 5" in (fleet.folder / "workloads/shop.yaml").read_text()

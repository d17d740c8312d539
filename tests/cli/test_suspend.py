"""`reconciler suspend` and `resume`: a line of a file, and what every verb says of it."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.cli.page.answers import PageAnswers
from reconciler.cli.page.views import new_memory
from reconciler.core.reconcile import reconcile
from reconciler.library.fleet import open_repository
from reconciler.model.moments import parse_moment
from tests.cli.history import SCALED, answer, answer_json
from tests.cli.test_printing import ESCAPE, on_terminal
from tests.shell.fleet import EXAMPLE, decided_fleet, decisions, load_world, new_fleet, run_pass
from tests.shell.repositories import Checkout

BY_ADA = ("--author", "Ada <ada@example.com>")
Capsys = pytest.CaptureFixture[str]
SHOP = "ResourceBinding.work.karmada.io default/shop-deployment"
NOTE = '  annotations:\n    reconciler.dev/suspend: "true"\n'
OBJECTS = [
    pytest.param("pp/shop", "policies/shop.yaml", id="policy"),
    pytest.param("deployment/shop", "workloads/shop.yaml", id="workload"),
    pytest.param("placement/reports", "placements/reports.yaml", id="ocm"),
    pytest.param("crp/tools", "placements/tools.yaml", id="kubefleet"),
]
SCHEDULED = """\
apiVersion: apps.karmada.io/v1alpha1
kind: WorkloadRebalancer
metadata:
  name: weekly
spec:
  # Sundays, when nobody is there.
  schedule: "0 3 * * SUN"
  workloads:
  - {apiVersion: apps/v1, kind: Deployment, namespace: default, name: shop}
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The example after a pass."""
    return decided_fleet(tmp_path / "fleet", {"rebalancers/weekly.yaml": SCHEDULED})


@pytest.mark.parametrize(("word", "path"), OBJECTS)
def test_suspend_and_resume_are_no_change(
    fleet: Checkout, capsys: Capsys, word: str, path: str
) -> None:
    """Two lines come, and go; nothing else does."""
    before = (fleet.folder / path).read_bytes()

    code, out, err = answer(fleet, capsys, "suspend", word)
    suspended = (fleet.folder / path).read_bytes()
    again = answer(fleet, capsys, "suspend", word)
    resumed = answer(fleet, capsys, "resume", word)

    assert 0 == code == again[0] == resumed[0]
    assert before == suspended.replace(NOTE.encode(), b"")
    assert '+    reconciler.dev/suspend: "true"' in out.splitlines()
    assert f"{path} is written, not committed" in err
    assert ("", True) == (again[1], "suspended already" in again[2])
    assert answer(fleet, capsys, "resume", word)[2].endswith(" is not suspended\n")
    assert before == (fleet.folder / path).read_bytes()
    assert "" == fleet.status()


def test_a_suspended_policy_keeps_its_workloads(fleet: Checkout, capsys: Capsys) -> None:
    """Merged, a pass leaves the shop; resumed, it scales it."""
    answer(fleet, capsys, "suspend", "pp/shop")
    fleet.git("commit", "--quiet", "--all", "--message=Hold")
    fleet.commit(SCALED, "Scale the shop")
    run_pass(fleet.folder, 60)
    held = decisions(load_world(fleet.folder))[SHOP]
    answer(fleet, capsys, "resume", "pp/shop")
    fleet.git("commit", "--quiet", "--all", "--message=Go on")
    run_pass(fleet.folder, 120)

    assert [{"name": "member1", "replicas": 2}] == held
    assert [{"name": "member1", "replicas": 5}] == decisions(load_world(fleet.folder))[SHOP]


def test_a_suspension_says_why_by_whom_and_until_when(fleet: Checkout, capsys: Capsys) -> None:
    """In its file, and wherever it is told; resuming leaves nothing of it."""
    before = (fleet.folder / "policies/shop.yaml").read_bytes()
    asked = ("--reason", "INC-4711", "--until", "2999-11-28T09:00:00Z", *BY_ADA)

    assert 0 == answer(fleet, capsys, "suspend", "pp/shop", *asked)[0]
    said = "by Ada <ada@example.com>, INC-4711, until 2999-11-28T09:00:00Z"
    fleet.git("commit", "--quiet", "--all", "--message=Hold")
    assert said in answer(fleet, capsys, "status")[1]
    assert said in answer(fleet, capsys, "why", "deployment/shop")[1]

    assert 0 == answer(fleet, capsys, "resume", "pp/shop")[0]
    assert before == (fleet.folder / "policies/shop.yaml").read_bytes()


@pytest.mark.parametrize("word", ["pp/shop", "--all", "wr/weekly"])
def test_a_suspension_ends_by_itself(fleet: Checkout, capsys: Capsys, word: str) -> None:
    """At its moment, for which passes look again; until then nothing of it moves."""
    asked = ("--until", "2999-11-28T09:00:00Z", *BY_ADA)
    assert 0 == answer(fleet, capsys, "suspend", word, *asked)[0]
    fleet.git("commit", "--quiet", "--all", "--message=Hold")
    fleet.commit(SCALED, "Scale the shop")
    world = load_world(fleet.folder)
    ends = parse_moment("2999-11-28T09:00:00Z")

    held = reconcile(world, ends - timedelta(seconds=1))
    over = reconcile(world, ends)

    assert held.recheck_at is not None
    assert held.recheck_at <= ends
    subjects = [[one.subject for one in outcome.decisions] for outcome in (held, over)]
    assert subjects == ([["default/shop"]] * 2 if word == "wr/weekly" else [[], ["default/shop"]])


@pytest.mark.parametrize("until", ["soon", "-2h", "2020-01-01T00:00:00Z"])
def test_a_suspension_ends_at_a_moment_to_come(fleet: Checkout, capsys: Capsys, until: str) -> None:
    """Nothing else is taken."""
    code, _, err = answer(fleet, capsys, "suspend", "pp/shop", f"--until={until}", *BY_ADA)

    assert (2, True) == (code, "--until" in err)
    assert "" == fleet.status()


def test_the_whole_repository(fleet: Checkout, capsys: Capsys) -> None:
    """`spec.suspend` of reconciler.yaml; no pass changes anything until it is gone."""
    assert 0 == answer(fleet, capsys, "suspend", "--all")[0]
    text = (fleet.folder / "reconciler.yaml").read_text()
    fleet.git("commit", "--quiet", "--all", "--message=Hold")
    fleet.commit(SCALED, "Scale the shop")
    report = run_pass(fleet.folder, 60)
    code, found = answer_json_said(fleet, capsys, "resume", "--all")

    assert EXAMPLE["reconciler.yaml"] + "  suspend: true\n" == text
    assert () == report.outcome.changes
    assert (0, True, False) == (code, found["changes"], found["suspended"])
    assert EXAMPLE["reconciler.yaml"] == (fleet.folder / "reconciler.yaml").read_text()


def validated(fleet: Checkout, capsys: Capsys, path: str) -> tuple[int, object]:
    """The exit code of validating one file, and what was found in it."""
    code, out, _ = answer(fleet, capsys, "validate", path, "-o", "json")
    return code, json.loads(out)["findings"]


def answer_json_said(fleet: Checkout, capsys: Capsys, *words: str) -> tuple[int, dict[str, object]]:
    """Return the JSON of a verb that also says what it did."""
    import json

    code, out, _ = answer(fleet, capsys, *words, "-o", "json")
    return code, json.loads(out)


def test_a_configuration_is_made_where_there_is_none(fleet: Checkout, capsys: Capsys) -> None:
    """It is valid, and resumed it says nothing more."""
    (fleet.folder / "reconciler.yaml").unlink()

    assert 0 == answer(fleet, capsys, "suspend", "--all")[0]
    assert (0, []) == validated(fleet, capsys, "reconciler.yaml")
    assert 0 == answer(fleet, capsys, "resume", "--all")[0]
    assert (0, []) == validated(fleet, capsys, "reconciler.yaml")


def test_a_rebalancer_rests_by_its_own_field(fleet: Checkout, capsys: Capsys) -> None:
    """`spec.suspend`; its comment stays."""
    answer(fleet, capsys, "suspend", "wr/weekly")

    text = (fleet.folder / "rebalancers/weekly.yaml").read_text()
    assert SCHEDULED + "  suspend: true\n" == text
    assert (0, []) == validated(fleet, capsys, "rebalancers/weekly.yaml")


def test_a_merge_conflict_is_named_instead_of_names_near_it(
    fleet: Checkout, capsys: Capsys
) -> None:
    """The object is in the file that cannot be read."""
    path = "workloads/shop.yaml"
    fleet.write({path: f"<<<<<<< HEAD\n=======\n>>>>>>> other\n{EXAMPLE[path]}"})

    code, _, err = answer(fleet, capsys, "suspend", "deployment/shop")

    assert 2 == code
    assert f"it may be in {path}, which cannot be read: A merge conflict must be resolved" in err


def test_a_branch_gets_it_and_the_checkout_nothing(fleet: Checkout, capsys: Capsys) -> None:
    """The edit is that of the served branch, whatever the checkout's files hold."""
    fleet.write({"policies/shop.yaml": "broken: ["})
    before = fleet.status()

    code, _, err = answer(fleet, capsys, "suspend", "pp/shop", "--branch", "hold", *BY_ADA)

    added = fleet.git("diff", "--unified=0", "main", "hold").splitlines()
    assert (0, before) == (code, fleet.status())
    assert "committed on the new branch hold" in err
    assert NOTE.splitlines() == [line[1:] for line in added if line[:2] == "+ "]


def test_an_uncommitted_object_can_be_suspended(fleet: Checkout, capsys: Capsys) -> None:
    """The files of the checkout count, not its last commit; other documents stay."""
    text = "# mine\r\nkind: ConfigMap\r\napiVersion: v1\r\nmetadata: {name: x}\r\n"
    both = f"{EXAMPLE['workloads/settings.yaml']}---\n{text}"
    (fleet.folder / "workloads/x.yaml").write_bytes(
        both.replace("name: settings", "name: y").encode()
    )

    code, _, _ = answer(fleet, capsys, "suspend", "cm/x")

    written = (fleet.folder / "workloads/x.yaml").read_bytes().decode()
    assert 0 == code
    assert (
        both.replace("name: settings", "name: y").replace(
            "{name: x}", '{name: x, "annotations": {"reconciler.dev/suspend": "true"}}'
        )
        == written
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "give one OBJECT", id="nothing"),
        pytest.param(["pp/shop", "--all"], "give one OBJECT", id="both"),
        pytest.param(["pp/shpo"], "near it: shop", id="unknown"),
        pytest.param(["cluster/member1"], "cannot be suspended", id="cluster"),
        pytest.param(["gizmo/x"], "there is no kind", id="kind"),
        pytest.param(["shop"], "must be KIND/NAME", id="no-kind"),
        pytest.param(["pp/shop", "--branch", "main"], 'branch "main" already exists', id="branch"),
    ],
)
@pytest.mark.parametrize("verb", ["suspend", "resume"])
def test_mistakes_are_told_in_one_line(
    fleet: Checkout, capsys: Capsys, verb: str, arguments: list[str], message: str
) -> None:
    """What is wrong, and no file is touched."""
    code, out, err = answer(fleet, capsys, verb, *arguments)

    assert (2, "") == (code, out)
    assert message in err
    assert 1 == err.count("\n")
    assert "" == fleet.status()


def test_a_faulty_file_is_not_edited(fleet: Checkout, capsys: Capsys) -> None:
    """An earlier version is in force; an edit of this one would not do what was asked."""
    fleet.commit({"policies/shop.yaml": EXAMPLE["policies/shop.yaml"] + "a: [\n"}, "Break it")

    code, _, err = answer(fleet, capsys, "suspend", "pp/shop", "--branch", "hold")

    assert (2, True) == (code, "policies/shop.yaml has faults" in err)


def test_colour_is_for_terminals_only(fleet: Checkout, capsys: Capsys) -> None:
    """A diff in colours on a terminal."""
    arguments = ["suspend", "pp/shop", "--dry-run"]
    assert ESCAPE in on_terminal(fleet.folder, arguments, {})
    assert ESCAPE not in answer(fleet, capsys, *arguments)[1]


def test_no_line_of_a_secret_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A difference has lines around it, and those of a Secret are nobody's business."""
    manifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {pw: hush}\n"
    fleet = new_fleet(tmp_path / "fleet", {"workloads/key.yaml": manifest})

    assert 0 == run(["-C", str(fleet.folder), "suspend", "secret/key", "--dry-run"])
    shown = capsys.readouterr()

    assert "hush" not in shown.out + shown.err
    assert "workloads/key.yaml: changed" in shown.out


SHOP_IDENTITY = {"group": "apps", "kind": "Deployment", "namespace": "default", "name": "shop"}
MOVES = "default/shop member1(2) -> member1(5)"
SUSPENDED_OBJECTS = [
    pytest.param("pp/shop", "deployment/shop", "propagationpolicy/shop", id="policy"),
    pytest.param("deployment/shop", "deployment/shop", "deployment/shop", id="workload"),
    pytest.param("placement/reports", "placement/reports", "placement/reports", id="ocm"),
    pytest.param("crp/tools", "crp/tools", "clusterresourceplacement/tools", id="kubefleet"),
    pytest.param("--all", "deployment/shop", "everything", id="all"),
]


def suspended_fleet(folder: Path, capsys: Capsys, word: str) -> Checkout:
    """The example after a pass; then something is suspended, and the shop is scaled to 5."""
    fleet = decided_fleet(folder)
    answer(fleet, capsys, "suspend", word)
    path = "workloads/shop.yaml"
    text = (fleet.folder / path).read_text()
    fleet.write({path: text.replace("replicas: 2", "replicas: 5")})
    fleet.git("commit", "--quiet", "--all", "--message=Hold, and scale the shop")
    run_pass(fleet.folder, 60)
    return fleet


@pytest.mark.parametrize(("word", "asked", "by"), SUSPENDED_OBJECTS)
def test_each_verb_says_that_it_is_suspended(
    tmp_path: Path, capsys: Capsys, word: str, asked: str, by: str
) -> None:
    """`why`, `tree` and `describe` by which file, `get` in a column, `status` in a line."""
    fleet = suspended_fleet(tmp_path / "fleet", capsys, word)
    clause = "with everything (reconciler.yaml)" if word == "--all" else f"by {by}"
    kind, name = asked.split("/")

    why = answer(fleet, capsys, "why", asked)[1].splitlines()
    tree = answer(fleet, capsys, "tree", asked)[1]
    status = answer(fleet, capsys, "status")[1]
    described = answer(fleet, capsys, "describe", asked)[1]
    for more in ([], ["-o", "wide"]):
        head, row = answer(fleet, capsys, "get", kind, name, *more)[1].splitlines()
        shown = row[head.index("SUSPENDED") :].split()[0]
        assert shown in ("itself", "everything", by)

    assert f"  suspended  {clause}" in why[1]
    assert why[2].startswith("  resumed    ")
    assert "suspended" in tree.splitlines()[0]
    assert f"Suspended:\n  {by}" in tree
    assert f"Suspended:   {by}" in status
    (told,) = (line for line in described.splitlines() if line.startswith("Suspended:"))
    assert told.removeprefix("Suspended:").strip().startswith(by)


@pytest.mark.parametrize("word", ["pp/shop", "deployment/shop", "--all"])
def test_what_the_file_asks_for_is_told_and_held(tmp_path: Path, capsys: Capsys, word: str) -> None:
    """5 replicas, not the 2 of the last decision, and where they would go on resume."""
    fleet = suspended_fleet(tmp_path / "fleet", capsys, word)

    why = answer(fleet, capsys, "why", "deployment/shop")[1]
    told = answer_json(fleet, capsys, ["why", "deployment/shop"])[1]["suspended"]

    asked = "5 replicas, divided by static weights (held; decided was 2 replicas, "
    assert f"  asked      {asked}" in why
    assert "the next pass would move it: member1(2) -> member1(5)" in why
    assert "Now: not scheduled, because it is suspended." in why
    assert "5 replicas, divided by static weights" == told["question"]
    assert [{"cluster": "member1", "replicas": 5}] == told["next"]["after"]
    assert MOVES in answer(fleet, capsys, "tree", "deployment/shop")[1]
    assert MOVES in answer(fleet, capsys, "status")[1]


@pytest.mark.parametrize("word", ["pp/shop", "deployment/shop", "--all"])
def test_what_was_told_is_what_a_resume_does(tmp_path: Path, capsys: Capsys, word: str) -> None:
    """By the next pass."""
    fleet = suspended_fleet(tmp_path / "fleet", capsys, word)
    told = answer_json(fleet, capsys, ["why", "deployment/shop"])[1]["suspended"]["next"]
    answer(fleet, capsys, "resume", word)
    fleet.git("commit", "--quiet", "--all", "--message=Go on")
    report = run_pass(fleet.folder, 120)

    (moved,) = report.outcome.decisions
    placed = [{"cluster": str(name), "replicas": count} for name, count in moved.after]
    assert told["after"] == placed
    assert answer_json(fleet, capsys, ["why", "deployment/shop"])[1]["suspended"] is None
    assert "SUSPENDED" not in answer(fleet, capsys, "get", "rb,deploy,pp", "-A")[1]


def test_only_tables_with_something_suspended_have_the_column(
    tmp_path: Path, capsys: Capsys
) -> None:
    """A suspended policy suspends its workloads, and says nothing of others."""
    fleet = suspended_fleet(tmp_path / "fleet", capsys, "pp/shop")

    tables = answer(fleet, capsys, "get", "rb,deploy,cm,cluster", "-A")[1].split("\n\n")

    assert [True, True, False, False] == ["SUSPENDED" in table for table in tables]
    assert ["<none>", "propagationpolicy/shop"] == [
        line.split()[-1] for line in tables[1].splitlines()[1:]
    ]


def test_a_schedule_that_rests_is_suspended(tmp_path: Path, capsys: Capsys) -> None:
    """Its own field says so, and `status` tells of it, too."""
    weekly = (
        "apiVersion: apps.karmada.io/v1alpha1\nkind: WorkloadRebalancer\n"
        "metadata: {name: weekly}\nspec:\n  suspend: true\n  schedule: '0 3 * * SUN'\n"
        "  workloads: [{apiVersion: apps/v1, kind: Deployment, namespace: default, name: shop}]\n"
    )
    fleet = decided_fleet(tmp_path / "fleet", {"rebalancers/weekly.yaml": weekly})

    assert "Suspended:   workloadrebalancer/weekly" in answer(fleet, capsys, "status")[1]
    assert "itself" == answer(fleet, capsys, "get", "wr")[1].split()[-1]


def test_the_page_says_so_of_an_object(tmp_path: Path, capsys: Capsys) -> None:
    """Above where it runs."""
    fleet = suspended_fleet(tmp_path / "fleet", capsys, "pp/shop")
    repository = open_repository(fleet.folder)
    page = PageAnswers(repository, "main", new_memory(repository.revisions, None))

    shown = page.answer("object", SHOP_IDENTITY, fleet.head()).html

    assert "Suspended by propagationpolicy/shop in namespace default (policies/shop.yaml)" in shown
    assert "Asked for: 5 replicas, divided by static weights (held; decided was 2" in shown


def test_the_annotation_suspends_nothing_where_it_is_not_read(
    tmp_path: Path, capsys: Capsys
) -> None:
    """A cluster that has it is no suspended one."""
    path = "clusters/member1.yaml"
    note = 'metadata:\n  annotations: {reconciler.dev/suspend: "true"}'
    text = EXAMPLE[path].replace("metadata:", note, 1)
    fleet = decided_fleet(tmp_path / "fleet", {path: text})

    assert "SUSPENDED" not in answer(fleet, capsys, "get", "clusters")[1]
    assert "Suspended:   none" in answer(fleet, capsys, "status")[1]

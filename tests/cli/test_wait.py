"""`wait` and `get --watch`: what becomes of objects, commit by commit."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.cli.get_watch import Watch
from reconciler.cli.kinds import asked_kinds, kinds_present
from reconciler.cli.selection import Query
from reconciler.cli.wait import parse_awaited
from reconciler.errors import UserError
from reconciler.library.fleet import open_repository
from reconciler.shell.resources import SystemClock
from tests.cli.history import SCALED, answer
from tests.shell.fleet import EXAMPLE, PATIENCE_SECONDS, new_fleet, process_environment, run_pass
from tests.shell.repositories import NOW, Checkout

BINDING = "resourcebinding.work.karmada.io/shop-deployment"
Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """A fleet without any pass."""
    return new_fleet(tmp_path / "fleet")


@pytest.fixture
def decided(fleet: Checkout) -> Checkout:
    """One that a pass has seen."""
    run_pass(fleet.folder, 0)
    return fleet


@contextmanager
def waiting(fleet: Checkout, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Run `wait` as a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "reconciler", "wait", *arguments, "--timeout=10m"],
        cwd=fleet.folder,
        env=process_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    """Return how it ended, and what it said."""
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, out, err


def look(fleet: Checkout, capsys: Capsys, *arguments: str) -> tuple[int, str, str]:
    """Look once."""
    return answer(fleet, capsys, "wait", *arguments, "--timeout=0")


def test_what_is_so_already_is_met_at_once(decided: Checkout, capsys: Capsys) -> None:
    """Letters of either case count alike, as kubectl has it."""
    said = (0, f"{BINDING} condition met\n", "")

    assert said == look(decided, capsys, "rb/shop-deployment", "--for=condition=Scheduled")
    assert said == look(decided, capsys, "rb", "shop-deployment", "--for=condition=scheduled=TRUE")
    assert said == look(decided, capsys, "rb/shop-deployment", "--for=jsonpath={.spec.replicas}=2")
    assert said == look(decided, capsys, "rb/shop-deployment", "--for=create")


def test_a_selector_means_all_that_there_are(decided: Checkout, capsys: Capsys) -> None:
    """By labels of the workload, too; `-o name` prints names alone."""
    code, out, _ = look(decided, capsys, "rb", "--all", "--for=condition=Scheduled", "-o", "name")
    assert (0, 3) == (code, len(out.splitlines()))

    code, out, _ = look(decided, capsys, "rb", "-l", "app=shop", "--for=condition=Scheduled")
    assert (0, f"{BINDING} condition met\n") == (code, out)


def test_what_nobody_reports_is_told_as_assumed(decided: Checkout, capsys: Capsys) -> None:
    """It holds as time went by, and no cluster said so."""
    code, out, _ = look(decided, capsys, "rb/shop-deployment", "--for=condition=FullyApplied")

    assert (0, f"{BINDING} condition met, as is assumed without a report\n") == (code, out)


def test_a_commit_that_no_pass_has_seen_is_no_answer(decided: Checkout, capsys: Capsys) -> None:
    """Who pushes and waits wants to know what comes of it."""
    decided.commit(SCALED)
    assert 1 == look(decided, capsys, "rb/shop-deployment", "--for=condition=Scheduled")[0]

    run_pass(decided.folder, 60)
    assert 0 == look(decided, capsys, "rb/shop-deployment", "--for=condition=Scheduled")[0]


def test_a_commit_that_changes_nothing_of_it_is_seen(decided: Checkout, capsys: Capsys) -> None:
    """A pass that would leave an object as it is need not come first."""
    decided.commit({"workloads/shop.yaml": f"# Ours.\n{EXAMPLE['workloads/shop.yaml']}"})

    assert 0 == look(decided, capsys, "rb/shop-deployment", "--for=condition=Scheduled")[0]


def test_it_ends_with_the_pass_that_brings_it(fleet: Checkout) -> None:
    """Of what comes, and of what comes to be so."""
    with waiting(fleet, "rb/shop-deployment", "--for=create", "--poll-seconds=600") as process:
        run_pass(fleet.folder, 0)
        assert (0, f"{BINDING} condition met\n", "") == ended(process)

    wanted = "--for=jsonpath={.spec.replicas}=5"
    with waiting(fleet, "rb/shop-deployment", wanted, "--poll-seconds=600") as process:
        fleet.commit(SCALED)
        run_pass(fleet.folder, 60)
        assert (0, f"{BINDING} condition met\n", "") == ended(process)


def test_it_ends_with_the_pass_that_removes_it(decided: Checkout) -> None:
    """`delete` waits until nothing is there, and what is not there is gone already."""
    with waiting(decided, "rb/shop-deployment", "--for=delete", "--poll-seconds=600") as process:
        decided.git("rm", "-q", "workloads/shop.yaml")
        decided.commit({})
        run_pass(decided.folder, 60)
        assert (0, f"{BINDING} condition met\n", "") == ended(process)
    with waiting(decided, "rb/shop-deployment", "--for=delete") as process:
        assert 0 == ended(process)[0]


def test_outputs_on_their_own_branch_are_waited_for(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passes do not move the branch of people then."""
    monkeypatch.setenv("RECONCILER_OUTPUT_BRANCH", "fleet-status")
    with waiting(fleet, "rb/shop-deployment", "--for=create", "--poll-seconds=600") as process:
        assert 0 == answer_of_pass(fleet)
        assert (0, f"{BINDING} condition met\n", "") == ended(process)


def answer_of_pass(fleet: Checkout) -> int:
    """Run `reconcile`, and return its exit code."""
    return subprocess.run(
        [sys.executable, "-m", "reconciler", "reconcile", "--now", "2026-11-20T12:00:00Z"],
        cwd=fleet.folder,
        env=process_environment(),
        capture_output=True,
        check=False,
    ).returncode


def test_what_is_not_in_time_is_told(decided: Checkout, capsys: Capsys) -> None:
    """Each object that is missing, and what was waited for."""
    code, out, err = look(
        decided, capsys, "rb", "shop-deployment", "frontend-deployment", "--for=condition=Gone"
    )

    assert (1, "") == (code, out)
    assert [
        "timed out waiting for condition Gone=true on "
        f"resourcebinding.work.karmada.io/{name}-deployment"
        for name in ("shop", "frontend")
    ] == err.splitlines()


def test_what_is_not_there_is_told_at_once(decided: Checkout, capsys: Capsys) -> None:
    """As kubectl has it; waiting for it to come is another question."""
    code, _, err = answer(decided, capsys, "wait", "rb/shop", "--for=condition=Scheduled")

    assert 1 == code
    assert "no rb named shop in namespace default; near it: " in err
    assert "--for=create waits until an object comes" in err
    assert 1 == answer(decided, capsys, "wait", "rb", "-l", "a=b", "--for=condition=Ready")[0]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param("rb/a --for=Ready", "must be condition=NAME", id="no-state"),
        pytest.param("rb/a --for=condition=", "must be condition=NAME", id="no-name"),
        pytest.param("rb/a --for=condition=A=", "must be condition=NAME", id="no-status"),
        pytest.param("rb/a --for=jsonpath={.a}x", "must be =VALUE", id="behind-the-path"),
        pytest.param("rb/a --for=jsonpath={.a}=", "a value must follow", id="no-value"),
        pytest.param("rb/a --for=jsonpath={[}", "must be a JSONPath", id="no-path"),
        pytest.param("rb/a --for=create --timeout=5", "must be a duration", id="no-unit"),
        pytest.param("rb --for=condition=A", "-l or --all", id="no-choice"),
        pytest.param("rb/a -l a=b --for=create", "do not name objects as well", id="both"),
        pytest.param("rb --all --for=create", "needs objects by name", id="all-that-come"),
        pytest.param("nonsense/a --for=create", "there is no kind", id="no-kind"),
    ],
)
def test_what_cannot_be_waited_for_is_refused(
    decided: Checkout, capsys: Capsys, words: str, says: str
) -> None:
    """With what would be right."""
    code, _, err = answer(decided, capsys, "wait", *words.split())

    assert 2 == code
    assert says in err


def test_a_value_must_be_one(decided: Checkout, capsys: Capsys) -> None:
    """A path to several, or to a mapping, is refused when it is looked at."""
    for path in ("{.spec.clusters[*]}", "{.spec.resource}"):
        arguments = ("rb/frontend-deployment", f"--for=jsonpath={path}=1")
        code, _, err = look(decided, capsys, *arguments)
        assert (2, True) == (code, "leads to" in err)


def test_a_condition_of_an_older_generation_does_not_count() -> None:
    """By the condition's own generation, or else that of the status."""
    awaited = parse_awaited("condition=Ready")
    ready = {"type": "Ready", "status": "True"}

    def body(generation: int, **condition: object) -> dict[str, object]:
        status = {"conditions": [{**ready, **condition}], "observedGeneration": 2}
        return {"metadata": {"generation": generation}, "status": status}

    assert awaited.holds(body(2))
    assert not awaited.holds(body(3))
    assert awaited.holds(body(3, observedGeneration=3))
    assert awaited.holds({"status": {"conditions": [ready]}})


def test_values_are_compared_as_templates_print_them() -> None:
    """Numbers and booleans by their text, quotes around a value left out."""
    body = {"spec": {"replicas": 3, "paused": True, "name": "a=b"}}

    assert parse_awaited("jsonpath={.spec.replicas}=3").holds(body)
    assert parse_awaited("jsonpath={.spec.paused}='true'").holds(body)
    assert parse_awaited("jsonpath=.spec.name=a=b").holds(body)
    assert parse_awaited("jsonpath={.spec.name}").holds(body)
    assert not parse_awaited("jsonpath={.spec.other}").holds(body)
    with pytest.raises(UserError, match="leads to"):
        parse_awaited("jsonpath={.spec}=3").holds(body)


SHOP = EXAMPLE["workloads/shop.yaml"]
QUERY = Query(
    words=("rb",),
    namespace="default",
    all_namespaces=False,
    selector=None,
    output="table",
    show_labels=False,
    label_columns=(),
    sort_by=None,
    no_headers=False,
    show_secrets=False,
)


@contextmanager
def watching(fleet: Checkout, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Run `get --watch` as a process of its own, and end it as Ctrl-C does."""
    process = subprocess.Popen(
        [sys.executable, "-m", "reconciler", "get", *arguments, "--watch"],
        cwd=fleet.folder,
        env=process_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=PATIENCE_SECONDS)
        assert (130, "", "") == (process.returncode, rest, err.strip())
    finally:
        process.kill()
        process.wait()


def line(process: "subprocess.Popen[str]") -> list[str]:
    """Return the cells of the next line."""
    assert process.stdout is not None
    return process.stdout.readline().split()


def test_a_line_follows_for_each_row_that_changes(fleet: Checkout) -> None:
    """Not for the others, nor for a commit that changes nothing that is shown."""
    with watching(fleet, "deploy") as process:
        first = [line(process) for _ in range(3)]
        fleet.commit({"workloads/frontend.yaml": f"# Ours.\n{EXAMPLE['workloads/frontend.yaml']}"})
        fleet.commit({"workloads/shop.yaml": SHOP.replace("replicas: 2", "replicas: 5")})
        then = line(process)

    assert [["NAME", "REPLICAS", "AGE"], ["frontend", "6", "<none>"]] == first[:2]
    assert ["shop", "5", "<none>"] == then


def test_decisions_are_followed(fleet: Checkout) -> None:
    """The pass that places a workload prints its binding, below the head."""
    with watching(fleet, "rb/shop-deployment", "--output-watch-events") as process:
        assert process.stderr is not None
        assert "no rb named shop-deployment" in process.stderr.readline()
        run_pass(fleet.folder, 0)
        head, row = line(process), line(process)

    assert ["EVENT", "NAME", "CLUSTERS"] == head[:3]
    assert ["ADDED", "shop-deployment", "member1(2)"] == row[:3]


def test_events_say_what_became_of_a_row(fleet: Checkout) -> None:
    """A row that is gone is printed once more, as it was."""
    with watching(fleet, "deploy", "-n", "default", "--output-watch-events") as process:
        first = [line(process) for _ in range(3)]
        fleet.commit({"workloads/shop.yaml": SHOP.replace("replicas: 2", "replicas: 5")})
        changed = line(process)
        fleet.git("rm", "--quiet", "workloads/shop.yaml")
        fleet.git("commit", "--quiet", "--message=Remove the shop")
        gone = line(process)

    assert ["EVENT", "ADDED", "ADDED"] == [cells[0] for cells in first]
    assert ["MODIFIED", "shop", "5", "<none>"] == changed
    assert ["DELETED", "shop", "5", "<none>"] == gone


def test_manifests_are_followed_whole(fleet: Checkout) -> None:
    """One JSON object for each change, as kubectl prints them."""
    with watching(fleet, "deploy", "shop", "-o", "name") as process:
        assert [["deployment.apps/shop"]] == [line(process)]
        fleet.commit({"workloads/shop.yaml": SHOP.replace("replicas: 2", "replicas: 5")})
        assert ["deployment.apps/shop"] == line(process)

    with watching(fleet, "deploy", "shop", "-o", "json") as process:
        assert process.stdout is not None
        text = ""
        for read in process.stdout:
            text += read
            if read == "}\n":
                break

    assert 5 == json.loads(text)["spec"]["replicas"]


def test_what_is_assumed_by_then_is_no_line_of_its_own(
    fleet: Checkout, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit that changes one binding prints that one, as it is by now."""
    run_pass(fleet.folder, 0)
    loaded = open_repository(fleet.folder)
    before = loaded.world()
    asked = asked_kinds(before.known, kinds_present(before), ("rb",))
    watch = Watch(loaded.repository, loaded.revisions.loader, "main", asked, QUERY, events=False)
    monkeypatch.setattr(SystemClock, "now", lambda _: NOW)
    watch._show(before, None)
    first = capsys.readouterr().out
    fleet.commit({"workloads/shop.yaml": SHOP.replace("replicas: 2", "replicas: 5")})
    run_pass(fleet.folder, 60)
    monkeypatch.setattr(SystemClock, "now", lambda _: NOW + timedelta(hours=1))
    watch._show(loaded.world(), before)

    assert "Assumed" not in first
    assert [["shop-deployment", "member1(5)", "<none>", "True", "Assumed"]] == [
        cells.split()[:5] for cells in capsys.readouterr().out.splitlines()
    ]

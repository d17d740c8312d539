"""What commands keep from one question to the next saves time and never changes an answer."""

import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from reconciler.cli.main import run
from reconciler.shell.reading.tables import FEW, NAME
from tests.builders import cluster, configuration, deployment, path_of, policy, selector, text
from tests.shell.fleet import reconciler
from tests.shell.reading.table_damage import DAMAGES
from tests.shell.repositories import Checkout, new_checkout

BEFORE, NOW = "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"
BAD = {
    "bad/syntax.yaml": "apiVersion: v1\nkind: [\n",
    "bad/field.yaml": text({**policy("bad"), "sepc": {}}),
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A repository that is just large enough."""
    labels = [{"app": "web"}, {"app": "shop"}]
    workloads = [deployment(f"web-{i}", labels=labels[i % 40 != 0]) for i in range(FEW)]
    bodies = [policy(), *workloads]
    files = {path_of(body): text(body) for body in bodies}
    checkout = new_checkout(tmp_path_factory.mktemp("large") / "repository", files)
    assert 0 == reconciler(checkout.folder, "reconcile", "--now", BEFORE).code
    checkout.commit(BAD)
    return checkout


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("validate",), id="validate"),
        pytest.param(("validate", "--rev", "HEAD", "-o", "json"), id="validate a commit"),
        pytest.param(("get", "deployments", "-A"), id="get"),
        pytest.param(("get", "deploy/web-7", "pp/p", "-o", "yaml"), id="get of names"),
        pytest.param(("get", "-A", "deploy,rb", "-l", "app=web", "-o", "name"), id="get of labels"),
        pytest.param(("get", "deployment", "web-7", "web-x"), id="get of what is not there"),
        pytest.param(("plan", "--base", "HEAD", "--head", "HEAD", "--now", NOW), id="plan"),
        pytest.param(("history", "deployment/web-1"), id="history"),
        pytest.param(("reconcile", "--dry-run", "--now", NOW), id="reconcile"),
    ],
)
@pytest.mark.cpu_seconds(25)  # three commands that read 500 files
def test_answers_are_the_same(
    checkout: Checkout, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """Faults included, to the letter: without a folder, with a new one, with a filled one."""
    folder = str(tmp_path / "kept")
    expected = reconciler(checkout.folder, "--cache-dir", "off", *arguments)
    found = [reconciler(checkout.folder, "--cache-dir", folder, *arguments) for _ in range(2)]

    assert [expected, expected] == found
    assert (tmp_path / "kept" / "documents" / NAME).is_file()


def test_a_folder_that_cannot_be_used_is_told(checkout: Checkout, tmp_path: Path) -> None:
    """The person named it, so silence would mislead; the answer comes all the same."""
    place = tmp_path / "file"
    place.write_text("no folder\n")
    finished = reconciler(checkout.folder, "--cache-dir", str(place), "get", "pp")

    told = f"--cache-dir {place} is not used, so manifests are parsed each time: "
    assert (0, told) == (finished.code, finished.stderr[: len(told)])


WORKLOADS = 520  # from 500 files on what is kept is worth asking
PLAN = ("plan", "--base", "HEAD~1", "--head", "HEAD", "--now", "2026-01-02T04:00:00Z")
QUESTIONS = (
    ("get", "deployment", "web-007"),
    ("get", "resourcebinding", "web-007-deployment", "-o", "yaml"),
    ("get", "deployments", "-l", "team=t3", "-o", "wide"),
    ("get", "-A", "resourcebindings"),
    ("describe", "deployment/web-007"),
    ("status",),
    ("status", "-o", "json"),
    ("why", "deployment/web-007"),
    ("tree", "pp/p"),
    ("top", "clusters"),
    PLAN,
    (*PLAN, "-o", "json"),
    ("history", "deployment/web-007"),
    ("events", "deployment/web-007"),
    ("events",),
    ("wait", "--for=condition=Scheduled", "rb/web-001-deployment", "--timeout=0s"),
    ("validate",),
)
PASS = ("reconcile", "--now", "2026-01-02T03:04:05Z")  # so ages are told in days
LATER = ("reconcile", "--now", "2026-01-02T03:09:00Z")  # finds nothing to do
TABLES = ("documents.db", "index.db", "settled.db", "counted.db")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A settled fleet, of which one workload was scaled since."""
    bodies = [
        configuration(feedback={"assumeAfterSeconds": None}),
        cluster("a"),
        cluster("b"),
        policy("p", selectors=[selector("Deployment")]),
        *(
            deployment(f"web-{number:03}", labels={"team": f"t{number % 9}"})
            for number in range(WORKLOADS)
        ),
    ]
    files = {path_of(body): text(body) for body in bodies}
    return new_checkout(tmp_path_factory.mktemp("fleet") / "fleet", files)


@pytest.fixture(scope="module")
def kept(fleet: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a pass, an edit and each question left behind."""
    folder = tmp_path_factory.mktemp("kept")
    for one in (PASS, LATER):
        assert 0 == run(["-C", str(fleet.folder), "--cache-dir", str(folder), *one])
    scaled = deployment("web-007", labels={"team": "t7"}, replicas=9)
    fleet.commit({path_of(scaled): text(scaled)}, "Scale")
    for question in QUESTIONS:
        run(["-C", str(fleet.folder), "--cache-dir", str(folder), *question])
    assert {*TABLES} <= {one.name for one in (folder / "documents").iterdir()}
    return folder


Answer = Callable[[str | Path, tuple[str, ...]], tuple[int, str, str]]


@pytest.fixture
def answer(fleet: Checkout, capsys: pytest.CaptureFixture[str]) -> Answer:
    """Asks with what is kept in a folder, or with nothing if that is `off`."""

    def ask(folder: str | Path, question: tuple[str, ...]) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(["-C", str(fleet.folder), "--cache-dir", str(folder), *question])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return ask


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_what_is_kept_changes_no_answer(
    kept: Path, tmp_path: Path, answer: Answer, question: tuple[str, ...]
) -> None:
    """Asked with nothing, for the first time, and again; something is printed."""
    first = answer("off", question)

    assert first == answer(tmp_path / "new", question)
    assert first == answer(kept, question)
    assert first[1] or first[2]


@pytest.mark.parametrize(
    ("table", "question"),
    [
        pytest.param("settled.db", PLAN, id="settled"),
        pytest.param("counted.db", ("status", "-o", "json"), id="counted"),
    ],
)
@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_of_what_is_known_of_commits_changes_no_answer(
    kept: Path,
    tmp_path: Path,
    answer: Answer,
    damage: Callable[[Path], None],
    table: str,
    question: tuple[str, ...],
) -> None:
    """The other tables have tests of their own."""
    folder = tmp_path / "damaged"
    shutil.copytree(kept, folder)
    damage(folder / "documents" / table)

    assert answer("off", question)[:2] == answer(folder, question)[:2]


@pytest.mark.parametrize(
    "question",
    [
        pytest.param(("events",), id="events"),
        pytest.param(("status",), id="status"),
        pytest.param(("wait", "--for=condition=Scheduled", "rb/web-001-deployment"), id="wait"),
        pytest.param(("scale", "deployment/web-001", "--replicas=3", "--dry-run"), id="scale"),
    ],
)
def test_only_what_moved_since_a_settled_commit_is_asked(
    kept: Path, tmp_path: Path, answer: Answer, question: tuple[str, ...]
) -> None:
    """A whole pass looks at every workload, and a wait for what is true waits for nothing."""
    claimed = Counter[str]()

    def called(frame: FrameType, event: str, _argument: object) -> None:
        claimed[frame.f_code.co_name] += event == "call"

    for folder in (tmp_path / "new", kept):
        sys.setprofile(called)
        try:
            assert 0 == answer(folder, question)[0]
        finally:
            sys.setprofile(None)
        assert (folder == kept) == (claimed["claim_workload"] < 20)
        claimed.clear()

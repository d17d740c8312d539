"""What is kept from one question to the next never changes an answer, to the letter.

Nor the moments in it: what comes is told from the last pass on, whatever is known of later ones.
"""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.builders import cluster, configuration, deployment, path_of, policy, selector, text
from tests.shell.reading.table_damage import DAMAGES
from tests.shell.repositories import Checkout, new_checkout

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

"""The law of what is kept: over drawn repositories, no question is answered otherwise by it.

With nothing kept, kept for the first time, kept by an earlier commit, and damaged in between.
"""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reconciler.cli.main import run
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import format_moment
from reconciler.shell.reading import settled_commits
from reconciler.shell.reading import settled_commits as counted_commits
from reconciler.shell.reading.tables import DocumentCache
from tests.bounded import examples
from tests.builders import Body, after
from tests.core.inputs.test_loader_law import SEVERAL, break_one, checkout_of, replace_files
from tests.core.test_laws import LAW
from tests.shell.reading.table_damage import DAMAGES
from tests.shell.repositories import Checkout
from tests.stories import Story, story
from tests.strategies import edit, objects

pytestmark = pytest.mark.cpu_seconds(300)  # each question three times, in real repositories

REAL = settings(LAW, max_examples=examples(3), suppress_health_check=list(HealthCheck))
TABLES = ("documents.db", "index.db", "settled.db", "counted.db")
LATER = format_moment(after(600))
ALL = (
    ("get", "-A", "deployments,clusters,resourcebindings", "-o", "wide"),
    ("get", "-A", "clusterresourceplacements,placements"),
    ("status",),
    ("top", "clusters"),
    ("validate",),
    ("plan", "--base", "HEAD~1", "--head", "HEAD", "--now", LATER),
    ("simulate", "--fail", "a", "--now", LATER),
    ("verify",),
)
OF_ONE = ("describe", "why", "tree", "history", "events")
Printed = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def asked_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is known of small repositories, too."""
    kept = DocumentCache.__init__.__kwdefaults__
    assert kept is not None
    monkeypatch.setitem(kept, "few", 0)
    for module in (counted_commits, settled_commits):
        monkeypatch.setattr(module, "FEW", 0)


@REAL
@given(objects(), objects(), st.integers(0, 15), st.integers(0, 2), st.data())
def test_what_is_kept_changes_no_answer(
    capsys: Printed,
    first: list[Body],
    second: list[Body],
    share: int,
    faulty: int,
    data: st.DataObject,
) -> None:
    """Edited, broken, moved and removed since, with any table damaged between two questions."""
    told = story(*first)
    told.files |= {"values.txt.yaml": "a: 1\n", "list.yaml": SEVERAL}
    with TemporaryDirectory() as name:
        checkout, kept = checkout_of(told, Path(name)), Path(name) / "kept"
        for number, bodies in enumerate((second, [])):
            moment = format_moment(after(60 * number))
            ask(capsys, checkout, kept, ("reconcile", "--now", moment))
            for question in questions(told):
                expected = ask(capsys, checkout, "off", question)
                assert expected == ask(capsys, checkout, kept, question), question
                harm(kept / "documents", data)
                assert expected == ask(capsys, checkout, kept, question), question
            replace_inputs(told, checkout, bodies, share, number + faulty)


def questions(told: Story) -> list[tuple[str, ...]]:
    """Ask about all, and about some objects that people wrote."""
    keys: list[ObjectKey] = sorted(told.world().inputs)
    named = [key for key in keys if key.kind in ("Deployment", "ClusterResourcePlacement")]
    words = [f"{key.kind.lower()}/{key.name}" for key in named[:2]]
    return [*ALL, *((verb, word) for word in words for verb in OF_ONE)]


def ask(
    capsys: Printed, checkout: Checkout, cache: str | Path, question: tuple[str, ...]
) -> tuple[int, str, str]:
    """Return how a command ends and what it prints, with what is kept in a folder, or `off`."""
    capsys.readouterr()
    code = run(["-C", str(checkout.folder), "--cache-dir", str(cache), *question])
    printed = capsys.readouterr()
    told = [line for line in printed.err.splitlines() if "--cache-dir" not in line]
    return code, printed.out, "\n".join(told)


def harm(folder: Path, data: st.DataObject) -> None:
    """Damage a table, or none."""
    there = [name for name in TABLES if (folder / name).exists()]
    damages: list[Callable[[Path], None]] = [one.values[0] for one in DAMAGES]  # type: ignore[misc]
    chosen = data.draw(st.none() | st.tuples(st.sampled_from(there), st.sampled_from(damages)))
    if chosen is not None:
        table, damage = chosen
        with suppress(sqlite3.Error):  # it is damaged already
            damage(folder / table)


def replace_inputs(
    told: Story, checkout: Checkout, bodies: list[Body], share: int, faulty: int
) -> None:
    """Edit and break files of people, and leave to passes what is theirs."""
    listed = checkout.git("ls-files", "-z").split("\0")
    told.files = {path: (checkout.folder / path).read_text() for path in listed if path}
    edit(told, bodies, share)
    break_one(told, faulty)
    replace_files(checkout, told.files)

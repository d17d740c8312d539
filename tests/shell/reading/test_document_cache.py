"""Parsed documents on disk: they save time, and are never believed when something is wrong."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from reconciler.core.dialects import KINDS
from reconciler.model.identity import RepositoryLayout
from reconciler.model.world import World
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.tables import MOST_DOCUMENT_BYTES, NAME, DocumentCache
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from tests.builders import configmap, deployment, path_of, policy, text
from tests.shell.fleet import Clock, new_fleet, new_passes
from tests.shell.reading.table_damage import DAMAGES
from tests.shell.repositories import Checkout, new_checkout

COUNT = 40
BAD = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad, nmae: bad}\ndata: [\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A repository with good files and a bad one."""
    bodies = [policy(), *(deployment(f"web-{number}") for number in range(COUNT))]
    return new_checkout(
        tmp_path / "repository", {**{path_of(b): text(b) for b in bodies}, "bad.yaml": BAD}
    )


def documents_in(folder: Path, build: str = "this", **more: int) -> DocumentCache:
    """A cache that is asked about few files, too."""
    bounds = {"few": 0, "most_bytes": MOST_DOCUMENT_BYTES, **more}
    return DocumentCache(folder, lambda: build, KINDS, **bounds, stamp=lambda: build)


def load(checkout: Checkout, documents: DocumentCache | None) -> World:
    """Load as a new process does."""
    return loader_of(checkout, documents).load(checkout.head())


def loader_of(checkout: Checkout, documents: DocumentCache | None) -> Loader:
    """What loads with a cache, or without one."""
    repository = Repository.open(checkout.folder)
    return Loader(
        GitTrees(repository), load_schemas(), layout=RepositoryLayout(), documents=documents
    )


def filled(checkout: Checkout, folder: Path) -> Path:
    """Load and save; return the file of the table."""
    documents = documents_in(folder)
    load(checkout, documents)
    documents.save()
    return folder / NAME


def known(checkout: Checkout, documents: DocumentCache) -> int:
    """How many of the files are found."""
    entries = Repository.open(checkout.folder).git.output("ls-tree", "-r", "HEAD").decode()
    pairs = [(line.split("\t")[1], line.split()[2]) for line in entries.splitlines()]
    return len(list(documents.find("inputs", pairs)))


def test_what_was_parsed_is_found_by_the_next_process(checkout: Checkout, tmp_path: Path) -> None:
    """All but the faulty file, which is read each time."""
    filled(checkout, tmp_path / "documents")

    assert COUNT + 1 == known(checkout, documents_in(tmp_path / "documents"))


def test_blobs_of_known_files_are_not_read(checkout: Checkout, tmp_path: Path) -> None:
    """A world is loaded though git has lost the content of a file."""
    expected = load(checkout, None)
    filled(checkout, tmp_path / "documents")
    blob = checkout.git("rev-parse", f"HEAD:{path_of(deployment('web-1'))}")
    (checkout.folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()

    assert expected == load(checkout, documents_in(tmp_path / "documents"))


def test_only_the_owner_can_read_and_write(checkout: Checkout, tmp_path: Path) -> None:
    """The folder has mode 0700 and the file 0600, whatever the mask of the user."""
    mask = os.umask(0)
    try:
        place = filled(checkout, tmp_path / "documents")
    finally:
        os.umask(mask)

    assert [0o700, 0o600] == [one.stat().st_mode & 0o777 for one in (place.parent, place)]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_costs_time_only(
    checkout: Checkout, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    """The world is the same, and after one or two processes more everything is found again."""
    expected = load(checkout, None)
    folder = tmp_path / "documents"
    damage(filled(checkout, folder))

    assert expected == load(checkout, documents_in(folder))
    for _ in range(2):  # the first may only have made room
        filled(checkout, folder)
    assert COUNT + 1 == known(checkout, documents_in(folder))


def test_a_write_cut_short_leaves_what_was_there(checkout: Checkout, tmp_path: Path) -> None:
    """A process that is killed leaves its journal, and the next one rolls back by it."""
    place = filled(checkout, tmp_path / "documents")
    other = sqlite3.connect(place, isolation_level=None)
    other.execute("PRAGMA cache_size = 1")  # so that pages reach the file before the end
    other.execute("BEGIN IMMEDIATE")
    other.execute("UPDATE entry SET content = zeroblob(2000)")
    killed = tmp_path / "killed"
    shutil.copytree(place.parent, killed)
    other.close()
    (killed / NAME).chmod(0o600)

    assert (killed / f"{NAME}-journal").stat().st_size > 0
    assert COUNT + 1 == known(checkout, documents_in(killed))


def test_a_folder_where_others_may_write_is_not_used(checkout: Checkout, tmp_path: Path) -> None:
    """Somebody else could have put anything there."""
    folder = tmp_path / "documents"
    filled(checkout, folder)
    folder.chmod(0o777)
    documents = documents_in(folder)

    assert 0 == known(checkout, documents)
    assert f'"{folder}" must be writable for its owner only' == documents.problem


def test_another_build_finds_nothing(checkout: Checkout, tmp_path: Path) -> None:
    """Code that reads otherwise does not take over what this code has read."""
    filled(checkout, tmp_path / "documents")

    assert 0 == known(checkout, documents_in(tmp_path / "documents", build="another"))


def test_a_table_that_is_locked_is_not_waited_for(checkout: Checkout, tmp_path: Path) -> None:
    """A process that writes for long stands in nobody's way."""
    expected = load(checkout, None)
    place = filled(checkout, tmp_path / "documents")
    other = sqlite3.connect(place, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    documents = documents_in(tmp_path / "documents")

    assert expected == load(checkout, documents)
    assert "database is locked" == documents.problem
    other.close()


def test_two_processes_add_to_one_table(checkout: Checkout, tmp_path: Path) -> None:
    """What both have read at the same time is there once, and nothing is lost."""
    first, second = (documents_in(tmp_path / "documents") for _ in range(2))
    load(checkout, first)
    path = path_of(configmap("late"))
    checkout.commit({path: text(configmap("late"))})
    load(checkout, second)
    first.save()
    second.save()

    assert ["", ""] == [first.problem, second.problem]
    assert COUNT + 2 == known(checkout, documents_in(tmp_path / "documents"))


def test_the_table_has_a_bound(checkout: Checkout, tmp_path: Path) -> None:
    """Beyond it, what was not used for longest goes."""
    place = filled(checkout, tmp_path / "documents")
    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE entry SET day = 1")
    connection.close()
    changed = (deployment("web-1", replicas=9), configmap("late"))
    checkout.commit({path_of(body): text(body) for body in changed})
    checkout.git("rm", "-q", *(path_of(deployment(f"web-{i}")) for i in range(2, COUNT)))
    checkout.commit({})
    documents = documents_in(tmp_path / "documents", most_bytes=place.stat().st_size - 1)
    load(checkout, documents)
    documents.save()
    with sqlite3.connect(place) as connection:
        days = [day for (day,) in connection.execute("SELECT day FROM entry ORDER BY day")]
    connection.close()

    assert (4, True) == (sum(day > 1 for day in days), 4 < len(days) < COUNT)


def test_few_files_need_no_table(checkout: Checkout, tmp_path: Path) -> None:
    """A small repository is read sooner than a table is opened, so nothing is made."""
    documents = documents_in(tmp_path / "documents", few=500)
    load(checkout, documents)
    documents.save()

    assert not (tmp_path / "documents").exists()


def test_saving_goes_by_pieces(
    checkout: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon writes a little after each pass, and is told whether more is left."""
    monkeypatch.setattr("reconciler.shell.reading.tables.PIECE", COUNT)
    documents = documents_in(tmp_path / "documents")
    load(checkout, documents)

    assert [True, False] == [documents.save(pieces=1) for _ in range(2)]


def test_a_daemon_writes_after_its_pass(tmp_path: Path) -> None:
    """What it parsed is there for the next start, and no commit waited for it."""
    checkout = new_fleet(tmp_path / "fleet")
    documents = documents_in(tmp_path / "documents")
    passes = replace(new_passes(checkout.folder, Clock()), loader=loader_of(checkout, documents))
    passes.run()
    before = known(checkout, documents_in(tmp_path / "documents"))
    more = passes.rest()

    assert (0, False) == (before, more)
    assert 0 < known(checkout, documents_in(tmp_path / "documents"))

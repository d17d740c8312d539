"""Tables on disk save time, serve several threads, and are never believed when damaged."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from reconciler.core.asked import SettledWorld
from reconciler.core.dialects import KINDS
from reconciler.library.fleet import FleetRepository
from reconciler.library.folder import read_folder
from reconciler.model.identity import RepositoryLayout
from reconciler.model.records import replace
from reconciler.model.world import World
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.tables import MOST_DOCUMENT_BYTES, NAME, DocumentCache, OptionalTable
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from tests.builders import (
    Body,
    cluster,
    configmap,
    configuration,
    deployment,
    path_of,
    policy,
    selector,
    text,
)
from tests.shell.fleet import Clock, new_fleet, new_passes
from tests.shell.reading.table_damage import DAMAGES
from tests.shell.repositories import NOW, Checkout, new_checkout

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


EACH = 40


def test_threads_take_turns_at_a_table(tmp_path: Path) -> None:
    """Whoever opened it: workers take what they do to any of their threads."""
    table = OptionalTable(tmp_path / "cache", "texts", str, most_bytes=1 << 20)
    table.open()

    def use(number: int) -> dict[bytes, str]:
        keys = [b"%d %d" % (number, one) for one in range(EACH)]
        for key in keys:
            table.write([(key, key.decode())])
        return table.read(keys)

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(use, range(8)))

    assert "" == table.problem
    assert [EACH] * 8 == [len(one) for one in found]


def test_what_one_thread_opened_another_one_lets_go_of(tmp_path: Path) -> None:
    """A table that is damaged goes, in whichever thread that is seen."""
    table = OptionalTable(tmp_path / "cache", "texts", str, most_bytes=1 << 20)
    table.open()
    table.write([(b"key", "text")])
    place = tmp_path / "cache/texts"
    place.write_bytes(b"no table" * 1000)
    with ThreadPoolExecutor(1) as threads:
        assert {} == threads.submit(table.read, [b"key"]).result()

    assert not table.is_open
    assert "" != table.problem


WORKLOADS = 520  # from 500 objects on a settled commit is kept
HOUR = timedelta(hours=1)


@pytest.fixture
def unseen_checkout(tmp_path: Path) -> Checkout:
    """A fleet that nobody looked at yet."""
    return checkout_of(tmp_path / "fleet", WORKLOADS, selector("Deployment", name="web-000"))


def checkout_of(folder: Path, workloads: int, placed: Body) -> Checkout:
    """A fleet of some workloads, of which those are placed that a selector chooses."""
    bodies = [
        configuration(feedback={"assumeAfterSeconds": None}),
        cluster("a"),
        policy("p", selectors=[placed]),
        *(deployment(f"web-{number:03}") for number in range(workloads)),
    ]
    return new_checkout(folder, {path_of(body): text(body) for body in bodies})


@pytest.fixture
def fleet(unseen_checkout: Checkout, tmp_path: Path) -> FleetRepository:
    """The same, asked with a cache of its own."""
    return fleet_of(unseen_checkout, tmp_path)


def fleet_of(checkout: Checkout, tmp_path: Path) -> FleetRepository:
    """A repository that is asked with a cache of its own."""
    return FleetRepository(
        directory=checkout.folder,
        repository=Repository.open(checkout.folder),
        layout=RepositoryLayout(),
        documents=DocumentCache(tmp_path / "cache", lambda: "this", KINDS),
    )


def known_commit(
    fleet: FleetRepository, *, of_present: bool = False
) -> tuple[str, datetime] | None:
    """The input commit and the moment that a question begins with."""
    commits = fleet.settled_commits
    assert commits is not None
    found: SettledWorld | None = commits.load(fleet.new_loader(), of_present=of_present)
    return None if found is None else (found.world.revision, found.at)


def test_a_later_pass_that_changes_nothing_leaves_the_moment_of_the_one_that_wrote(
    fleet: FleetRepository,
) -> None:
    """Or else a question about what follows the last pass would have to ask for all again."""
    wrote = fleet.reconcile(at=NOW)
    assert wrote.commit is not None

    assert fleet.reconcile(at=NOW + HOUR).commit is None
    assert (wrote.commit, NOW) == known_commit(fleet)
    assert (wrote.commit, NOW) == known_commit(fleet, of_present=True)


def test_what_a_first_pass_writes_counts_among_the_objects(tmp_path: Path) -> None:
    """So the pass that writes is known, and not only the one after it."""
    checkout = checkout_of(tmp_path / "fleet", WORKLOADS // 2, selector("Deployment"))
    fleet = fleet_of(checkout, tmp_path)
    wrote = fleet.reconcile(at=NOW)
    fleet.reconcile(at=NOW + HOUR)

    assert (wrote.commit, NOW) == known_commit(fleet)


def test_a_commit_that_moves_nothing_serves_questions_about_the_present_only(
    unseen_checkout: Checkout, fleet: FleetRepository
) -> None:
    """What a pass finds by then says nothing of the time since the pass before."""
    wrote = fleet.reconcile(at=NOW)
    unplaced = deployment("web-001", replicas=7)
    edited = unseen_checkout.commit({path_of(unplaced): text(unplaced)})

    assert fleet.reconcile(at=NOW + HOUR).commit is None
    assert (wrote.commit, NOW) == known_commit(fleet)
    assert (edited, NOW + HOUR) == known_commit(fleet, of_present=True)


def test_the_next_pass_that_writes_takes_the_place_of_both(
    unseen_checkout: Checkout, fleet: FleetRepository
) -> None:
    """It is the last pass from then on."""
    fleet.reconcile(at=NOW)
    unplaced, placed = deployment("web-001", replicas=7), deployment("web-000", replicas=7)
    unseen_checkout.commit({path_of(unplaced): text(unplaced)})
    fleet.reconcile(at=NOW + HOUR)
    unseen_checkout.commit({path_of(placed): text(placed)})
    wrote = fleet.reconcile(at=NOW + 2 * HOUR)

    assert (wrote.commit, NOW + 2 * HOUR) == known_commit(fleet)
    assert known_commit(fleet) == known_commit(fleet, of_present=True)


def test_without_what_was_kept_a_pass_that_finds_nothing_to_do_is_known_from_then_on(
    fleet: FleetRepository, tmp_path: Path
) -> None:
    """What lies before it nobody has looked at."""
    wrote = fleet.reconcile(at=NOW)
    (tmp_path / "cache/settled.db").unlink()
    fleet.reconcile(at=NOW + HOUR)

    assert (wrote.commit, NOW + HOUR) == known_commit(fleet)


def test_a_folder_is_the_same_with_what_was_parsed_before(
    unseen_checkout: Checkout, fleet: FleetRepository
) -> None:
    """Faulty files included, and of those that are known none is parsed again."""
    fleet.reconcile(at=NOW)
    unseen_checkout.write({"bad.yaml": "a: [\n", "new.yaml": text(deployment("new"))})
    documents = fleet.documents
    assert documents is not None
    plain = read_folder(fleet.directory)

    for _ in range(2):
        assert plain == read_folder(fleet.directory, documents=documents)
        documents.save()

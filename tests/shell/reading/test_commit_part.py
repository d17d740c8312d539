"""A part of a commit, read by an index of its files: it saves time, and never changes an answer."""

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from reconciler.core.dialects import KINDS
from reconciler.model.identity import RepositoryLayout
from reconciler.model.world import World
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.commit_part import Names
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.parts import PartReader, keys_of, present_keys
from reconciler.shell.reading.tables import INDEX, DocumentCache, EntryTable
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from tests.builders import Body, configmap, deployment, path_of, text
from tests.shell.fleet import Clock, new_fleet, new_passes
from tests.shell.reading.table_damage import DAMAGES
from tests.shell.repositories import Checkout

COUNT = 40
DEPLOYMENT = ("apps", "Deployment")
USERS = 4
DIES_WRITING = """
import os, sqlite3, sys
table = sqlite3.connect(sys.argv[1], isolation_level=None)
table.execute("PRAGMA cache_size = 1")
table.execute("BEGIN IMMEDIATE")
table.execute("UPDATE entry SET content = zeroblob(60000)")
os.kill(os.getpid(), 9)
"""
BAD = {
    "bad/syntax.yaml": "apiVersion: v1\nkind: [\n",
    "bad/field.yaml": text({**deployment("odd"), "spec": {"replicas": "2"}}),
    "other/compose.yaml": "services: {}\n",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A fleet after a pass, with faulty files that came since."""
    checkout = new_fleet(tmp_path / "fleet")
    bodies = [deployment(f"more-{number}") for number in range(COUNT)]
    checkout.commit({path_of(body): text(body) for body in bodies})
    new_passes(checkout.folder, Clock()).run()
    checkout.commit(BAD)
    return checkout


class Asked:
    """What a process of its own finds of some objects; `is_part` says whether an index helped."""

    def __init__(self, checkout: Checkout, folder: Path, names: Names, *, few: int = 0) -> None:
        """Ask, and leave behind what was found."""
        repository = Repository.open(checkout.folder)
        documents = DocumentCache(folder, lambda: "this", KINDS, few=few, stamp=lambda: "this")
        loader = Loader(
            GitTrees(repository), load_schemas(), layout=RepositoryLayout(), documents=documents
        )
        self.reader = reader = PartReader(loader, documents.index, "here")
        heads = reader.heads(checkout.head())
        self.is_part = heads is not None
        self.world = (
            loader.load(checkout.head())
            if heads is None
            else reader.world(checkout.head(), heads.part(names))
        )
        documents.save()
        self.problem = documents.problem


def asked_again(checkout: Checkout, folder: Path, names: Names) -> Asked:
    """What the second process finds."""
    Asked(checkout, folder, names)
    return Asked(checkout, folder, names)


def bodies_of(world: World, names: Names) -> dict[str, Body]:
    """What a world says of some objects."""
    return {
        f"{side} {key}": dict(one.body)
        for side, manifests in (("input", world.inputs), ("output", world.outputs))
        for key, one in manifests.items()
        if key[:2] in names and ((wanted := names[key[:2]]) is None or key.name in wanted)
    }


ONE: Names = {DEPLOYMENT: {"more-7"}}
ALL: Names = {DEPLOYMENT: None}


@pytest.mark.parametrize("names", [pytest.param(ONE, id="one"), pytest.param(ALL, id="all")])
def test_a_part_says_what_the_whole_says(checkout: Checkout, tmp_path: Path, names: Names) -> None:
    """Of what was asked for, though faulty files stand beside it."""
    asked = asked_again(checkout, tmp_path / "kept", names)
    expected = bodies_of(Asked(checkout, tmp_path / "other", names).world, names)

    assert (True, expected) == (asked.is_part, bodies_of(asked.world, names))
    assert len(expected) >= (1 if names is ONE else COUNT)


def test_one_object_takes_its_own_file(checkout: Checkout, tmp_path: Path) -> None:
    """Besides that, only what is faulty or unknown is read, and the records of passes."""
    world = asked_again(checkout, tmp_path / "kept", ONE).world

    assert {"more-7"} == {key.name for key in world.inputs if key[:2] == DEPLOYMENT}
    assert set() == {key.name for key in world.outputs if "Binding" in key.kind}
    assert {path for path in BAD if path.startswith("bad/")} == {one.path for one in world.faults}


def test_a_new_commit_costs_its_own_files(checkout: Checkout, tmp_path: Path) -> None:
    """What an edit leaves alone is known, what it touches is read as it is now."""
    asked_again(checkout, tmp_path / "kept", ONE)
    body = deployment("more-7", replicas=77)
    checkout.commit({path_of(body): text(body)})
    asked = Asked(checkout, tmp_path / "kept", ONE)

    assert asked.is_part
    assert [body["spec"]] == [one["spec"] for one in bodies_of(asked.world, ONE).values()]


def test_an_object_that_is_written_twice_is_there_for_nobody(
    checkout: Checkout, tmp_path: Path
) -> None:
    """Both files are read for a question about it, so its last good version stays in force."""
    checkout.commit({"twice/more-7.yaml": text(deployment("more-7", replicas=77))})
    asked = asked_again(checkout, tmp_path / "kept", ONE)
    whole = Asked(checkout, tmp_path / "other", ONE)

    assert (True, False) == (asked.is_part, whole.is_part)
    assert bodies_of(whole.world, ONE) == bodies_of(asked.world, ONE)
    assert {"twice/more-7.yaml"} < {one.path for one in asked.world.faults}


def test_what_moved_beside_a_faulty_file_is_there_once(checkout: Checkout, tmp_path: Path) -> None:
    """A file that was read by nobody for this question counts among those that there are."""
    name = path_of(deployment("more-7"))
    checkout.commit({"moved/more-7.yaml": text(deployment("more-7"), configmap("new"))})
    checkout.commit({name: "kind: [\n"})
    names: Names = {DEPLOYMENT: {"more-8"}}
    asked = asked_again(checkout, tmp_path / "kept", names)
    whole = Asked(checkout, tmp_path / "other", names)

    assert asked.is_part
    assert whole.world.held == asked.world.held


def test_an_index_tells_which_objects_there_are(checkout: Checkout, tmp_path: Path) -> None:
    """Those of the whole world, faulty files beside them or not; without an index nothing."""
    whole = Asked(checkout, tmp_path / "kept", ONE)
    reader = Asked(checkout, tmp_path / "kept", ONE).reader
    blind = Asked(checkout, tmp_path / "kept", ONE, few=1000).reader

    assert keys_of(whole.world) == present_keys(reader, checkout.head())
    assert None is present_keys(blind, checkout.head())


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_costs_time_only(
    checkout: Checkout, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    """The answer is the same, and after one or two processes more the index helps again."""
    folder = tmp_path / "kept"
    expected = bodies_of(asked_again(checkout, folder, ALL).world, ALL)
    damage(folder / INDEX)
    found = [bodies_of(Asked(checkout, folder, ALL).world, ALL) for _ in range(2)]

    assert [expected, expected] == found
    assert Asked(checkout, folder, ALL).is_part


def test_nonsense_behind_a_right_checksum_is_not_there(checkout: Checkout, tmp_path: Path) -> None:
    """Whoever may write the file can write anything; what cannot be understood is read anew."""
    folder = tmp_path / "kept"
    expected = bodies_of(asked_again(checkout, folder, ALL).world, ALL)
    with sqlite3.connect(folder / INDEX) as connection:
        keys = [key for (key,) in connection.execute("SELECT key FROM entry")]
    connection.close()
    table = EntryTable.open(folder, INDEX)
    said = [content for _, content in table.read(keys)]
    nonsense = [one.replace("[", "{").replace("]", "}") for one in said]
    table.write(zip(keys, nonsense, strict=True), most_bytes=1 << 20)
    table.close()

    assert expected == bodies_of(Asked(checkout, folder, ALL).world, ALL)


def test_another_user_s_index_is_not_used(checkout: Checkout, tmp_path: Path) -> None:
    """Nor one that others may write to."""
    folder = tmp_path / "kept"
    expected = bodies_of(asked_again(checkout, folder, ALL).world, ALL)
    (folder / INDEX).chmod(0o666)
    asked = Asked(checkout, folder, ALL)

    assert (False, expected) == (asked.is_part, bodies_of(asked.world, ALL))
    assert f'"{folder / INDEX}" must be writable for its owner only' == asked.problem


def test_a_locked_index_is_not_waited_for(checkout: Checkout, tmp_path: Path) -> None:
    """A process that writes for long stands in nobody's way."""
    folder = tmp_path / "kept"
    expected = bodies_of(asked_again(checkout, folder, ALL).world, ALL)
    other = sqlite3.connect(folder / INDEX, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    asked = Asked(checkout, folder, ALL)
    other.close()

    assert (False, expected) == (asked.is_part, bodies_of(asked.world, ALL))


def test_a_kill_in_the_middle_of_writing_loses_nothing(checkout: Checkout, tmp_path: Path) -> None:
    """Half of what was written is on the disk; the next process takes it back."""
    folder = tmp_path / "kept"
    expected = bodies_of(asked_again(checkout, folder, ALL).world, ALL)
    killed = subprocess.run([sys.executable, "-c", DIES_WRITING, folder / INDEX], check=False)
    left = {file.name for file in folder.iterdir()}
    asked = Asked(checkout, folder, ALL)

    assert (-9, True) == (killed.returncode, f"{INDEX}-journal" in left)
    assert (True, expected) == (asked.is_part, bodies_of(asked.world, ALL))


def test_several_users_at_once_get_one_answer(checkout: Checkout, tmp_path: Path) -> None:
    """Whoever comes second waits for nobody, and what the first wrote helps a third."""
    folder = tmp_path / "kept"
    expected = bodies_of(Asked(checkout, tmp_path / "other", ALL).world, ALL)
    with ThreadPoolExecutor(USERS) as pool:
        asked = list(pool.map(lambda _: Asked(checkout, folder, ALL), range(USERS)))

    assert [expected] * USERS == [bodies_of(one.world, ALL) for one in asked]
    assert Asked(checkout, folder, ALL).is_part

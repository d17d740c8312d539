"""The law of parts: of what is asked for, a part of a commit says what all of it says."""

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.core.dialects import KINDS
from reconciler.core.reconcile import reconcile
from reconciler.model.identity import RepositoryLayout
from reconciler.model.kinds import Kind
from reconciler.model.world import Manifest, World
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.parts import PartReader, PresentKeys, keys_of, present_keys
from reconciler.shell.reading.tables import DocumentCache
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from tests.bounded import examples
from tests.builders import Body
from tests.core.inputs.test_loader_law import SEVERAL, break_one, checkout_of, replace_files
from tests.core.test_laws import LAW
from tests.stories import applied, story
from tests.strategies import edit, objects

pytestmark = pytest.mark.cpu_seconds(60)  # real repositories

REAL = settings(LAW, max_examples=examples(10))


@REAL
@given(objects(), objects(), st.integers(0, 2))
def test_a_part_equals_the_whole(first: list[Body], second: list[Body], faulty: int) -> None:
    """Of each kind, with what was edited, broken, moved and removed since the last pass."""
    told = story(*first)
    told.files |= {"values.txt.yaml": "a: 1\n", "bad.json": '{"kind": 1}', "list.yaml": SEVERAL}
    with TemporaryDirectory() as name:
        checkout = checkout_of(told, Path(name))
        repository = Repository.open(checkout.folder)
        for bodies in (second, []):
            head = checkout.head()
            whole = Loader(GitTrees(repository), load_schemas(), layout=RepositoryLayout()).load(
                head
            )
            for kind in sorted({key[:2] for key in (*whole.inputs, *whole.outputs)}):
                expected = of_kind(whole, kind)
                for _ in range(2):
                    assert expected == of_kind(part_of(repository, head, kind, Path(name)), kind)
            present = keys_found(repository, head, Path(name))
            assert present in (None, keys_of(whole))
            told.now += timedelta(seconds=40)
            told.files = applied(told.files, reconcile(whole, told.now))
            edit(told, bodies, 1)
            break_one(told, 1 + faulty)
            replace_files(checkout, told.files)


def of_kind(world: World, kind: Kind) -> list[list[Manifest]]:
    """What a world has of one kind."""
    sides = (world.inputs, world.feedback, world.outputs)
    return [[side[key] for key in sorted(side) if key[:2] == kind] for side in sides]


def keys_found(repository: Repository, revision: str, folder: Path) -> PresentKeys | None:
    """Find the objects that an index tells."""
    _, _, reader = new_reader(repository, folder)
    return present_keys(reader, revision)


def new_reader(repository: Repository, folder: Path) -> tuple[DocumentCache, Loader, PartReader]:
    """Begin as a process does that finds an index."""
    documents = DocumentCache(folder / "kept", lambda: "", KINDS, few=0, stamp=lambda: "")
    loader = Loader(
        GitTrees(repository), load_schemas(), layout=RepositoryLayout(), documents=documents
    )
    return documents, loader, PartReader(loader, documents.index, "")


def part_of(repository: Repository, revision: str, kind: Kind, folder: Path) -> World:
    """Load the part of a kind as a process does that finds an index, and leaves more there."""
    documents, loader, reader = new_reader(repository, folder)
    heads = reader.heads(revision)
    world = (
        loader.load(revision) if heads is None else reader.world(revision, heads.part({kind: None}))
    )
    documents.save()

    assert "" == documents.problem
    return world

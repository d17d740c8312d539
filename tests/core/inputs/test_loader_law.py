"""Laws of reading: following commits, starting anew and reading a part say the same."""

from collections.abc import Mapping
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
from reconciler.shell.resources import build_id, load_schemas
from tests.bounded import examples
from tests.builders import Body, deployment, text
from tests.core.test_laws import LAW
from tests.shell.repositories import Checkout, new_checkout
from tests.stories import Story, applied, story
from tests.strategies import edit, objects

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes

SEVERAL = text(deployment("one"), {"not": "ours"}, {**deployment("two"), "spec": {"replicas": "2"}})
"""A file with a good document, one of another program, and one that is wrong further down."""

REAL = settings(LAW, max_examples=examples(12))


def checkout_of(told: Story, folder: Path) -> Checkout:
    """A real repository with the files of a story."""
    return new_checkout(folder / "repository", told.files or {"README.md": "empty\n"})


@REAL
@given(objects(), objects(), objects(), st.integers(0, 15), st.integers(0, 2))
def test_incremental_equals_full(
    first: list[Body], second: list[Body], third: list[Body], share: int, faulty: int
) -> None:
    """A Loader that followed each commit and a new one give equal worlds and equal bytes."""
    told = story(*first)
    with TemporaryDirectory() as name:
        checkout = checkout_of(told, Path(name))
        repository = Repository.open(checkout.folder)
        warm = Loader(GitTrees(repository), load_schemas(), layout=RepositoryLayout())
        for number, bodies in enumerate((second, third, [])):
            world = warm.load(checkout.head())
            cold = Loader(GitTrees(repository), load_schemas(), layout=RepositoryLayout()).load(
                checkout.head()
            )
            told.now += timedelta(seconds=40)
            outcome = reconcile(world, told.now)

            assert cold == world
            assert reconcile(cold, told.now) == outcome
            told.files = applied(told.files, outcome)
            edit(told, bodies, share)
            break_one(told, number + faulty)
            replace_files(checkout, told.files)


@REAL
@given(objects(), objects(), st.integers(0, 2))
def test_cached_equals_parsed(first: list[Body], second: list[Body], faulty: int) -> None:
    """Worlds, with the faults of bad files, are equal whether documents are parsed or kept."""
    told = story(*first)
    told.files |= {"values.txt.yaml": "a: 1\n", "bad.json": '{"kind": 1}', "list.yaml": SEVERAL}
    with TemporaryDirectory() as name:
        checkout = checkout_of(told, Path(name))
        repository = Repository.open(checkout.folder)
        for bodies in (second, []):
            kept = [cached_load(repository, checkout.head(), Path(name)) for _ in range(2)]
            parsed = Loader(GitTrees(repository), load_schemas(), layout=RepositoryLayout()).load(
                checkout.head()
            )
            told.now += timedelta(seconds=40)
            outcome = reconcile(parsed, told.now)

            assert [parsed, parsed] == kept
            assert [outcome, outcome] == [reconcile(world, told.now) for world in kept]
            told.files = applied(told.files, outcome)
            edit(told, bodies, 1)
            break_one(told, 1 + faulty)
            replace_files(checkout, told.files)


def cached_load(repository: Repository, revision: str, folder: Path) -> World:
    """Load as a process does that finds a folder with documents, and leaves more there."""
    documents = DocumentCache(folder / "documents", build_id, KINDS, few=0)
    loader = Loader(
        GitTrees(repository), load_schemas(), layout=RepositoryLayout(), documents=documents
    )
    world = loader.load(revision)
    documents.save()

    assert "" == documents.problem
    return world


def break_one(told: Story, number: int) -> None:
    """Break the file of one object, chosen by a number."""
    paths = sorted(told.inputs)
    if number % 3 and paths:
        told.files[paths[number * 5 % len(paths)]] = "apiVersion: v1\nkind: [\n"


def replace_files(checkout: Checkout, files: Mapping[str, str]) -> None:
    """Commit exactly these files."""
    checkout.git("rm", "-r", "--quiet", "--ignore-unmatch", ".")
    checkout.commit({**files, "README.md": "text\n"})


REAL_PARTS = settings(LAW, max_examples=examples(10))


@REAL_PARTS
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

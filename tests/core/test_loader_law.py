"""The law of the shell: following each commit and starting anew give the same."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.core.reconcile import reconcile
from reconciler.shell.git.repository import Repository
from reconciler.shell.load import Loader
from reconciler.shell.resources import load_schemas
from reconciler.shell.trees import GitTrees
from tests.builders import Body
from tests.core.test_laws import LAW
from tests.shell.repositories import Checkout, new_checkout
from tests.stories import Story, applied, story
from tests.strategies import edit, objects

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes

REAL = settings(LAW, max_examples=12)


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
        warm = Loader(GitTrees(repository), load_schemas(), output_root="status")
        for number, bodies in enumerate((second, third, [])):
            world = warm.load(checkout.head())
            cold = Loader(GitTrees(repository), load_schemas(), output_root="status").load(
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


def break_one(told: Story, number: int) -> None:
    """Break the file of one object, chosen by a number."""
    paths = sorted(told.inputs)
    if number % 3 and paths:
        told.files[paths[number * 5 % len(paths)]] = "apiVersion: v1\nkind: [\n"


def replace_files(checkout: Checkout, files: Mapping[str, str]) -> None:
    """Commit exactly these files."""
    checkout.git("rm", "-r", "--quiet", "--ignore-unmatch", ".")
    checkout.commit({**files, "README.md": "text\n"})

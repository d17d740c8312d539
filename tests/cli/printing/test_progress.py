"""The bar: only where somebody watches, only for many files, never in the data."""

from pathlib import Path

import pytest

from reconciler.cli.printing.progress import FEW
from tests.cli.printing.test_terminal import on_terminal
from tests.shell.fleet import EXAMPLE, new_fleet, reconciler
from tests.shell.repositories import Checkout

TITLE = "Reading manifests"
COMMANDS = [["validate"], ["reconcile", "--dry-run"]]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A fleet with more files than are read without a bar."""
    text = EXAMPLE["clusters/member1.yaml"]
    files = {
        f"clusters/c{number}.yaml": text.replace("member1", f"c{number}") for number in range(FEW)
    }
    return new_fleet(tmp_path_factory.mktemp("many") / "fleet", files)


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda words: words[0])
def test_many_files_show_a_bar_on_a_terminal(many: Checkout, arguments: list[str]) -> None:
    """It is there while files are read."""
    assert TITLE in on_terminal(many.folder, arguments, {})


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda words: words[0])
def test_a_pipe_gets_no_bar(many: Checkout, arguments: list[str]) -> None:
    """Neither beside the data nor in it."""
    finished = reconciler(many.folder, *arguments)

    assert 0 == finished.code
    assert TITLE not in finished.stdout + finished.stderr


def test_few_files_show_no_bar(tmp_path: Path) -> None:
    """The example is read at once."""
    fleet = new_fleet(tmp_path / "fleet")

    assert TITLE not in on_terminal(fleet.folder, ["validate"], {})

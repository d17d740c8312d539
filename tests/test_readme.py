"""What README.md shows of the commands is what they print."""

import shlex

import pytest

from tests.cli.history import answer, told_fleet
from tests.shell.repositories import Checkout
from tests.told_blocks import missing, told

TOLD = told("README.md")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Three inputs, three passes."""
    return told_fleet(tmp_path_factory.mktemp("readme") / "fleet")


@pytest.mark.parametrize(("command", "pieces"), TOLD, ids=[command for command, _ in TOLD])
def test_readme_shows_what_commands_print(
    fleet: Checkout, capsys: pytest.CaptureFixture[str], command: str, pieces: list[list[str]]
) -> None:
    """Each piece stands in the output as it is shown, one behind the other."""
    code, out, _ = answer(fleet, capsys, *shlex.split(command))

    assert (0, "") == (code, missing(pieces, out))


def test_something_is_told() -> None:
    """The pattern finds the blocks."""
    assert 6 == len(TOLD)

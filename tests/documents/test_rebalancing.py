"""What docs/rebalancing.md shows of `advise` is what it prints."""

import re
import shlex

import pytest

from tests.cli.history import answer
from tests.cli.verbs.test_rebalance import recovered_fleet
from tests.shell.repositories import Checkout
from tests.told_blocks import missing, told

TOLD = told("docs/rebalancing.md")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture(scope="module")
def recovered(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The shop left a cluster that failed, and is back."""
    return recovered_fleet(tmp_path_factory.mktemp("document") / "fleet")


@pytest.mark.parametrize(("command", "pieces"), TOLD, ids=[command for command, _ in TOLD])
def test_the_document_shows_what_is_advised(
    recovered: Checkout,
    capsys: pytest.CaptureFixture[str],
    command: str,
    pieces: list[list[str]],
) -> None:
    """But for ids of commits and moments."""
    code, out, _ = answer(recovered, capsys, *shlex.split(command))
    shown = [[MOMENT.sub("~", line) for line in piece] for piece in pieces]

    assert (0, "") == (code, missing(shown, MOMENT.sub("~", out)))

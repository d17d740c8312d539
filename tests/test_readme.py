"""What README.md shows of the commands is what they print.

Blocks behind `<!-- told -->` are run on the history that the tests of the commands have; ids of
commits and ages differ from run to run, `...` stands for lines left out.
"""

import re
import shlex

import pytest

from tests.cli.history import answer, told_fleet
from tests.shell.fleet import ROOT
from tests.shell.repositories import Checkout

BLOCK = re.compile(r"<!-- told -->\n```\n(.*?)```\n", re.DOTALL)
ELSEWHERE = re.compile(r"\b[0-9a-f]{12}\b|^\d+[smhd] +", re.MULTILINE)
ELIDED = "..."


def told() -> list[tuple[str, list[list[str]]]]:
    """Each command with the pieces of its output, as README.md shows them."""
    found: list[tuple[str, list[list[str]]]] = []
    for block in BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith("$ reconciler "):
                found.append((line.removeprefix("$ reconciler "), [[]]))
            elif line == ELIDED:
                found[-1][1].append([])
            else:
                found[-1][1][-1].append(line)
    return found


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Three inputs, three passes."""
    return told_fleet(tmp_path_factory.mktemp("readme") / "fleet")


@pytest.mark.parametrize(("command", "pieces"), told(), ids=[command for command, _ in told()])
def test_readme_shows_what_commands_print(
    fleet: Checkout, capsys: pytest.CaptureFixture[str], command: str, pieces: list[list[str]]
) -> None:
    """Each piece stands in the output as it is shown, one behind the other."""
    code, out, _ = answer(fleet, capsys, *shlex.split(command))

    rest = ELSEWHERE.sub("~", out)
    assert 0 == code
    for piece in pieces:
        wanted = ELSEWHERE.sub("~", "".join(f"{line}\n" for line in piece))
        assert wanted in rest
        rest = rest[rest.index(wanted) + len(wanted) :]


def test_something_is_told() -> None:
    """The pattern finds the blocks."""
    assert 6 == len(told())

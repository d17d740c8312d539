"""What is said of files that were written for a person."""

from pathlib import Path

import pytest

from reconciler.cli.delivery import Delivery
from reconciler.shell.git.repository import Repository
from tests.shell.fleet import new_fleet


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        pytest.param(1, "0.yaml is written, not committed; it takes effect", id="one"),
        pytest.param(3, "0.yaml, 1.yaml, 2.yaml are written, not committed; they take", id="few"),
        pytest.param(4, "4 files are written, not committed; they take", id="many"),
    ],
)
def test_files_are_and_a_file_is_written(tmp_path: Path, count: int, expected: str) -> None:
    """A few by name, many by number."""
    fleet = new_fleet(tmp_path / "fleet")
    delivery = Delivery(
        directory=fleet.folder,
        repository=Repository.open(fleet.folder),
        base="",
        branch=None,
        author=None,
    )

    said = delivery.deliver({f"{number}.yaml": b"a: 1\n" for number in range(count)}, "Add files")

    assert expected == said[: len(expected)]

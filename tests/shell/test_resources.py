"""What ships with the package is written whole or not at all; the system's clock."""

from datetime import UTC
from pathlib import Path

import pytest

from reconciler.shell.resources import (
    Clock,
    SystemClock,
    example_files,
    taken,
    write_example,
    write_new_files,
)
from tests.shell.repositories import NOW, FixedClock


def test_the_example_is_written_as_it_is(tmp_path: Path) -> None:
    """Every file of it, and no other."""
    write_example(tmp_path / "deep" / "fleet")

    found = (path for path in (tmp_path / "deep/fleet").rglob("*") if path.is_file())
    written = {path.relative_to(tmp_path / "deep/fleet").as_posix(): path for path in found}
    assert example_files() == {path: file.read_bytes() for path, file in written.items()}


def test_a_file_that_came_in_between_stays_and_ends_it(tmp_path: Path) -> None:
    """What was written before it goes, with the folders that were made for that."""
    (tmp_path / "b").write_text("theirs")

    with pytest.raises(FileExistsError):
        write_new_files(tmp_path, {"a/one": b"1", "b": b"2", "c": b"3"})

    assert [tmp_path / "b"] == list(tmp_path.rglob("*"))
    assert "theirs" == (tmp_path / "b").read_text()


def test_what_is_taken_is_told(tmp_path: Path) -> None:
    """A file, a link to nothing, what lies below a file, and what lies below a link."""
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("nothing")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")

    asked = ["file", "dangling", "file/below", "link/below", "folder/new", "new/deep/er"]
    assert ["file", "dangling", "file/below", "link/below"] == taken(tmp_path, asked)


def test_now_is_aware_and_whole() -> None:
    """As Kubernetes writes times."""
    now = SystemClock().now()

    assert UTC is now.tzinfo
    assert 0 == now.microsecond


def test_a_test_sets_its_clock() -> None:
    """Any object with `now` is a clock."""
    clock: Clock = FixedClock()

    assert NOW == clock.now()

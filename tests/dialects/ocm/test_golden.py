"""The user stories of OCM enhancement 32, file by file."""

from pathlib import Path

import pytest

from tests.dialects.ocm.golden import cases, files_in, play


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_story_ends_as_told(case: Path) -> None:
    """A pass over `before/` leaves exactly `after/` below the output root."""
    assert files_in(case / "after") == play(case)


def test_stories_are_there() -> None:
    """All four, and the failover of the third."""
    assert 5 <= len(cases())

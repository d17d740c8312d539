"""The stories: pages that one can read, and every command on them prints what they show."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.pages.run import new_reader
from tests.shell.fleet import ROOT

STORIES = [*sorted((ROOT / "tests" / "stories").glob("*.md")), ROOT / "docs" / "one-system.md"]
START = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)


@pytest.mark.cpu_seconds(120)
@pytest.mark.parametrize("story", STORIES, ids=lambda path: path.stem)
def test_a_story_is_true(story: Path, tmp_path: Path) -> None:
    """From its first line to its last."""
    reader = new_reader(tmp_path, START)

    assert "" == "\n".join(reader.follow(story.read_text(encoding="utf-8")))

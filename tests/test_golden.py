"""The user stories, file by file."""

from pathlib import Path

import pytest

from tests.golden import case_of, files_in, outputs_of, play, steps, stories


@pytest.mark.parametrize("story", stories(), ids=lambda story: f"{story.parent.name}-{story.name}")
def test_story_goes_as_told(story: Path) -> None:
    """A pass over each `before/` leaves exactly `after/`, and commits what `commit.txt` says."""
    expected = [
        (step, files_in(step / "after"), files_in(step).get("commit.txt", ""))
        for step in steps(story)
    ]

    assert expected == list(play(story))


@pytest.mark.parametrize("story", stories(), ids=lambda story: f"{story.parent.name}-{story.name}")
def test_steps_begin_where_the_one_before_ended(story: Path) -> None:
    """But for edits by hand, which `case.yaml` announces."""
    outputs = None
    for step in steps(story):
        if outputs is not None and not case_of(step).get("edited"):
            assert outputs == outputs_of(files_in(step / "before"))
        outputs = outputs_of(files_in(step / "after"))

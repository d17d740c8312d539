"""The architecture page leads to files that exist, and its upstream packages to rooms."""

import re

import pytest

from tests.shell.fleet import ROOT

PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
WHERE = re.findall(r"^\| ([^|]+\?) \| `([^`]+)` \|$", PAGE, re.MULTILINE)
MENTIONED = sorted(set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", PAGE)))


def test_twenty_questions_have_one_answer_each() -> None:
    """Each leads to one file, and no two to the same."""
    assert len(WHERE) >= 20
    assert (
        len({question for question, _ in WHERE}) == len(WHERE) == len({file for _, file in WHERE})
    )


@pytest.mark.parametrize("path", MENTIONED)
def test_a_file_that_the_page_mentions_exists(path: str) -> None:
    """Below the package, or from the top."""
    assert (ROOT / "reconciler" / path).is_file() or (ROOT / path).is_file()

"""`--help` of every verb."""

import re

import pytest

from reconciler.cli.main import VERBS, run


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_help_shows_examples_line_by_line(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each verb shows at least one command to copy, on a line of its own."""
    code = run([verb, "--help"])
    shown = capsys.readouterr().out

    assert 0 == code
    assert "\\b" not in shown
    assert re.search(rf"^ +(reconciler|\$).*\b{verb}\b", shown, re.MULTILINE)

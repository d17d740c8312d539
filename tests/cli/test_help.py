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


def test_a_bug_of_ours_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What nobody foresaw ends with a sentence, and with the traceback only for who asks."""

    def fail() -> None:
        raise LookupError("who knows")

    monkeypatch.setattr("reconciler.cli.verbs.beside.version_command.callback", fail)
    monkeypatch.setattr("reconciler.cli.verbs.beside.version_command.params", [])

    assert 1 == run(["version"])
    assert "bug in reconciler (LookupError)" in capsys.readouterr().err

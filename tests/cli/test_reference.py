"""docs/cli.md and the completion scripts follow from the commands."""

import subprocess
import sys

import pytest

from reconciler.cli.main import VERBS, run
from reconciler.cli.reference import reference
from tests.shell.fleet import ROOT, process_environment


def test_the_reference_is_up_to_date() -> None:
    """`make docs` writes it anew, in a process of its own: click remembers names of options."""
    written = subprocess.run(
        [sys.executable, "-m", "reconciler.cli.reference"],
        check=True,
        capture_output=True,
        text=True,
        env=process_environment(),
    ).stdout

    assert (ROOT / "docs/cli.md").read_text(encoding="utf-8") == written, "run make docs"


def test_every_verb_has_a_section() -> None:
    """With its usage."""
    page = reference()

    for verb in VERBS:
        assert f"\n## reconciler {verb}\n\n```\nreconciler {verb}" in page


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_asks_the_command(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the variable that the command listens to."""
    assert 0 == run(["completion", shell])

    shown = capsys.readouterr()
    assert f"_RECONCILER_COMPLETE={shell}_complete" in shown.out
    assert "" == shown.err


def test_an_unknown_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """With the shells that there are."""
    assert 2 == run(["completion", "tcsh"])
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "number", "expected"),
    [
        pytest.param(
            "reconciler re",
            "1",
            ["rebalance", "reconcile", "render", "report", "resume"],
            id="verbs",
        ),
        pytest.param("reconciler why -o ", "3", ["text", "json", "yaml"], id="formats"),
        pytest.param(
            "reconciler top ", "2", ["clusters", "cluster", "quotas", "quota"], id="arguments"
        ),
    ],
)
def test_a_shell_gets_what_may_follow(words: str, number: str, expected: list[str]) -> None:
    """As bash asks."""
    asked = {"_RECONCILER_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": number}
    script = "from reconciler.cli.main import main; main()"
    finished = subprocess.run(
        [sys.executable, "-c", script],
        env={**process_environment(), **asked},
        capture_output=True,
        text=True,
        check=True,
    )

    assert expected == [line.partition(",")[2] for line in finished.stdout.splitlines()]

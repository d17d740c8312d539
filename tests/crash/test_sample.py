"""A sample of all kills; `make crash` does all of them, in up to an hour."""

import subprocess
import sys

import pytest

from tests.crash.scenarios import SCENARIOS
from tests.shell.fleet import ROOT, process_environment

SHARE = 60  # one step in so many is killed here
CPU_SECONDS = 40  # each kill is a process that is started twice


def crash(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the suite as `make crash` does."""
    return subprocess.run(
        [sys.executable, "-m", "tests.crash", "--jobs", "1", *arguments],
        cwd=ROOT,
        env=process_environment(),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.cpu_seconds(CPU_SECONDS)
@pytest.mark.parametrize("name", [scenario.name for scenario in SCENARIOS])
def test_everything_may_die_at_some_of_the_steps(name: str) -> None:
    """The end is that of a calm run, byte for byte, also after a further commit."""
    finished = crash("--only", name, "--share", str(SHARE))

    assert 0 == finished.returncode, finished.stdout + finished.stderr
    assert " 0 failed" in finished.stdout


@pytest.mark.cpu_seconds(CPU_SECONDS)
def test_a_missing_recovery_is_noticed() -> None:
    """The suite itself can fail."""
    finished = crash("--only", "pass, local", "--share", "16", "--without-recovery")

    assert 1 == finished.returncode, finished.stdout + finished.stderr
    assert "left behind" in finished.stdout

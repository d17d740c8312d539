"""A sample of all kills and signals; `make crash` and `make crash-all` do all of them."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.by_system_calls import CallCampaign, build_library
from tests.crash.scenarios import SCENARIOS
from tests.crash.signal_campaign import SIGNALS, SignalCampaign, sample
from tests.crash.verbs import VERBS, Verb
from tests.shell.fleet import ROOT, process_environment

SHARE, MOST = 60, 2  # one step in so many is killed here, of a scenario no more than that
POINTS = 56  # of all signals and verbs together, at most
SEED = os.environ.get("CRASH_SEED", "0")  # which of both
COUNTED = ("reconcile", "reconcile, remote", "import, checkout", "scale, branch", "init")
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
    finished = crash("--only", name, "--share", str(SHARE), "--most", str(MOST), "--seed", SEED)

    assert 0 == finished.returncode, finished.stdout + finished.stderr
    assert " 0 failed" in finished.stdout


@pytest.mark.cpu_seconds(CPU_SECONDS)
def test_a_missing_recovery_is_noticed() -> None:
    """The suite itself can fail."""
    finished = crash("--only", "pass, local", "--most", "8", "--without-recovery")

    assert 1 == finished.returncode, finished.stdout + finished.stderr
    assert "left behind" in finished.stdout


@pytest.mark.cpu_seconds(CPU_SECONDS)
@pytest.mark.parametrize("name", COUNTED)
def test_a_verb_with_all_that_it_started_may_die_at_any_call(tmp_path: Path, name: str) -> None:
    """The calls that change files are counted over the whole tree of processes."""
    (tmp_path / "campaign").mkdir()
    verb = next(one for one in VERBS if one.name == name)
    campaign = CallCampaign(verb, tmp_path / "campaign", build_library(tmp_path))
    numbers = random.Random(f"{SEED} {name}").sample(range(1, campaign.calls + 1), 2)  # noqa: S311  # to be repeated

    assert campaign.calls >= 10
    assert {} == {number: wrong for number in numbers if (wrong := campaign.kill(number))}


@pytest.mark.cpu_seconds(CPU_SECONDS)
@pytest.mark.parametrize("verb", VERBS, ids=[verb.name for verb in VERBS])
def test_a_verb_may_be_asked_to_end_at_some_of_the_points(tmp_path: Path, verb: Verb) -> None:
    """It has done all or nothing, and the passes that follow end as if nobody had asked."""
    campaign = SignalCampaign(verb, tmp_path)
    chosen = [
        point
        for name in SIGNALS
        for point in sample(
            [point for point in campaign.points if point.signal == name],
            POINTS // len(VERBS) // len(SIGNALS),
            f"{SEED} {verb.name} {name}",
        )
    ]

    failed = {str(point): wrong for point in chosen if (wrong := campaign.run(point))}

    assert {} == failed, f"seed {SEED}"

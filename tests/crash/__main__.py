"""`make crash`: kill at every step, or at a share of them; print figures, exit 1 if any failed.

Then the verbs that write are asked to end by signals, at some of the points or at all.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reconciler.shell.git.checkout import worktree
from reconciler.shell.passes import branches
from tests.crash.campaign import Campaign
from tests.crash.git_stand_in import have_strace
from tests.crash.scenarios import SCENARIOS
from tests.crash.signal_campaign import SignalCampaign, SignalPoint, sample
from tests.crash.verbs import VERBS, Verb


def main() -> int:
    """Run the campaigns of all scenarios in some processes."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--share", type=int, default=1, help="kill at one step in so many")
    parser.add_argument("--most", type=int, default=0, help="of a scenario; 0 is no bound")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help="scenarios whose name begins so")
    parser.add_argument("--signals", type=int, default=200, help="at so many points; 0 is all")
    parser.add_argument("--seed", default="0", help="which points")
    parser.add_argument(
        "--without-recovery", action="store_true", help="see that a missing recovery is noticed"
    )
    asked = parser.parse_args()
    if not have_strace():
        print("strace was not found: no git command is killed within, and no power is lost")
        if asked.share == 1:
            return 2
    if asked.without_recovery:
        for module in (branches, worktree):
            vars(module)["recover"] = lambda _: None
    begin = time.monotonic()
    scenarios = [s for s in SCENARIOS if s.name.startswith(asked.only)]
    with tempfile.TemporaryDirectory(prefix="crash-") as folder:
        children = [os.fork() or _work(Path(folder), job, asked) for job in range(asked.jobs)]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        results = [json.loads(place.read_text()) for place in sorted(Path(folder).glob("*.json"))]
    failed = [line for result in results for line in result["failed"]]
    for line in failed:
        print(line)
    for scenario in scenarios:
        killed = sum(result["killed"].get(scenario.name, 0) for result in results)
        listed = max((result["listed"].get(scenario.name, 0) for result in results), default=0)
        print(f"{scenario.name:20}{killed:6} of {listed} steps")
    for verb in _verbs(asked.only):
        asks = sum(result["asked"].get(verb.name, 0) for result in results)
        points = max((result["points"].get(verb.name, 0) for result in results), default=0)
        print(f"signals, {verb.name:20}{asks:6} of {points} points")
    killed = sum(sum(result["killed"].values()) for result in results)
    signals = sum(sum(result["asked"].values()) for result in results)
    seconds = time.monotonic() - begin
    print(
        f"{killed} kills and {signals} signals (seed {asked.seed}), {len(failed)} failed, "
        f"in {seconds:.0f} s, one step in {asked.share}"
    )
    return 1 if failed or any(codes) or not killed + signals else 0


def _work(folder: Path, job: int, asked: argparse.Namespace) -> int:
    """Run one process's part of every campaign; never return."""
    code = 1
    try:
        found = _part(folder, job, asked)
        found |= _signals(folder, job, asked, found["failed"])
        (folder / f"{job}.json").write_text(json.dumps(found))
        code = 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        if code:
            import traceback

            traceback.print_exc()
        os._exit(code)


def _verbs(only: str) -> list[Verb]:
    """Return the verbs that are asked to end, all of them or by `signals, NAME`."""
    return [verb for verb in VERBS if f"signals, {verb.name}".startswith(only)]


def _signals(
    folder: Path, job: int, asked: argparse.Namespace, failed: list[str]
) -> dict[str, Any]:
    """Run one process's part of the campaigns of all verbs; add what failed."""
    done: dict[str, int] = {}
    listed: dict[str, int] = {}
    verbs = _verbs(asked.only)
    for index, verb in enumerate(verbs):
        place = folder / f"signals-{job}-{index}"
        place.mkdir()
        campaign = SignalCampaign(verb, place)
        chosen: Sequence[SignalPoint] = campaign.points
        if asked.signals:
            chosen = sample(chosen, asked.signals // len(verbs), f"{asked.seed} {verb.name}")
        listed[verb.name] = len(campaign.points)
        mine = chosen[job :: asked.jobs]
        done[verb.name] = len(mine)
        for point in mine:
            wrong = campaign.run(point)
            if wrong:
                failed.append(f"{verb.name}: {point}: {'; '.join(wrong)}")
                print(failed[-1], flush=True)
    return {"asked": done, "points": listed}


def _part(folder: Path, job: int, asked: argparse.Namespace) -> dict[str, Any]:
    failed: list[str] = []
    killed: dict[str, int] = {}
    listed: dict[str, int] = {}
    for index, scenario in enumerate(s for s in SCENARIOS if s.name.startswith(asked.only)):
        place = folder / f"{job}-{index}"
        place.mkdir()
        campaign = Campaign(scenario, place)
        count = len(campaign.steps)
        seed = f"{asked.seed} {scenario.name}"
        steps = _chosen(count, asked.share, most=asked.most, seed=seed)[job :: asked.jobs]
        listed[scenario.name] = count
        killed[scenario.name] = len(steps)
        for number in steps:
            found = campaign.run(campaign.steps[number])
            if found is not None:
                failed.append(f"{found.scenario}: {found.step}: {'; '.join(found.wrong)}")
                print(failed[-1], flush=True)
    return {"failed": failed, "killed": killed, "listed": listed}


def _chosen(count: int, share: int, *, most: int, seed: str) -> Sequence[int]:
    """Return the numbers of the steps to kill at: one in `share`, at most `most`, by the seed."""
    wanted = -(-count // share)
    if most:
        wanted = min(wanted, most)
    return sorted(random.Random(seed).sample(range(count), wanted))  # noqa: S311  # no secret


if __name__ == "__main__":
    sys.exit(main())

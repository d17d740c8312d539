"""`make crash`: kill at every step, or at a share of them; print figures, exit 1 if any failed."""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from reconciler.shell import branches
from reconciler.shell.git import worktree
from tests.crash.campaign import Campaign
from tests.crash.git_stand_in import have_strace
from tests.crash.scenarios import SCENARIOS


def main() -> int:
    """Run the campaigns of all scenarios in some processes."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--share", type=int, default=1, help="kill at one step in so many")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help="scenarios whose name begins so")
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
        children = [
            os.fork() or _work(Path(folder), job, asked.jobs, asked.share, asked.only)
            for job in range(asked.jobs)
        ]
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        results = [json.loads(place.read_text()) for place in sorted(Path(folder).glob("*.json"))]
    failed = [line for result in results for line in result["failed"]]
    for line in failed:
        print(line)
    for scenario in scenarios:
        killed = sum(result["killed"].get(scenario.name, 0) for result in results)
        listed = max((result["listed"].get(scenario.name, 0) for result in results), default=0)
        print(f"{scenario.name:20}{killed:6} of {listed} steps")
    killed = sum(sum(result["killed"].values()) for result in results)
    seconds = time.monotonic() - begin
    print(f"{killed} kills, {len(failed)} failed, in {seconds:.0f} s, one step in {asked.share}")
    return 1 if failed or any(codes) or not killed else 0


def _work(folder: Path, job: int, jobs: int, share: int, only: str) -> int:
    """Run one process's part of every campaign; never return."""
    code = 1
    try:
        (folder / f"{job}.json").write_text(json.dumps(_part(folder, job, jobs, share, only)))
        code = 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        if code:
            import traceback

            traceback.print_exc()
        os._exit(code)


def _part(folder: Path, job: int, jobs: int, share: int, only: str) -> dict[str, object]:
    failed: list[str] = []
    killed: dict[str, int] = {}
    listed: dict[str, int] = {}
    for index, scenario in enumerate(s for s in SCENARIOS if s.name.startswith(only)):
        place = folder / f"{job}-{index}"
        place.mkdir()
        campaign = Campaign(scenario, place)
        steps = _chosen(len(campaign.steps), job=job, jobs=jobs, share=share)
        listed[scenario.name] = len(campaign.steps)
        killed[scenario.name] = len(steps)
        for number in steps:
            found = campaign.run(campaign.steps[number])
            if found is not None:
                failed.append(f"{found.scenario}: {found.step}: {'; '.join(found.wrong)}")
                print(failed[-1], flush=True)
    return {"failed": failed, "killed": killed, "listed": listed}


def _chosen(count: int, *, job: int, jobs: int, share: int) -> Sequence[int]:
    """Return the numbers of the steps that one process kills at: one in `share`, spread evenly."""
    return range(0, count, share)[job::jobs]


if __name__ == "__main__":
    sys.exit(main())

"""What each question, pass and decision costs in calls of our functions, held by a record.

`python -m benchmarks.calls` fails where one takes a tenth more calls than `calls.json` says;
`--record` writes that file anew. Times depend on the machine, calls do not: each command runs in a
process of its own, so nothing is warm, and of Python's own functions none is counted.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks import karmada_schedule, kubefleet_schedule, ocm_schedule
from benchmarks.calls.counted_command import calls_of
from benchmarks.calls.page_calls import page_calls
from benchmarks.questions import CHANGED, COMPLETION, SIZED_QUESTIONS
from benchmarks.repositories import (
    TAINT,
    change,
    cluster,
    everywhere,
    team_workload,
    teams_of,
    workload,
    write_checkout,
)
from benchmarks.results import aligned
from benchmarks.work_counters import decisions_of_first_passes

RECORD = Path(__file__).parent / "calls.json"
MOST_PERCENT = 10

CLUSTERS, WORKLOADS = 25, 300
DELIVERED_TO, DELIVERED = 20, 40  # each workload to each cluster
# Nobody reports, and what is assumed is so at once: as a minute after a first pass, on any machine.
CONFIGURATION = """\
apiVersion: reconciler.dev/v1alpha1
kind: ReconcilerConfiguration
metadata: {{name: bench}}
spec: {{feedback: {{assumeAfterSeconds: 0}}{more}}}
"""
FIRST, AGAIN, VALIDATE = "first pass", "start with nothing to do", "validate of all files"
QUESTIONS: Mapping[str, tuple[str, ...]] = {
    **SIZED_QUESTIONS,
    "events of one object": ("events", "deployment/web-00004"),
}


def counted() -> Iterator[tuple[str, int]]:
    """Yield each figure."""
    with tempfile.TemporaryDirectory(prefix="reconciler-calls-") as place:
        yield from _asked(Path(place))
        yield from _delivered(Path(place))
    yield from _decided()
    yield from decisions_of_first_passes()


def _asked(place: Path) -> Iterator[tuple[str, int]]:
    """Yield what passes and questions cost in a repository with a policy for ten workloads.

    Questions are asked a second time, after one file was changed.
    """
    folder, cache = place / "fleet", place / "cache"
    files = {**teams_of(CLUSTERS, WORKLOADS), "reconciler.yaml": CONFIGURATION.format(more="")}
    write_checkout(folder, files)
    yield VALIDATE, _command(folder, None, "validate")
    yield FIRST, _command(folder, cache, "reconcile")
    yield AGAIN, _command(folder, cache, "reconcile")
    for number, (name, words) in enumerate(QUESTIONS.items()):
        _command(folder, cache, *words)
        change(folder, team_workload(CHANGED, 3 + number))
        yield f"{name}, second call", _command(folder, cache, *words)
    for which in ("first Tab at a commit", "next Tab"):
        yield f"completion of a name, {which}", _command(folder, cache, **COMPLETION)
    yield "a change after a start", _command(folder, cache, "reconcile")
    yield "verify of two passes", _command(folder, cache, "verify")
    yield from page_calls(folder, lambda: _scaled_again(folder, cache), calls_of)


def _scaled_again(folder: Path, cache: Path) -> None:
    """Scale a workload, and have a pass take that up."""
    change(folder, team_workload(CHANGED, 33))
    _command(folder, cache, "reconcile")


def _delivered(place: Path) -> Iterator[tuple[str, int]]:
    """Yield what passes cost that deliver each workload to each cluster."""
    folder, cache = place / "delivering", place / "cache"
    delivery = CONFIGURATION.format(more=", delivery: {folders: {}}")
    write_checkout(folder, {**everywhere(DELIVERED_TO, DELIVERED), "reconciler.yaml": delivery})
    yield f"{FIRST}, delivered to all clusters", _command(folder, cache, "reconcile")
    change(folder, workload(CHANGED, 5))
    yield "a change after a start, delivered", _command(folder, cache, "reconcile")
    change(folder, {"clusters/00003.yaml": cluster(3) + TAINT})
    yield "a taint after a start, delivered", _command(folder, cache, "reconcile")


def _decided() -> Iterator[tuple[str, int]]:
    """Yield what decisions cost that are asked for the first time, the fleet's index included."""
    for decisions in (karmada_schedule, ocm_schedule, kubefleet_schedule):
        yield from decisions.calls(calls_of)


def _command(folder: Path, cache: Path | None, *words: str, **variables: str) -> int:
    """Return how many calls a command takes in a process of its own."""
    kept = {"RECONCILER_CACHE_DIR": "" if cache is None else str(cache), "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.calls.counted_command", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **kept, **variables},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    return int(done.stderr.splitlines()[-1])


def judged(found: Mapping[str, int], recorded: Mapping[str, int]) -> list[str]:
    """Return a sentence for each figure that is not as it was recorded, or better."""
    said = []
    for name in sorted(found.keys() | recorded.keys()):
        count, before = found.get(name), recorded.get(name)
        if count is None:
            said.append(f"{name}: it is not counted any more; take it out with make bench-record")
        elif before is None:
            said.append(f"{name}: it was never recorded; make bench-record does")
        elif 100 * (count - before) > MOST_PERCENT * before:
            more = 100 * (count - before) / before
            said.append(f"{name}: {count:,} calls, {more:.0f} % more than the {before:,} recorded")
    return said


def main() -> None:
    """Count, print a table, and compare it with the record, or renew that."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calls", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write calls.json anew")
    asked = parser.parse_args()
    recorded: dict[str, int] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    found = dict(counted())
    rows = [(name, f"{count:,}", f"{recorded.get(name, 0):,}") for name, count in found.items()]
    print(aligned([("calls of", "now", "recorded"), *rows], numbers=(1, 2)), end="")
    if asked.record:
        RECORD.write_text(json.dumps(found, indent=1) + "\n")
        return
    said = judged(found, recorded)
    for sentence in said:
        print(sentence, file=sys.stderr)
    sys.exit(1 if said else 0)


if __name__ == "__main__":
    main()

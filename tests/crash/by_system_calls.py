"""Kills a verb and all that it started at any call that changes a file, counted over all of them.

    python -m tests.crash.by_system_calls --stride 7

No list of steps is needed: a small library, preloaded into every process of the tree, counts.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from reconciler.model.moments import format_moment
from tests.crash.signal_campaign import CACHE, SignalCampaign, SignalPoint
from tests.crash.verbs import MOMENT, VERBS, Verb
from tests.shell.fleet import ROOT, process_environment

SOURCE = Path(__file__).with_name("counted_calls.c")
PROGRAM = """\
import signal, sys
from reconciler.cli import main
from reconciler.model.moments import parse_moment
from reconciler.shell.resources import SystemClock
moment = parse_moment(sys.argv[1])
SystemClock.now = lambda _: moment
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main.run(sys.argv[2:]))
"""
LIMIT_SECONDS = 120.0


def build_library(folder: Path) -> Path:
    """Compile what counts, and return it."""
    library = folder / "counted_calls.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return library


class CallCampaign(SignalCampaign):
    """One verb in a folder of its own; `calls` is how many calls a calm run takes."""

    def __init__(self, verb: Verb, folder: Path, library: Path) -> None:
        """Prepare the place, run it calmly, and count."""
        self._library = library
        self._counter = folder / "counter"
        self._kill_at = 0
        super().__init__(verb, folder)
        self.calls = self._calm

    def kill(self, number: int) -> list[str]:
        """Kill at a call, start again, and return what did not hold."""
        shutil.rmtree(self._root)
        shutil.copytree(self._prepared, self._root, symlinks=True)
        self._kill_at = number
        code = self._run(None, tracing=False)
        self._kill_at = 0
        if code not in (0, -signal.SIGKILL):
            return [f"it ended with {code}: {self._said.read_text()[-300:]}"]
        return self._finished()

    def _run(self, point: SignalPoint | None, *, tracing: bool) -> int:
        """Run the verb as a tree of its own, and return how it ended."""
        self._aim(point, tracing=tracing)
        self._counter.write_bytes(bytes(8))
        environment = process_environment() | {
            "LD_PRELOAD": str(self._library),
            "COUNTED_FILE": str(self._counter),
            "COUNTED_ROOT": str(self._root),
            "COUNTED_KILL": str(self._kill_at),
            "XDG_CACHE_HOME": str(self._root / CACHE),
        }
        arguments = [format_moment(MOMENT), *self.verb.arguments(self._root)]
        with self._said.open("wb") as said:
            process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *arguments],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
            try:
                code = process.wait(LIMIT_SECONDS)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        if not self._kill_at:
            self._calm = int.from_bytes(self._counter.read_bytes(), sys.byteorder)
        return code


def failures(verb: Verb, numbers: Sequence[int] | None, stride: int) -> Iterator[str]:
    """Yield what did not hold for a verb, killed at some calls, or at each of a stride."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "campaign").mkdir()
        campaign = CallCampaign(verb, folder / "campaign", build_library(folder))
        for number in numbers or range(1, campaign.calls + 1, stride):
            for wrong in campaign.kill(number):
                yield f"{verb.name}, call {number} of {campaign.calls}: {wrong}"


def main() -> int:
    """Kill every verb; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stride", type=int, default=7)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    failed = 0
    for verb in VERBS:
        if asked.only in verb.name:
            for wrong in failures(verb, None, asked.stride):
                failed += 1
                print(wrong, flush=True)
            print(f"{verb.name}: done", flush=True)
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

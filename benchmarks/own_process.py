"""Measures in a process of its own, so that no figure depends on those before it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from benchmarks.figure import Figure, Unit


def figures_of(module: str, *arguments: str) -> Iterator[Figure]:
    """Run a module of this package and yield the figures that it prints."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    for name, value, unit, note in json.loads(done.stdout.splitlines()[-1]):
        yield Figure(name, value, Unit(unit), note)


def hand_over(figures: Iterable[Figure]) -> None:
    """Print figures for the process that asked."""
    print(json.dumps([[item.name, item.value, item.unit, item.note] for item in figures]))


def peak_megabytes_of_children() -> float:
    """Return the most memory that one of the processes which this one started has held."""
    peaks = [0]
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):  # it ended
            lines = status.read_text("utf-8").splitlines()
            said = dict(line.split(":", 1) for line in lines)
            if int(said["PPid"]) == os.getpid() and "VmHWM" in said:
                peaks.append(int(said["VmHWM"].split()[0]))
    return max(peaks) * 1024 / 1e6


def resident_megabytes() -> float:
    """Return the memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

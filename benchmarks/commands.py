"""How long the command takes that does little: byte code cached, as for any installed package."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from benchmarks.figure import Figure, Unit, median_ms

POLICY = Path(__file__).resolve().parent.parent / "example-repo/policies/shop.yaml"
RUNS = 9


def command(
    *arguments: str,
    folder: Path | None = None,
    cache: Path | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Run the command in a process of its own; a cache is that of the user if none is given."""
    kept = {**os.environ, **variables}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    if cache is not None:
        kept["RECONCILER_CACHE_DIR"] = str(cache)
    words = [sys.executable, "-m", "reconciler", *arguments]
    subprocess.run(words, cwd=folder, check=True, capture_output=True, env=kept)


def figures() -> Iterator[Figure]:
    """Yield the times of Python itself, of `--help`, and of one file."""
    command("validate", str(POLICY))
    floor = median_ms(RUNS, lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
    yield Figure("python -c pass", floor, Unit.MILLISECONDS)
    shown = median_ms(RUNS, lambda: command("--help"))
    yield Figure("reconciler --help", shown, Unit.MILLISECONDS)
    judged = median_ms(RUNS, lambda: command("validate", str(POLICY)))
    yield Figure("reconciler validate, one file", judged, Unit.MILLISECONDS)

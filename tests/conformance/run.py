"""Reading vectors, running them, counting."""

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tests.conformance.families import FAMILIES, Body, dialect_of

HERE = Path(__file__).parent
EXCEPTIONS: Mapping[str, str] = json.loads((HERE / "exceptions.json").read_text())
UNKNOWN = "family is not built"
NOT_COMPARED = (
    "actions",
    "algorithmCalls",
    "cycles",
    "ops",
    "passes",
    "requeue",
    "returnedError",
    "storedAfterOneSync",
    "syncError",
)
"""Fields that describe upstream's client and queue; a family may compare some all the same."""


@dataclass(frozen=True, slots=True)
class Result:
    """One case: its label is `dialect/family`, `difference` is `None` when it passed."""

    label: str
    name: str
    difference: str | None

    @property
    def key(self) -> str:
        """The name under which exceptions and the ratchet know the case."""
        return f"{self.label}:{self.name}"


def read_cases(path: Path) -> Iterator[Body]:
    """Yield the vectors of a `.jsonl` or `.jsonl.gz` file."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    for line in text.decode().split("\n"):  # splitlines also splits at U+2028
        if line.strip():
            yield cast(Body, json.loads(line))


def run_case(case: Body) -> Result:
    """Run one vector."""
    label = f"{dialect_of(case)}/{case['family']}"
    name = str(case["name"])
    check = FAMILIES.get(label)
    if check is None:
        return Result(label, name, UNKNOWN)
    try:
        return Result(label, name, check(case))
    except Exception as error:  # noqa: BLE001 - a crash is a difference like another
        return Result(label, name, f"{type(error).__name__}: {error}")


def run_files(paths: Sequence[Path]) -> int:
    """Run vector files and print the figures; return the exit code."""
    print(
        f"not compared, since they tell of upstream's client and queue: {', '.join(NOT_COMPARED)}"
    )
    results: dict[str, list[Result]] = {}
    for path in paths:
        for case in read_cases(path):
            result = run_case(case)
            results.setdefault(f"{result.label} ({path.name})", []).append(result)
    totals = [0, 0, 0]
    for title, found in results.items():
        failed = [item for item in found if item.difference and item.key not in EXCEPTIONS]
        excepted = [item for item in found if item.difference and item.key in EXCEPTIONS]
        for item in failed:
            print(f"{item.key}: {item.difference}")
        counts = (len(found) - len(failed) - len(excepted), len(failed), len(excepted))
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        print(f"{title}: {summary(*counts)}")
    print(summary(*totals))
    return 1 if totals[1] else 0


def summary(passed: int, failed: int, excepted: int) -> str:
    """Return the figures as one line."""
    tail = f", {excepted} excepted" if excepted else ""
    return f"{passed} passed, {failed} failed{tail}"

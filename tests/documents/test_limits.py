"""What is read is bounded, as docs/limits.md says."""

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterable
from math import ceil
from pathlib import Path

import pytest

from benchmarks.calibration import slowness
from benchmarks.worst.fields import measure, worst_fields, write_fleet
from benchmarks.worst.files import files
from reconciler.audit import reports
from reconciler.manifests.text import raw
from reconciler.shell.resources import package_digest
from tests.shell.fleet import ROOT, process_environment

ROW = re.compile(r"^\| `([A-Z_]+)` \| (\d+) \|", re.MULTILINE)
MEASURED = re.compile(r"^\| ([^`|]+) \| [\d.]+ MB \| [\d.]+ s \|", re.MULTILINE)
PAGE = (ROOT / "docs/limits.md").read_text(encoding="utf-8")
WORST = files()

ADDRESS_SPACE_KIB = 600_000  # a third of which is python and its libraries
CPU_SECONDS = 10
FIELDS = worst_fields()
ALL = os.environ.get("MACHINE_LIMITS") == "all"  # `make limits`
LIMITS = ("MAX_", "MOST_", "SKIM_")  # as the constants of limits are called
SHARE = 3  # of the full fields; other ones for other code
FIELD = re.compile(r"^\| ([^`|]+) \| (validate|reconcile|why|render) \|", re.MULTILINE)
MEGABYTES = 200


def some(titles: Iterable[str], count: int, seed: str) -> list[str]:
    """Return some of the titles in their order, the same ones for the same seed."""
    chosen = set(random.Random(seed).sample(sorted(titles), count))  # noqa: S311  # no secret
    return [title for title in titles if title in chosen]


def test_the_page_lists_every_limit_with_its_value() -> None:
    """And no other one."""
    known = {
        name: value
        for module in (raw, reports)
        for name, value in vars(module).items()
        if name.startswith(LIMITS) and isinstance(value, int)
    }

    assert known == {name: int(value) for name, value in ROW.findall(PAGE)}


def test_the_page_shows_each_worst_file() -> None:
    """The benchmark makes these."""
    assert list(WORST) == [title.strip() for title in MEASURED.findall(PAGE)]


@pytest.mark.parametrize("title", WORST)
def test_a_worst_file_is_validated_within_its_bounds(tmp_path: Path, title: str) -> None:
    """Neither its size nor its faults take memory or time out of proportion."""
    name, content = WORST[title]
    (tmp_path / name).write_text(content)
    command = (
        f'ulimit -v {ADDRESS_SPACE_KIB}; ulimit -t {ceil(CPU_SECONDS * slowness())}; exec "$@"'
    )

    done = subprocess.run(
        ["sh", "-c", command, "sh", sys.executable, "-m", "reconciler", "validate", name],
        cwd=tmp_path,
        env=process_environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (title != "one good policy") == done.returncode, done.stderr
    assert done.stdout.count(": error: ") <= reports.MOST_FINDINGS
    assert "valid, " in done.stderr


def test_the_findings_that_are_not_printed_are_counted(tmp_path: Path) -> None:
    """Whoever mends those that are runs it again."""
    (tmp_path / "p.yaml").write_text(WORST["999 documents with three faults each"][1])

    done = subprocess.run(
        [sys.executable, "-m", "reconciler", "validate"],
        cwd=tmp_path,
        env=process_environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert "p.yaml: and 2977 more findings" == done.stdout.splitlines()[-1]
    assert "0 manifests valid, 2997 faults\n" == done.stderr


@pytest.mark.cpu_seconds(40)  # three commands, each bounded below
@pytest.mark.parametrize("title", FIELDS if ALL else some(FIELDS, SHARE, package_digest()))
def test_a_full_field_costs_no_more_than_its_length(tmp_path: Path, title: str) -> None:
    """Each command that reads it ends within ten seconds of a quiet processor and 200 MB.

    `make limits` has all of them, the tests a share that the code chooses.
    """
    write_fleet(FIELDS[title], tmp_path / "fleet")

    for one in measure(FIELDS[title], tmp_path / "fleet"):
        assert one.code in (0, 1), one.said[-500:]
        assert one.seconds < CPU_SECONDS or one.seconds < CPU_SECONDS * slowness(), one.verb
        assert one.megabytes < MEGABYTES + 50 * ("text of YAML" in title), one.verb
        assert "Traceback" not in one.said


def test_a_share_follows_the_code() -> None:
    """It is the same for the same code; each field has its turn."""
    shares = [some(FIELDS, SHARE, f"{seed}") for seed in range(50)]

    assert shares[0] == some(FIELDS, SHARE, "0")
    assert {SHARE} == {len(share) for share in shares}
    assert set(FIELDS) == {title for share in shares for title in share}


def test_the_page_shows_each_full_field() -> None:
    """With each command that reads it."""
    expected = [
        (title, verb.split()[0])
        for title, field in FIELDS.items()
        for verb in ("validate", "reconcile", *field.asks)
    ]

    assert expected == [(title.strip(), verb) for title, verb in FIELD.findall(PAGE)]

"""What docs/scale.md says is so: its constants, its arithmetic, its commands on a real cluster."""

import re
from pathlib import Path

import pytest

from reconciler.cli import verify
from reconciler.shell.work import dask, divided_pass, failures, proofs
from tests.cli.history import answer, told_fleet
from tests.shell.dask_processes import cluster_in
from tests.shell.fleet import ROOT

PAGE = (ROOT / "docs/scale.md").read_text(encoding="utf-8")
ADDRESS = re.compile(r"(?:dask|tcp)://127\.0\.0\.1:8786")
SHOWN = re.compile(
    r"^\$ (?:DASK_SCHEDULER_ADDRESS=(\S+) )?reconciler (.*)\n((?:[^$`].*\n)*)", re.MULTILINE
)
ROW = re.compile(
    r"^\| 10,000 \| 500 \| ([\d,]+) \| ([\d.]+) s \| ([\d.]+) s \| ([\d,]+) MB \|$", re.MULTILINE
)
ROOTS = 20


def number(text: str) -> float:
    """Return a number as people write it."""
    return float(text.replace(",", ""))


@pytest.mark.parametrize(
    "words",
    [
        f"({proofs.ENOUGH} commits or {failures.ENOUGH} clusters for each process",
        f"ranges of {verify.FEW} commits and more",
        f"not answer within {dask.CONNECT_SECONDS} s",
        f"no worker within {dask.WORKER_SECONDS} s",
        f"{divided_pass.ENOUGH:,} inputs for each worker",
        f"so from {2 * divided_pass.ENOUGH:,} inputs and two workers on",
    ],
)
def test_numbers_are_those_of_the_code(words: str) -> None:
    """Each where it is told."""
    assert words in " ".join(PAGE.split())


def test_arithmetic_follows_from_the_measured_row() -> None:
    """A million workloads cost what those of the row cost, so many times."""
    found = ROW.search(PAGE)
    assert found is not None
    workloads, load, first, memory = map(number, found.groups())
    times, each = 1_000_000 / workloads, 1_000_000 / workloads / ROOTS
    share = memory / workloads * 1000
    expected = [
        f"| memory of one workload with its policy and binding | {share:.0f} kB |",
        f"| memory of a million | {memory * times / 1000:.0f} GB |",
        f"| memory of each of {ROOTS} roots of 50,000 | {memory * each / 1000:.1f} GB |",
        f"| first load of such a root | {load * each:.0f} s |",
        f"| first pass of such a root, load not included | {first * each:.0f} s |",
    ]

    assert expected == [line for line in expected if line in PAGE.splitlines()]


def test_commands_print_what_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a scheduler and a worker on loopback."""
    fleet = told_fleet(tmp_path / "fleet")
    shown = SHOWN.findall(PAGE)
    (tmp_path / "dask").mkdir()
    with cluster_in(tmp_path / "dask", workers=1) as cluster:
        for variable, words, expected in shown:
            monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", cluster.address if variable else "")
            arguments = ADDRESS.sub(cluster.dask, words).split()

            assert (0, expected, "") == answer(fleet, capsys, *arguments)
    assert 2 == len(shown)

"""How tests are run: alike, whatever the machine is busy with and whatever started them."""

import subprocess
import sys
from pathlib import Path

from tests.shell.fleet import ROOT, process_environment

ALIKE = """
import os, signal, subprocess, sys, time
import pytest

def test_signals():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    asked = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    child = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True)
    assert child.stdout == "True\\n"

def test_waiting_is_free():
    time.sleep(0.3)

@pytest.mark.cpu_seconds(0.2)
def test_work_is_not():
    end = time.process_time() + 2
    while time.process_time() < end:
        pass

@pytest.mark.cpu_seconds(0.2)
def test_nor_is_that_of_children():
    work = "import time\\nwhile time.process_time() < 2: pass"
    subprocess.run([sys.executable, "-c", work])
"""


def test_time_of_the_processor_counts_and_signals_act(tmp_path: Path) -> None:
    """Also where the shell that starts the runner ignores them."""
    (tmp_path / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text())
    (tmp_path / "test_alike.py").write_text(ALIKE)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nmarkers = cpu_seconds(limit): allowed\naddopts = -p no:cacheprovider\n"
    )

    done = subprocess.run(
        ["sh", "-c", 'trap "" INT HUP TERM; exec "$@"', "sh", sys.executable, "-m", "pytest", "-q"],
        cwd=tmp_path,
        env=process_environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    failed = sorted(line for line in done.stdout.splitlines() if line.startswith("FAILED"))
    assert ["test_nor_is_that_of_children", "test_work_is_not"] == [
        line.partition("::")[2].partition(" ")[0] for line in failed
    ]
    assert 2 == done.stdout.count("seconds of processor time, 0.2 are allowed, times ")
    assert "2 failed, 2 passed" in done.stdout

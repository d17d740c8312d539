"""What a command loads: `--help` and small questions must not pay for the scheduler."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.shell.fleet import EXAMPLE, new_fleet, process_environment, run_pass

DECIDING = (
    "reconciler.core.reconcile",
    "reconciler.core.rounds",
    "reconciler.dialects.karmada.decide",
    "reconciler.dialects.karmada.scheduler.schedule",
    "reconciler.rebalance.workload_rebalancer",
    "reconciler.rebalance.workload_rebalancer",
    "reconciler.schedule.apportion",
)
SCHEDULER = (*DECIDING, "reconciler.shell.git")

SCRIPT = """
import sys
from reconciler.cli.main import run
code = run(sys.argv[1:])
print("loaded:", *sorted(sys.modules), file=sys.stderr)
sys.exit(code)
"""


def loaded(folder: Path, *arguments: str) -> set[str]:
    """Return the modules that a command loads in a process of its own."""
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments],
        cwd=folder,
        env=process_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == finished.returncode, finished.stderr
    return set(finished.stderr.rpartition("loaded: ")[2].split())


def test_help_loads_no_library(tmp_path: Path) -> None:
    """It is asked for often, by people and by shells."""
    heavy = {"ruamel.yaml", "jsonschema", "git", "numpy", "structlog", "watchfiles"}
    heavy |= {"starlette", "uvicorn", "prometheus_client", "httpx", "asyncio"}

    assert set() == heavy & loaded(tmp_path, "--help")
    assert set() == heavy & loaded(tmp_path, "version")
    assert set() == heavy & loaded(tmp_path, "run", "--help")


def test_validate_loads_neither_git_nor_scheduler(tmp_path: Path) -> None:
    """It runs in editors and hooks, for each save."""
    (tmp_path / "cluster.yaml").write_text(EXAMPLE["clusters/member1.yaml"])

    modules = loaded(tmp_path, "validate", "cluster.yaml")

    assert set() == {"git", "numpy", "structlog", "watchfiles"} & modules
    assert [] == sorted(name for name in modules if name.startswith(SCHEDULER))


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a checkout of the example, after a pass."""
    folder = tmp_path_factory.mktemp("example") / "decided"
    new_fleet(folder)
    run_pass(folder, 0)
    return folder


LOOKING = [
    ["get", "clusters"],
    ["get", "rb", "-A"],
    ["top", "clusters"],
]
JUDGING = [["tree", "pp/shop"], ["plan"], ["why", "deployment/shop"], ["verify"]]


@pytest.mark.parametrize("arguments", LOOKING, ids=" ".join)
def test_looking_loads_no_scheduler(decided: Path, arguments: list[str]) -> None:
    """What was decided stands in files, and takes reading only."""
    modules = loaded(decided, *arguments)

    assert [] == sorted(name for name in modules if name.startswith(DECIDING))


OWN_MODULES, MODULES = 250, 422


@pytest.mark.parametrize("words", ["clusters member1", "rb shop-deployment"])
def test_a_question_of_one_object_loads_few_modules(decided: Path, words: str) -> None:
    """Python imports some four in a millisecond, as long as the question itself takes."""
    loaded(decided, "get", *words.split())  # what is told of this build is kept from then on
    modules = loaded(decided, "get", *words.split())

    assert len([name for name in modules if name.startswith("reconciler")]) <= OWN_MODULES
    assert len(modules) <= MODULES
    assert set() == {"git", "cronsim", "concurrent.futures", "importlib.metadata"} & modules


@pytest.mark.parametrize("arguments", [*LOOKING, *JUDGING], ids=" ".join)
def test_a_valid_repository_is_read_by_the_quick_validator(
    decided: Path, arguments: list[str]
) -> None:
    """The one that words messages takes as long to load as all files take to read."""
    slow = {"jsonschema", "referencing", "numpy", "structlog", "asyncio"}

    assert set() == slow & loaded(decided, *arguments)

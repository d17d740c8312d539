"""The example fleet for tests: in a real repository, served in this process or by a real one."""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import gettempdir, mkdtemp

from reconciler.core.record import last_pass
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping
from reconciler.model.identity import RepositoryLayout
from reconciler.model.world import World
from reconciler.shell.git.repository import CommitIdentity, Repository
from reconciler.shell.passes.branches import Branch, LocalBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.pass_report import PassReport
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.revisions import GitRevisions
from reconciler.shell.reading.sources import ServedBranches, finding_sources
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from tests.shell.repositories import ENVIRONMENT, NOW, Checkout, FixedClock, git, new_checkout

ROOT = Path(__file__).parent.parent.parent
PATIENCE_SECONDS = 300.0  # only ends what hangs, however loaded the machine is
DAEMON = CommitIdentity("reconciler", "reconciler@localhost")
TEMPORARY = gettempdir()  # before any test has a folder of its own for what is temporary

EXAMPLE: Mapping[str, str] = {
    path.relative_to(ROOT / "example-repo").as_posix(): path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "example-repo").rglob("*"))
    if path.is_file()
}
MANIFESTS = sorted(path for path in EXAMPLE if path.endswith(".yaml") and not path.startswith("."))


def new_fleet(folder: Path, extra: Mapping[str, str] | None = None) -> Checkout:
    """Make a checkout of the example, with other files on top."""
    return new_checkout(folder, {**EXAMPLE, **(extra or {})})


def decided_fleet(folder: Path, extra: Mapping[str, str] | None = None) -> Checkout:
    """Make a checkout of the example, with other files on top, after a pass at `NOW`."""
    return copied(_decided(frozenset((extra or {}).items())), folder)


@cache
def _decided(extra: frozenset[tuple[str, str]]) -> Checkout:
    fleet = new_fleet(template_folder() / "fleet", dict(extra))
    run_pass(fleet.folder, 0)
    return fleet


def template_folder() -> Path:
    """Return an empty folder that is gone when this process has ended."""
    folder = Path(mkdtemp(prefix="templates-", dir=TEMPORARY))
    atexit.register(shutil.rmtree, folder)
    return folder


def copied(template: Checkout, folder: Path) -> Checkout:
    """Copy a checkout that a hundred tests begin with; git need not look at its files again."""
    shutil.copytree(template.folder, folder, symlinks=True)
    git(folder, "update-index", "-q", "--refresh")
    return Checkout(folder)


def load_world(folder: Path, branch: str = "main", output_root: str = "status") -> World:
    """Return the world at the head of a branch, read by a loader that knows nothing yet."""
    repository = Repository.open(folder)
    layout = RepositoryLayout(output_root=output_root)
    loader = Loader(GitTrees(repository), load_schemas(), layout=layout)
    return loader.load(repository.resolve(branch))


def open_revisions(folder: Path) -> GitRevisions:
    """Return the history of the repository that a folder is in."""
    repository, layout = Repository.open(folder), RepositoryLayout()
    sources = finding_sources(repository, layout)
    loader = Loader(GitTrees(repository), load_schemas(), layout=layout, sources=sources)
    return GitRevisions(repository, loader)


@dataclass
class Clock(FixedClock):
    """A clock that waiting moves on; `waits` are the seconds that were waited."""

    waits: list[float] = field(default_factory=list)

    def pause(self, seconds: float) -> None:
        """Let time go by."""
        self.waits.append(seconds)
        self.moment += timedelta(seconds=seconds)


def new_passes(folder: Path, clock: Clock, output_branch: str | None = None) -> Passes:
    """Return what a process that was just started would run passes with."""
    return passes_of(LocalBranch(Repository.open(folder), "main"), clock, output_branch)


def passes_of(branch: Branch, clock: Clock, output_branch: str | None = None) -> Passes:
    """Return what runs passes on a branch, with nothing that it remembers."""
    repository, layout = branch.repository, RepositoryLayout(output_branch=output_branch)
    return Passes(
        branches=ServedBranches(branch, layout),
        loader=Loader(
            GitTrees(repository),
            load_schemas(),
            layout=layout,
            sources=finding_sources(repository, layout),
        ),
        clock=clock,
        author=DAEMON,
        pause=clock.pause,
    )


def run_pass(folder: Path, seconds: int) -> PassReport:
    """Run one pass at so many seconds after `NOW`, as a process that was just started."""
    return new_passes(folder, Clock(NOW + timedelta(seconds=seconds))).run()


def decisions(world: World) -> dict[str, list[Body]]:
    """Return `spec.clusters` of every binding."""
    return {
        str(key): [dict(cluster) for cluster in bodies(mapping(manifest.body, "spec"), "clusters")]
        for key, manifest in world.outputs.items()
        if key.group == "work.karmada.io"
    }


def passed_at(world: World) -> datetime:
    """Return the moment of the last pass."""
    last = last_pass(world.outputs)
    assert last is not None
    return last.at


def reconciler(
    folder: Path,
    *arguments: str,
    stdin: int = subprocess.DEVNULL,
    sources: Sequence[Path] = (ROOT,),
) -> "Finished":
    """Run the command as a process of its own, in a folder; Python finds it in `sources`."""
    finished = subprocess.run(
        [sys.executable, "-m", "reconciler", *arguments],
        cwd=folder,
        env=process_environment(sources),
        stdin=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    return Finished(finished.returncode, finished.stdout, finished.stderr)


@dataclass(frozen=True)
class Finished:
    """How a process ended, and what it printed."""

    code: int
    stdout: str
    stderr: str


def process_environment(sources: Sequence[Path] = (ROOT,)) -> dict[str, str]:
    """Return an environment in which `python -m reconciler` is this tree's, or that of others."""
    return {
        **ENVIRONMENT,
        "PYTHONPATH": os.pathsep.join(map(str, sources)),
        "COVERAGE_CORE": "",
        "PYTHONFAULTHANDLER": "1",
        "RECONCILER_CACHE_DIR": "off",
    }


@contextmanager
def running(
    folder: Path,
    *arguments: str,
    log: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run the daemon as a process of its own while the block lasts; it must end with 0.

    Args:
        folder: For `-C`.
        arguments: Of `run`.
        log: What it writes there, beside the folder if nothing else is said.
        environment: On top of that of all processes that tests start.
    """
    place = log or folder.with_name(f"{folder.name}.log")
    with place.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "reconciler", "-C", str(folder), "run", *arguments],
            cwd=ROOT,
            env={**process_environment(), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        )
        try:
            eventually(lambda: "serving" in place.read_text(), "the start of the daemon")
            yield process
            process.terminate()
            assert 0 == ended(process, PATIENCE_SECONDS), place.read_text()
        finally:
            process.kill()
            process.wait()
    assert "Traceback" not in place.read_text()


def ended(process: "subprocess.Popen[bytes]", seconds: float) -> int:
    """Return how a process ended; one that does not in time says what each thread does."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        return process.wait()


def patiently(checkout: Checkout, *arguments: str) -> str:
    """Run git as a person beside a daemon does: again, while the index is locked for a moment."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return checkout.git(*arguments)
        except AssertionError as error:
            if "index.lock" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def commit_beside_daemon(checkout: Checkout, files: Mapping[str, str]) -> None:
    """Write files and commit them while a daemon works in the same checkout."""
    checkout.write(files)
    patiently(checkout, "add", "--", *files)
    patiently(checkout, "commit", "--quiet", "--message=Change by hand", "--", *files)


def eventually(condition: Callable[[], bool], what: str = "") -> None:
    """Wait until something holds; fail if it does not in time."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.02)


def kill(process: "subprocess.Popen[bytes]", number: int) -> int:
    """Send a signal to a process of ours and wait for its end."""
    os.kill(process.pid, number)
    return process.wait(PATIENCE_SECONDS)


def subjects(checkout: Checkout, span: Sequence[str] = ("main",)) -> list[str]:
    """Return the subjects of commits, the newest first."""
    return checkout.git("log", "--format=%s", *span).splitlines()

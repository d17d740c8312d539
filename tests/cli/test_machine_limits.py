"""Limits of the machine times verbs: told as what they are, and nothing half done stays."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, cast

import pytest

from reconciler.shell.processes.limits import limit_met, limit_said
from tests.builders import cluster, deployment, path_of, policy, text
from tests.cli.history import told_fleet
from tests.cli.test_publish import PROFILE, PUBLISHING, SLICE
from tests.core.test_staged_deliveries import staged_delivery
from tests.crash.verbs import EXPORT
from tests.delivery.kubectl import kubectl
from tests.delivery.story import files_of
from tests.dialects.kubefleet.fleet import APPROVAL, stage, strategy
from tests.kube.journey import contexts
from tests.kube.loop import AUTHOR
from tests.kube.members import kubeconfig, node, running
from tests.kube.store import Store
from tests.shell.fleet import ROOT, process_environment, run_pass
from tests.shell.repositories import new_bare, new_checkout
from tests.shell.servers import new_certificate

USER = 61_000 + os.getpid() % 4000  # of nobody else, so no other process counts against its limits
CAPABILITIES = "-all,+dac_override"  # it reads what root installed; limits bind it all the same
AS_USER = (
    "setpriv",
    f"--reuid={USER}",
    f"--regid={USER}",
    "--clear-groups",
    f"--inh-caps={CAPABILITIES}",
    f"--ambient-caps={CAPABILITIES}",
)
SECONDS = 60


@dataclass(frozen=True)
class Limited:
    """How a verb ended; `code` is `None` for a daemon that would go on."""

    code: int | None
    stderr: str


def is_root() -> bool:
    """Whether limits of processes need another user."""
    return os.geteuid() == 0


def not_settable() -> str:
    """Return why limits cannot be set here, `""` if they can."""
    if shutil.which("prlimit") is None:
        return "there is no prlimit"
    if not is_root():
        return ""
    if shutil.which("setpriv") is None:
        return "root is bound by no limit of processes, and there is no setpriv"
    tried = subprocess.run([*AS_USER, "true"], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"no other user than root: {tried.stderr.strip()}"


def limited(folder: Path, limit: str, *arguments: str) -> Limited:
    """Run a verb to its end with a limit as prlimit has it, `""` for none."""
    done = subprocess.run(
        _command(limit, arguments),
        cwd=folder,
        env={
            **process_environment(),
            "PYTHONPATH": str(ROOT),
            "HOME": str(folder.parent),  # where kubectl puts what it remembers
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Limited(done.returncode, done.stderr)


def limited_daemon(folder: Path, limit: str, *arguments: str, until: str) -> Limited:
    """Run a verb with a limit until it ends, or its log has what a pattern is of."""
    with daemon(folder, limit, *arguments) as (process, said):
        told = ""
        for line in said:
            told += line
            if line.startswith("{") and re.search(until, line):  # else it is about to end
                return Limited(None, told)
        return Limited(process.wait(SECONDS), told)


@contextmanager
def daemon(
    folder: Path, limit: str, *arguments: str
) -> Iterator[tuple["subprocess.Popen[str]", Iterator[str]]]:
    """Run a verb while the block lasts; yield its process, and each line that it says."""
    with subprocess.Popen(
        _command(limit, arguments),
        cwd=folder,
        env={**process_environment(), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        ending = threading.Timer(SECONDS, process.kill)
        ending.start()
        try:
            yield process, iter(cast("IO[str]", process.stderr))
        finally:
            ending.cancel()
            process.terminate()


def _command(limit: str, arguments: Sequence[str]) -> list[str]:
    """Return the command that runs a verb with a limit, as another user than root."""
    bounds = ["prlimit", *limit.split()] if limit else []
    user: Sequence[str] = AS_USER if is_root() else ()
    return [*user, *bounds, sys.executable, "-m", "reconciler", *arguments]


def own(folder: Path) -> None:
    """Give files to the user that verbs run as."""
    if is_root():
        subprocess.run(["chown", "-R", f"{USER}:{USER}", str(folder)], check=True)


def git(folder: Path, *arguments: str) -> str:
    """Ask git about a folder of another user."""
    command = ["git", "-c", "safe.directory=*", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[str]:
    """Mount a disk of some size while the block lasts; yield why not, `""` if it is there."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        yield tried.stderr.strip()
        return
    try:
        yield ""
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


EXPORTED = ".export/state.json"  # a folder that is no part of the fleet
VERBS = {
    "validate": ("validate",),
    "status": ("status",),
    "reconcile": ("reconcile",),
    "plan": ("plan", "--head", "other"),
    "why": ("why", "deployment/shop"),
    "verify": ("verify",),
    "rebalance": ("rebalance", "deployment/shop", "--branch", "x"),
    "suspend": ("suspend", "deployment/shop", "--branch", "x"),
    "scale": ("scale", "deployment/shop", "--replicas=3", "--branch", "x"),
    "rollout": ("rollout", "approve", "web", "--branch", "x"),
    "import": ("import", EXPORTED),
    "run": ("run", "--listen", "0"),
}
WRITING = ("reconcile", "run", "suspend")
ASKED = tuple(VERBS) if os.environ.get("MACHINE_LIMITS") == "all" else WRITING
"""The verbs of the table: those that write, one of each sort; `make limits` has all."""
READING = ("validate", "status", "plan", "why", "verify")
ON_FULL_DISK = (
    tuple(VERBS)
    if ASKED != WRITING
    else ("reconcile", "rebalance", "suspend", "import", "validate", "why")
)
LIMITS = {
    "no-process": ("--nproc=1", "no further process or thread can be started"),
    "no-thread": ("--nproc=2", "no further process or thread can be started"),
    "one-thread": ("--nproc=3", "no further process or thread can be started"),
    "few-threads": ("--nproc=4", "no further process or thread can be started"),
    "little-memory": ("--as=50000000", "memory"),
    "less-memory-than-needed": ("--as=62000000", "memory"),
    "no-file-grows": ("--fsize=0", "would be larger than it may be|temporary files"),
    "few-open-files": ("--nofile=12", "too many files are open"),
}
SIZES_APART = 2_900_000 if ASKED == WRITING else 250_000
"""Bytes between the sizes of memory that are tried."""
COMMITTED, HELD = "pass committed", "restore `lastPassAt`"  # what the daemon says
ALWAYS_MET = ("no-process", "no-thread", "few-open-files")  # or else limits do not bind here
NATIVE = re.compile(r"memory allocation of \d+ bytes failed")  # a library that is no Python ends
LOST = re.compile(
    r"Traceback \(most recent call last\):\n(?:  File \"<frozen runpy>\", .*\n)+"
    r"SystemError: .* (?:without exception|without setting an exception)(?: set)?\n"
)
"""What the interpreter says around our first line where it lost an exception of memory."""
NOT_BEGUN = re.compile(r"Exception ignored in thread started by: .*\nMemoryError.*\n")
"""What it says of a thread that had no memory for its first step."""
NOT_SETTABLE = not_settable()

pytestmark = pytest.mark.skipif(bool(NOT_SETTABLE), reason=f"not run: {NOT_SETTABLE}")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet with something to decide, another branch, and reports to import."""
    fleet = told_fleet(tmp_path_factory.mktemp("limits") / "fleet")
    waiting = stage("all", labelSelector={}, beforeStageTasks=[APPROVAL])
    fleet.commit(files_of(strategy(waiting), staged_delivery()), "Stage the shop")
    run_pass(fleet.folder, 180)
    shop = fleet.folder / "workloads/shop.yaml"
    released = re.sub(r"image: .*", "image: shop:2", shop.read_text())
    fleet.commit({"workloads/shop.yaml": released}, "Release 2")
    run_pass(fleet.folder, 240)
    written = re.sub(r"replicas: \d+", "replicas: 9", shop.read_text())
    fleet.commit({"workloads/shop.yaml": written})
    fleet.git("branch", "other")
    fleet.write({EXPORTED: EXPORT.read_text()})
    return fleet.folder


@pytest.fixture
def apart() -> Iterator[Path]:
    """A folder that every user may pass through: those of pytest are closed to all but root.

    Opening them does not help, since another run of pytest closes them again.
    """
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.fixture
def fleet(apart: Path, made: Path) -> Path:
    """A copy of it, of the user that verbs run as."""
    folder = apart / "fleet"
    shutil.copytree(made, folder, symlinks=True)
    own(folder)
    return folder


def ask(fleet: Path, verb: str, limit: str = "", *, until: str) -> Limited:
    """Run a verb to its end; the daemon until it has said that."""
    if verb == "run":
        return limited_daemon(fleet, limit, *VERBS[verb], until=until)
    return limited(fleet, limit, *VERBS[verb])


def assert_told(ended: Limited, says: str) -> None:
    """One sentence that names the limit; a daemon may go on, and logs it."""
    said = NOT_BEGUN.sub("", ended.stderr)
    told = LOST.sub("", said)
    if told != said:  # nothing of ours ran any more
        assert 1 == ended.code
        assert "memory" in says
        assert not [line for line in told.splitlines() if not line.startswith("{")]
        return
    assert "mistake" not in told
    assert "Traceback" not in told
    if ended.code in (0, None):
        assert ended.code == 0 or not told or re.search(says, told), told
        return
    if ended.code < 0:
        assert NATIVE.search(told), told
        return
    lines = [line for line in told.splitlines() if not line.startswith("{")]
    assert 1 == ended.code, told
    assert 1 == len(lines), told
    assert re.match(rf"reconciler: .*({says})", lines[0]), told


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("verb", ASKED)
def test_a_limit_is_told_and_leaves_nothing_behind(fleet: Path, verb: str, limit: str) -> None:
    """No mistake of the program, no trace; the branch moved whole or not at all."""
    bound, says = LIMITS[limit]
    before = git(fleet, "rev-parse", "main")

    ended = ask(fleet, verb, bound, until=f"{says}|no further process|{COMMITTED}")

    assert limit not in ALWAYS_MET or verb in ("validate", "import") or ended.code == 1
    assert_told(ended, f"{says}|no further process")
    moved = git(fleet, "rev-parse", "main") != before
    assert not moved or ended.code in (0, None)
    assert_sound(fleet)


@dataclass(frozen=True)
class Observed:
    """A remote with a cluster, and how that cluster is observed."""

    remote: Path
    arguments: tuple[str, ...]

    @property
    def reports(self) -> list[str]:
        """The files of reports."""
        return git(self.remote, "ls-tree", "-r", "--name-only", "main", "feedback/").splitlines()

    def observe(self, limit: str) -> Limited:
        """Observe until there is a report, or the observer ends."""
        with daemon(self.remote.parent, limit, *self.arguments) as (process, said):
            told = ""
            for line in said:
                told += line
                if line.startswith("Report a: "):
                    return Limited(None, told)
            return Limited(process.wait(SECONDS), told)


@pytest.fixture
def observed(apart: Path) -> Iterator[Observed]:
    """A cluster that nobody reported yet."""
    certificate = new_certificate(apart)
    with running("a", certificate) as member:
        member.put(node("n1"))
        remote = new_bare(apart / "disk/remote", {path_of(CLUSTER): text(CLUSTER)})
        own(apart / "disk")
        config = kubeconfig(apart, {"a": member}, certificate)
        served = ("--remote", f"file://{remote}", "--mirror", str(remote.parent / "own.git"))
        quick = ("--probe-seconds", "1", "--commit-seconds", "1", "--author", AUTHOR)
        reached = ("--context", "a", "--kubeconfig", str(config))
        yield Observed(remote, ("observe", *reached, *served, *quick))


CLUSTER = cluster("a")
AT_THE_REMOTE = "[Cc]annot (fork|create async thread)|unable to fork"
"""What git says at the other end, which is on the same machine here."""


@pytest.mark.parametrize("limit", LIMITS if ASKED != WRITING else ALWAYS_MET)
def test_an_observer_tells_a_limit_and_begins_again(observed: Observed, limit: str) -> None:
    """It ends, as its service manager is to know, and the next one reports what there is."""
    bound, says = LIMITS[limit]

    ended = observed.observe(bound)

    assert_told(ended, f"{says}|no further process|{AT_THE_REMOTE}")
    assert limit not in ALWAYS_MET or (1, []) == (ended.code, observed.reports)
    git(observed.remote, "fsck", "--strict")
    after = observed.observe("")
    assert None is after.code, after.stderr
    assert ["feedback/a/cluster.yaml"] == observed.reports


def test_an_observer_on_a_full_disk_begins_again_once_there_is_room(
    observed: Observed, apart: Path
) -> None:
    """It says why it ends; the remote has its room elsewhere."""
    with small_disk(apart / "full", "3m") as refused:
        if refused:
            pytest.skip(f"not run: no disk can be mounted: {refused}")
        own(apart / "full")
        fill(apart / "full/filler")
        mirror = ("--mirror", str(apart / "full/own.git"))
        full = replace(observed, arguments=(*observed.arguments, *mirror))

        ended = full.observe("")
        assert_told(ended, "is full|temporary files")
        assert (1, []) == (ended.code, observed.reports)

        (apart / "full/filler").unlink()
        assert None is full.observe("").code
    assert ["feedback/a/cluster.yaml"] == observed.reports


@pytest.mark.parametrize("limit", LIMITS if ASKED != WRITING else ALWAYS_MET)
def test_a_publisher_tells_a_limit_and_publishes_afterwards(apart: Path, limit: str) -> None:
    """Whatever of it is on the hub by then."""
    kubectl()
    bodies = (PUBLISHING, CLUSTER, deployment(), policy())
    fleet = new_checkout(apart / "fleet", {path_of(body): text(body) for body in bodies})
    run_pass(fleet.folder, 0)
    own(fleet.folder)
    hub = Store("hub", (PROFILE, SLICE))
    bound, says = LIMITS[limit]
    with contexts(apart, {"hub": hub}) as config:
        command = ("publish", "--context", "hub", "--kubeconfig", str(config))
        ended = limited(fleet.folder, bound, *command)
        assert_told(ended, f"{says}|no further process")
        assert limit not in ALWAYS_MET or ended.code == 1

        assert 0 == limited(fleet.folder, "", *command).code
    assert (1, 1) == (len([*hub.listed(PROFILE)]), len([*hub.listed(SLICE)]))


@pytest.mark.parametrize("size", range(44_500_000, 62_000_000, SIZES_APART))
def test_a_daemon_without_memory_says_one_sentence(fleet: Path, size: int) -> None:
    """Wherever memory ends, and nothing of how the interpreter fails to tidy up after it."""
    ended = ask(fleet, "run", f"--as={size}", until=f"memory|{COMMITTED}")

    assert_told(ended, LIMITS["little-memory"][1])


def assert_sound(fleet: Path) -> None:
    """Nothing is missing, nothing is staged, and the next pass goes on as if nothing had been."""
    git(fleet, "fsck", "--strict", "--no-dangling")
    assert_sound_files(fleet)
    after = limited(fleet, "", "reconcile")
    assert 0 == after.code, after.stderr
    assert "" == git(fleet, "status", "--short", "--", "status", "workloads")


def assert_sound_files(fleet: Path) -> None:
    """No file of a person's is half written, or lies beside the one that it was to be."""
    assert [] == [path for path in fleet.rglob(".*.yaml.*") if ".git" not in path.parts]


@pytest.fixture
def full_disk(apart: Path, made: Path) -> Iterator[Path]:
    """A copy of the fleet on a disk that is full but for what `filler` beside it takes."""
    with small_disk(apart / "disk", "3m") as refused:
        if refused:
            pytest.skip(f"not run: no disk can be mounted: {refused}")
        folder = apart / "disk/fleet"
        shutil.copytree(made, folder, symlinks=True)
        own(apart / "disk")
        fill(folder.parent / "filler")
        yield folder


@pytest.mark.parametrize("verb", [verb for verb in ON_FULL_DISK if verb != "run"])
def test_a_full_disk_is_told(full_disk: Path, verb: str) -> None:
    """And once there is room the same verb does what it was asked for; who only reads does now."""
    ended = limited(full_disk, "", *VERBS[verb])
    if verb in READING:
        assert 0 == ended.code, ended.stderr
    else:
        assert_told(ended, "is full|temporary files")
        assert 1 == ended.code
        assert_sound_files(full_disk)

    (full_disk.parent / "filler").unlink()
    again = limited(full_disk, "", *VERBS[verb])
    assert 0 == again.code, again.stderr
    assert_sound(full_disk)


@pytest.mark.skipif("run" not in ON_FULL_DISK, reason="not run: `make limits` has it")
def test_a_daemon_waits_for_room_on_a_full_disk(full_disk: Path) -> None:
    """It says why it does nothing, and goes on by itself."""
    with daemon(full_disk, "", *VERBS["run"], "--poll-seconds", "0.2") as (_, said):
        told = any(re.search("is full|temporary files", line) for line in said)
        (full_disk.parent / "filler").unlink()
        committed = any(COMMITTED in line for line in said)

    assert (True, True) == (told, committed)
    assert_sound(full_disk)


def test_a_full_disk_leaves_nothing_of_init(full_disk: Path) -> None:
    """A part of the example would be taken for the whole, and would refuse the next attempt."""
    ended = limited(full_disk.parent, "", "init", "example")
    assert_told(ended, "is full|temporary files")
    assert (1, False) == (ended.code, (full_disk.parent / "example").exists())

    (full_disk.parent / "filler").unlink()
    assert 0 == limited(full_disk.parent, "", "init", "example").code


def fill(place: Path) -> None:
    """Write until the disk takes no more."""
    with place.open("wb", buffering=0) as stream:
        try:
            while stream.write(b"x" * 4096):
                pass
        except OSError:
            return


@pytest.mark.parametrize("verb", ASKED)
def test_a_clock_set_back_by_a_year_is_told(fleet: Path, verb: str) -> None:
    """After a pass by a clock a year ahead, what decides is held, and says who must act."""
    assert 0 == limited(fleet, "", "reconcile", "--now", "2099-01-01T00:00:00Z").code
    before = git(fleet, "rev-parse", "main")

    ended = ask(fleet, verb, until=HELD)

    assert "mistake" not in ended.stderr
    assert "Traceback" not in ended.stderr
    if verb in ("reconcile", "run"):
        assert HELD in ended.stderr
    assert before == git(fleet, "rev-parse", "main")


@pytest.mark.parametrize(
    "said",
    [
        "fatal: Out of memory, malloc failed (tried to allocate 9 bytes)",
        "error: cannot fork() for index-pack: Resource temporarily unavailable",
        "fatal: unable to create thread: Resource temporarily unavailable",
        "error: unable to open loose object: Too many open files",
        "runtime: failed to create new OS thread (have 3 already; errno=11)",
        "fatal error: failed to reserve page summary memory",
    ],
)
def test_what_commands_say_of_a_limit_is_known(said: str) -> None:
    """And what they say of anything else is left to them."""
    assert limit_said(said) is not None
    assert limit_said("fatal: not a git repository") is None


def test_a_mistake_is_no_limit() -> None:
    """Only what the machine refused is told as that."""
    assert limit_met(RuntimeError("dictionary changed size during iteration")) is None
    assert limit_met(KeyError("x")) is None

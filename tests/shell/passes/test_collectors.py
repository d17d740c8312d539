"""Collectors of garbage beside a pass: what it has written is there when its branch has moved."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.model.moments import format_moment
from tests.builders import cluster, deployment, groups, policy, text
from tests.shell.fleet import (
    Clock,
    commit_beside_daemon,
    eventually,
    new_passes,
    run_pass,
    running,
)
from tests.shell.repositories import ENVIRONMENT, NOW, Checkout, git, new_checkout

LATER = NOW + timedelta(seconds=500)
BINDING = "status/resourcebindings.work.karmada.io/default/web-deployment.yaml"
COLLECT = ("gc", "--prune=now", "--quiet")
STAND_IN = """\
#!/bin/bash
read -r count < {control}/count
count=$((count + 1))
echo "$count" > {control}/count
read -r number < {control}/number
if [ "$count" = "$number" ]; then
    env -i PATH="$PATH" HOME=/nonexistent {command} > {control}/said 2>&1 || touch {control}/failed
fi
exec {real} "$@"
"""


def fleet_of(folder: Path) -> Checkout:
    """A workload that was placed, moved, taken back by a person, and is to be placed anew."""
    placed = text(cluster("a"), cluster("b"), policy(placement=groups(["a"], ["b"])))
    fleet = new_checkout(folder, {"fleet.yaml": placed, "web.yaml": text(deployment(replicas=1))})
    run_pass(folder, 0)
    fleet.commit({"web.yaml": text(deployment(replicas=2))})
    return fleet


class Interloper:
    """Runs a command just before one of the git commands of this process."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
        """Put the stand-in on the PATH."""
        real = shutil.which("git")
        assert real is not None
        self.folder = folder
        folder.mkdir()
        stand_in = folder / "git"
        stand_in.write_text(STAND_IN.format(control=folder, command=command, real=real))
        stand_in.chmod(0o755)
        self.aim(0)
        monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)

    def aim(self, number: int) -> None:
        """Begin to count anew, and run it before that command."""
        (self.folder / "count").write_text("0\n")
        (self.folder / "number").write_text(f"{number}\n")

    @property
    def count(self) -> int:
        """How many commands there were."""
        return int((self.folder / "count").read_text())


def whole(fleet: Checkout) -> str:
    """Return the head of a branch that lacks nothing."""
    fleet.git("fsck", "--strict", "--no-dangling")
    fleet.git("rev-list", "--objects", "main")
    return fleet.head()


@pytest.mark.cpu_seconds(40)
@pytest.mark.parametrize("garbage", [False, True], ids=["fresh", "again"])
def test_gc_before_any_command_of_a_pass_takes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    garbage: bool,  # noqa: FBT001  # one per mode
) -> None:
    """The commit is that of a calm pass; what an earlier try left in a pack is written again."""
    calm = fleet_of(tmp_path / "calm")
    assert None is not run_pass(calm.folder, 500).commit
    person = f"git -C {shlex.quote(str(tmp_path / 'r'))} {shlex.join(COLLECT)}"
    between = Interloper(tmp_path / "bin", monkeypatch, person)
    number = 0
    while number <= between.count:
        number += 1
        shutil.rmtree(tmp_path / "r", ignore_errors=True)
        fleet = fleet_of(tmp_path / "r")
        if garbage:
            new_passes(fleet.folder, Clock()).run(at=LATER, publish=False)
        between.aim(number)
        new_passes(fleet.folder, Clock()).run(at=LATER)
        assert not (between.folder / "failed").exists(), (between.folder / "said").read_text()

        assert calm.head() == whole(fleet)
        assert [] == [*(fleet.folder / ".git").rglob("*.keep")]
        assert "" == fleet.status()


class CollectorInFlight:
    """A `git gc --prune=now` that has looked at the references, and has removed nothing yet."""

    def __init__(self, fleet: Checkout) -> None:
        """Note what the references reach, and which packs there are, as git repack does."""
        self._fleet = fleet
        self._objects = fleet.folder / ".git/objects"
        self._reached = set(
            fleet.git("rev-list", "--objects", "--no-object-names", "--all").split()
        )
        self._packs = [pack for pack in self._packed() if not pack.with_suffix(".keep").exists()]

    def _packed(self) -> Iterator[Path]:
        yield from (self._objects / "pack").glob("*.pack")

    def end(self) -> None:
        """Put what was reached into one pack, and remove the packs and whatever else is loose."""
        ids = "".join(f"{name}\n" for name in sorted(self._reached)).encode()
        base = str(self._objects / "pack/pack")
        new = git(self._fleet.folder, "pack-objects", "--quiet", base, stdin=ids)
        for pack in self._packs:
            if pack.stem != f"pack-{new}":
                for suffix in (".idx", ".pack"):
                    pack.with_suffix(suffix).unlink(missing_ok=True)
        for loose in self._objects.glob("??/*"):
            loose.unlink()


@pytest.mark.parametrize("garbage", [False, True], ids=["fresh", "again"])
def test_a_collector_that_began_before_the_move_and_ends_after_it_takes_nothing(
    tmp_path: Path,
    garbage: bool,  # noqa: FBT001  # one per mode
) -> None:
    """It saw no reference to the commit, nor the packs that came since."""
    fleet = fleet_of(tmp_path / "r")
    if garbage:
        new_passes(fleet.folder, Clock()).run(at=LATER, publish=False)
    collector = CollectorInFlight(fleet)

    new = new_passes(fleet.folder, Clock()).run(at=LATER).commit
    collector.end()

    assert new == whole(fleet)


def test_what_was_taken_all_the_same_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody removes packs together with what keeps them, as soon as the branch has moved."""
    fleet = fleet_of(tmp_path / "r")
    bare = tmp_path / "bare"
    git(tmp_path, "clone", "--quiet", "--bare", str(fleet.folder), str(bare))
    stand_in = tmp_path / "bin/git"
    stand_in.parent.mkdir()
    real = shutil.which("git")
    stand_in.write_text(
        f'#!/bin/bash\n{real} "$@"\ncode=$?\n'
        f'case " $* " in *" update-ref "*) cd {bare}/objects/pack\n'
        "for keep in *.keep; do rm -f ${keep%.keep}.*; done;; esac\nexit $code\n"
    )
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(stand_in.parent), prepend=os.pathsep)

    new = new_passes(bare, Clock()).run(at=LATER).commit

    assert new == git(bare, "rev-parse", "main")
    git(bare, "fsck", "--strict")


def lose(fleet: Checkout, *names: str) -> None:
    """Remove objects, wherever they are."""
    git_dir = fleet.folder / ".git"
    lost = {fleet.git("rev-parse", name) for name in names}
    packs = [*(git_dir / "objects/pack").glob("*.pack")]
    for pack in packs:
        taken = pack.rename(git_dir / "taken.pack")
        pack.with_suffix(".idx").unlink()
        git(fleet.folder, "unpack-objects", "-q", stdin=taken.read_bytes())
        taken.unlink()
    for name in lost:
        (git_dir / "objects" / name[:2] / name[2:]).unlink()


LOST = [
    pytest.param(("HEAD:status",), id="a-folder"),
    pytest.param((f"HEAD:{BINDING}",), id="a-file"),
    pytest.param(("HEAD^{tree}", "HEAD:status", f"HEAD:{BINDING}"), id="all"),
]


@pytest.mark.parametrize("names", LOST)
def test_what_is_lost_of_a_pass_is_computed_and_written_again(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    """The next pass finds it out, and goes on."""
    fleet = fleet_of(tmp_path / "r")
    new = run_pass(fleet.folder, 500).commit
    lose(fleet, *names)

    assert None is run_pass(fleet.folder, 505).commit
    assert new == whole(fleet)


def test_what_is_lost_below_a_persons_commit_is_written_again(tmp_path: Path) -> None:
    """The folder that a pass wrote is in the commits on top of it, too."""
    fleet = fleet_of(tmp_path / "r")
    run_pass(fleet.folder, 500)
    fleet.commit({"mine.yaml": "# mine\n"})
    lose(fleet, "HEAD:status")

    run_pass(fleet.folder, 505)

    whole(fleet)


@pytest.mark.parametrize("name", ["HEAD:web.yaml", "HEAD"], ids=["a-persons-file", "a-commit"])
def test_what_only_a_clone_can_have_is_told_with_what_brings_it_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """The command that is told does so."""
    fleet = fleet_of(tmp_path / "r")
    git(tmp_path, "clone", "--quiet", "--no-hardlinks", "--no-local", str(fleet.folder), "clone")
    lost = fleet.git("rev-parse", name)
    lose(fleet, name)

    assert 1 == run(["-C", str(fleet.folder), "reconcile", "--now", format_moment(LATER)])
    said = capsys.readouterr().err
    assert "which git has no more" in said or "that git has no more" in said
    assert name == "HEAD" or lost[:12] in said
    command = said.partition("that has it: ")[2].strip().replace("CLONE", str(tmp_path / "clone"))
    subprocess.run(["bash", "-c", command], check=True, env=ENVIRONMENT, capture_output=True)
    assert 0 == run(["-C", str(fleet.folder), "reconcile", "--now", format_moment(LATER)])
    whole(fleet)


@pytest.mark.parametrize("name", ["HEAD:web.yaml", "HEAD"], ids=["a-file", "a-commit"])
def test_a_remote_that_has_lost_objects_is_told_as_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """It is no matter of the network."""
    fleet = fleet_of(tmp_path / "r")
    lose(fleet, name)
    remote = ("--remote", f"file://{fleet.folder}", "--mirror", str(tmp_path / "mirror"))

    assert 1 == run(["reconcile", *remote, "--branch", "main"])
    assert "its repository has lost objects; run git fsck there" in capsys.readouterr().err


def test_gc_in_a_loop_beside_a_daemon_takes_nothing(tmp_path: Path) -> None:
    """Each decision is there, and so is all that it names."""
    fleet = fleet_of(tmp_path / "r")
    with running(fleet.folder):
        for replicas in range(3, 9):
            commit_beside_daemon(fleet, {"web.yaml": text(deployment(replicas=replicas))})

            def decided(replicas: int = replicas) -> bool:
                collected = ("-C", str(fleet.folder), *COLLECT)
                subprocess.run(["git", *collected], env=ENVIRONMENT, check=False)
                return f"replicas: {replicas}\n" in git(fleet.folder, "show", f"main:{BINDING}")

            eventually(decided, "a decision")
        eventually(lambda: "" == fleet.status(), "a calm checkout")
    whole(fleet)

"""A `git` on the PATH that writes down each command it is started with, and runs the real one."""

import contextlib
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.model.records import replace
from reconciler.shell.git.checkout.checkouts import find_checkouts
from reconciler.shell.git.checkout.moves import locked_index
from reconciler.shell.git.journal import StepUnfinished, journalled
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.signing import AllowedKeys
from reconciler.shell.passes.branch_delivery import BranchDelivery
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.pass_report import PassReport
from reconciler.shell.passes.trust import Trust
from tests.cli.history import FAILED
from tests.shell.fleet import EXAMPLE, Clock, decisions, load_world, new_fleet, new_passes
from tests.shell.keys import SshKey, allowing, commit_signed, new_ssh_key
from tests.shell.repositories import NOW, Checkout

OPTIONS = ("--git-dir", "--work-tree")


class CommandLog:
    """Which git commands this process started, in order.

    Those of the person in the tests are none of them: they run the real git.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Put the stand-in on the PATH."""
        real = shutil.which("git")
        assert real is not None
        folder.mkdir()
        self._log = folder / "log"
        stand_in = folder / "git"
        stand_in.write_text(
            f'#!/bin/sh\necho "$*" >> {shlex.quote(str(self._log))}\n'
            f'exec {shlex.quote(real)} "$@"\n'
        )
        stand_in.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder), prepend=":")

    def taken(self) -> list[str]:
        """Return the commands since the last call, each by its verb."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        self._log.unlink(missing_ok=True)
        return [_verb(line) for line in lines]


def _verb(line: str) -> str:
    return next(word for word in line.split(" ") if not word.startswith(OPTIONS))


SHOP = "workloads/shop.yaml"
SHOP_BINDING = "ResourceBinding.work.karmada.io default/shop-deployment"
SHOP_OUTPUT = "status/resourcebindings.work.karmada.io/default/shop-deployment.yaml"
FRONTEND_OUTPUT = SHOP_OUTPUT.replace("shop", "frontend")
DOWN = {path: body.replace("12:01:30", "12:00:00") for path, body in FAILED.items()}
"""A cluster that is down: the shop leaves it, and a pass writes again once that has ended."""


@dataclass
class Guarded:
    """A fleet whose commits must be signed by Ada or by the daemon."""

    fleet: Checkout
    ada: SshKey
    robot: SshKey
    allowed: AllowedKeys
    anchor: str
    output_branch: str | None = None
    seconds: int = 0
    reporters: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def passes(self, *anchors: str) -> Passes:
        """Return what a process that was just started runs, a second after the one before."""
        self.seconds += 1
        clock = Clock(NOW + timedelta(seconds=self.seconds))
        found = new_passes(self.fleet.folder, clock, self.output_branch)
        branches = found.branches
        trust = Trust(
            branches.repository,
            branches.layout,
            self.allowed,
            own=self.robot.fingerprint,
            anchors=(self.anchor, *anchors),
            reporters=self.reporters,
        )
        return replace(
            found,
            delivery=BranchDelivery(key=self.robot.signing),
            branches=replace(branches, trust=trust),
        )

    def run(self, *anchors: str) -> PassReport:
        """Run a pass."""
        return self.passes(*anchors).run()

    def scale(self, replicas: int, *, by: SshKey | None) -> str:
        """Scale the shop, signed or not."""
        files = {SHOP: EXAMPLE[SHOP].replace("replicas: 2", f"replicas: {replicas}")}
        return self.fleet.commit(files) if by is None else commit_signed(self.fleet, by, files)

    def replicas(self, branch: str = "main") -> int:
        """Return how many replicas of the shop are decided."""
        found = decisions(load_world(self.fleet.folder, branch))[SHOP_BINDING]
        return sum(int(str(cluster["replicas"])) for cluster in found)


def new_guarded(folder: Path) -> Guarded:
    """Make one of the example, trusted as it is, after one pass."""
    fleet = new_fleet(folder / "fleet")
    ada, robot = (new_ssh_key(folder / "keys", who) for who in ("ada", "robot"))
    allowed = AllowedKeys(signers=allowing(folder, ada, robot))
    found = Guarded(fleet, ada, robot, allowed, fleet.head())
    found.run()
    return found


def leave_behind(
    repository: Repository, *, old: str, new: str, branch: str = "main", locked: bool = True
) -> None:
    """Leave the entry of a step, and the locks on the indexes of its checkouts."""
    checkouts = find_checkouts(repository, branch)
    folders = [checkout.folder for checkout in checkouts]
    with contextlib.suppress(StepUnfinished), contextlib.ExitStack() as stack:
        step = stack.enter_context(
            journalled(repository, f"refs/heads/{branch}", old=old, new=new, checkouts=folders)
        )
        for checkout in checkouts if locked else ():
            stack.enter_context(locked_index(checkout, step))
        raise StepUnfinished("killed")

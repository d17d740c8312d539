"""A fleet whose commits must be signed, for tests of what is trusted."""

from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from reconciler.shell.git.signing import AllowedKeys
from reconciler.shell.passes.branch_delivery import BranchDelivery
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.pass_report import PassReport
from reconciler.shell.passes.trust import Trust
from tests.cli.history import FAILED
from tests.shell.fleet import EXAMPLE, Clock, decisions, load_world, new_fleet, new_passes
from tests.shell.keys import SshKey, allowing, commit_signed, new_ssh_key
from tests.shell.repositories import NOW, Checkout

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

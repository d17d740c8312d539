"""A fleet without a hub, closed: observed, decided, delivered, applied, and observed again.

`make demo-loop` prints it. Members are API servers on the loopback. Two stand-ins do what no server
does by itself: one applies the folder of a cluster as Flux would, and one writes the status of
Deployments, since no kubelet runs. Time is set by hand, so that thresholds pass at once.
"""

import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from reconciler.cli.main import run
from reconciler.cli.observe import Observation, Reporter, ReportTarget
from reconciler.cli.trust import SigningOptions
from reconciler.manifests.text.reader import read
from reconciler.model.fields import at
from reconciler.model.identity import RepositoryLayout
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass, field
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.observation.kube_access import context_access
from reconciler.shell.observation.kube_api import KubeApi
from reconciler.shell.observation.observer import ClusterObserver
from tests.builders import Body, cluster, configuration, deployment, path_of, policy, text
from tests.builders import rebalancer as rebalance
from tests.kube.members import Member, kubeconfig, node, running
from tests.shell.repositories import NOW, FixedClock, git, new_bare
from tests.shell.servers import Certificate, new_certificate

NAMES = ("member1", "member2", "member3")
AUTHOR = "Observer <observer@example.com>"
MANAGER = "flux"


@dataclass
class Fleet:
    """A remote, the members that it declares, and who observes them.

    Attributes:
        remote: Its bare repository.
        observation: Rounds over the members.
        clock: Of everything.
        said: What the observer told people.
    """

    remote: Path
    observation: Observation
    clock: FixedClock
    said: list[str] = field(default_factory=list)

    async def round(self, seconds: int) -> str:
        """Look so many seconds after the last time, at clusters in which all is known."""
        self.clock.moment += timedelta(seconds=seconds)
        said = await self.observation.round()
        await asyncio.gather(*(one.synced() for one in self.observation.observers))
        return said

    async def rounds(self, seconds: int, *, every: int = 10) -> None:
        """Look again and again for so long."""
        for _ in range(seconds // every):
            await self.round(every)

    def files(self, branch: str = "main") -> list[str]:
        """The paths of a branch."""
        return git(self.remote, "ls-tree", "-r", "--name-only", branch).splitlines()

    def content(self, path: str, branch: str = "main") -> str:
        """What a file holds, `""` if it is not there."""
        return git(self.remote, "show", f"{branch}:{path}") if path in self.files(branch) else ""

    def report(self, name: str, file: str = "cluster", branch: str = "main") -> str:
        """What a cluster reports, `""` for nothing."""
        return self.content(f"feedback/{name}/{file}.yaml", branch)

    def commits(self, branch: str = "main") -> int:
        """How many commits a branch has."""
        return int(git(self.remote, "rev-list", "--count", branch))


def managed(name: str) -> Body:
    """A ManagedCluster that nobody reported yet."""
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": name},
        "spec": {"hubAcceptsClient": True},
    }


def opened(
    stack: ExitStack,
    folder: Path,
    members: Mapping[str, Member],
    certificate: Certificate,
    *declared: Body,
    names: tuple[str, ...] = NAMES,
) -> Fleet:
    """Open the observation of a repository, which is made unless it is there.

    Args:
        stack: Closes what is opened.
        folder: Where the repository is.
        members: That run.
        certificate: Of their servers.
        declared: What the repository declares.
        names: Of those that are observed.
    """
    remote = folder / "remote"
    if not remote.exists():
        new_bare(remote, {path_of(body): text(body) for body in declared})
    config = kubeconfig(folder, members, certificate)
    own = folder / f"mirror{len([*folder.glob('mirror*')])}.git"
    mirror = stack.enter_context(Mirror.open(f"file://{remote}", own))
    clock = FixedClock(NOW)
    target = ReportTarget(
        branch="main",
        author=AUTHOR,
        signing=SigningOptions(None, "ssh"),
        layout=RepositoryLayout(),
        tolerance_percent=5,
    )
    observers = tuple(
        ClusterObserver(name, KubeApi(context_access(str(config), name), timeout_seconds=5))
        for name in names
    )
    said: list[str] = []
    every = timedelta(seconds=60)
    reporter = Reporter(mirror, target, clock)
    return Fleet(remote, Observation(reporter, observers, clock, every, said.append), clock, said)


def observed(fleet: Fleet, story: Callable[[], object]) -> None:
    """Run a story, and close what it opened."""

    async def whole() -> None:
        try:
            await story()  # type: ignore[misc]  # it is a coroutine
        finally:
            for one in fleet.observation.observers:
                await one.close()

    asyncio.run(whole())


@dataclass
class Loop:
    """The loop over one fleet.

    Attributes:
        fleet: That is observed.
        members: Its clusters.
        folder: For what commands need.
        say: Tells what happens.
    """

    fleet: Fleet
    members: Mapping[str, Member]
    folder: Path
    say: Callable[[str], None]

    async def turn(self, seconds: int) -> None:
        """Let so much time go by: clusters apply and run, are observed, and a pass decides."""
        for _ in range(max(1, seconds // 70)):
            self._apply()
            await self.fleet.rounds(70)
            self._pass()
        self._apply()

    def running(self) -> dict[str, int]:
        """How many replicas of the shop run in each cluster that runs."""
        found = {}
        for name, member in self.members.items():
            live = member.store.all("Deployment") if not member.dead else []
            counts = [at(one, "status").get("readyReplicas") for one in live]
            if counts:
                found[name] = int(str(counts[0]))
        return found

    def commit(self, body: Body, message: str) -> None:
        """Have a person commit and push an object."""
        person = self.folder / "person"
        if not person.exists():
            git(self.folder, "clone", "-q", str(self.fleet.remote), "person")
        git(person, "pull", "-q", "--ff-only")
        target = person / path_of(body)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text(body))
        git(person, "add", ".")
        git(person, "commit", "-q", "-m", message)
        git(person, "push", "-q", "origin", "main")

    def verify(self) -> int:
        """Verify all decisions in a fresh clone."""
        fresh = self.folder / f"fresh{len([*self.folder.glob('fresh*')])}"
        git(self.folder, "clone", "-q", str(self.fleet.remote), fresh.name)
        return run(["-C", str(fresh), "verify"])

    def _pass(self) -> None:
        moment = self.fleet.clock.moment = self.fleet.clock.moment + timedelta(seconds=1)
        url, mirror = f"file://{self.fleet.remote}", str(self.folder / "daemon.git")
        before = self.fleet.commits()
        code = run(
            ["reconcile", "--remote", url, "--mirror", mirror, "--now", format_moment(moment)]
        )
        assert code in (0, 1), code
        if self.fleet.commits() > before:
            self.say(f"  decided: {git(self.fleet.remote, 'log', '-1', '--format=%s', 'main')}")

    def _apply(self) -> None:
        """Apply what each cluster's folder holds, and let it run."""
        files = self.fleet.files()
        for name, member in self.members.items():
            if member.dead:
                continue
            paths = [one for one in files if one.startswith(f"delivery/{name}/")]
            wanted = [
                read(self.fleet.content(path).encode(), path).documents[0].body
                for path in paths
                if "/deployments.apps/" in path
            ]
            keys = {str(at(one, "metadata")["name"]) for one in wanted}
            for live in member.store.all("Deployment"):
                present = str(at(live, "metadata")["name"])
                if present not in keys:
                    member.delete("Deployment", present, "default")
            for body in wanted:
                applied = member.store.apply(body, MANAGER, force=True)
                replicas = at(applied, "spec")["replicas"]
                status = {
                    "observedGeneration": at(applied, "metadata")["generation"],
                    **dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas"), replicas),
                    "availableReplicas": replicas,
                }
                member.put({**applied, "status": status})


def closed_loop(loop: Loop) -> Callable[[], object]:
    """A cluster dies, its work comes up elsewhere; it returns, and gets it back when asked to."""

    async def story() -> None:
        await loop.turn(140)
        assert {"member1": 2, "member2": 2, "member3": 2} == loop.running()
        loop.say(f"three clusters run the shop: {loop.running()}")
        loop.members["member1"].dead = True
        loop.say("member1 is killed")
        await loop.turn(140)
        assert "ClusterNotReachable" in loop.fleet.report("member1")
        assert {"member2": 2, "member3": 2} == loop.running()
        await loop.turn(420)
        assert {"member2": 3, "member3": 3} == loop.running()
        loop.say(f"its work came up elsewhere: {loop.running()}")
        loop.members["member1"].dead = False
        loop.say("member1 is back")
        await loop.turn(280)
        assert "ClusterReady" in loop.fleet.report("member1")
        assert {"member2": 3, "member3": 3} == loop.running()
        loop.commit(rebalance(), "Rebalance the shop")
        loop.say("a rebalancer is merged")
        await loop.turn(140)
        assert {"member1": 2, "member2": 2, "member3": 2} == loop.running()
        loop.say(f"the shop is back: {loop.running()}")

    return story


WEIGHTS = {
    "staticWeightList": [{"targetCluster": {"clusterNames": [n]}, "weight": 1} for n in NAMES]
}
DECLARED = (
    *map(cluster, NAMES),
    deployment(replicas=6),
    policy(
        placement={
            "replicaScheduling": {
                "replicaSchedulingType": "Divided",
                "replicaDivisionPreference": "Weighted",
                "weightPreference": WEIGHTS,
            }
        }
    ),
    configuration(delivery={"folders": {}}),
)


def play(folder: Path, say: Callable[[str], None]) -> int:
    """Play the whole loop in an empty folder; return how `verify` ends."""
    certificate = new_certificate(folder)
    with ExitStack() as stack:
        members = {name: stack.enter_context(running(name, certificate)) for name in NAMES}
        for one in members.values():
            one.put(node("n1"))
        loop = Loop(opened(stack, folder, members, certificate, *DECLARED), members, folder, say)
        observed(loop.fleet, closed_loop(loop))
        return loop.verify()


def main() -> int:
    """Play it for people."""
    with TemporaryDirectory() as name:
        return play(Path(name), lambda line: print(line, file=sys.stderr))


if __name__ == "__main__":
    sys.exit(main())

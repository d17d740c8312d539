"""People who edit one branch at random: every edit has an id that the history must show."""

import random
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.builders import cluster, deployment, policy, rebalancer, taint, target, text
from tests.shell.repositories import ENVIRONMENT, Checkout, git

CLUSTERS = tuple(f"m{number}" for number in range(6))
WORKLOADS = tuple(f"w{number}" for number in range(10))
PLACEMENT = {
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
    },
    "clusterTolerations": [
        {"key": "soak", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}
    ],
}
CONFIGURATION = {
    "apiVersion": "reconciler.dev/v1alpha1",
    "kind": "ReconcilerConfiguration",
    "metadata": {"name": "soak"},
    "spec": {
        "feedback": {"assumeAfterSeconds": 2},
        "delivery": {"folders": {"branch": "fleet"}},
    },
}
NO_SCHEDULE = taint("soak", "NoSchedule")
NO_EXECUTE = taint("soak", "NoExecute")


def first_files() -> dict[str, str]:
    """The fleet before anybody edits it."""
    files = {f"clusters/{name}.yaml": text(cluster(name)) for name in CLUSTERS}
    files |= {f"workloads/{name}.yaml": text(deployment(name, replicas=6)) for name in WORKLOADS}
    files["policies/all.yaml"] = text(policy("all", placement=PLACEMENT))
    files["reconciler.yaml"] = text(CONFIGURATION)
    return files


@dataclass(kw_only=True)
class Writer:
    """One person with a clone.

    Attributes:
        name: What the ids of the edits begin with.
        checkout: The clone.
        choice: Where chance comes from.
        root: The folder of the fleet, `""` for all of the repository.
        pushed: Ids of the edits that the remote took.
        demanded: Names of the rebalancers among them.
        broken: Files that cannot be read at present, with what they held.
    """

    name: str
    checkout: Checkout
    choice: random.Random
    root: str = ""
    pushed: list[str] = field(default_factory=list)
    demanded: list[str] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)
    _count: int = 0

    @property
    def tried(self) -> int:
        """How many edits it tried."""
        return self._count

    def edit(self) -> bool:
        """Make one edit on top of the branch; return whether the remote took it."""
        edits: list[Callable[[], Mapping[str, str]]] = [
            *(self._scale, self._scale, self._taint, self._recover),
            *(self._rebalance, self._break, self._mend),
        ]
        return self._push(self.choice.choice(edits))

    def scale(self) -> bool:
        """Give a workload other replicas; return whether the remote took it."""
        return self._push(self._scale)

    def place(self, path: str) -> str:
        """Return where a file of the fleet is in the repository."""
        return f"{self.root}/{path}" if self.root else path

    def mend_all(self) -> None:
        """Leave nothing broken."""
        while self.broken:
            self._push(self._mend)

    def _push(self, make: Callable[[], Mapping[str, str]]) -> bool:
        self._count += 1
        if not self._fetch():
            return False
        self.checkout.git("reset", "--hard", "--quiet", "refs/remotes/origin/main")
        identity = f"{self.name}-{self._count}"
        before = dict(self.broken)
        files = make()
        placed = {self.place(path): content for path, content in files.items()}
        self.checkout.commit(placed, f"Edit {identity}")
        if not self._git("push", "--quiet", "origin", "HEAD:refs/heads/main"):
            self.broken = before
            return False
        self.pushed.append(identity)
        self.demanded += [
            path.split("/")[1].removesuffix(".yaml")
            for path in files
            if path.startswith("rebalancers/")
        ]
        return True

    def _fetch(self) -> bool:
        """Fetch the branch, rewritten or not; the remote may fail."""
        return self._git(
            "fetch", "--quiet", "origin", "--no-tags", "+refs/heads/main:refs/remotes/origin/main"
        )

    def _git(self, *arguments: str) -> bool:
        """Run git, and return whether the remote took part."""
        finished = subprocess.run(
            ["git", *arguments],
            cwd=self.checkout.folder,
            env=ENVIRONMENT,
            capture_output=True,
            check=False,
        )
        return finished.returncode == 0

    def _scale(self) -> Mapping[str, str]:
        name = self.choice.choice(WORKLOADS)
        path = f"workloads/{name}.yaml"
        self.broken.pop(path, None)
        replicas = self.choice.randint(1, 30)
        return {path: text(deployment(name, replicas=replicas, labels={"edit": self._stamp()}))}

    def _taint(self) -> Mapping[str, str]:
        name = self.choice.choice(CLUSTERS[1:])  # one is always there
        found = self.choice.choice([NO_SCHEDULE, NO_EXECUTE])
        return self._cluster(name, cluster(name, taints=[found], labels={"edit": self._stamp()}))

    def _recover(self) -> Mapping[str, str]:
        name = self.choice.choice(CLUSTERS)
        return self._cluster(name, cluster(name, labels={"edit": self._stamp()}))

    def _cluster(self, name: str, body: Mapping[str, object]) -> Mapping[str, str]:
        path = f"clusters/{name}.yaml"
        self.broken.pop(path, None)
        return {path: text(body)}

    def _rebalance(self) -> Mapping[str, str]:
        name = f"r-{self._stamp()}"
        ttl = self.choice.choice([None, 0, 2, 3600])
        wanted = [target(name=self.choice.choice(WORKLOADS))]
        return {f"rebalancers/{name}.yaml": text(rebalancer(name, *wanted, ttl=ttl))}

    def _break(self) -> Mapping[str, str]:
        path = f"workloads/{self.choice.choice(WORKLOADS)}.yaml"
        whole = (self.checkout.folder / self.place(path)).read_text()
        if path in self.broken or "metadata" not in whole:
            return self._scale()
        self.broken[path] = whole
        return {path: whole[: whole.index("metadata")] + f"# {self._stamp()}"}

    def _mend(self) -> Mapping[str, str]:
        if not self.broken:
            return self._scale()
        path = min(self.broken)
        return {path: f"{self.broken.pop(path)}# mended by {self._stamp()}\n"}

    def _stamp(self) -> str:
        return f"{self.name}-{self._count}"


def new_writer(name: str, remote: Path, folder: Path, seed: int, root: str = "") -> Writer:
    """Clone the remote for one more person, who edits the fleet in a folder of it."""
    place = folder / name
    git(folder, "clone", "--quiet", str(remote), str(place))
    choice = random.Random(f"{seed} {name}")  # noqa: S311  # to be repeated, no secret
    return Writer(name=name, checkout=Checkout(place), choice=choice, root=root)

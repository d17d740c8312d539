"""The way of an operator from a hub to us and back: what the page says, run by a real kubectl."""

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.model.body import Body
from tests.delivery.kubectl import kubectl
from tests.imports.switches import FOLDERS
from tests.kube.served_kinds import DEPLOYMENT
from tests.kube.server import contexts
from tests.kube.store import Store
from tests.shell.fleet import PATIENCE_SECONDS, ROOT, run_pass
from tests.shell.repositories import Checkout, new_checkout

YEAR = 365 * 24 * 3600  # passes must come after the moment of the import
TYPES = ("--workloads", "deployments.apps")
DEFAULT = "-n default"
FORCED = ("--server-side", "--force-conflicts", "--validate=false")
TAKEN = ("apply", *FORCED, "--field-manager=kustomize-controller")
"""What Flux does with a folder."""


@dataclass
class Journey:
    """An operator with a repository, and a fleet that is still under its hub.

    Attributes:
        api: Of the hub, as the page calls it.
        folder: Where exports go.
        fleet: The repository.
        stores: Every API server by its context.
        members: The contexts of the member clusters.
        turn: Lets whatever controllers run do what they do.
        environment: In which kubectl finds the servers.
        capsys: What commands print.
    """

    api: str
    folder: Path
    fleet: Checkout
    stores: Mapping[str, Store]
    members: tuple[str, ...]
    turn: Callable[[], None]
    environment: Mapping[str, str]
    capsys: pytest.CaptureFixture[str]
    passes: int = 0
    uids: dict[str, str] = field(default_factory=dict)

    def do(self, step: str) -> None:
        """Do what the page says of a step, in each member if of one; let controllers run twice."""
        first, *rest = self.members
        for line in commands(self.api, step):
            for name in (first, *(rest if first in line else ())):
                self.shell(line.replace(first, name))
        self.turn()
        self.turn()

    def shell(self, line: str) -> str:
        """Run a line as a shell does."""
        finished = subprocess.run(
            ["bash", "-c", line],
            env=self.environment,
            cwd=self.fleet.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        assert 0 == finished.returncode, (line, finished.stdout, finished.stderr)
        return finished.stdout

    def reconciler(self, *arguments: str) -> tuple[int, str]:
        """Run one of our verbs; return its exit code and what it prints."""
        code = run(["-C", str(self.fleet.folder), *arguments])
        shown = self.capsys.readouterr()
        return code, f"{shown.out}{shown.err}"

    def shown(self, *names: str, whole: bool = True) -> list[str]:
        """Return exports of what some servers have, made by kubectl.

        Args:
            names: The contexts.
            whole: Whether Deployments of other namespaces than `default` are asked for.
        """
        paths = []
        for name in names:
            others = [one for one in self.stores[name].resources if one != DEPLOYMENT]
            asked = {"others": (others, "-A"), "all": ([DEPLOYMENT], "-A" if whole else DEFAULT)}
            for part, (resources, scope) in asked.items():
                kinds = ",".join(f"{one.plural}.{one.group}".rstrip(".") for one in resources)
                if kinds:
                    told = self.shell(f"kubectl --context {name} get {kinds} {scope} -o json")
                    paths.append(self.folder / f"{name}-{part}.json")
                    paths[-1].write_text(told, encoding="utf-8")
        return [str(path) for path in paths]

    def adopt(self, *names: str) -> None:
        """Import and adopt what some servers have, and commit what came."""
        sources = self.shown(*names, whole=False)
        code, told = self.reconciler("import", *sources, *TYPES, "--adopt")
        assert 0 == code, told
        self.fleet.git("add", "--all")
        self.fleet.git("commit", "--quiet", "--allow-empty", "--message=Adopt the hub")

    def checked(self, *names: str) -> tuple[int, str]:
        """Return the exit code of `--check`, and what it prints of what some servers have."""
        return self.reconciler("import", *self.shown(*names), *TYPES, "--check")

    def left(self, *names: str) -> dict[str, str]:
        """Return the steps that `--check` says are not done, with their state."""
        code, told = self.checked(*names)
        rows = re.findall(r"^(\w+) +(open|unseen|members)\b", told, re.MULTILINE)
        assert code == int(any(state != "members" for _, state in rows)), told
        return dict(rows)

    def decide(self) -> None:
        """Run a pass."""
        self.passes += 1
        run_pass(self.fleet.folder, YEAR + 60 * self.passes)

    def deliver_to(self, hub: str, folder: str) -> None:
        """Run a pass, and have Flux apply what it delivers to the agents of a hub."""
        self.decide()
        self.shell(f"kubectl --context {hub} {' '.join(TAKEN)} -R -f {folder}")

    def deliver(self) -> None:
        """Run a pass, and have Flux apply what it delivers to the members."""
        self.decide()
        for name in self.members:
            self.shell(f"kubectl --context {name} {' '.join(TAKEN)} -k delivery/{name}")

    def commit(self, files: Mapping[str, str]) -> None:
        """Commit files of a person."""
        self.fleet.commit(files, "Edit")

    def start_delivery(self, configuration: str = FOLDERS) -> None:
        """Configure it."""
        self.commit({"reconciler.yaml": configuration})

    def workloads(self) -> dict[str, Body]:
        """Return the Deployments that members run, by `context/name`."""
        return {
            f"{name}/{one['metadata']['name']}": one  # type: ignore[index]
            for name in self.members
            for one in self.stores[name].all("Deployment")
            if one["metadata"]["namespace"] == "default"  # type: ignore[index]
        }

    def note(self) -> None:
        """Remember what runs."""
        self.uids = self._uids()
        assert self.uids

    def assert_nothing_is_recreated(self) -> None:
        """The same objects run that ran at first, and none of them was away meanwhile."""
        gone = [
            line for name in self.members for line in self.stores[name].log if "deleted" in line
        ]

        assert [] == [line for line in gone if "Deployment" in line]
        assert self.uids == self._uids()

    def replicas(self) -> dict[str, object]:
        """Return the replicas of what members run."""
        return {name: one["spec"]["replicas"] for name, one in self.workloads().items()}  # type: ignore[index]

    def generations(self) -> dict[str, object]:
        """Return how often the specs of what members run have changed."""
        return {n: one["metadata"]["generation"] for n, one in self.workloads().items()}  # type: ignore[index]

    def images(self) -> dict[str, object]:
        """Return the images of what members run."""
        return {
            name: one["spec"]["template"]["spec"]["containers"][0]["image"]  # type: ignore[index]
            for name, one in self.workloads().items()
        }

    def managers(self, name: str) -> set[str]:
        """Return who has set fields of something that runs."""
        listed = self.workloads()[name]["metadata"]["managedFields"]  # type: ignore[index]
        return {one["manager"] for one in listed}

    def _uids(self) -> dict[str, str]:
        return {name: one["metadata"]["uid"] for name, one in self.workloads().items()}  # type: ignore[index]


def shadow_report() -> list[str]:
    """Return the lines that the page shows of a hub that moved something."""
    page = (ROOT / "docs/adopt.md").read_text(encoding="utf-8")
    (found,) = re.findall(r"<!-- shadow -->\n```\n(.*?)```", page, re.DOTALL)
    return [line for line in str(found).splitlines() if line != "..."]


def commands(api: str, step: str) -> list[str]:
    """Return the commands that the page shows for a step of an API."""
    page = (ROOT / "docs/adopt.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"<!-- {api}: {step} -->\n```shell\n(.*?)```", page, re.DOTALL)
    return str(found).splitlines()


@contextmanager
def journey(
    api: str,
    folder: Path,
    stores: Mapping[str, Store],
    members: tuple[str, ...],
    turn: Callable[[], None],
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Journey]:
    """Serve the API servers, and yield an operator with an empty repository."""
    with contexts(folder, stores) as config, pytest.MonkeyPatch.context() as patch:
        path = f"{kubectl().parent}:{os.environ['PATH']}"
        environment = {"KUBECONFIG": str(config), "HOME": str(folder), "PATH": path}
        for name, value in environment.items():
            patch.setenv(name, value)
        for store in stores.values():
            store.watched = turn
        fleet = new_checkout(folder / "fleet", {"README.md": "Ours.\n"})
        yield Journey(api, folder, fleet, stores, members, turn, environment, capsys)

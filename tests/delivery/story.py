"""Stories over real commits: what people and clusters commit, and what folders hold after it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.builders import Body, deployment, metadata, path_of, rebalancer, target, text
from tests.shell.fleet import EXAMPLE, run_pass
from tests.shell.repositories import Checkout, new_checkout


def files_of(*bodies: Body) -> dict[str, str]:
    """Each object in its file."""
    return {path_of(body): text(body) for body in bodies}


@dataclass(frozen=True)
class Step:
    """What a person or a cluster commits, so many seconds after the start, and what comes of it.

    Attributes:
        told: Of the row in the table.
        seconds: After the start.
        files: What is committed.
        where: What the folders hold afterwards.
        gone: Files that are removed with it.
        edit: A file with what a person replaces in it, and by what.
    """

    told: str
    seconds: int
    files: Mapping[str, str]
    where: str
    gone: Sequence[str] = ()
    edit: tuple[str, str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class DeliveryStory:
    """One story.

    Attributes:
        name: Of the table in docs/delivery.md.
        column: What the table shows beside the steps.
        files: What the repository begins with.
        steps: In order; each is a commit if it has files, and a pass.
        clusters: Those whose folders are looked at, in the order of the table.
        path: The file in the folder of a cluster that is looked at.
        fact: What of it is shown: its first group, `none` where that is empty.
    """

    name: str
    column: str
    files: Mapping[str, str]
    steps: Sequence[Step]
    clusters: Sequence[str]
    path: str
    fact: str

    def begin(self, folder: Path) -> Checkout:
        """Return the repository as it begins."""
        return new_checkout(folder, dict(self.files))

    def tell(self, fleet: Checkout, number: int | None = None) -> Iterator[str]:
        """Take the first steps, or all, and yield what the folders hold after each."""
        for step in self.steps[:number]:
            _commit(fleet, step)
            run_pass(fleet.folder, step.seconds)
            yield ", ".join(f"{name}: {fact}" for name, fact in self.where(fleet)) or "nowhere"

    def where(self, fleet: Checkout) -> Iterator[tuple[str, str]]:
        """Yield the clusters that have the file, with what is shown of it."""
        for name in self.clusters:
            path = fleet.folder / "delivery" / name / self.path
            if path.exists():
                found = re.search(self.fact, path.read_text(), re.MULTILINE)
                assert found is not None
                yield name, found[1] or "none"


def _commit(fleet: Checkout, step: Step) -> None:
    """Commit what a step says, if it says anything."""
    files = dict(step.files)
    if step.edit is not None:
        path, old, new = step.edit
        written = (fleet.folder / path).read_text(encoding="utf-8")
        assert old in written
        files[path] = written.replace(old, new)
    for path in step.gone:
        fleet.git("rm", "-q", path)
    if files or step.gone:
        fleet.commit(files, step.told)


CONFIGURATION = """\
apiVersion: reconciler.dev/v1alpha1
kind: ReconcilerConfiguration
metadata: {name: fleet}
spec:
  feedback: {assumeAfterSeconds: null}
  delivery: {folders: {}}
"""
TOLERANT = EXAMPLE["policies/shop.yaml"].replace("tolerationSeconds: 0", "tolerationSeconds: 60")
DOWN = EXAMPLE["clusters/member1.yaml"] + (
    "status:\n"
    "  conditions:\n"
    "  - type: Ready\n"
    '    status: "False"\n'
    "    reason: PowerLost\n"
    '    lastTransitionTime: "2026-11-20T12:02:00Z"\n'
)
MEMBER1 = "clusters/member1.yaml"


def healthy(name: str, namespace: str = "default", *, replicas: int = 2) -> str:
    """What a cluster says of a Deployment once all of it runs."""
    ready = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas"), replicas)
    body = {
        **deployment(name, replicas=replicas),
        "metadata": {**metadata(name, namespace), "generation": 1},
        "status": {**ready, "updatedReplicas": replicas, "observedGeneration": 1},
    }
    return text(body)


FIRST, SECOND = ({f"feedback/{name}/shop.yaml": healthy("shop")} for name in ("member1", "backup1"))
BACK = {"rebalancers/back.yaml": text(rebalancer("back", target(name="shop")))}
KARMADA = DeliveryStory(
    name="karmada",
    column="the folders that have the shop, with its replicas",
    files={**EXAMPLE, "reconciler.yaml": CONFIGURATION, "policies/shop.yaml": TOLERANT},
    clusters=("member1", "member2", "backup1"),
    path="default/deployments.apps/shop.yaml",
    fact=r"^  replicas: (\d+)$",
    steps=(
        Step("the shop is merged", 0, {}, "member1: 2"),
        Step("member1 reports that it runs", 60, FIRST, "member1: 2"),
        Step("member1 fails; that is tolerated for a minute", 121, {MEMBER1: DOWN}, "member1: 2"),
        Step("the minute is over: the shop is evicted", 181, {}, "member1: 2, backup1: 2"),
        Step(
            "backup1 reports that it runs: the eviction ends",
            240,
            SECOND,
            "backup1: 2",
        ),
        Step("member1 is back; that moves nothing", 300, {MEMBER1: EXAMPLE[MEMBER1]}, "backup1: 2"),
        Step("a rebalancer is merged", 360, BACK, "member1: 2"),
    ),
)

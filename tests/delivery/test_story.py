"""The whole way, over real commits: a cluster fails, its work moves, comes back, folders follow."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.builders import deployment, metadata, rebalancer, target, text
from tests.cli.history import answer
from tests.shell.fleet import EXAMPLE, ROOT, new_fleet, run_pass
from tests.shell.repositories import Checkout
from tests.told_blocks import missing
from tests.told_blocks import told as told_in

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
SHOP = "default/deployments.apps/shop.yaml"
CLUSTERS = ("member1", "member2", "backup1")
TABLE = re.compile(r"<!-- story -->\n(.*?)\n\n", re.DOTALL)


@dataclass(frozen=True)
class Step:
    """What a person or a cluster commits, so many seconds after the start, and what comes of it."""

    told: str
    seconds: int
    files: dict[str, str]
    where: str


def healthy(replicas: int) -> str:
    """What a cluster says of the shop once all of it runs."""
    ready = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas"), replicas)
    body = {
        **deployment("shop", replicas=replicas),
        "metadata": {**metadata("shop", "default"), "generation": 1},
        "status": {**ready, "updatedReplicas": replicas, "observedGeneration": 1},
    }
    return text(body)


REPORTED = {name: {f"feedback/{name}/shop.yaml": healthy(2)} for name in ("member1", "backup1")}
BACK = {"rebalancers/back.yaml": text(rebalancer("back", target(name="shop")))}
MEMBER1 = "clusters/member1.yaml"
STEPS = (
    Step("the shop is merged", 0, {}, "member1: 2"),
    Step("member1 reports that it runs", 60, REPORTED["member1"], "member1: 2"),
    Step("member1 fails; that is tolerated for a minute", 121, {MEMBER1: DOWN}, "member1: 2"),
    Step("the minute is over: the shop is evicted", 181, {}, "member1: 2, backup1: 2"),
    Step("backup1 reports that it runs: the eviction ends", 240, REPORTED["backup1"], "backup1: 2"),
    Step("member1 is back; that moves nothing", 300, {MEMBER1: EXAMPLE[MEMBER1]}, "backup1: 2"),
    Step("a rebalancer is merged", 360, BACK, "member1: 2"),
)


def where(fleet: Checkout) -> str:
    """The clusters whose folders have the shop, with the replicas there."""
    found = []
    for name in CLUSTERS:
        path = fleet.folder / "delivery" / name / SHOP
        if path.exists():
            replicas = re.search(r"^  replicas: (\d+)$", path.read_text(), re.MULTILINE)
            assert replicas is not None
            found.append(f"{name}: {replicas[1]}")
    return ", ".join(found)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Where the shop is after each step."""
    files = {"reconciler.yaml": CONFIGURATION, "policies/shop.yaml": TOLERANT}
    fleet = new_fleet(tmp_path_factory.mktemp("story") / "fleet", files)
    found = []
    for step in STEPS:
        if step.files:
            fleet.commit(step.files, step.told)
        run_pass(fleet.folder, step.seconds)
        found.append(where(fleet))
    return found


@pytest.mark.parametrize("number", range(len(STEPS)), ids=[step.told for step in STEPS])
def test_folders_follow_each_step(told: list[str], number: int) -> None:
    """A cluster that is left keeps its copy until the next one is healthy."""
    assert STEPS[number].where == told[number]


def test_the_page_tells_the_story_as_it_went(told: list[str]) -> None:
    """docs/delivery.md has a row for each step."""
    page = (ROOT / "docs" / "delivery.md").read_text()
    found = TABLE.search(page)
    rows = [f"| {step.told} | {where} |" for step, where in zip(STEPS, told, strict=True)]

    assert found is not None
    assert [
        "| step | the folders that have the shop, with its replicas |",
        "| --- | --- |",
        *rows,
    ] == (found[1].splitlines())


def test_every_step_is_proven(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was delivered is computed again from what was decided."""
    files = {"reconciler.yaml": CONFIGURATION, "policies/shop.yaml": TOLERANT}
    fleet = new_fleet(tmp_path / "fleet", files)
    for step in STEPS:
        if step.files:
            fleet.commit(step.files, step.told)
        run_pass(fleet.folder, step.seconds)

    assert 0 == verified(fleet)
    path = f"delivery/member1/{SHOP}"
    forged = (fleet.folder / path).read_text().replace("replicas: 2", "replicas: 3")
    fleet.commit({path: forged}, "Forge")
    fleet.git("reset", "--soft", "-q", "HEAD~2")
    fleet.git("commit", "-q", "-C", "HEAD@{1}~1")
    assert 1 == verified(fleet)
    capsys.readouterr()


def test_the_page_shows_the_tree_while_the_eviction_lasts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To the letter."""
    files = {"reconciler.yaml": CONFIGURATION, "policies/shop.yaml": TOLERANT}
    fleet = new_fleet(tmp_path / "fleet", files)
    for step in STEPS[:4]:
        if step.files:
            fleet.commit(step.files, step.told)
        run_pass(fleet.folder, step.seconds)
    ((words, pieces),) = told_in("docs/delivery.md")

    assert "" == missing(pieces, answer(fleet, capsys, *words.split())[1])


def verified(fleet: Checkout) -> int:
    """The exit code of `verify`."""
    from reconciler.cli.main import run

    return run(["-C", str(fleet.folder), "--cache-dir", "off", "verify"])

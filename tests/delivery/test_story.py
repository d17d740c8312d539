"""The whole way, over real commits: clusters fail, work moves and comes back, folders follow."""

import re
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.cli.history import answer
from tests.delivery.failover_story import DIRECTLY, GRACEFULLY, NEVER
from tests.delivery.karmada_story import KARMADA
from tests.delivery.kubefleet_story import KUBEFLEET
from tests.delivery.ocm_story import OCM
from tests.delivery.story import DeliveryStory
from tests.shell.fleet import ROOT
from tests.shell.repositories import Checkout
from tests.told_blocks import missing, told

Capsys = pytest.CaptureFixture[str]
STORIES = {story.name: story for story in (KARMADA, DIRECTLY, GRACEFULLY, NEVER, OCM, KUBEFLEET)}
STEPS = [
    pytest.param(name, number, id=f"{name}-{number + 1}-{step.told}")
    for name, story in STORIES.items()
    for number, step in enumerate(story.steps)
]
PAGE = "docs/delivery.md"


@pytest.fixture(scope="module")
def fleets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Checkout, list[str]]]:
    """By story: its repository after all steps, and what the folders held after each."""
    found = {}
    for name, story in STORIES.items():
        fleet = story.begin(tmp_path_factory.mktemp(name) / "fleet")
        found[name] = (fleet, list(story.tell(fleet)))
    return found


@pytest.mark.parametrize(("name", "number"), STEPS)
def test_folders_follow_each_step(
    fleets: dict[str, tuple[Checkout, list[str]]], name: str, number: int
) -> None:
    """A cluster that is left keeps its copy until the next one is healthy."""
    assert STORIES[name].steps[number].where == fleets[name][1][number]


@pytest.mark.parametrize("name", STORIES)
def test_the_page_tells_the_story_as_it_went(
    fleets: dict[str, tuple[Checkout, list[str]]], name: str
) -> None:
    """docs/delivery.md has a row for each step."""
    story = STORIES[name]
    rows = zip(story.steps, fleets[name][1], strict=True)

    assert [
        f"| step | {story.column} |",
        "| --- | --- |",
        *(f"| {step.told} | {where} |" for step, where in rows),
    ] == table(story)


def table(story: DeliveryStory) -> list[str]:
    """The lines of the table that the page has of a story."""
    page = (ROOT / PAGE).read_text()
    found = re.search(rf"<!-- story of {story.name} -->\n(.*?)\n\n", page, re.DOTALL)
    assert found is not None
    return found[1].splitlines()


@pytest.mark.parametrize("name", STORIES)
def test_every_step_is_proven(
    fleets: dict[str, tuple[Checkout, list[str]]], name: str, capsys: Capsys
) -> None:
    """Delivered files are computed again from decisions; edits of these are told."""
    edited = any(step.edit for step in STORIES[name].steps)

    assert int(edited) == verified(fleets[name][0])
    capsys.readouterr()


def test_a_forged_delivery_is_found(tmp_path: Path, capsys: Capsys) -> None:
    """Though the commit that has it says that a pass made it."""
    fleet = KARMADA.begin(tmp_path / "fleet")
    list(KARMADA.tell(fleet))
    path = f"delivery/member1/{KARMADA.path}"
    forged = (fleet.folder / path).read_text().replace("replicas: 2", "replicas: 3")
    fleet.commit({path: forged}, "Forge")
    fleet.git("reset", "--soft", "-q", "HEAD~2")
    fleet.git("commit", "-q", "-C", "HEAD@{1}~1")

    assert 1 == verified(fleet)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("position", "story"),
    [pytest.param(0, DIRECTLY, id="direct"), pytest.param(1, KARMADA, id="graceful")],
)
def test_the_page_shows_the_tree_while_the_eviction_lasts(
    position: int, story: DeliveryStory, tmp_path: Path, capsys: Capsys
) -> None:
    """To the letter."""
    fleet = story.begin(tmp_path / "fleet")
    list(story.tell(fleet, 4))
    words, pieces = told(PAGE)[position]

    assert "" == missing(pieces, answer(fleet, capsys, *words.split())[1])


def verified(fleet: Checkout) -> int:
    """The exit code of `verify`."""
    return run(["-C", str(fleet.folder), "--cache-dir", "off", "verify"])

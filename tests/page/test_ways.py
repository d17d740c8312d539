"""The ways through the page, in a real Chromium: from what is wrong to what is done about it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.builders import cluster, cluster_status, deployment, policy, selector, text
from tests.page.browser import MISSING, Browser, chromium
from tests.page.served import VIEWS, ServedPage, served_page
from tests.shell.fleet import run_pass
from tests.shell.repositories import NOW, Checkout, new_checkout

LABELS = {"app": "web"}
TEMPLATE = {
    "metadata": {"labels": LABELS},
    "spec": {"containers": [{"name": "web", "image": "web:1"}]},
}
WEB = {  # with what Kubernetes asks of it, so that validate has nothing to say
    **deployment("web"),
    "spec": {"replicas": 4, "selector": {"matchLabels": LABELS}, "template": TEMPLATE},
}
FILES = {
    **{
        f"clusters/{n}.yaml": text(cluster(n, status=cluster_status()))
        for n in ("alpha", "beta", "gamma")
    },
    "web.yaml": text(WEB),
    "policy.yaml": text(policy(selectors=[selector(name="web")])),
}
DOWN = {"clusters/alpha.yaml": text(cluster("alpha", status=cluster_status("False", since=NOW)))}

pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=MISSING or "there"),
    pytest.mark.cpu_seconds(120),
    pytest.mark.xdist_group("browser"),
]


def here(path: str) -> str:
    """Return a view of this fleet for one of the example's."""
    return re.sub("member[12]", "alpha", path).replace("shop", "web")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A workload on three clusters, of which one fails."""
    fleet = new_checkout(tmp_path_factory.mktemp("ways") / "fleet", FILES)
    run_pass(fleet.folder, 0)
    fleet.commit(DOWN, "Report that alpha is down")
    run_pass(fleet.folder, 600)
    return fleet


@pytest.fixture(scope="module")
def page(fleet: Checkout) -> Iterator[ServedPage]:
    """It, served."""
    with served_page(fleet.folder) as found:
        yield found


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A person in front of a browser."""
    with chromium(tmp_path_factory.mktemp("profile"), size="1280,2600") as found:
        yield found


def test_from_a_cluster_that_fails_to_a_rebalance_on_a_branch(
    fleet: Checkout, page: ServedPage, person: Browser
) -> None:
    """What is wrong, the cluster, what left it, why, and what is done about it."""
    person.open(f"{page.address}/timeline")
    person.click("link", "1 cluster not ready")
    person.click("link", "alpha")
    assert "False" in person.words_of("row", "Ready")
    person.click("link", "deployment/web")
    row = person.words_of("row", "evicted")
    assert "Ada: Report that alpha is down" in row
    person.click("link", "Rebalance it")
    person.until("document.querySelector('pre') !== null")
    [command, *_] = person.texts(".command code")

    assert "kind: WorkloadRebalancer" in person.text()
    words = command.split()
    assert ["reconciler", "rebalance", "deployment.apps/web"] == words[:3]
    assert 0 == run(["-C", str(fleet.folder), *words[1:]])
    branch = words[-1].removeprefix("--branch=")
    files = fleet.git("show", "--name-only", "--format=%s", branch)
    assert "rebalancers/rebalance-web.yaml" in files


def test_any_object_is_two_actions_away(page: ServedPage, person: Browser) -> None:
    """From every view: a key and a word, which is its name."""
    for path in VIEWS[:4]:
        person.open(f"{page.address}{here(path)}")
        person.driver.find_element("tag name", "body").send_keys("/")
        person.driver.switch_to.active_element.send_keys("deployment/web\ue007")
        person.until("location.pathname === '/object'")


def test_the_search_suggests_while_somebody_types(page: ServedPage, person: Browser) -> None:
    """By the keyboard alone: down to a result, Enter, and it is there; Escape closes the list."""
    shown = "document.querySelector('#suggestions').hidden"
    person.open(page.address)
    find = person.driver.find_element("id", "find")
    find.send_keys("we")
    person.until(f"!{shown}")
    told = person.texts("#suggestions a")
    find.send_keys("\ue015")
    active = person.run("document.activeElement.textContent")
    person.driver.switch_to.active_element.send_keys("\ue00c")
    closed = person.run(shown)
    find.send_keys("b")
    person.until(f"!{shown}")
    find.send_keys("\ue015")
    person.driver.switch_to.active_element.send_keys("\ue007")
    person.until("location.pathname === '/object'")

    assert "deployment/web" == told[0] == active
    assert closed


def test_control_k_leads_to_the_search(page: ServedPage, person: Browser) -> None:
    """As in other tools."""
    person.open(page.address)
    person.driver.find_element("tag name", "body").send_keys("\ue009k")

    assert "find" == person.run("document.activeElement.id")


def test_every_view_is_found_and_read_without_a_script(page: ServedPage, tmp_path: Path) -> None:
    """The field is a form, and its results are a page."""
    with chromium(tmp_path, script=False) as reader:
        reader.open(page.address)
        reader.driver.find_element("id", "find").send_keys("web")
        reader.click("button", "Find")

        assert "Where it runs" in reader.text()


def test_each_command_says_what_the_view_shows(page: ServedPage, person: Browser) -> None:
    """It runs as it stands there."""
    said: dict[str, str] = {}
    for path in VIEWS:
        person.open(f"{page.address}{here(path)}")
        said |= dict.fromkeys(person.texts(".command code"), path)
    failed: dict[str, int] = {}
    for command in said:
        words = command.replace("'", "").split()
        if "--branch" not in command:
            code = run(["-C", str(page.folder), *words[1:]])
            failed |= {command: code} if code else {}

    assert len(said) > 5
    assert {} == failed

"""The page in a real Chromium: found by role and text, by mouse and by keyboard."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.support.ui import Select

from reconciler.cli.main import run
from reconciler.cli.page.views import FEW_PLACED
from tests.builders import cluster, deployment, policy, text
from tests.cli.history import told_fleet
from tests.page.browser import AXE, MISSING, Browser, chromium
from tests.page.served import VIEWS, ServedPage, served_page
from tests.shell.fleet import EXAMPLE, run_pass
from tests.shell.repositories import Checkout, new_checkout

IMAGE = "x<img src=a onerror=alert(1)>.yaml"

pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=MISSING or "there"),
    pytest.mark.cpu_seconds(120),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """A fleet with three passes, served."""
    fleet = told_fleet(tmp_path_factory.mktemp("browser") / "fleet")
    with served_page(fleet.folder) as found:
        yield found


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A person in front of a browser."""
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


def test_where_a_workload_runs_is_one_click_away(page: ServedPage, person: Browser) -> None:
    """From the fleet to the matrix: the row of the workload, the column of the cluster."""
    person.open(page.address)
    person.click("link", "Matrix")

    head = person.words_of("row", "object").split()
    cells = person.driver.find_elements("xpath", "//tr[th/a[.='deployment/shop']]/*")
    assert "5" == cells[head.index("backup1")].text
    assert "" == cells[head.index("member1")].text


def test_why_it_left_a_cluster_is_two_clicks_away(page: ServedPage, person: Browser) -> None:
    """From the fleet by the matrix to the object: from, to, why, and whose commit."""
    person.open(page.address)
    person.click("link", "Matrix")
    person.click("link", "deployment/shop")

    row = person.words_of("row", "member1(5)")
    assert "backup1(5) evicted (member1: toleration of cluster.karmada.io" in row
    assert "Ada: Report that member1 is down" in row


def test_what_comes_next_and_when_is_one_click_away(page: ServedPage, person: Browser) -> None:
    """What happens by itself, in the order of time."""
    person.open(page.address)
    person.click("link", "Upcoming")

    assert (
        "default/frontend: now member1(4), member2(2); member1 is not ready and tolerated until "
        "2026-11-20T12:06:30Z, then 4 replicas leave member1" in person.text()
    )


def test_the_slider_moves_the_fleet(page: ServedPage, person: Browser) -> None:
    """By the keyboard, to the oldest pass: the workload is where it was then."""
    person.open(f"{page.address}/timeline")
    person.driver.find_element("css selector", "input[type=range]").send_keys("\ue011")
    person.until("location.search.includes('step=0')")

    assert "deployment/shop 1 2 2" == person.row_of("deployment/shop", "1 2 2")


def test_why_opens_and_closes_by_the_keyboard(page: ServedPage, person: Browser) -> None:
    """As any details do."""
    person.open(f"{page.address}{VIEWS[-1]}")
    summary = person.driver.find_element("css selector", ".why summary")
    inside = person.driver.find_element("css selector", ".why table")

    shown = [inside.is_displayed()]
    for _ in range(2):
        summary.send_keys("\ue007")
        shown.append(inside.is_displayed())

    assert [True, False, True] == shown


def test_a_pass_renews_the_page(tmp_path: Path, person: Browser) -> None:
    """Without a click: what was decided meanwhile is there, and it is said."""
    fleet = told_fleet(tmp_path / "fleet")
    with served_page(fleet.folder) as page:
        person.open(f"{page.address}/matrix")
        scaled = EXAMPLE["workloads/shop.yaml"].replace("replicas: 2", "replicas: 8")
        fleet.commit({"workloads/shop.yaml": scaled}, "Scale the shop again")
        run_pass(fleet.folder, 180)
        page.renew()
        person.until("document.querySelector('#news').textContent.includes('Renewed')")

        row = person.row_of("deployment/shop", "1 8 8")
        person.open("about:blank")

    assert "deployment/shop 1 8 8" == row


def test_what_if_answers_a_form(page: ServedPage, person: Browser) -> None:
    """The cluster is chosen from a list, the answer is drawn and listed."""
    person.open(page.address)
    person.click("link", "What if")
    clusters = Select(person.driver.find_element("name", "fail"))
    assert {"none", "member1", "member2"} <= {one.text for one in clusters.options}
    clusters.select_by_visible_text("member2")
    person.click("button", "What would move?")

    person.until("location.search.includes('fail=member2')")
    person.until("document.querySelector('svg.flows') !== null")
    assert "Simulation: " in person.find("heading", "Simulation").text
    assert "member2 fails, 3600 seconds later" in person.text()


def test_a_plan_offers_the_branches_that_there_are(tmp_path: Path, person: Browser) -> None:
    """None of them is typed; where there is no other, it is said how to have one."""
    fleet = told_fleet(tmp_path / "fleet")
    with served_page(fleet.folder) as page:
        person.open(f"{page.address}/plan")
        none = person.text()
        fleet.git("branch", "topic")
        person.open(f"{page.address}/plan")
        branches = Select(person.driver.find_element("name", "branch"))
        offered = [one.text for one in branches.options]
        branches.select_by_visible_text("topic")
        person.click("button", "What would merging it move?")
        person.until("location.search.includes('branch=topic')")
        said = person.find("heading", "Plan of topic").text
        person.open("about:blank")

    assert "There is no other branch here." in none
    assert (["choose one", "topic"], "Plan of topic") == (offered, said)


def test_everything_is_reached_by_the_keyboard(page: ServedPage, person: Browser) -> None:
    """The first stop skips the menu, each further one can be seen, and Enter follows a link."""
    person.open(page.address)
    active = "document.activeElement"
    stops = []
    for _ in range(10):
        person.driver.switch_to.active_element.send_keys("\ue004")
        stops.append(person.run(f"{active}.textContent.trim()"))
        assert "none" != person.run(f"getComputedStyle({active}).outlineStyle")

    assert ["Skip to the content", "reconciler", "Fleet", "Clusters", "Objects"] == stops[:5]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_no_serious_fault(page: ServedPage, tmp_path: Path, *, dark: bool) -> None:
    """In each view, in both colours: landmarks, names, contrast."""
    if not AXE.exists():
        pytest.skip("no axe-core here: make browser")
    with chromium(tmp_path) as person:
        if dark:
            person.prefer("dark")
        found = {}
        for path in VIEWS:
            person.open(f"{page.address}{path}")
            found[path] = person.faults_of_access()

    assert {path: [] for path in VIEWS} == found  # a list each


def test_dark_is_dark(page: ServedPage, tmp_path: Path) -> None:
    """The system's setting decides."""
    ground = "getComputedStyle(document.body).backgroundColor"
    with chromium(tmp_path) as person:
        person.open(page.address)
        person.until(f"{ground} === 'rgb(255, 255, 255)'")
        person.prefer("dark")
        person.open(page.address)
        person.until(f"{ground} === 'rgb(20, 24, 31)'")


def test_it_reads_without_a_script(page: ServedPage, tmp_path: Path) -> None:
    """Links, forms and the slider's button do all that there is."""
    with chromium(tmp_path, script=False) as person:
        person.open(f"{page.address}/timeline")
        person.driver.find_element("css selector", "input[type=range]").send_keys("\ue011")
        person.click("button", "Show")

        assert "deployment/shop 1 2 2" == person.row_of("deployment/shop", "1 2 2")


def test_the_browser_complains_of_nothing(page: ServedPage, tmp_path: Path) -> None:
    """No policy is broken by our own views, in the report neither."""
    report = tmp_path / "report.html"
    assert 0 == run(["-C", str(page.folder), "report", "-o", str(report)])
    with chromium(tmp_path / "profile") as person:
        for address in (*(f"{page.address}{path}" for path in VIEWS), report.as_uri()):
            person.open(address)
        told = person.complaints()

    assert [] == [line for line in told if "favicon" not in line]


def test_the_report_has_a_slider(page: ServedPage, tmp_path: Path) -> None:
    """From a file, without any server: it shows one pass at a time."""
    report = tmp_path / "report.html"
    assert 0 == run(["-C", str(page.folder), "report", "-o", str(report)])
    with chromium(tmp_path / "profile") as person:
        person.open(report.as_uri())
        shown = "[...document.querySelectorAll('.step')].map((step) => step.hidden)"
        newest = person.run(shown)
        person.driver.find_element("css selector", "input[type=range]").send_keys("\ue011")
        oldest = person.run(shown)

    assert ([True, True, False], [False, True, True]) == (newest, oldest)


def test_of_many_objects_the_rest_comes_by_itself(tmp_path: Path, person: Browser) -> None:
    """An object is shown at once, and why it is there as soon as that is known."""
    files = {f"clusters/c{n}.yaml": text(cluster(f"c{n}")) for n in range(2)}
    files |= {f"w{n:03}.yaml": text(deployment(f"w{n:03}")) for n in range(FEW_PLACED + 1)}
    fleet = new_checkout(tmp_path / "fleet", {**files, "policy.yaml": text(policy("all"))})
    run_pass(fleet.folder, 0)
    address = "/object?group=apps&kind=Deployment&namespace=default&name=w007"
    with served_page(fleet.folder) as page:
        shown = page.get(address).text
        person.open(f"{page.address}{address}")
        person.until("document.querySelector('.why') !== null")
        told = person.text()
        person.open("about:blank")

    assert ("data-then" in shown, "Why, for each cluster" in shown) == (True, False)
    assert "Why, for each cluster" in told
    assert "loaded next" not in told


def test_hostile_names_stay_text(tmp_path: Path, person: Browser) -> None:
    """The name of a file that would be an image is read, and nothing is loaded or run."""
    fleet: Checkout = told_fleet(tmp_path / "fleet")
    fleet.commit(
        {"x<img src=a onerror=alert(1)>.yaml": "apiVersion: v1\nkind: [<script>"}, "Add <b>it</b>"
    )
    run_pass(fleet.folder, 240)
    with served_page(fleet.folder) as page:
        person.open(f"{page.address}/faults")
        told, images = person.text(), person.run("document.images.length")
        person.open("about:blank")

    assert IMAGE in told
    assert 0 == images

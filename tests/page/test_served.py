"""The page without a browser, served or as one file: what it answers, and to whom."""

import base64
import hashlib
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from reconciler.cli.main import run
from reconciler.shell.http.page_access import PageAccess
from reconciler.shell.http.page_endpoints import BranchLook, seen_of
from tests.builders import configmap, text
from tests.cli.history import FAILED, answer, told_fleet
from tests.cli.test_operation import port_in
from tests.page.served import VIEWS, ServedPage, served_page
from tests.shell.fleet import decided_fleet, eventually, new_fleet, reconciler, run_pass, running
from tests.shell.repositories import NOW, Checkout

TOKEN = "correct horse battery staple"  # noqa: S105  # of tests only
HOSTILE = "<script>alert(1)</script>"
FAULTY = {f"x<img src=a onerror=b>{i}.yaml": "apiVersion: v1\nkind: [<script>" for i in range(2)}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedPage]:
    """A fleet with three passes, served."""
    fleet = told_fleet(tmp_path_factory.mktemp("page") / "fleet")
    with served_page(fleet.folder) as found:
        yield found


@pytest.mark.parametrize("path", VIEWS)
def test_each_view_is_a_whole_page_of_the_branch(page: ServedPage, path: str) -> None:
    """With one heading, the menu, and the commit that it shows."""
    answer = page.get(path)

    assert 200 == answer.status
    assert 1 == len(re.findall("<h1>", answer.text))
    assert 'aria-label="Views"' in answer.text
    assert f"main at {page.endpoints.news.revision[:12]}" in answer.text


@pytest.mark.parametrize("path", [*VIEWS, "/style.css", "/script.js", "/events?since=x"])
def test_a_browser_may_load_nothing_but_the_page(page: ServedPage, path: str) -> None:
    """No script or style stands in a page, and none comes from elsewhere."""
    answer = page.get(path)
    policy = answer.headers["content-security-policy"]

    assert "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'" in policy
    assert "unsafe" not in policy
    assert "nosniff" == answer.headers["x-content-type-options"]
    assert [] == re.findall(r"<script(?! src)|<style|\son\w+=|\sstyle=|https?://", answer.text)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_written(page: ServedPage, method: str) -> None:
    """A page is read, whatever the view."""
    assert {405} == {page.get(path.partition("?")[0], method).status for path in VIEWS}


def test_head_is_answered_without_the_page(page: ServedPage) -> None:
    """As for any page."""
    answer = page.get("/", "HEAD")

    assert (200, "") == (answer.status, answer.text)


def test_a_strange_host_is_refused_without_a_token(page: ServedPage) -> None:
    """Else a stranger's page could have its name lead here and read the fleet."""
    assert 403 == page.get("/", headers={"host": "evil.example"}).status
    assert 200 == page.get("/faults", headers={"host": f"localhost:{page.port}"}).status


def test_with_a_token_only_those_who_know_it_are_answered(tmp_path: Path) -> None:
    """As a bearer, or as the password of any user."""
    fleet = new_fleet(tmp_path / "fleet")
    basic = base64.b64encode(f"ada:{TOKEN}".encode()).decode()
    wrong = base64.b64encode(b"ada:wrong").decode()

    with served_page(fleet.folder, PageAccess(token=TOKEN)) as found:
        told = {
            name: found.get("/faults", headers=headers).status
            for name, headers in {
                "nothing": {},
                "bearer": {"authorization": f"Bearer {TOKEN}"},
                "basic": {"authorization": f"Basic {basic}"},
                "wrong": {"authorization": f"Basic {wrong}"},
                "broken": {"authorization": "Basic ***"},
            }.items()
        }

    expected = {"nothing": 401, "bearer": 200, "basic": 200, "wrong": 401, "broken": 401}
    assert expected == told


def test_an_address_for_all_needs_a_token(tmp_path: Path) -> None:
    """Nobody serves a fleet to everybody by mistake."""
    fleet = new_fleet(tmp_path / "fleet")

    found = reconciler(fleet.folder, "serve", "--listen", "0.0.0.0:0")

    assert 2 == found.code
    assert "give the page a token (--page-token-file)" in found.stderr


def test_why_a_workload_left_a_cluster_is_told_with_the_commit(page: ServedPage) -> None:
    """From where to where, the cause, and whose commit it was."""
    text = page.get("/object?group=apps&kind=Deployment&namespace=default&name=shop").text

    [row] = re.findall(r">member1\(5\)</td><td[^>]*>backup1\(5\)</td>(.*)</tr>", text)
    assert "evicted (member1: toleration of cluster.karmada.io" in row
    assert "Ada: Report that member1 is down" in row


def test_what_if_says_what_would_move(page: ServedPage) -> None:
    """As the verb says it."""
    text = page.get("/what-if?scale=deployment/shop%3D9").text

    assert "Simulation: 1 binding changes; 4 replicas start" in text


@pytest.mark.parametrize(
    ("path", "says"),
    [
        pytest.param("/what-if?fail=nobody", "there is no cluster", id="cluster"),
        pytest.param("/plan?branch=nobody", "there is no revision", id="branch"),
        pytest.param("/plan?branch=--help", "there is no revision", id="option"),
        pytest.param("/matrix?selector=)", "selector", id="selector"),
        pytest.param("/timeline?at=HEAD", "must be a commit of this branch", id="commit"),
        pytest.param("/object?kind=X&name=y", "there is no X.core y", id="kind"),
        pytest.param(
            "/object?group=cluster.karmada.io&kind=Cluster&name=member1",
            "is not placed",
            id="cluster-kind",
        ),
    ],
)
def test_a_wrong_question_is_answered_in_a_sentence(page: ServedPage, path: str, says: str) -> None:
    """With what would be right, and no trace."""
    answer = page.get(path)

    assert says in answer.text
    assert "mistake of the reconciler" not in answer.text


def test_labels_choose_as_get_does(page: ServedPage) -> None:
    """The selector of `get -l`."""
    every = page.get("/matrix").text
    none = page.get("/matrix?selector=no-such-label").text

    assert ("deployment/shop" in every, "deployment/shop" in none) == (True, False)


def test_the_fleet_at_an_older_pass_is_as_it_was_then(page: ServedPage) -> None:
    """The slider counts from the oldest pass."""
    rows = [
        re.findall(r"deployment/shop</a></th>(.*)</tr>", page.get(path).text)
        for path in ("/timeline?step=0", "/timeline")
    ]

    assert [[["1", "2", "2"]], [["1", "5", "5"]]] == [
        [re.findall(r">(\d+)<", row) for row in found] for found in rows
    ]


def test_two_passes_are_compared(page: ServedPage) -> None:
    """What is elsewhere, whatever happened in between."""
    ids = re.findall(r'href="timeline\?at=([0-9a-f]{40})"', page.get("/timeline").text)
    oldest, *_, newest = dict.fromkeys(ids)
    text = page.get(f"/timeline?at={newest}&since={oldest}").text

    assert "Moved from" in text
    assert "backup1 came: 5, member1 left: 2" in text


def test_a_stream_tells_of_a_branch_that_moved(page: ServedPage) -> None:
    """To a client that knows another commit, at once."""
    answer = page.get("/events?since=other")

    assert f"event: moved\ndata: {page.endpoints.news.revision}\n" in answer.text
    assert "text/event-stream; charset=utf-8" == answer.headers["content-type"]


def test_hostile_names_stay_text_in_every_view(tmp_path: Path) -> None:
    """Names of files, labels, subjects of commits: shown as they are, and nothing else."""
    fleet = decided_fleet(tmp_path / "fleet")
    labelled = {**configmap("odd"), "metadata": {"name": "odd", "labels": {"a": HOSTILE}}}
    fleet.commit({**FAULTY, "workloads/odd.yaml": text(labelled)}, f"Add {HOSTILE}")
    run_pass(fleet.folder, 60)
    fleet.git("branch", "x<b>y")

    with served_page(fleet.folder) as found:
        paths = [*VIEWS, f"/matrix?name={HOSTILE}&namespace=%22%3E%3Cb%3E", "/what-if?fail=<b>"]
        texts = {path: found.get(path).text for path in paths}

    assert "x&lt;img src=a onerror=b&gt;0.yaml" in texts["/faults"]
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in texts[paths[-2]]
    for shown in texts.values():
        assert [] == re.findall(r"<script>|<img|<b>y|\"><b>|<b></", shown)


def test_the_matrix_stands_by_policy(page: ServedPage) -> None:
    """Below the policy that claims it; of an API without policies below a title that says so."""
    text = page.get("/matrix?group=policy").text

    titles = re.findall(r">([a-z]+policy/[a-z]+|no policy)<", text)
    names = ("frontend", "shop")
    claimed = ["clusterpropagationpolicy/settings", *(f"propagationpolicy/{n}" for n in names)]
    assert sorted(["no policy", *claimed]) == list(dict.fromkeys(titles))


@pytest.mark.parametrize(
    ("look", "ails", "expected"),
    [
        pytest.param(
            BranchLook(NOW - timedelta(minutes=3)),
            "",
            ("good", "daemon running, looked 3m ago, nothing to do"),
            id="idle",
        ),
        pytest.param(
            BranchLook(NOW, is_deciding=True),
            "",
            ("good", "daemon running, looked 0s ago, a pass is running"),
            id="deciding",
        ),
        pytest.param(
            BranchLook(NOW - timedelta(hours=1)),
            "the last pass failed, once: no disk",
            (
                "bad",
                "daemon not ready: the last pass failed, once: no disk; branch read 60m ago",
            ),
            id="failing",
        ),
        pytest.param(
            BranchLook(NOW),
            None,
            ("soft", "branch read 0s ago; no daemon is seen from here"),
            id="none",
        ),
    ],
)
def test_who_watches_the_branch_is_said(
    look: BranchLook, ails: str | None, expected: tuple[str, str]
) -> None:
    """That it looked and found nothing to do is no silence."""
    assert expected == seen_of(look, ails, NOW)


def test_a_page_that_is_served_alone_claims_no_daemon(page: ServedPage) -> None:
    """It says what it knows: when it read the branch, and what was decided last."""
    shown = page.get("/faults").text

    assert "; no daemon is seen from here</span>" in shown
    assert re.search(r"last decision <time [^>]+>[^<]+ ago</time>; <span id=.seen", shown)


def test_the_daemon_shows_what_it_decided(tmp_path: Path) -> None:
    """As soon as its first pass is over; from then on, each look."""
    fleet, log = new_fleet(tmp_path / "fleet"), tmp_path / "log"
    with running(fleet.folder, "--listen", "0", log=log):
        at = f"http://127.0.0.1:{port_in(log)}"
        eventually(
            lambda: "deployment/shop" in httpx.get(f"{at}/matrix", timeout=60).text, "the page"
        )
        found = httpx.get(f"{at}/", timeout=60).text
        told = httpx.get(f"{at}/events", timeout=60).text

    says = r"daemon running, looked \d+s ago, (nothing to do|a pass is running)"
    assert re.search(rf'<span id="seen" class="good">{says}</span>', found)
    assert re.search(rf"event: seen\ndata: good {says}\n", told)


def test_a_daemon_whose_passes_fail_shows_what_was_decided_before(tmp_path: Path) -> None:
    """Its clock is behind the last pass; somebody must look, so there is something to see."""
    fleet, log = new_fleet(tmp_path / "fleet"), tmp_path / "log"
    assert 0 == run(["-C", str(fleet.folder), "reconcile", "--now", "2099-01-01T00:00:00Z"])
    with running(fleet.folder, "--listen", "0", log=log):
        at = f"http://127.0.0.1:{port_in(log)}"
        eventually(
            lambda: "deployment/shop" in httpx.get(f"{at}/matrix", timeout=60).text, "the page"
        )


@pytest.mark.parametrize(("path", "status"), [("/livez", 200), ("/", 404), ("/matrix", 404)])
def test_on_all_addresses_there_is_no_page_without_a_token(
    tmp_path: Path, path: str, status: int
) -> None:
    """Probes stay as they are."""
    fleet, log = new_fleet(tmp_path / "fleet"), tmp_path / "log"
    with running(fleet.folder, "--listen", "0.0.0.0:0", log=log):
        assert status == httpx.get(f"http://127.0.0.1:{port_in(log)}{path}").status_code


Capsys = pytest.CaptureFixture[str]
REPORT_VIEWS = (
    "fleet",
    "clusters",
    "matrix",
    "objects",
    "timeline",
    "coming",
    "rebalancers",
    "faults",
)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A fleet with three passes."""
    return told_fleet(tmp_path_factory.mktemp("report") / "fleet")


def report(fleet: Checkout, *more: str) -> str:
    """Write a report, and return it."""
    file = fleet.folder.with_name("report.html")
    assert 0 == run(["-C", str(fleet.folder), "report", "-o", str(file), *more])
    return file.read_text(encoding="utf-8")


def test_it_has_the_views_of_the_page(fleet: Checkout) -> None:
    """One below the other, each with its heading and its place in the menu."""
    found = report(fleet)

    assert list(REPORT_VIEWS) == re.findall(r'<section id="([a-z]+)"', found)
    assert list(REPORT_VIEWS) == re.findall(r'<li><a href="#([a-z]+)">', found)
    assert "default/frontend</b>: now member1(4), member2(2)" in found


def test_every_link_leads_to_a_part_of_the_file(fleet: Checkout) -> None:
    """To a view, or to one of the objects that it tells of."""
    found = report(fleet)
    ids = set(re.findall(r' id="([^"]+)"', found))

    assert set() == set(re.findall(r'href="#([^"]+)"', found)) - ids
    assert [] == re.findall(r'href="(?!#)|src=|url\(|https?://', found)


def test_only_its_own_style_and_script_may_run(fleet: Checkout) -> None:
    """Each by its digest; nothing may be loaded from anywhere."""
    found = report(fleet)
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', found)
    digests = [
        f"&#39;sha256-{base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()}&#39;"
        for name in ("style", "script")
        for inline in re.findall(rf"<{name}>(.*?)</{name}>", found, re.DOTALL)
    ]
    style, script = digests

    assert policy == f"default-src &#39;none&#39;; style-src {style}; script-src {script}"


def test_a_revision_is_told_as_it_was(fleet: Checkout) -> None:
    """Then nothing had failed, and nothing was coming."""
    now, then = report(fleet), report(fleet, "--rev", "HEAD~2")

    assert ("1 not ready" in now, "1 not ready" in then) == (True, False)
    assert "No scheduled changes" in then


def test_a_plan_comes_first(tmp_path: Path) -> None:
    """What merging a branch would move, drawn and listed."""
    fleet = decided_fleet(tmp_path / "fleet")
    fleet.git("checkout", "--quiet", "-b", "topic")
    fleet.commit(FAILED, "Fail member1")
    fleet.git("checkout", "--quiet", "main")

    found = report(fleet, "--plan", "topic")

    assert "plan" == re.findall(r'<section id="([a-z]+)"', found)[0]
    assert "Plan: 3 bindings change; 6 replicas move" in found
    assert '<svg class="flows"' in found


def test_svg_draws_the_last_pass(fleet: Checkout, capsys: Capsys) -> None:
    """Without a plan it is the last pass that moved."""
    code, out, _ = answer(fleet, capsys, "report", "-o", "svg")

    assert (0, True) == (code, out.startswith("<svg xmlns="))
    assert "member1 to backup1: 5" in out


def test_another_kind_of_file_is_refused(fleet: Checkout, capsys: Capsys) -> None:
    """With what would do."""
    code, _, err = answer(fleet, capsys, "report", "-o", "fleet.pdf")

    assert 2 == code
    assert "must be a file such as fleet.html, - or svg" in err


def test_a_file_that_cannot_be_written_is_one_sentence(
    fleet: Checkout, tmp_path: Path, capsys: Capsys
) -> None:
    """The reason is the system's."""
    page = tmp_path / "gone" / "fleet.html"

    code, _, err = answer(fleet, capsys, "report", "-o", str(page))

    assert 1 == code
    assert f'"{page}" cannot be written: No such file or directory' in err


def test_names_stay_text(tmp_path: Path) -> None:
    """Whatever people call files, labels and commits."""
    fleet = decided_fleet(tmp_path / "fleet")
    odd = {**configmap("odd"), "metadata": {"name": "odd", "labels": {"a": "<script>"}}}
    fleet.commit(
        {"x<img src=a>.yaml": "apiVersion: v1\nkind: [<script>", "workloads/odd.yaml": text(odd)},
        "Add </script><script>alert(1)</script>",
    )
    run_pass(fleet.folder, 60)

    found = report(fleet)

    assert "x&lt;img src=a&gt;.yaml" in found
    assert 1 == found.count("<script>")
    assert [] == re.findall(r"<img|alert\(1\)</script>", found)

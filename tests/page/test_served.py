"""The served page without a browser: what it answers, to whom, and what it lets a browser do."""

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.shell.http.page_access import PageAccess
from tests.builders import configmap, text
from tests.cli.history import told_fleet
from tests.page.served import VIEWS, ServedPage, served_page
from tests.shell.fleet import new_fleet, reconciler, run_pass

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
    assert '<nav aria-label="Views">' in answer.text
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
    assert "evicted (member1: toleration ended)" in row
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
    assert "backup1 - → 5, member1 2 → -" in text


def test_a_stream_tells_of_a_branch_that_moved(page: ServedPage) -> None:
    """To a client that knows another commit, at once."""
    answer = page.get("/events?since=other")

    assert f"event: moved\ndata: {page.endpoints.news.revision}\n" in answer.text
    assert "text/event-stream; charset=utf-8" == answer.headers["content-type"]


def test_hostile_names_stay_text_in_every_view(tmp_path: Path) -> None:
    """Names of files, labels, subjects of commits: shown as they are, and nothing else."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
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

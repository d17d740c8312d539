"""The processes that answer the page: their limits, and that nothing waits for whole passes."""

import asyncio
import itertools
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from reconciler.cli.page.views import FEW_PLACED
from reconciler.errors import ShellError
from reconciler.shell.http.endpoints import page_app
from reconciler.shell.http.listener import Address, Listener
from reconciler.shell.http.page_access import PageAccess
from reconciler.shell.http.page_endpoints import PageEndpoints, PageNews
from reconciler.shell.http.page_process import (
    AnswersInTurn,
    PageProcesses,
    PageQuestion,
    PageReply,
)
from tests.builders import configmap, policy, rebalancer, selector, target, text
from tests.page.served import served_page
from tests.shell.fleet import eventually, new_fleet, run_pass

VIEW = PageQuestion("fleet", (), "0" * 40)
PLAN = PageQuestion("plan", (("branch", "x"),), "0" * 40)
ECHO = """\
import json, sys, os
for line in sys.stdin:
    print(json.dumps({"status": 200, "html": str(os.getpid())}), flush=True)
"""
HANGS = "import sys, signal\nsys.stdin.readline()\nsignal.pause()"
LOADS = """\
import json, sys, signal
sys.stdin.readline()
print(json.dumps({"status": 200, "html": ""}), flush=True)
"""
BREAKS = "import sys\nsys.stdin.readline()\nsys.exit(1)"


def processes(tmp_path: Path, script: str, **limits: float) -> PageProcesses:
    """Return processes that run a script."""
    file = tmp_path / "answers.py"
    file.write_text(script)
    return PageProcesses([sys.executable, str(file)], **limits)  # type: ignore[arg-type]


def test_views_share_a_process_that_is_kept(tmp_path: Path) -> None:
    """What it has read serves the next view."""
    found = processes(tmp_path, ECHO)

    assert found.ask(VIEW) == found.ask(VIEW)
    found.close()


def test_a_plan_has_a_process_of_its_own(tmp_path: Path) -> None:
    """It begins and ends with the question."""
    found = processes(tmp_path, ECHO)

    assert 3 == len({found.ask(VIEW).html, found.ask(PLAN).html, found.ask(PLAN).html})
    found.close()


@pytest.mark.parametrize("question", [VIEW, PLAN], ids=["view", "plan"])
def test_what_takes_too_long_is_ended(tmp_path: Path, question: PageQuestion) -> None:
    """The client is told so, and the next question has a new process."""
    found = processes(tmp_path, HANGS, load_seconds=0.5, alone_seconds=0.5)

    with pytest.raises(ShellError, match=r"it took more than 0.5 seconds, and was ended"):
        found.ask(question)
    found.close()


def test_loading_has_a_limit_of_its_own(tmp_path: Path) -> None:
    """A large repository is read once, however short the time of a view."""
    found = processes(tmp_path, LOADS + HANGS, view_seconds=0.5)

    with pytest.raises(ShellError, match=r"it took more than 0.5 seconds, and was ended"):
        found.ask(VIEW)
    found.close()


def test_a_process_that_ends_is_told_and_replaced(tmp_path: Path) -> None:
    """As when it asks for more memory than it may have."""
    found = processes(tmp_path, BREAKS)
    with pytest.raises(ShellError, match="more memory than it may have"):
        found.ask(VIEW)

    (tmp_path / "answers.py").write_text(ECHO)

    assert 200 == found.ask(VIEW).status
    found.close()


def test_memory_is_bounded(tmp_path: Path) -> None:
    """The limit is the kernel's: the process ends, not the machine."""
    worker = [sys.executable, "-m", "reconciler.cli.page.worker", "-C", str(tmp_path)]
    found = PageProcesses([*worker, "--branch", "main"], memory_bytes=64 * 1024**2)

    with pytest.raises(ShellError, match="more memory than it may have"):
        found.ask(PLAN)


SLOW = """\
import json, signal, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["view"] not in ("load", "fleet") and not asked["query"].get("brief"):
        signal.pause()
    print(json.dumps({"status": 200, "html": f"brief {asked['view']}"}), flush=True)
"""
SHOP = "/object?group=apps&kind=Deployment&name=shop&namespace=default"


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[httpx.Client]:
    """A page whose process answers nothing but the fleet and what is asked briefly."""
    news = PageNews()
    news.tell("0" * 40)
    found = processes(tmp_path, SLOW, view_seconds=0.5)
    app = page_app(PageEndpoints(found, news, PageAccess(), answer_seconds=60))
    with Listener(Address("127.0.0.1", 0), app, connection_seconds=60) as listener:
        address = f"http://127.0.0.1:{listener.address.port}"
        with httpx.Client(base_url=address, timeout=60) as client:
            yield client
    found.close()


def test_an_object_is_answered_though_why_takes_too_long(slow: httpx.Client) -> None:
    """By what is known of it; the second time at once."""
    first, second = slow.get(SHOP), slow.get(SHOP)

    assert [(200, "brief object")] * 2 == [(one.status_code, one.text) for one in (first, second)]
    assert second.elapsed.total_seconds() < 0.5


def test_what_cannot_be_answered_leads_on(slow: httpx.Client) -> None:
    """With the menu, the reason, a way to ask again, and the command that answers."""
    shown = slow.get("/clusters?sort=-taken")

    assert 503 == shown.status_code
    assert "it took more than 0.5 seconds, and was ended" in shown.text
    assert 'aria-label="Views"' in shown.text
    assert '<a href="clusters?sort=-taken">ask again</a>' in shown.text
    assert "<code>reconciler top clusters</code>" in shown.text


ANSWERS = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    whole = "--whole" in sys.argv
    if whole and asked["view"] == "coming":
        open(sys.argv[1]).close()  # a pipe: it waits until somebody writes
    if whole and asked["view"] == "rebalancers":
        sys.exit(1)
    html = asked["problem"] or f"the {'whole ' * whole}{asked['view']}"
    print(json.dumps({"status": 200, "html": html, "lacks": not whole}), flush=True)
"""
Get = Callable[[str], httpx.Response]


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """A pipe for which a whole answer waits."""
    os.mkfifo(tmp_path / "gate")
    return tmp_path / "gate"


@pytest.fixture
def get(tmp_path: Path, gate: Path) -> Iterator[Get]:
    """What asks a page whose processes are a script."""
    script = tmp_path / "answers.py"
    script.write_text(ANSWERS)
    processes = PageProcesses([sys.executable, str(script), str(gate)])
    endpoints = PageEndpoints(processes, PageNews("0" * 40), PageAccess())
    with Listener(Address("127.0.0.1", 0), page_app(endpoints)) as listener:
        yield lambda path: httpx.get(f"http://127.0.0.1:{listener.address.port}{path}")
        processes.close()


def test_what_there_is_is_shown_until_the_whole_is_there(get: Get, gate: Path) -> None:
    """The browser asks again by itself; other views are answered meanwhile."""
    for _ in range(2):
        first = get("/coming")
        assert (202, "1", "the coming") == (first.status_code, first.headers["refresh"], first.text)
    assert "the matrix" == get("/matrix").text

    gate.write_text("")
    eventually(lambda: get("/coming").text == "the whole coming", "the whole")
    found = get("/coming")
    assert (200, None) == (found.status_code, found.headers.get("refresh"))


def test_whole_passes_that_fail_are_told_and_not_asked_for_again(get: Get) -> None:
    """With what there is; whoever loads the page anew asks again."""
    assert 202 == get("/rebalancers").status_code
    found: list[httpx.Response] = []

    def is_told() -> bool:
        found.append(get("/rebalancers"))
        return "the process that answers ended" in found[-1].text

    eventually(is_told, "why it failed")
    assert (200, None) == (found[-1].status_code, found[-1].headers.get("refresh"))
    assert 202 == get("/rebalancers").status_code


LINE = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["query"].get("fail"):
        open(sys.argv[1]).close()  # a pipe: it waits until somebody writes
    html = '<div class="wrong-bar">1 fault</div>' if asked["view"] == "fleet" else asked["view"]
    print(json.dumps({"status": 200, "html": html}), flush=True)
"""


@pytest.fixture
def line(tmp_path: Path, gate: Path) -> Iterator[Get]:
    """What asks a page of which each what-if waits for somebody who writes to a pipe."""
    script = tmp_path / "line.py"
    script.write_text(LINE)
    found = PageProcesses([sys.executable, str(script), str(gate)])
    news = PageNews("0" * 40)
    endpoints = PageEndpoints(found, news, PageAccess(), answer_seconds=0.2)
    with Listener(Address("127.0.0.1", 0), page_app(endpoints)) as listener:
        yield lambda path: httpx.get(f"http://127.0.0.1:{listener.address.port}{path}")
        found.close()


PLAN_OF, WHAT_IF = "/plan?branch=topic", "/what-if?fail=c021"
REBALANCE = "/rebalance?group=apps&kind=Deployment&namespace=default&name=shop"


def test_whoever_comes_after_a_what_if_waits_in_line_and_is_answered(line: Get, gate: Path) -> None:
    """Each page says what it computes, how far that is, and what is wrong in the fleet."""
    eventually(lambda: "1 fault" in line(WHAT_IF).text, "what is wrong")
    first = line(WHAT_IF)
    behind = [line(path) for path in (PLAN_OF, REBALANCE, "/suspend?of=objects")]

    assert [(202, "1")] * 4 == [(p.status_code, p.headers["refresh"]) for p in (first, *behind)]
    assert ["What if c021 fails", "Plan of topic", "Rebalance deployment/shop"] == [
        re.findall("<h1>(.*)</h1>", page.text)[0] for page in (first, *behind[:2])
    ]
    assert re.search(r"computing for \d+ s, 120 s at most; this page updates", first.text)
    assert '<progress max="120"' in first.text
    for page, before in zip(behind, ("1 question", "2 questions", "3 questions"), strict=True):
        assert f"waiting for {before}: What if c021 fails is being computed, for" in page.text
        assert '<div class="wrong-bar">1 fault</div>' in page.text

    gate.write_text("")
    for path, view in ((WHAT_IF, "what-if"), (PLAN_OF, "plan"), (REBALANCE, "rebalance")):
        eventually(lambda path=path, view=view: (200, view) == told(line(path)), view)  # type: ignore[misc]  # bound now


def told(response: httpx.Response) -> tuple[int, str]:
    """Return the status of an answer, and what it says."""
    return response.status_code, response.text


def test_nothing_is_computed_for_whoever_has_left() -> None:
    """Whoever comes back asks again, and is answered."""
    computed = []

    def answer(question: PageQuestion) -> PageReply:
        computed.append(question.view)
        return PageReply(200, question.view)

    async def ask() -> list[tuple[PageReply, bool] | None]:
        turns = AnswersInTurn(answer, wanted_seconds=-1.0)
        turns.begin(PLAN, PageReply(202, ""))
        await asyncio.wait(turns._asked.values())
        left = turns.find(PLAN)
        turns.wanted_seconds = 60.0
        turns.begin(PLAN, PageReply(202, ""))
        await turns.wait(PLAN, 60)
        return [left, turns.find(PLAN)]

    assert [None, (PageReply(200, "plan"), True)] == asyncio.run(ask())
    assert ["plan"] == computed


def test_an_answer_that_time_may_change_is_computed_anew() -> None:
    """It is shown until the new one is there; any other answer is kept."""
    brief, kept = (PageQuestion(view, (), "0" * 40) for view in ("brief", "kept"))
    count = itertools.count()

    def answer(question: PageQuestion) -> PageReply:
        return PageReply(200, f"{question.view} {next(count)}", brief=question is brief)

    async def ask() -> list[tuple[PageReply, bool] | None]:
        wholes, found = AnswersInTurn(answer, brief_seconds=0.0), []
        for question in (kept, brief):
            wholes.begin(question, PageReply(200, "until"))
        for question in (kept, kept, brief, brief):
            await asyncio.gather(*wholes._asked.values())
            found.append(wholes.find(question))
        return found

    told = [(reply.html, is_whole) for reply, is_whole in filter(None, asyncio.run(ask()))]
    assert [("kept 0", True), ("kept 0", True), ("brief 1", False), ("brief 2", False)] == told


def test_a_page_that_closes_waits_for_no_whole_pass(tmp_path: Path, gate: Path) -> None:
    """It is ended while it computes: nobody writes to the pipe."""
    script = tmp_path / "answers.py"
    script.write_text(ANSWERS)
    processes = PageProcesses([sys.executable, str(script), str(gate)])
    endpoints = PageEndpoints(processes, PageNews("0" * 40), PageAccess())
    with Listener(Address("127.0.0.1", 0), page_app(endpoints)) as listener:
        assert 202 == httpx.get(f"http://127.0.0.1:{listener.address.port}/coming").status_code
    processes.close()


@pytest.mark.cpu_seconds(60)
def test_the_page_of_many_objects_answers_by_two_processes(tmp_path: Path) -> None:
    """What an object reads alone at once, what others have a say in by itself, in time."""
    fleet = new_fleet(tmp_path / "fleet")
    many = {f"many/{n}.yaml": text(configmap(f"c{n}")) for n in range(FEW_PLACED + 1)}
    wide = policy("many", selectors=[selector("ConfigMap")])
    fleet.commit({**many, "many/policy.yaml": text(wide)})
    run_pass(fleet.folder, 0)
    moves = rebalancer("all", target(name="shop"), limits={"maxMoves": 1})
    fleet.commit({"rebalancer.yaml": text(moves)})

    with served_page(fleet.folder) as page:
        alone = page.get("/object?kind=ConfigMap&namespace=default&name=c7&full=1")
        assert (200, True) == (alone.status, "<h2>History</h2>" in alone.text)
        shop = "/object?group=apps&kind=Deployment&namespace=default&name=shop&full=1"
        for path in (shop, "/coming"):
            first = page.get(path)
            assert (202, True) == (first.status, "updates when the result is ready" in first.text)
            eventually(lambda path=path: page.get(path).status == 200, path)  # type: ignore[misc]  # bound now
            assert "updates when the result is ready" not in page.get(path).text

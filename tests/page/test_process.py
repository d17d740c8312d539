"""The processes that answer the page: their limits, and that a plan delays no view."""

import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from reconciler.errors import ShellError
from reconciler.shell.http.endpoints import page_app
from reconciler.shell.http.listener import Address, Listener
from reconciler.shell.http.page_access import NO_ACCESS
from reconciler.shell.http.page_endpoints import PageEndpoints, PageNews
from reconciler.shell.http.page_process import PageBusy, PageProcesses, PageQuestion

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


def test_one_plan_is_computed_at_a_time(tmp_path: Path) -> None:
    """The second one is refused at once, and views go on."""
    found = processes(tmp_path, ECHO)

    with found._alone, pytest.raises(PageBusy, match="another plan is being computed"):
        found.ask(PLAN)
    with found._alone:
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
    app = page_app(PageEndpoints(found, news, NO_ACCESS, answer_seconds=60))
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
    assert '<nav aria-label="Views">' in shown.text
    assert '<a href="clusters?sort=-taken">ask again</a>' in shown.text
    assert "<code>reconciler top clusters</code>" in shown.text

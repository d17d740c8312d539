"""What is told of an object until the passes of its past are computed."""

import os
import sys
from pathlib import Path

import httpx

from reconciler.shell.http.endpoints import page_app
from reconciler.shell.http.listener import Address, Listener
from reconciler.shell.http.page_access import NO_ACCESS
from reconciler.shell.http.page_endpoints import PageEndpoints
from reconciler.shell.http.page_news import PageNews
from reconciler.shell.http.page_process import PageProcesses, PageQuestion
from tests.page.served import served_page
from tests.shell.fleet import eventually, new_fleet, run_pass

SHOP = (("group", "apps"), ("kind", "Deployment"), ("namespace", "default"), ("name", "shop"))
ANSWERS = """\
import json, sys
for line in sys.stdin:
    view = json.loads(line)["view"]
    if view == "object":
        open(sys.argv[1]).close()  # a pipe: it waits until somebody writes
    print(json.dumps({"status": 200, "html": f"the {view}"}), flush=True)
"""


def test_the_present_of_an_object_is_shown_until_the_rest_is_there(tmp_path: Path) -> None:
    """The browser asks again by itself, and then has the whole."""
    script, gate = tmp_path / "answers.py", tmp_path / "gate"
    script.write_text(ANSWERS)
    os.mkfifo(gate)
    processes = PageProcesses([sys.executable, str(script), str(gate)])
    endpoints = PageEndpoints(
        processes, PageNews("0" * 40), NO_ACCESS, patience_seconds=0.1, present_seconds=0.1
    )
    found: list[httpx.Response] = []
    with Listener(Address("127.0.0.1", 0), page_app(endpoints)) as listener:
        address = f"http://127.0.0.1:{listener.address.port}/object?name=shop"

        def told(says: str) -> bool:
            found.append(httpx.get(address))
            return found[-1].text == says

        eventually(lambda: told("the present"), "the present")
        assert (202, "1") == (found[-1].status_code, found[-1].headers["refresh"])
        gate.write_text("")
        eventually(lambda: told("the object"), "the object")
        assert (200, None) == (found[-1].status_code, found[-1].headers.get("refresh"))
    processes.close()


def test_the_present_says_why_an_object_is_there_and_that_the_rest_comes(tmp_path: Path) -> None:
    """By the process that really answers; a wrong question is refused as that for the whole."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    with served_page(fleet.folder) as page:
        ask = page.endpoints.processes.ask
        found = ask(PageQuestion("present", SHOP, fleet.head()))
        wrong = ask(PageQuestion("present", SHOP[:-1], fleet.head()))

    assert 200 == found.status
    assert '<th scope="row">member1</th>' in found.html
    assert "Why, for each cluster" in found.html
    assert "all that happened to it, is being computed" in found.html
    assert 400 == wrong.status


def test_no_address_leads_to_the_present_alone(tmp_path: Path) -> None:
    """It is no view of its own."""
    with served_page(new_fleet(tmp_path / "fleet").folder) as page:
        assert 404 == page.get("/present").status

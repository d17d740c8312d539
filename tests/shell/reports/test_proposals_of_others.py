"""Proposals beside strangers: a request is ours by its repository and author, not by its name."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.shell.fake_forge import OURS, PAGE_SIZE, forge_server
from tests.shell.fleet import eventually
from tests.shell.reports.test_proposer import held, passed, proposing

KINDS = ("github", "gitlab", "gitea")
LISTS = {"github": "pulls", "gitlab": "merge_requests", "gitea": "pulls"}
OTHER = "reconciler-allow-" + "1" * 12
TRAVERSAL = "reconciler-allow-/../../tags/"  # as long as a proposal's name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("repository", [99, None], ids=["fork", "fork-that-is-gone"])
def test_a_fork_with_the_name_of_a_proposal_stops_none(
    tmp_path: Path, kind: str, repository: int | None
) -> None:
    """Anybody may name a branch of a fork by the digest, which stands in the log."""
    fleet, report = held(tmp_path)
    name = f"reconciler-allow-{report.outcome.allow[0].rpartition(':')[2][:12]}"
    with forge_server() as forge, capture_logs() as logged:
        forge.strange(name, repository=repository)
        with proposing(forge, kind, fleet) as proposer:
            proposer(passed(report))
            eventually(lambda: len(forge.open) == 2, "a proposal")
            eventually(lambda: len(logged) == 2, "what is told of it")

    assert {"mallory", "fleet-bot"} == {one["author"] for one in forge.open}
    assert [f'"{name}"', '"mallory"'] == [logged[0]["branch"], logged[0]["author"]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tells_account", [True, False])
def test_nothing_of_others_is_closed(tmp_path: Path, kind: str, *, tells_account: bool) -> None:
    """Neither a fork's request, nor, where the forge tells who we are, one of a colleague."""
    fleet, report = held(tmp_path)
    with forge_server() as forge:
        forge.tells_account = tells_account
        forge.strange(OTHER)
        forge.strange(TRAVERSAL)
        forge.strange(OTHER, author="ada", repository=OURS if tells_account else 98)
        with proposing(forge, kind, fleet) as proposer:
            proposer(passed(report))
            eventually(lambda: len(forge.open) == 4, "a proposal")

    assert [] == [call for call in forge.calls if call.startswith(("DELETE", "PATCH"))]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"message": "busy"}, id="object"),
        pytest.param([None], id="list-of-nothing"),
        pytest.param([{"number": "1", "iid": "1"}], id="number-is-a-text"),
        pytest.param([{"number": 1, "head": [], "base": 3}], id="no-objects"),
        pytest.param("x", id="text"),
        pytest.param([[]] * 3, id="lists"),
    ],
)
def test_an_answer_of_another_shape_ends_nothing(tmp_path: Path, kind: str, answer: object) -> None:
    """It is told in one sentence, and the forge is asked again."""
    fleet, report = held(tmp_path)
    with forge_server() as forge, capture_logs() as logged:
        forge.answers[LISTS[kind]] = answer
        with proposing(forge, kind, fleet) as proposer:
            proposer(passed(report))
            eventually(lambda: bool(forge.open), "a proposal")

    assert ["a proposal waits"] == [one["event"] for one in logged if one["log_level"] != "info"]
    assert "the forge answered" in logged[0]["reason"]


def test_a_proposal_is_found_behind_many_requests(tmp_path: Path) -> None:
    """Strangers' requests fill pages; each page is asked for."""
    fleet, report = held(tmp_path)
    with forge_server() as forge:
        for index in range(2 * PAGE_SIZE):
            forge.strange(f"patch-{index}")
        for _ in range(2):
            with proposing(forge, "github", fleet) as proposer:
                before = len(forge.calls)
                proposer(passed(report))
                eventually(lambda before=before: len(forge.calls) > before + 3, "a look")  # type: ignore[misc]
                eventually(lambda: len(forge.open) == 2 * PAGE_SIZE + 1, "one proposal")

    assert 2 * PAGE_SIZE + 1 == len(forge.requests)


def test_a_branch_that_a_colleague_proposes_from_is_told(tmp_path: Path) -> None:
    """The forge opens no second request from a branch; nothing is claimed to be proposed."""
    fleet, report = held(tmp_path)
    name = f"reconciler-allow-{report.outcome.allow[0].rpartition(':')[2][:12]}"
    with forge_server() as forge, capture_logs() as logged:
        forge.strange(name, author="ada", repository=OURS)
        with proposing(forge, "github", fleet) as proposer:
            proposer(passed(report))
            eventually(lambda: any("waits" in one["event"] for one in logged), "what waits")

    told = next(one["reason"] for one in logged if "waits" in one["event"])
    assert f'the forge opens no request from the branch "{name}"' in told
    assert not [one for one in logged if one["event"] == "a proposal is open"]


def test_words_of_strangers_are_quoted(tmp_path: Path) -> None:
    """A name of a fork ends no line, and looks like no field of the log."""
    fleet, report = held(tmp_path)
    with forge_server() as forge, capture_logs() as logged:
        forge.strange('reconciler-allow-x" level=error\n\u202e', author="a\nb")
        with proposing(forge, "github", fleet) as proposer:
            proposer(passed(report))
            eventually(lambda: len(forge.open) == 2, "a proposal")

    assert r'"reconciler-allow-x\" level=error\n\u202e"' == logged[0]["branch"]
    assert r'"a\nb"' == logged[0]["author"]

"""A held pass proposes itself at each forge, whose statuses keep to the contracts of their APIs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from structlog.testing import capture_logs

from reconciler.audit.fleet.problems import ProblemCounts
from reconciler.audit.previews.wording import permitted_file
from reconciler.cli.main import run
from reconciler.errors import UsageError
from reconciler.model.records import replace
from reconciler.model.settings import decode_settings
from reconciler.shell.daemon.events import PassFinished
from reconciler.shell.git.command import mask_of
from reconciler.shell.passes.pass_report import PassReport, summary_of
from reconciler.shell.reports.forges import CommitStatus, MergeRequests, StatusState, open_forge
from reconciler.shell.reports.outbox import Outbox
from reconciler.shell.reports.proposer import Proposer
from tests.builders import cluster, cluster_policy, deployment, text
from tests.shell.fake_forge import OURS, PAGE_SIZE, TOKEN, FakeForge, forge_server
from tests.shell.fleet import Clock, eventually, new_passes, patiently, running
from tests.shell.repositories import NOW, Checkout, new_checkout
from tests.shell.servers import contract_faults, receiver

FILES = {
    "a.yaml": text(cluster("a")),
    "policy.yaml": text(cluster_policy()),
    **{f"{name}.yaml": text(deployment(name)) for name in "xyz"},
}
LIMIT = {
    "github": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"},
    "gitlab": {"RateLimit-Remaining": "0", "RateLimit-Reset": "1"},
    "gitea": {"Retry-After": "0"},
}
"""A limit that is over, as each forge tells it."""
GONE = [f"{name}.yaml" for name in "xyz"]


@contextmanager
def proposing(forge: FakeForge, kind: str, fleet: Checkout) -> Iterator[Proposer]:
    """Propose at a forge while the block lasts."""
    repository = new_passes(fleet.folder, Clock(NOW)).branch.repository
    with (
        httpx.Client() as client,
        Proposer(
            MergeRequests(client, open_forge(kind, forge.url, TOKEN, branch="main")),
            repository,
            "main",
            mask_of([TOKEN]),
            first_delay_seconds=0.01,
        ) as proposer,
    ):
        yield proposer


def passed(report: PassReport) -> PassFinished:
    """What the daemon says of a pass."""
    return PassFinished(
        report=summary_of(report, ProblemCounts()),
        world=lambda: report.world,
        seconds=0.1,
        moved=True,
        first=False,
    )


def held(tmp_path: Path, **extra: str) -> tuple[Checkout, PassReport]:
    """A fleet whose three workloads went in one commit, and the pass that held them."""
    fleet = new_checkout(tmp_path / "fleet", {**FILES, **extra})
    clock = Clock(NOW)
    passes = new_passes(fleet.folder, clock)
    passes.run()
    fleet.git("rm", "-q", *GONE)
    fleet.git("commit", "-q", "-m", "Remove everything")
    clock.pause(60)
    return fleet, passes.run()


@pytest.mark.parametrize("kind", ["github", "gitlab", "gitea"])
def test_what_is_held_is_proposed_with_its_plan(tmp_path: Path, kind: str) -> None:
    """One request into the branch that is served; its file has the line and nothing else new."""
    fleet, report = held(tmp_path)
    with forge_server() as forge, proposing(forge, kind, fleet) as proposer:
        proposer(passed(report))
        eventually(lambda: bool(forge.open), "a proposal")
    [request] = forge.open

    [allow] = report.outcome.allow
    assert ("main", 64 + 7) == (request["base"], len(allow))
    assert "3 removed" in request["body"]
    assert allow in forge.files[request["head"]].decode()


def test_a_request_is_closed_when_nothing_is_held_any_more(tmp_path: Path) -> None:
    """The files came back, or the line was merged."""
    fleet, report = held(tmp_path)
    with forge_server() as forge, proposing(forge, "gitea", fleet) as proposer:
        proposer(passed(report))
        eventually(lambda: bool(forge.open), "a proposal")
        fleet.git("revert", "--no-edit", "HEAD~1")
        calm = new_passes(fleet.folder, Clock(report.now.replace(minute=30))).run()
        proposer(passed(calm))
        eventually(lambda: not forge.open, "the end of the proposal")


def test_another_digest_replaces_the_request(tmp_path: Path) -> None:
    """Another removal needs another yes."""
    fleet, report = held(tmp_path)
    other = replace(report, outcome=replace(report.outcome, allow=(f"sha256:{'1' * 64}",)))
    with forge_server() as forge, proposing(forge, "gitlab", fleet) as proposer:
        proposer(passed(report))
        eventually(lambda: bool(forge.open), "a proposal")
        proposer(passed(other))
        eventually(lambda: len(forge.requests) == 2 and len(forge.open) == 1, "another one")
    assert ["reconciler-allow-111111111111"] == [one["head"] for one in forge.open]


@pytest.mark.parametrize(("holds", "calm"), [("a", "b"), ("a", "."), (".", "a")])
def test_roots_leave_requests_of_others_alone(tmp_path: Path, holds: str, calm: str) -> None:
    """A root that holds nothing closes only what it proposed itself."""
    fleet, report = held(tmp_path)
    nothing = replace(report, outcome=replace(report.outcome, allow=()))
    for root in {holds, calm} - {"."}:
        (fleet.folder / root).mkdir()
    with forge_server() as forge:
        with proposing(forge, "gitea", Checkout(fleet.folder / holds)) as proposer:
            proposer(passed(report))
            eventually(lambda: bool(forge.open), "a proposal")
        asked = len(forge.calls)
        with proposing(forge, "gitea", Checkout(fleet.folder / calm)) as proposer:
            proposer(passed(nothing))
            eventually(lambda: len(forge.calls) > asked, "a look at what is open")

    assert 1 == len(forge.open)


def test_what_was_proposed_before_a_restart_is_not_proposed_twice(tmp_path: Path) -> None:
    """The forge is asked what is open."""
    fleet, report = held(tmp_path)
    with forge_server() as forge:
        for _ in range(2):
            with proposing(forge, "github", fleet) as proposer:
                before = len(forge.calls)
                proposer(passed(report))
                eventually(lambda before=before: len(forge.calls) > before, "a look")  # type: ignore[misc]
                eventually(lambda: bool(forge.open), "a proposal")
    assert 1 == len(forge.requests)


@pytest.mark.parametrize("kind", ["github", "gitlab", "gitea"])
def test_what_a_person_closed_stays_closed_across_restarts(tmp_path: Path, kind: str) -> None:
    """They said no; merging it, or another removal, asks again."""
    fleet, report = held(tmp_path)
    with forge_server() as forge:
        with proposing(forge, kind, fleet) as proposer:
            proposer(passed(report))
            eventually(lambda: bool(forge.open), "a proposal")
        forge.requests[1]["state"] = "closed"
        with capture_logs() as logs, proposing(forge, kind, fleet) as proposer:
            proposer(passed(report))
            eventually(lambda: bool(logs), "a look")

    assert [] == forge.open
    assert ["a proposal was closed, and stays so"] == [one["event"] for one in logs]


@pytest.mark.parametrize("kind", ["github", "gitlab", "gitea"])
def test_what_was_closed_as_out_of_date_is_proposed_again(tmp_path: Path, kind: str) -> None:
    """Once the same is held again: nobody said no to it."""
    fleet, report = held(tmp_path)
    nothing = replace(report, outcome=replace(report.outcome, allow=()))
    with forge_server() as forge, proposing(forge, kind, fleet) as proposer:
        proposer(passed(report))
        eventually(lambda: bool(forge.open), "a proposal")
        proposer(passed(nothing))
        eventually(lambda: not forge.open, "its end")
        proposer(passed(report))
        eventually(lambda: bool(forge.open), "another one")

    assert ["Out of date: ", "Let go what i"] == [
        one["title"][:13] for one in forge.requests.values()
    ]


@pytest.mark.parametrize("kind", ["github", "gitlab", "gitea"])
def test_a_limit_of_a_forge_is_waited_for(tmp_path: Path, kind: str) -> None:
    """It is told with the moment at which it ends."""
    fleet, report = held(tmp_path)
    with (
        capture_logs() as logs,
        forge_server() as forge,
        proposing(forge, kind, fleet) as proposer,
    ):
        forge.limits = [LIMIT[kind]]
        proposer(passed(report))
        eventually(lambda: bool(forge.open), "a proposal")

    assert ["a proposal waits", "a proposal is open"] == [one["event"] for one in logs]
    assert "a limit" in logs[0]["reason"]


def test_a_forge_that_fails_is_asked_again(tmp_path: Path) -> None:
    """With the token, and without saying it."""
    fleet, report = held(tmp_path)
    with forge_server() as forge, proposing(forge, "github", fleet) as proposer:
        forge.failures = 2
        proposer(passed(report))
        eventually(lambda: bool(forge.open), "a proposal")
    assert {TOKEN} == forge.tokens


def test_the_line_is_added_to_what_is_there(tmp_path: Path) -> None:
    """Comments and other settings stay."""
    written = (
        "apiVersion: reconciler.dev/v1alpha1\nkind: ReconcilerConfiguration\n"
        "metadata:\n  name: main\n# ours\nspec:\n  feedback:\n    assumeAfterSeconds: 5 # short\n"
    )
    _, report = held(tmp_path, **{"reconciler.yaml": written})
    edited = permitted_file(report.world, written.encode(), ("sha256:ab",)).decode()

    assert "assumeAfterSeconds: 5 # short" in edited
    assert "# ours" in edited
    assert "allow: sha256:ab" in edited.replace('"', "")
    assert decode_settings(None).safety.allow == frozenset()


def test_proposals_need_a_forge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The daemon does not start without one, and says what to add."""
    fleet = new_checkout(tmp_path / "fleet", FILES)

    assert 2 == run(["-C", str(fleet.folder), "run", "--propose"])
    assert "--propose requires --report github, gitlab or gitea" in capsys.readouterr().err


def test_the_daemon_proposes_by_its_options(tmp_path: Path) -> None:
    """A real one, from the merge that takes everything to the request."""
    fleet = new_checkout(tmp_path / "fleet", FILES)
    token = tmp_path / "token"
    token.write_text(TOKEN)
    with forge_server() as forge:
        options = ["--report", "gitea", forge.url, "--report-token-file", str(token), "--propose"]
        with running(fleet.folder, *options):
            placed = fleet.folder / "status/resourcebindings.work.karmada.io/default"
            eventually(lambda: len(list(placed.glob("*.yaml"))) == 3, "three placements")
            patiently(fleet, "rm", "-q", *GONE)
            patiently(fleet, "commit", "-q", "-m", "Remove everything")
            eventually(lambda: bool(forge.open), "a proposal")
    assert ["main"] == [one["base"] for one in forge.open]


FORGE_TOKEN = "0123456789abcdef0123"  # noqa: S105  # of tests only
REVISION, DECISION = "a" * 40, "b" * 40


@pytest.mark.parametrize("state", list(StatusState))
@pytest.mark.parametrize(
    ("kind", "base", "token"),
    [
        pytest.param("github", "/api/v3", {"Authorization": f"Bearer {FORGE_TOKEN}"}, id="github"),
        pytest.param("gitlab", "/api/v4", {"PRIVATE-TOKEN": FORGE_TOKEN}, id="gitlab"),
        pytest.param("gitea", "/api/v1", {"Authorization": f"token {FORGE_TOKEN}"}, id="gitea"),
    ],
)
def test_a_status_is_posted_by_the_contract(
    kind: str, base: str, token: dict[str, str], state: StatusState
) -> None:
    """Path, method, type and fields; the token stands where the forge looks for it."""
    status = CommitStatus(revision=REVISION, state=state, description="x" * 1000, decision=DECISION)
    with receiver() as server, Outbox(kind) as outbox:
        forge = open_forge(kind, f"{server.url}/platform/fleet", FORGE_TOKEN, branch="main")
        outbox.post(forge.request(status, context="reconciler/production"))
    (request,) = server.received

    assert [] == contract_faults(kind, request, base=base)
    assert token.items() <= dict(request.headers.items()).items()
    fields = request.fields
    assert "reconciler/production" == fields["name" if kind == "gitlab" else "context"]
    assert f"/platform/fleet/{'-/' if kind == 'gitlab' else ''}commit/{DECISION}" == (
        urlsplit(fields["target_url"]).path
    )


@pytest.mark.parametrize(
    ("kind", "address", "expected"),
    [
        pytest.param(
            "github",
            "https://github.com/acme/fleet.git",
            "https://api.github.com/repos/acme/fleet/statuses/",
            id="github.com",
        ),
        pytest.param(
            "github",
            "https://ghe.example.com/acme/fleet",
            "https://ghe.example.com/api/v3/repos/acme/fleet/statuses/",
            id="github-enterprise",
        ),
        pytest.param(
            "gitlab",
            "https://gitlab.example.com:8443/acme/team/fleet/",
            "https://gitlab.example.com:8443/api/v4/projects/acme%2Fteam%2Ffleet/statuses/",
            id="gitlab-subgroup",
        ),
        pytest.param(
            "gitea",
            "https://example.com/git/acme/fleet",
            "https://example.com/git/api/v1/repos/acme/fleet/statuses/",
            id="gitea-below-a-path",
        ),
    ],
)
def test_where_a_forge_takes_statuses(kind: str, address: str, expected: str) -> None:
    """Told from the address that people see."""
    assert expected == open_forge(kind, address, FORGE_TOKEN, branch="main").statuses


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("http://example.com/a/b", id="plain-http-would-show-the-token"),
        pytest.param("https://me:pw@example.com/a/b", id="credentials"),
        pytest.param("https://example.com/fleet", id="no-owner"),
        pytest.param("https://example.com/a/b?x=1", id="query"),
        pytest.param("https:///a/b", id="no-host"),
        pytest.param("git@example.com:a/b.git", id="ssh"),
        pytest.param("http://localhost.evil.example/a/b", id="looks-like-loopback"),
    ],
)
def test_an_address_that_is_no_repository(address: str) -> None:
    """Refused at the start, without the credentials in it."""
    with pytest.raises(UsageError, match="--report") as caught:
        open_forge("github", address, FORGE_TOKEN, branch="main")
    assert "pw" not in str(caught.value)


def test_a_request_shows_no_token() -> None:
    """Not in its repr, which may end in a trace."""
    forge = open_forge("github", "https://github.com/acme/fleet", FORGE_TOKEN, branch="main")
    status = CommitStatus(revision=REVISION, state=StatusState.SUCCESS, description="")

    assert FORGE_TOKEN not in repr(forge.request(status, context="x"))


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

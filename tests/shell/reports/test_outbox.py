"""Reports to forges and webhooks: sent once, again after failures, and nobody waits."""

import hmac
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Event

import httpx
import pytest
from structlog.testing import capture_logs

from reconciler.cli.operation import read_secret
from reconciler.core.reconcile import reconcile
from reconciler.shell.daemon.events import Observer
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.git.command import HiddenTexts, RemoteUnreachable, mask_of
from reconciler.shell.passes import one_pass as module
from reconciler.shell.renewed_secret import RenewedSecret
from reconciler.shell.reports.forges import CommitStatus, StatusState, open_forge
from reconciler.shell.reports.outbox import ATTEMPTS, ROOM, Outbox, OutgoingRequest, new_client
from reconciler.shell.reports.reporters import EventReporter, StatusReporter
from tests.shell.daemon.test_serve_branch import Steps
from tests.shell.fake_forge import forge_server
from tests.shell.fleet import EXAMPLE, PATIENCE_SECONDS, Clock, eventually, new_fleet, new_passes
from tests.shell.repositories import NOW, Checkout
from tests.shell.servers import Received, Receiver, Reply, receiver

TOKEN = "0123456789abcdef0123"  # noqa: S105  # of tests only
SOON = 0.001


def request(server: Receiver, key: str = "a", body: bytes = b"{}") -> OutgoingRequest:
    """Return a request with a token in a header that no library knows to protect."""
    return OutgoingRequest(
        url=f"{server.url}/x", headers={"PRIVATE-TOKEN": TOKEN}, body=body, key=key
    )


def send(server: Receiver, *results: str) -> list[str]:
    """Send one request, wait for so many results, and return them."""
    counted: list[str] = []
    with Outbox(
        "github",
        secrets=[TOKEN],
        counted=lambda _, result: counted.append(result),
        first_delay_seconds=SOON,
    ) as outbox:
        outbox.post(request(server))
        eventually(lambda: len(counted) >= len(results), "the results")
    return counted


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_what_may_pass_later_is_sent_again(status: int) -> None:
    """With the same body and the same token, until it is taken."""
    with receiver(Reply(status), Reply(status), Reply(201)) as server:
        assert ["retried", "retried", "sent"] == send(server, "retried", "retried", "sent")
    assert 3 == len(server.received)
    assert {(b"{}", TOKEN)} == {(one.body, one.headers["PRIVATE-TOKEN"]) for one in server.received}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_what_is_refused_is_not_sent_again(status: int) -> None:
    """It is logged, with what the server says, without the token that it repeats."""
    with capture_logs() as logs, receiver(Reply(status, f"no, {TOKEN}".encode())) as server:
        assert ["refused"] == send(server, "refused")
    assert 1 == len(server.received)
    assert [f"it answered {status}: no, ***"] == [entry["reason"] for entry in logs]


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        pytest.param(403, {"Retry-After": "0"}, id="github-secondary"),
        pytest.param(
            403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "{soon}"}, id="github"
        ),
        pytest.param(429, {"RateLimit-Reset": "{soon}", "Retry-After": "1"}, id="gitlab"),
        pytest.param(429, {"Retry-After": "Thu, 01 Jan 2026 00:00:00 GMT"}, id="a-date"),
    ],
)
def test_a_limit_is_waited_for_as_long_as_the_forge_says(
    status: int, headers: dict[str, str]
) -> None:
    """More often than what fails may be tried, and said with its length."""
    soon = {name: value.format(soon=int(time.time()) + 1) for name, value in headers.items()}
    with capture_logs() as logs, receiver(Reply(status, headers=soon), Reply(201)) as server:
        assert ["retried", "sent"] == send(server, "retried", "sent")
    [waits] = logs
    assert ("a report waits", True) == (waits["event"], 1 <= waits["seconds"] <= 3)


def test_a_missing_permission_is_no_limit() -> None:
    """GitHub tells what is left with every answer."""
    headers = {"X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": str(int(time.time()) + 3000)}
    with receiver(Reply(403, b"Resource not accessible", headers)) as server:
        assert ["refused"] == send(server, "refused")


@pytest.mark.parametrize("kind", ["github", "gitlab", "gitea"])
def test_a_token_that_is_renewed_is_read_again(tmp_path: Path, kind: str) -> None:
    """An hour later; the report that met the old one is sent with the new one."""
    file, counted = tmp_path / "token", list[str]()
    file.write_text("the-token-of-the-first-hour\n")
    secret = RenewedSecret(lambda: file.read_text().strip(), file)
    with forge_server() as forge:
        forge.token = "the-token-of-the-second-hour"  # noqa: S105  # of tests only
        outbox = Outbox(
            kind,
            secrets=HiddenTexts((secret,)),
            counted=lambda _, result: counted.append(result),
            is_renewed=secret.may_change,
            first_delay_seconds=0.05,
        )
        with capture_logs() as logs, outbox:
            status = CommitStatus(revision="a" * 40, state=StatusState.SUCCESS, description="x")
            outbox.post(
                open_forge(kind, forge.url, secret, branch="main").request(status, context="c")
            )
            eventually(lambda: "retried" in counted, "the old token")
            file.write_text(f"{forge.token}\n")
            eventually(lambda: "sent" in counted, "the new one")

    assert ["success"] == forge.statuses
    assert {"the-token-of-the-first-hour", forge.token} == forge.tokens
    assert not any(token in str(logs) for token in forge.tokens)


def test_a_secret_that_cannot_be_read_again_stays(tmp_path: Path) -> None:
    """And what is wrong is told once."""
    file = tmp_path / "token"
    file.write_text("the-token-of-the-first-hour\n")
    secret = RenewedSecret(lambda: read_secret("--token", file, "NONE"), file)
    with capture_logs() as logs:
        for content in ("short", "short again", "the-token-of-the-second-hour"):
            file.write_text(content)
            told = [secret(), secret()]

    assert ["the-token-of-the-second-hour"] * 2 == told
    assert ["a secret is not renewed", "a secret is renewed"] == [one["event"] for one in logs]
    assert {"the-token-of-the-first-hour", "the-token-of-the-second-hour"} == set(secret)


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_the_loopback_is_asked_without_a_proxy(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """A token goes there in the clear, and nobody else may see it."""
    for name in ("no_proxy", "NO_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with receiver() as proxy, receiver() as server:
        monkeypatch.setenv(variable, proxy.url)
        assert ["sent"] == send(server, "sent")

    assert ([], 1) == (proxy.received, len(server.received))


def test_a_proxy_is_asked_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """`NO_PROXY` is kept, as for anything else."""
    with receiver() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "internal.example.org")
        with new_client("https://forge.example.org") as client:
            client.post("http://forge.example.org/x", content=b"")
            with pytest.raises(httpx.ConnectError):
                client.post("http://internal.example.org:1/x", content=b"")

    assert ["http://forge.example.org/x"] == [one.path for one in proxy.received]


def test_what_is_not_sent_when_the_daemon_ends_is_told() -> None:
    """A report that waits for a limit is news that nobody gets any more."""
    with (
        capture_logs() as logs,
        receiver(Reply(429, headers={"Retry-After": "600"})) as server,
        Outbox("github") as outbox,
    ):
        outbox.post(request(server, "first"))
        eventually(lambda: len(server.received) == 1, "the limit")
        outbox.post(request(server, "second"))

    events = [one["event"] for one in logs if one["log_level"] == "warning"]
    assert ["a report is dropped, since the daemon ends"] * 2 == events


def test_a_status_that_is_so_already_is_fine() -> None:
    """GitLab refuses to make a pending status pending."""
    says = b'{"message":"Cannot transition status via :enqueue from :pending"}'
    with receiver(Reply(400, says)) as server:
        assert ["sent"] == send(server, "sent")


def test_it_is_given_up_at_last() -> None:
    """And said so."""
    wanted = [*["retried"] * ATTEMPTS, "dropped"]
    with capture_logs() as logs, receiver(Reply(500)) as server:
        assert wanted == send(server, *wanted)
    assert ["a report waits", "a report is given up"] == [entry["event"] for entry in logs]


def test_a_server_that_is_not_there_is_tried_again() -> None:
    """As any failure of the network."""
    with receiver() as server:
        pass
    assert ["retried", "retried"] == send(server, "retried", "retried")[:2]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_token_follows_no_redirect_to_another_server(status: int) -> None:
    """Another port is another server; the report is refused."""
    with receiver() as evil:
        location = {"Location": f"{evil.url}/x"}
        with receiver(Reply(status, headers=location)) as server:
            assert ["refused"] == send(server, "refused")
    assert [] == evil.received


def test_a_redirect_on_the_same_server_is_followed() -> None:
    """A repository was renamed; the request is the same."""
    with receiver(Reply(301, headers={"Location": "/new"}), Reply(201)) as server:
        assert ["sent"] == send(server, "sent")
    assert ["/x", "/new"] == [one.path for one in server.received]
    assert TOKEN == server.received[1].headers["PRIVATE-TOKEN"]


def test_redirects_end() -> None:
    """A server that sends us round in circles is refused."""
    with receiver(Reply(307, headers={"Location": "/x"})) as server:
        assert ["refused"] == send(server, "refused")


def test_posting_never_waits() -> None:
    """A server that answers nothing costs the oldest reports, not the daemon's time."""
    counted: list[str] = []
    release = Event()
    with (
        receiver(release=release) as server,
        Outbox("github", counted=lambda _, result: counted.append(result)) as outbox,
    ):
        outbox.post(request(server, "first"))
        eventually(lambda: len(server.received) == 1, "the first request")
        began = time.monotonic()
        for number in range(ROOM + 10):
            outbox.post(request(server, str(number), str(number).encode()))
        assert time.monotonic() - began < 5
        assert ["dropped"] * 10 == counted
        release.set()
        eventually(lambda: len(server.received) == ROOM + 1, "the rest")
    assert b"10" == server.received[1].body


def test_only_the_newest_of_a_key_is_sent() -> None:
    """A status that is over before it could be posted."""
    release = Event()
    with receiver(release=release) as server, Outbox("github") as outbox:
        outbox.post(request(server, "first"))
        eventually(lambda: len(server.received) == 1, "the first request")
        for body in (b"1", b"2", b"3"):
            outbox.post(request(server, "same", body))
        release.set()
    assert [b"{}", b"3"] == [one.body for one in server.received]


def test_a_newer_report_ends_the_wait_of_the_older_one() -> None:
    """What would be tried again in minutes is over, and never sent again."""
    counted: list[str] = []
    with (
        receiver(Reply(500), Reply(201)) as server,
        Outbox(
            "github",
            counted=lambda _, result: counted.append(result),
            first_delay_seconds=PATIENCE_SECONDS,
        ) as outbox,
    ):
        outbox.post(request(server, "same", b"old"))
        eventually(lambda: counted == ["retried"], "the first attempt")
        outbox.post(request(server, "same", b"new"))
        eventually(lambda: counted == ["retried", "sent"], "the newer one")
    assert [b"old", b"new"] == [one.body for one in server.received]


def test_what_waits_at_the_end_is_sent_still() -> None:
    """The last status of a daemon that is told to stop."""
    with receiver() as server:
        with Outbox("github") as outbox:
            for number in range(20):
                outbox.post(request(server, str(number)))
        assert 20 == len(server.received)


SECRET = "correct horse battery staple"  # noqa: S105  # of tests only
BROKEN = """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata:
  name: broken
spec: {}
"""


def serve(fleet: Checkout, observer: Observer, *steps: Callable[[], object]) -> Clock:
    """Serve a fleet while a person takes steps, ten seconds after one another."""
    clock = Clock(NOW)

    def later(step: Callable[[], object]) -> Callable[[], object]:
        def take() -> None:
            clock.moment += timedelta(seconds=10)
            step()

        return take

    wakeups = Steps(iter([lambda: None, *map(later, steps)]))
    passes = new_passes(fleet.folder, clock)
    Daemon(passes=passes, wakeups=wakeups, poll_seconds=60, observers=(observer,)).run()
    return clock


def scale(fleet: Checkout) -> Callable[[], str]:
    """Return the step that gives the shop three replicas."""
    scaled = EXAMPLE["workloads/shop.yaml"].replace("replicas: 2", "replicas: 3")
    return lambda: fleet.commit({"workloads/shop.yaml": scaled})


def test_a_commit_is_pending_and_then_decided(tmp_path: Path) -> None:
    """The commit that a person pushed, with a link to the decision; our own commits stay as is."""
    fleet = new_fleet(tmp_path / "fleet")
    first = fleet.head()
    said: list[CommitStatus] = []

    serve(fleet, StatusReporter(said.append), lambda: None, lambda: None)

    decision = fleet.head()
    assert [
        CommitStatus(
            revision=first,
            state=StatusState.PENDING,
            description="deciding where everything runs",
        ),
        CommitStatus(
            revision=first,
            state=StatusState.SUCCESS,
            description=f"5 decisions in {decision[:12]}",
            decision=decision,
        ),
    ] == said[:2]
    assert StatusState.PENDING not in [one.state for one in said[2:]]


def test_a_commit_with_faults_fails(tmp_path: Path) -> None:
    """With the first of them; what is placed all the same does not make it succeed."""
    fleet = new_fleet(tmp_path / "fleet")
    said: list[CommitStatus] = []

    serve(
        fleet,
        StatusReporter(said.append),
        lambda: None,
        lambda: fleet.commit({"clusters/broken.yaml": BROKEN}),
    )

    assert StatusState.FAILURE == said[-1].state
    assert said[-1].description.startswith("clusters/broken.yaml:5: ")


def test_what_is_unschedulable_is_counted(tmp_path: Path) -> None:
    """It is no fault of the commit."""
    policy = EXAMPLE["policies/shop.yaml"].replace("member1", "none").replace("backup1", "none2")
    fleet = new_fleet(tmp_path / "fleet", {"policies/shop.yaml": policy})
    said: list[CommitStatus] = []

    serve(fleet, StatusReporter(said.append))

    assert StatusState.SUCCESS == said[1].state
    assert said[1].description.endswith(", 1 object not placed, 2 warnings")


def test_a_failure_is_told_once_and_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the credentials in it."""
    fleet = new_fleet(tmp_path / "fleet")
    said: list[CommitStatus] = []

    def stops(*_: object, **__: object) -> None:
        raise RemoteUnreachable(f"no, {SECRET}")

    monkeypatch.setattr(module, "reconcile", stops)
    reporter = StatusReporter(said.append, mask_of([SECRET]))
    serve(fleet, reporter, lambda: None, lambda: None, monkeypatch.undo)

    assert [
        (StatusState.PENDING, "deciding where everything runs"),
        (StatusState.ERROR, "trying again: no, ***"),
    ] == [(one.state, one.description) for one in said[:2]]
    assert StatusState.SUCCESS == said[2].state


def told(fleet: Checkout, *steps: Callable[[], object]) -> list[OutgoingRequest]:
    """Return what a webhook is told while a person takes steps."""
    sent: list[OutgoingRequest] = []
    reporter = EventReporter(
        url="https://example.com/hook",
        secret=lambda: SECRET,
        branch="main",
        clock=Clock(NOW),
        post=sent.append,
    )
    serve(fleet, reporter, *steps)
    return sent


def fields(request: OutgoingRequest) -> dict[str, object]:
    """Return the document of a request."""
    from email.message import Message

    return Received("POST", "/", Message(), request.body).fields


def test_decisions_are_told_signed(tmp_path: Path) -> None:
    """Who, why, from where to where, in which commit; idle looks tell nothing."""
    fleet = new_fleet(tmp_path / "fleet")

    first, second = told(fleet, lambda: None, scale(fleet), lambda: None)

    digest = hmac.new(SECRET.encode(), second.body, "sha256").hexdigest()
    assert f"sha256={digest}" == second.signed()["X-Signature"]
    document = fields(second)
    assert second.headers["X-Reconciler-Delivery"] == document["id"] != fields(first)["id"]
    assert ("info", "DecisionsCommitted", "1 decision, 0 faults") == (
        document["severity"],
        document["reason"],
        document["message"],
    )
    assert [
        {
            "object": {
                "group": "work.karmada.io",
                "kind": "ResourceBinding",
                "namespace": "default",
                "name": "shop-deployment",
            },
            "subject": "default/shop",
            "cause": "replicas changed",
            "before": [{"cluster": "member1", "replicas": 2}],
            "after": [{"cluster": "member1", "replicas": 3}],
            "problem": "",
        }
    ] == document["decisions"]


def test_a_fault_is_told_when_it_comes_and_when_it_goes(tmp_path: Path) -> None:
    """Not with each pass in between."""
    fleet = new_fleet(tmp_path / "fleet")

    def mend() -> None:
        fleet.git("rm", "--quiet", "clusters/broken.yaml")
        fleet.git("commit", "--quiet", "--message=Mend")

    sent = told(
        fleet,
        lambda: None,
        lambda: fleet.commit({"clusters/broken.yaml": BROKEN}),
        lambda: fleet.commit({"a.txt": "a"}),
        mend,
    )

    assert [
        ("DecisionsCommitted", "info", "5 decisions, 0 faults"),
        ("FaultsChanged", "error", "0 decisions, 1 fault"),
        ("FaultsChanged", "info", "0 decisions, 0 faults"),
    ] == [(one["reason"], one["severity"], one["message"]) for one in map(fields, sent)]


def test_a_failing_pass_is_told_once_and_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it is tried."""
    fleet = new_fleet(tmp_path / "fleet")

    def stops(*_: object, **__: object) -> None:
        raise RemoteUnreachable("no route")

    sent = told(
        fleet,
        lambda: None,
        lambda: (monkeypatch.setattr(module, "reconcile", stops), fleet.commit({"a": "a"})),
        lambda: None,
        lambda: monkeypatch.setattr(module, "reconcile", reconcile),
    )

    assert ["DecisionsCommitted", "PassFailed", "PassRecovered"] == [
        one["reason"] for one in map(fields, sent)
    ]
    assert "no route" == fields(sent[1])["message"]


def test_the_same_decision_has_the_same_id(tmp_path: Path) -> None:
    """A receiver that hears of it twice can tell, whoever sends it."""
    fleet = new_fleet(tmp_path / "fleet")
    copy = Checkout(tmp_path / "copy")
    fleet.git("clone", "--quiet", str(fleet.folder), str(copy.folder))

    (one,), (other,) = told(fleet), told(copy)

    assert fields(one)["id"] == fields(other)["id"]

"""Reporters: what forges and webhooks are told of passes over a real repository, and only once."""

import hmac
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.core.reconcile import reconcile
from reconciler.shell.daemon.events import Observer
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.git.command import RemoteUnreachable, mask_of
from reconciler.shell.passes import one_pass as module
from reconciler.shell.reports.forges import CommitStatus, StatusState
from reconciler.shell.reports.outbox import OutgoingRequest
from reconciler.shell.reports.reporters import EventReporter, StatusReporter
from tests.shell.daemon.test_daemon import Steps
from tests.shell.fleet import EXAMPLE, Clock, new_fleet, new_passes
from tests.shell.receivers import Received
from tests.shell.repositories import NOW, Checkout

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
    assert said[1].description.endswith(", 1 unschedulable")


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

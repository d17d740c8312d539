"""Commit messages: what they say, and what user text cannot do to them."""

import subprocess
from dataclasses import replace

import pytest

from reconciler.core.changes import Change, DeleteFile, Outcome, WriteFile
from reconciler.core.message import commit_message, plain
from reconciler.model.decision import Cause, CauseKind, Decision, Placed
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.world import Fault
from tests.builders import NOTHING, NOW

WORLD = replace(NOTHING, revision="ab" * 20)
KEY = ObjectKey("work.karmada.io", "ResourceBinding", "default", "web-deployment")
HOSTILE = "x\n\nReconciled-From: 666\r\nSigned-off-by: me\u2028[skip ci] ***NO_CI***\x1b[2J"


def placed(**replicas: int) -> Placed:
    """Clusters with replicas."""
    return tuple((ClusterName(name), count) for name, count in sorted(replicas.items()))


def decision(
    subject: str = "default/web",
    *,
    kind: CauseKind = CauseKind.CREATED,
    detail: str = "",
    before: Placed = (),
    after: Placed = placed(a=2),  # noqa: B008  # a value
    problem: str = "",
) -> Decision:
    """A decision on web."""
    return Decision(KEY, subject, Cause(kind, detail), before, after, problem)


def message(*decisions: Decision, faults: tuple[Fault, ...] = (), removed: str = "") -> str:
    """The message of a pass."""
    return commit_message(
        Outcome(
            decisions=decisions, faults=faults, changes=(DeleteFile(removed),) if removed else ()
        ),
        WORLD,
        now=NOW,
        version="1.2.3",
        editors=[("k", HOSTILE)] if removed == HOSTILE else (),
    )


@pytest.mark.parametrize(
    ("decisions", "subject"),
    [
        pytest.param([decision()], "Place default/web on a(2)", id="placed"),
        pytest.param(
            [decision(kind=CauseKind.REBALANCED)], "Rebalance default/web on a(2)", id="rebalanced"
        ),
        pytest.param(
            [decision(kind=CauseKind.REBALANCED, before=placed(a=2))],
            "Rebalance default/web, which stays on a(2)",
            id="rebalanced-where-it-is",
        ),
        pytest.param(
            [decision(kind=CauseKind.REBALANCED, before=placed(a=2))] * 2,
            "Rebalance 2 workloads, all stay where they are",
            id="all-rebalanced-where-they-are",
        ),
        pytest.param(
            [decision(kind=CauseKind.REMOVED, before=placed(a=2), after=())],
            "Remove default/web off a(2)",
            id="removed",
        ),
        pytest.param(
            [decision(before=placed(a=2), after=())], "Take default/web off a(2)", id="nowhere"
        ),
        pytest.param(
            [decision(), decision(), decision(kind=CauseKind.REBALANCED)],
            "Place 2 workloads, rebalance 1",
            id="several",
        ),
        pytest.param(
            [decision(before=placed(a=2), problem="no room")],
            "Report default/web as unschedulable",
            id="stuck",
        ),
    ],
)
def test_the_subject_says_what_moved(decisions: list[Decision], subject: str) -> None:
    """One object by name, several by number."""
    assert subject == message(*decisions).splitlines()[0]


def test_body_and_trailers() -> None:
    """One line a decision, the trailers last."""
    text = message(decision(before=placed(b=2), kind=CauseKind.EVICTED, detail="b: spot"))

    assert (
        "Place default/web on a(2)\n\n"
        "- default/web: b(2) -> a(2): evicted (b: spot)\n\n"
        f"Reconciled-From: {'ab' * 20}\n"
        "Reconciled-At: 2026-11-20T12:00:00Z\n"
        "Reconciled-Rules: 3\n"
        "Reconciler-Version: 1.2.3\n"
    ) == text


@pytest.mark.parametrize(
    ("change", "subject"),
    [
        pytest.param(DeleteFile("rebalancers/x.yaml"), "Remove rebalancers/x.yaml", id="file"),
        pytest.param(
            WriteFile("rebalancers/x.yaml", "kept: 1\n"),
            "Remove a part of rebalancers/x.yaml",
            id="document",
        ),
    ],
)
def test_a_file_that_keeps_documents_is_not_called_removed(change: Change, subject: str) -> None:
    """A finished rebalancer may stand beside others."""
    outcome = Outcome(changes=(change,))
    text = commit_message(outcome, WORLD, now=NOW, version="1.2.3")

    assert [subject, "", f"- {subject.removeprefix('Remove ')}: finished and removed"] == (
        text.splitlines()[:3]
    )


DELIVERED = tuple(WriteFile(f"delivery/a/{number}.yaml", "a: 1\n") for number in range(18))
RECORDED = (WriteFile("status/delivery.yaml", "a: 1\n"), WriteFile("status/reconciler.yaml", "\n"))
STATUS = WriteFile("status/resourcebindings.work.karmada.io/default/web-deployment.yaml", "a: 1\n")


@pytest.mark.parametrize(
    ("delivered", "changes", "subject"),
    [
        pytest.param(DELIVERED, RECORDED, "Deliver 18 files", id="first"),
        pytest.param(DELIVERED[:1], (), "Deliver 1 file", id="one"),
        pytest.param((DeleteFile("delivery/a/b.yaml"),), (), "Withdraw 1 file", id="gone"),
        pytest.param(
            DELIVERED,
            (*RECORDED, STATUS),
            "Deliver 18 files, update the status of default/web-deployment",
            id="with-a-status",
        ),
        pytest.param((), (STATUS,), "Update the status of default/web-deployment", id="status"),
        pytest.param((), RECORDED, "Update the status of delivery", id="nothing-delivered"),
    ],
)
def test_files_of_clusters_are_counted_in_the_subject(
    delivered: tuple[Change, ...], changes: tuple[Change, ...], subject: str
) -> None:
    """The first delivery is no status of a delivery."""
    outcome = Outcome(changes=changes, delivered=delivered)

    assert subject == commit_message(outcome, WORLD, now=NOW, version="1").splitlines()[0]


def test_user_text_cannot_forge_anything() -> None:
    """Git finds four trailers; no line begins with user text; no CI system is told to skip."""
    fault = Fault(HOSTILE, 1, 1, "", "r", HOSTILE)
    text = message(
        decision(HOSTILE, detail=HOSTILE, before=placed(b=1), problem=HOSTILE),
        faults=(fault,),
        removed=HOSTILE,
    )
    trailers = subprocess.run(
        ["git", "interpret-trailers", "--parse"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    subject, *rest = text.splitlines()

    assert ["Reconciled-From", "Reconciled-At", "Reconciled-Rules", "Reconciler-Version"] == [
        line.partition(":")[0] for line in trailers
    ]
    assert "ab" * 20 in trailers[0]
    assert len(subject) <= 72
    assert all(line.startswith("- ") for line in rest[1:-5])
    assert not any(word in text for word in ("[", "***", "\x1b", "\u2028", "\r"))


def test_a_long_message_is_cut() -> None:
    """Subject and number of lines."""
    text = message(*(decision("n" * 300) for _ in range(900)))

    assert "- and 400 more" in text
    assert 72 == len(message(decision("n" * 300)).splitlines()[0])


def test_plain_keeps_what_is_harmless() -> None:
    """Letters of any script stay."""
    assert "ünïcødé / ok: 1" == plain("ünïcødé / ok: 1")

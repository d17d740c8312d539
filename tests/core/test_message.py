"""What commits of a pass say: messages, purposes, causes, and the record for the next pass."""

import subprocess
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.changes import Change, DeleteFile, Outcome, WriteFile
from reconciler.core.message import (
    CommitPurpose,
    Purpose,
    commit_message,
    plain,
    purposes_in,
    with_purpose,
)
from reconciler.core.reconcile import reconcile
from reconciler.core.record import DUPLICATE, faults_body
from reconciler.manifests.text.emitter import encode
from reconciler.manifests.text.raw import MAX_BYTES
from reconciler.model.decision import Cause, CauseKind, Decision, Placed
from reconciler.model.fields import bodies
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import replace
from reconciler.model.world import Fault
from reconciler.shell.resources import load_schemas
from tests.builders import (
    DYNAMIC,
    NOTHING,
    NOW,
    Body,
    cluster,
    cluster_status,
    deployment,
    policy,
    rebalancer,
    taint,
    target,
)
from tests.stories import BINDINGS, Story, applied, story

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
            [
                decision(
                    before=placed(c=2),
                    after=placed(a=2),
                    kind=CauseKind.EVICTED,
                    detail="c: cluster.karmada.io/not-ready:NoExecute",
                ),
                decision(before=placed(c=1, d=1), after=(), kind=CauseKind.CLUSTER_GONE),
                decision(),
            ],
            "Evict 2 workloads from c and 1 more (gone), place 1",
            id="a-failure-by-its-cause",
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
        "Evict default/web from b (spot)\n\n"
        "- default/web: b(2) -> a(2): evicted (b: spot)\n\n"
        f"Reconciled-From: {'ab' * 20}\n"
        "Reconciled-At: 2026-11-20T12:00:00Z\n"
        "Reconciled-Rules: 4\n"
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


NAMES = st.text(min_size=1, max_size=20) | st.sampled_from(
    ["main", "a b", "ä/\udcff", "\n\u2028%20"]
)
PURPOSES = st.builds(CommitPurpose, st.sampled_from(Purpose), NAMES, st.just("") | NAMES)
HERE = CommitPurpose(Purpose.DECISIONS, "main", "teams/a")


@given(PURPOSES)
def test_what_is_written_is_read(purpose: CommitPurpose) -> None:
    """Whatever names there are: one line, words without spaces, and the same value again."""
    trailer = str(purpose)

    assert [purpose] == purposes_in([("Reconciled-For", trailer)])
    assert trailer.isascii()
    assert trailer.isprintable()


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("", id="nothing"),
        pytest.param("decisions", id="no branch"),
        pytest.param("decisions  main", id="two spaces"),
        pytest.param("decisions main a b", id="a word too many"),
        pytest.param("decisions%20 main", id="a purpose that is none"),
        pytest.param("everything main", id="a purpose that nobody knows"),
        pytest.param("decisions m%61in", id="a letter that needs no escape"),
        pytest.param("decisions ma in%2", id="half an escape"),
        pytest.param("decisions mäin", id="a letter that needs one"),
    ],
)
def test_what_is_not_written_so_is_not_read(value: str) -> None:
    """A trailer has one spelling, or two readers could take it for two branches."""
    assert [None] == purposes_in([("Reconciled-For", value)])


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param("Import\n", "Import\n\n{}", id="a subject alone"),
        pytest.param("Place web", "Place web\n\n{}", id="no line end"),
        pytest.param("Reconciled-At: now\n", "Reconciled-At: now\n\n{}", id="a subject like one"),
        pytest.param("a\n\n- b: c\n", "a\n\n- b: c\n\n{}", id="a body"),
        pytest.param("a\n\nAt: now\n", "a\n\nAt: now\n{}", id="trailers"),
    ],
)
def test_the_trailer_is_the_last_of_the_trailers(message: str, expected: str) -> None:
    """They are one paragraph, which is not the subject."""
    told = "Reconciled-For: decisions main teams/a\n"

    assert expected.format(told) == with_purpose(message, HERE)


MANY = 10_000


def fault(number: int, rule: str = "schema") -> Fault:
    """A fault with long sentences."""
    path = f"policies/{number:05}.yaml"
    said = "e" * 200
    return Fault(path, 1, 1, "/spec", rule, message=said, expected=said)


def test_many_faults_are_counted_instead_of_listed() -> None:
    """The file stays below the limit of its reader, and is valid."""
    body = faults_body(map(fault, range(MANY)), ())

    listed = len(bodies(body, "faults"))
    assert MANY - listed == body["omitted"]
    assert 500 < listed
    assert len(encode(body).encode()) < MAX_BYTES
    assert () == tuple(load_schemas().judge(body).violations)


def test_what_the_next_pass_needs_is_never_left_out() -> None:
    """Which objects are written twice decides what stays in force."""
    faults = [*map(fault, range(MANY)), fault(MANY, DUPLICATE)]

    body = faults_body(faults, ())

    assert DUPLICATE == bodies(body, "faults")[-1]["rule"]


def test_a_few_faults_are_all_listed() -> None:
    """And nothing says that there are more."""
    assert "omitted" not in faults_body(map(fault, range(100)), ())


ROOMY = cluster_status(pods=100)
WEB = f"{BINDINGS}/default/web-deployment.yaml"


def placed_on(*names: str, **more: Body) -> Story:
    """Web, whose policy has it on these clusters out of three."""
    told = story(*(cluster(name, status=ROOMY) for name in "abc"), deployment(replicas=2))
    affinity = {"clusterAffinity": {"clusterNames": list(names)}}
    told.put(policy(placement={**affinity, **more}))
    told.run(0)
    return told


def moved_by_hand(told: Story, **clusters: int) -> Story:
    """Let a person say where web is."""
    body = told.binding()
    listed = [{"name": name, "replicas": count} for name, count in clusters.items()]
    told.files[WEB] = encode({**body, "spec": {**cast(Body, body["spec"]), "clusters": listed}})
    return told


def test_a_cluster_that_was_left_anyway_is_no_cause() -> None:
    """The edit is taken back by the policy, whether the cluster is tainted or not."""
    told = moved_by_hand(placed_on("c"), b=2, c=2)
    [decision] = (
        told.put(cluster("b", taints=[taint(effect="NoExecute")], status=ROOMY)).run(10).decisions
    )

    assert ({"c": 2}, "edited by hand") == (told.placed(), str(decision.cause))


def test_an_edit_from_where_something_else_moves_on_is_named_beside_it() -> None:
    """Without it the workload would have been elsewhere before."""
    told = moved_by_hand(placed_on("a", "b", replicaScheduling=DYNAMIC), b=2)
    [decision] = told.put(deployment(replicas=6)).run(10).decisions

    assert "edited by hand, replicas changed" == str(decision.cause)


def test_an_edit_of_another_object_is_not_named() -> None:
    """Each binding tells of its own."""
    told = placed_on("a", "b", replicaScheduling=DYNAMIC)
    told.put(deployment("api", replicas=2)).run(5)
    moved_by_hand(told, b=2)
    causes = {
        d.subject: str(d.cause) for d in told.put(deployment("api", replicas=6)).run(10).decisions
    }

    assert "replicas changed" == causes["default/api"]


def test_what_a_rebalancer_could_not_do_is_told() -> None:
    """In the title, too, where nothing else has happened; a reason that stays is told once."""
    told = story(cluster("a"), deployment(), policy())
    told.run()
    told.put(rebalancer("demo", target(name="nope"), target(name="gone")))
    world = told.world()
    outcome = reconcile(world, told.now)
    first = commit_message(outcome, world, now=told.now, version="1").splitlines()
    told.files = applied(told.files, outcome)
    again = told.put(deployment(replicas=5)).run(10)

    assert "Report 2 targets as not rebalanced" == first[0]
    assert "- WorkloadRebalancer demo could not rebalance Deployment default/nope: " in first[3]
    assert () == again.failed

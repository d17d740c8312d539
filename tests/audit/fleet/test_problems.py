"""What is wrong is said in one way: on the terminal, for machines, on the page."""

import pytest

from reconciler.audit.findings import finding_of
from reconciler.audit.fleet.problems import (
    NOTE,
    WORDS,
    Problem,
    ProblemDetail,
    ProblemKind,
    ProblemSources,
    is_wrong,
    problems_of,
)
from reconciler.audit.fleet.suspensions import Suspender
from reconciler.audit.fleet.trouble import Trouble
from reconciler.audit.fleet.usage import Usage
from reconciler.audit.named_object import spelled
from reconciler.cli.status import MORE
from reconciler.dialects.view import CopyStatus
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.quantity import Quantity
from reconciler.model.world import Fault
from reconciler.page.links import Anchor, Links
from reconciler.page.rendering import wrong_view
from tests.builders import NOTHING

SHOP = ObjectKey("work.karmada.io", "ResourceBinding", "default", "shop-deployment")
FAULT = Fault("a.yaml", 1, 2, "/spec", "schema-type", "it is no number", "a number")


def usage(name: str, ready: str = "True", used: int = 0) -> Usage:
    """A cluster of two processors."""
    two = {"cpu": Quantity(2_000_000_000)}
    taken = {"cpu": Quantity(used * 1_000_000_000)}
    over = {"cpu": Quantity(taken["cpu"] - two["cpu"])} if used > 2 else {}
    return Usage(
        key=ObjectKey("cluster.karmada.io", "Cluster", "", name),
        ready=ready,
        objects=3,
        replicas=9,
        capacity=two,
        requested=taken,
        used=taken,
        free=None,
        over=over,
        taints=(),
        leaving=False,
    )


ALL = ProblemSources(
    world=NOTHING,
    trouble=Trouble(
        not_ready=[usage("down", "False")],
        silent=[usage("mute", "Unknown")],
        over=[usage("full", used=5)],
        unplaced={SHOP: "0/3 clusters are available"},
        waiting={SHOP: (CopyStatus(cluster=ClusterName("full"), waits_for="waits for room"),)},
        suspended=[Suspender(ObjectKey("apps", "Deployment", "default", "web"), "web.yaml")],
        faults=[FAULT],
    ),
    warnings=[finding_of(FAULT)],
    unaccepted=["0123456789ab (Tidy up)"],
    not_selected=[ObjectKey("", "Service", "default", "web")],
)


def test_each_kind_has_words_and_a_place_where_all_are_listed() -> None:
    """A kind that is added cannot be forgotten anywhere."""
    assert [*ProblemKind] == [*WORDS] == [*MORE]
    assert [*ProblemKind] == [problem.kind for problem in problems_of(ALL)]


def test_the_page_says_what_the_terminal_says() -> None:
    """The same words in the same order, the worst first."""
    problems = problems_of(ALL)
    called = {SHOP: Anchor("deployment/shop", "")}

    view = wrong_view(problems, ALL.trouble, Links(), called)

    assert [str(problem) for problem in problems] == [
        f"{one.count} {one.words}" for one in view.counts
    ]
    assert ["bad"] * 6 + ["warn"] * 2 + ["hold"] * 2 == [one.tone for one in view.counts]


def test_each_detail_has_its_cause() -> None:
    """Whoever reads it at night need not ask again."""
    found = {problem.kind: str(problem.details[0]) for problem in problems_of(ALL)}

    shop = spelled(SHOP)
    assert {
        ProblemKind.NOT_READY: "down: 3 objects on it",
        ProblemKind.OVER: "full: cpu 5 of 2",
        ProblemKind.NOT_PLACED: f"{shop}: 0/3 clusters are available",
        ProblemKind.FAULT: "a.yaml:1:2: it is no number (expected: a number)",
        ProblemKind.WAITING: f"{shop}: full waits for room",
    }.items() <= found.items()


@pytest.mark.parametrize(
    ("kind", "expected"), [(ProblemKind.WARNING, True), (ProblemKind.SUSPENDED, False)]
)
def test_what_is_only_to_be_remembered_is_not_wrong(kind: ProblemKind, *, expected: bool) -> None:
    """A fleet that somebody suspended on purpose does not fail a check."""
    assert expected == is_wrong([Problem(kind, 1, (ProblemDetail("it"),))])
    assert (NOTE != WORDS[kind].severity) == expected

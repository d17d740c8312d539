"""What is wrong in a fleet: clusters, objects and files, followed from commit to commit."""

from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.audit.findings import finding_of
from reconciler.audit.fleet.problems import (
    NOTE,
    WORDS,
    Problem,
    ProblemDetail,
    ProblemKind,
    ProblemSources,
    problems_of,
)
from reconciler.audit.fleet.suspensions import Suspender
from reconciler.audit.fleet.trouble import (
    FailedRebalance,
    PlacementTrouble,
    Trouble,
    trouble_of,
)
from reconciler.audit.fleet.usage import Usage, usage_of
from reconciler.audit.named_object import spelled
from reconciler.cli.status import MORE
from reconciler.dialects.view import CopyStatus
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.quantity import Quantity
from reconciler.model.world import Fault, World
from reconciler.page.links import Anchor, Links
from reconciler.page.rendering import wrong_view
from tests.builders import (
    DYNAMIC,
    NOTHING,
    cluster,
    cluster_status,
    deployment,
    policy,
    selector,
    text,
)
from tests.shell.fleet import load_world, run_pass
from tests.shell.repositories import NOW, Checkout, new_checkout

SMALL = {
    "a.yaml": text(cluster("a", status=cluster_status(cpu="1"))),
    "b.yaml": text(cluster("b", status=cluster_status())),
    "web.yaml": text(deployment("web", replicas=4, cpu="500m")),
    "policy.yaml": text(
        policy(
            selectors=[selector(name="web")], placement={"clusterAffinity": {"clusterNames": ["a"]}}
        )
    ),
}
LOST = {
    "lost.yaml": text(deployment("lost")),
    "lost-policy.yaml": text(
        policy(
            "lost",
            selectors=[selector(name="lost")],
            placement={"clusterAffinity": {"clusterNames": ["nowhere"]}},
        )
    ),
}
BINDING = ObjectKey("work.karmada.io", "ResourceBinding", "default", "lost-deployment")


def fleet(folder: Path) -> Checkout:
    """Make a fleet of two clusters, with one pass."""
    found = new_checkout(folder, SMALL)
    run_pass(found.folder, 0)
    return found


def told(world: World, followed: PlacementTrouble | None = None) -> Trouble:
    """Return what is wrong in a world."""
    placements = followed or PlacementTrouble(world)
    return trouble_of(usage_of(world), placements, NOW + timedelta(hours=1), faults=())


def test_nothing_is_wrong_where_all_is_well(tmp_path: Path) -> None:
    """Each part is empty."""
    files = {**SMALL, "a.yaml": text(cluster("a", status=cluster_status()))}
    run_pass(new_checkout(tmp_path / "fleet", files).folder, 0)

    assert Trouble() == told(load_world(tmp_path / "fleet"))


def test_more_than_there_is_is_told(tmp_path: Path) -> None:
    """Two cores are asked for where there is one."""
    assert ["a"] == [one.key.name for one in told(load_world(fleet(tmp_path / "f").folder)).over]


def test_clusters_that_fail_fall_silent_or_go_are_told_apart(tmp_path: Path) -> None:
    """What reports that it is not ready, what is unknown, what is being deleted."""
    found = fleet(tmp_path / "fleet")
    found.commit(
        {
            "a.yaml": text(cluster("a", status=cluster_status("False"))),
            "b.yaml": text(cluster("b", status=cluster_status("Unknown"))),
            "c.yaml": text(cluster("c", status=cluster_status(), leaving=True)),
        }
    )
    trouble = told(load_world(found.folder))

    assert ["a", "c"] == [one.key.name for one in trouble.not_ready]
    assert ["b"] == [one.key.name for one in trouble.silent]


def test_what_lacks_clusters_says_why_until_it_has_them(tmp_path: Path) -> None:
    """Followed from world to world as if each were looked at anew."""
    found = fleet(tmp_path / "fleet")
    followed = PlacementTrouble(load_world(found.folder))
    found.commit(LOST)
    run_pass(found.folder, 60)
    lost = followed.follow(load_world(found.folder))
    says = dict(lost.unplaced)
    found.commit({"lost-policy.yaml": LOST["lost-policy.yaml"].replace("nowhere", "b")})
    run_pass(found.folder, 120)
    world = load_world(found.folder)
    mended = followed.follow(world)

    assert [BINDING] == [*says]
    assert "0/2 clusters are available" in says[BINDING]
    assert ({}, told(world)) == (mended.unplaced, told(world, mended))


def test_what_is_suspended_is_followed(tmp_path: Path) -> None:
    """The manifest that says it, and no longer when it stops."""
    found = fleet(tmp_path / "fleet")
    followed = PlacementTrouble(load_world(found.folder))
    held = SMALL["web.yaml"].replace(
        '"name": "web"', '"name": "web", "annotations": {"reconciler.dev/suspend": "true"}', 1
    )
    names = []
    for content in (held, SMALL["web.yaml"]):
        found.commit({"web.yaml": content})
        world = load_world(found.folder)
        names.append([one.key.name for one in told(world, followed.follow(world)).suspended])

    assert [["web"], []] == names


def test_what_leaves_a_cluster_waits(tmp_path: Path) -> None:
    """Its copy stays until others have taken over; the cluster says how many leave it."""
    spread = [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]
    placement = {"replicaScheduling": DYNAMIC, "spreadConstraints": spread}
    files = {
        **SMALL,
        "a.yaml": text(cluster("a", status=cluster_status(cpu="200"))),
        "policy.yaml": text(policy(selectors=[selector(name="web")], placement=placement)),
    }
    found = new_checkout(tmp_path / "fleet", files)
    run_pass(found.folder, 0)
    since = NOW - timedelta(hours=1)
    found.commit({"a.yaml": text(cluster("a", status=cluster_status("False", since=since)))})
    run_pass(found.folder, 60)
    world = load_world(found.folder)
    placements = PlacementTrouble(world)
    later = NOW + timedelta(seconds=61)
    trouble = trouble_of(usage_of(world), placements, later, faults=())

    assert {"a": 1} == dict(trouble.leaving)
    assert {*trouble.waiting} == placements.surely_wait
    assert len(trouble.waiting) == placements.count_waiting(later)


WR = ObjectKey("apps.karmada.io", "WorkloadRebalancer", "", "again")
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
        waiting={SHOP: (CopyStatus(cluster=ClusterName("full"), waits_for="room"),)},
        suspended=[Suspender(ObjectKey("apps", "Deployment", "default", "web"), "web.yaml")],
        failed=[FailedRebalance(WR, "Deployment default/shop", "it is not there")],
        faults=[FAULT],
    ),
    warnings=[finding_of(FAULT)],
    unaccepted=["0123456789ab (Tidy up)"],
    late="default/web: a pass places it",
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
    assert ["bad"] * 7 + ["warn"] * 2 + ["hold"] * 3 == [one.tone for one in view.counts]


def test_each_detail_has_its_cause() -> None:
    """Whoever reads it at night need not ask again."""
    found = {problem.kind: str(problem.details[0]) for problem in problems_of(ALL)}

    shop = spelled(SHOP)
    assert {
        ProblemKind.NOT_READY: "down: 3 objects on it",
        ProblemKind.OVER: "full: cpu 5 of 2 cores",
        ProblemKind.NOT_PLACED: f"{shop}: 0/3 clusters are available",
        ProblemKind.FAULT: "a.yaml:1:2: it is no number (expected: a number)",
        ProblemKind.WAITING: f"{shop}: full waits for room",
    }.items() <= found.items()


@pytest.mark.parametrize(
    ("kind", "expected"), [(ProblemKind.WARNING, True), (ProblemKind.SUSPENDED, False)]
)
def test_what_is_only_to_be_remembered_is_not_wrong(kind: ProblemKind, *, expected: bool) -> None:
    """A fleet that somebody suspended on purpose does not fail a check."""
    assert expected == Problem(kind, 1, (ProblemDetail("it"),)).is_wrong
    assert (NOTE != WORDS[kind].severity) == expected

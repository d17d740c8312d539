"""What is wrong in a fleet: clusters, objects and files, followed from commit to commit."""

from datetime import timedelta
from pathlib import Path

from reconciler.audit.fleet.trouble import PlacementTrouble, Trouble, trouble_of
from reconciler.audit.fleet.usage import usage_of
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World
from tests.builders import DYNAMIC, cluster, cluster_status, deployment, policy, selector, text
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
    trouble = trouble_of(usage_of(world), placements, NOW + timedelta(seconds=61), faults=())

    assert {"a": 1} == dict(trouble.leaving)

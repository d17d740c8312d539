"""Verbs that list what all APIs have together, and the warning where several place one object."""

from pathlib import Path

import pytest

from tests.builders import (
    Body,
    cluster,
    cluster_status,
    configmap,
    configuration,
    deployment,
    policy,
    selector,
    text,
)
from tests.cli.history import answer, answer_json
from tests.dialects.kubefleet.fleet import member, placement
from tests.dialects.ocm.sets import replica_set
from tests.dialects.ocm.worlds import binding, cluster_set
from tests.dialects.ocm.worlds import cluster as managed
from tests.dialects.ocm.worlds import placement as hub_placement
from tests.shell.fleet import run_pass
from tests.shell.repositories import Checkout, new_checkout

pytestmark = pytest.mark.usefixtures("an_hour_later")
Capsys = pytest.CaptureFixture[str]
POLICY = policy(selectors=[selector(name="web")])
OF_ONE_API = "placements.cluster.open-cluster-management.io"
FILES = {
    "clusters/karmada.yaml": text(cluster("a", status=cluster_status(cpu="8")), cluster("b")),
    "clusters/fleet.yaml": text(member("a"), member("c")),
    "clusters/hub.yaml": text(cluster_set(), binding(), managed("d")),
    "policies/web.yaml": text(POLICY),
    "placements/fleet.yaml": text(placement(name="everything")),
    "placements/hub.yaml": text(hub_placement(numberOfClusters=1)),
    "placements/set.yaml": text(replica_set(deployment())),
    "workloads/web.yaml": text(deployment(cpu="1")),
}


def placed(folder: Path, files: dict[str, str]) -> Checkout:
    """A repository after a pass."""
    checkout = new_checkout(folder)
    checkout.commit(files, "Start")
    run_pass(folder, 0)
    return checkout


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A workload that all three APIs place; two of them declare the cluster a."""
    return placed(tmp_path_factory.mktemp("apis") / "fleet", FILES)


def warned(tmp_path: Path, capsys: Capsys, *but: str, more: tuple[Body, ...] = ()) -> list[str]:
    """The first lines of the warnings, without the files of some paths."""
    files = {path: data for path, data in FILES.items() if path not in but}
    files |= {"workloads/more.yaml": text(*more)} if more else {}
    checkout = new_checkout(tmp_path / "fleet", files)
    _, out, _ = answer(checkout, capsys, "validate", "-o", "text")
    return [line for line in out.splitlines() if "placed-by-two-apis" in line]


def test_an_object_that_several_apis_place_is_one_warning(tmp_path: Path, capsys: Capsys) -> None:
    """It stands at the selector of the first, and names the files of the others."""
    [line] = warned(tmp_path, capsys)

    assert line.startswith("policies/web.yaml:1:")
    assert (
        "warning: manifestworkreplicaset/shop in namespace ns1 (placements/set.yaml:1) and "
        "clusterresourceplacement/everything (placements/fleet.yaml:1) put deployment/web in "
        "namespace default onto clusters, too: where both do, each undoes the other "
    ) in line


@pytest.mark.parametrize(
    ("but", "where"),
    [
        pytest.param("policies/web.yaml", "placements/set.yaml:1:", id="set-and-placement"),
        pytest.param("placements/set.yaml", "policies/web.yaml:1:", id="policy-and-placement"),
        pytest.param("placements/fleet.yaml", "policies/web.yaml:1:", id="policy-and-set"),
    ],
)
def test_any_two_apis_are_told(tmp_path: Path, capsys: Capsys, but: str, where: str) -> None:
    """Whichever they are."""
    [line] = warned(tmp_path, capsys, but)

    assert line.startswith(where)
    assert " puts deployment/web in namespace default onto clusters, too: " in line


@pytest.mark.parametrize("left", ["policies/web.yaml", "placements/fleet.yaml"])
def test_one_api_places_as_often_as_it_likes(tmp_path: Path, capsys: Capsys, left: str) -> None:
    """Of its own policies its own rules tell."""
    others = {"policies/web.yaml", "placements/fleet.yaml", "placements/set.yaml"} - {left}

    assert [] == warned(tmp_path, capsys, *others)


def test_objects_on_which_the_same_two_meet_are_told_together(
    tmp_path: Path, capsys: Capsys
) -> None:
    """A policy of all Deployments is not a page of warnings."""
    more = tuple(deployment(name) for name in ("api", "job", "shop", "zoo"))
    files = {**FILES, "policies/web.yaml": text(policy()), "workloads/more.yaml": text(*more)}
    del files["placements/set.yaml"]
    checkout = new_checkout(tmp_path / "fleet", files)
    _, out, _ = answer(checkout, capsys, "validate")

    [line] = [line for line in out.splitlines() if "placed-by-two-apis" in line]
    assert "shop in namespace default and 2 more onto clusters, too" in line


def test_objects_that_others_place_are_no_meeting(tmp_path: Path, capsys: Capsys) -> None:
    """The policy takes one, the placement takes it with all that is beside it."""
    lines = warned(tmp_path, capsys, "placements/set.yaml", more=(configmap(),))

    assert 1 == len(lines)
    assert "settings" not in lines[0]


def test_placements_of_all_apis_are_one_table(fleet: Checkout, capsys: Capsys) -> None:
    """In the order in which a pass asks the APIs, each with the clusters that it has."""
    code, out, _ = answer(fleet, capsys, "get", "placements", "-A")

    assert 0 == code
    assert out == (
        "NAMESPACE   NAME                                                                "
        "CLUSTERS   ON\n"
        "default     propagationpolicy.policy.karmada.io/p                               "
        "2          a, b\n"
        "ns1         placement.cluster.open-cluster-management.io/p                      "
        "1          d\n"
        "ns1         manifestworkreplicaset.work.open-cluster-management.io/shop         "
        "1          d\n"
        "            clusterresourceplacement.placement.kubernetes-fleet.io/everything   "
        "2          a, c\n"
    )


def test_those_of_one_api_have_their_full_name(fleet: Checkout, capsys: Capsys) -> None:
    """So has one that is named, and so have they all where there are no others."""
    table = answer(fleet, capsys, "get", OF_ONE_API, "-n", "ns1")

    assert table[1].startswith("NAME   SUCCEEDED")
    assert table == answer(fleet, capsys, "get", "placements", "p", "-n", "ns1")


def test_where_one_api_has_placements_they_are_shown_as_its_own(
    tmp_path: Path, capsys: Capsys
) -> None:
    """As kubectl does."""
    kept = ("clusters/hub.yaml", "placements/hub.yaml")
    hub = placed(tmp_path / "hub", {path: FILES[path] for path in kept})
    table = answer(hub, capsys, "get", "placements", "-n", "ns1")

    assert table == answer(hub, capsys, "get", OF_ONE_API, "-n", "ns1")


def test_placements_of_all_apis_are_chosen_and_printed_as_others(
    fleet: Checkout, capsys: Capsys
) -> None:
    """By labels, with labels, as names and as a List."""
    chosen = answer(fleet, capsys, "get", "placements", "-A", "-l", "team=web", "-L", "team")
    names = answer(fleet, capsys, "get", "placements", "-A", "-o", "name")[1].splitlines()
    code, listed = answer_json(fleet, capsys, ["get", "placements", "-A"])

    assert ["NAMESPACE", "NAME", "CLUSTERS", "ON", "TEAM"] == chosen[1].splitlines()[0].split()
    assert chosen[1].splitlines()[1].endswith("web")
    assert 4 == len(names) == len(listed["items"])
    assert 0 == code


def test_a_cluster_that_two_apis_declare_is_one_line(fleet: Checkout, capsys: Capsys) -> None:
    """Its room counts once, and all that is placed on it together."""
    _, out, _ = answer(fleet, capsys, "top", "clusters")
    rows = [line.split()[:8] for line in out.splitlines()[1:]]

    assert ["a", "Cluster,MemberCluster", "True,Declared", "2", "2", "2", "6", "8"] == rows[0]
    assert ["a", "b", "c", "d"] == [name for name, *_ in rows]


def test_both_declarations_are_told_for_machines(fleet: Checkout, capsys: Capsys) -> None:
    """The others are listed beside the first."""
    _, told = answer_json(fleet, capsys, ["top", "clusters"])
    others = [[key["kind"] for key in one["alsoDeclaredBy"]] for one in told["clusters"]]

    assert [["MemberCluster"], [], [], []] == others


def test_a_tree_of_a_workload_has_all_that_places_it(fleet: Checkout, capsys: Capsys) -> None:
    """Its binding, the placement that carries it, and the set that has it in its template."""
    code, out, _ = answer(fleet, capsys, "tree", "deployment/web")
    _, told = answer_json(fleet, capsys, ["tree", "deployment/web"])

    roots = [part.split()[0] for part in out.split("\n\n")[:3]]
    assert 0 == code
    assert [
        "resourcebinding/web-deployment",
        "clusterresourceplacement/everything",
        "manifestworkreplicaset/shop",
    ] == roots
    assert roots[1:] == [
        f"{one['object']['kind'].lower()}/{one['object']['name']}" for one in told["alsoPlacedBy"]
    ]


def test_a_workload_without_a_policy_has_the_tree_of_what_carries_it(
    tmp_path: Path, capsys: Capsys
) -> None:
    """Before, nothing was said to be placed."""
    files = {path: data for path, data in FILES.items() if "web.yaml" not in path}
    checkout = placed(tmp_path / "fleet", {**files, "workloads/api.yaml": text(deployment("api"))})
    code, out, _ = answer(checkout, capsys, "tree", "deployment/api")

    assert (0, "clusterresourceplacement/everything") == (code, out.split()[0])


def test_what_is_kept_of_a_projected_cluster_is_no_cluster(tmp_path: Path, capsys: Capsys) -> None:
    """Its one file is listed once, under its own kind."""
    tainted = member("t", taints=[{"key": "x", "value": "v", "effect": "NoSchedule"}])
    options = configuration(inventory={"project": True})
    fleet = placed(
        tmp_path / "fleet",
        {
            "reconciler.yaml": text(options),
            "clusters/fleet.yaml": text(member("a"), tainted),
            "policies/web.yaml": text(POLICY),
            "workloads/web.yaml": text(deployment()),
        },
    )
    assert (fleet.folder / "status/clusters.cluster.karmada.io/t.yaml").exists()

    assert (
        "no clusters; its API sees 2 memberclusters" in answer(fleet, capsys, "get", "clusters")[2]
    )
    listed = answer(fleet, capsys, "get", "memberclusters", "-o", "name")[1]
    assert ["a", "t"] == [line.rpartition("/")[2] for line in listed.splitlines()]
    assert 1 == answer(fleet, capsys, "describe", "clusters.cluster.karmada.io/t")[0]

"""`reconciler cordon` and `uncordon`: the taint of each API, and nothing moves."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from reconciler.core.dialects import DIALECTS
from reconciler.dialects.contract import Dialect
from reconciler.shell.resources import load_schemas
from tests.cli.history import answer
from tests.shell.fleet import EXAMPLE, decisions, load_world, new_fleet, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]
BY_ADA = ("--author", "Ada <ada@example.com>")
SHOP = "ResourceBinding.work.karmada.io default/shop-deployment"
UNSCHEDULABLE = "  - key: cluster.karmada.io/unschedulable\n    effect: NoSchedule\n"
APIS = [
    pytest.param("member1", "clusters/member1.yaml", UNSCHEDULABLE, id="karmada"),
    pytest.param(
        "edge2",
        "clusters/edge.yaml",
        "  - key: reconciler.dev/cordoned\n    effect: NoSelectIfNew\n",
        id="ocm",
    ),
    pytest.param(
        "fleet2",
        "clusters/fleet.yaml",
        "  - key: cordon-key\n    value: cordon-value\n    effect: NoSchedule\n",
        id="kubefleet",
    ),
]


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The example after a pass."""
    checkout = new_fleet(tmp_path / "fleet")
    run_pass(checkout.folder, 0)
    return checkout


@pytest.mark.parametrize(("name", "path", "taint"), APIS)
def test_cordon_and_uncordon_are_no_change(
    fleet: Checkout, capsys: Capsys, name: str, path: str, taint: str
) -> None:
    """Its lines come, and go; nothing moves, and a second time nothing is done."""
    before = (fleet.folder / path).read_text()
    code, out, err = answer(fleet, capsys, "cordon", name)
    cordoned = (fleet.folder / path).read_text()
    again = answer(fleet, capsys, "cordon", name)
    valid = answer(fleet, capsys, "validate", path)[0]
    undone = answer(fleet, capsys, "uncordon", name)

    assert (0, 0, 0, 0) == (code, again[0], valid, undone[0])
    assert before == cordoned.replace(f"  taints:\n{taint}", "") != cordoned
    assert ("Plan: Nothing moves" in out, f"{path} is written" in err) == (True, True)
    assert ("", True) == (again[1], "is cordoned already" in again[2])
    assert (before, "") == ((fleet.folder / path).read_text(), fleet.status())
    assert answer(fleet, capsys, "uncordon", name)[2].endswith(" is not cordoned\n")


def test_a_cordoned_cluster_keeps_what_it_has_and_takes_nothing_new(
    fleet: Checkout, capsys: Capsys
) -> None:
    """Merged: the shop, which is on member1, stays; what is new goes elsewhere."""
    shop, path = EXAMPLE["workloads/shop.yaml"], "policies/shop.yaml"
    answer(fleet, capsys, "cordon", "member1")
    fleet.git("commit", "--quiet", "--all", "--message=Cordon")
    new = shop.replace("name: shop\n", "name: shop2\n", 1)
    both = EXAMPLE[path].replace(
        "    name: shop\n",
        "    name: shop\n  - {apiVersion: apps/v1, kind: Deployment, name: shop2}\n",
    )
    assert both != EXAMPLE[path]
    fleet.commit({"workloads/shop2.yaml": new, path: both}, "A second shop")
    run_pass(fleet.folder, 60)

    found = decisions(load_world(fleet.folder))
    assert [{"name": "member1", "replicas": 2}] == found[SHOP]
    assert "member1" not in {one["name"] for one in found[SHOP.replace("shop-", "shop2-")]}


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_the_effects_of_each_api_are_those_of_its_schema(dialect: Dialect) -> None:
    """So none is offered that a file may not have, and the cordon is one of them."""
    (group, kind), view, schemas = dialect.cluster, dialect.view(), load_schemas()
    version = schemas.versions_of(group, kind)[-1].partition("/")[2]
    found: object = schemas.documents[f"{group}/{kind.lower()}_{version}.json"]
    for name in ("properties", "spec", "properties", "taints", "items", "properties", "effect"):
        assert isinstance(found, Mapping)
        found = found[name]

    assert isinstance(found, Mapping)
    assert sorted(view.taint_effects) == sorted(found["enum"])
    assert view.cordon["effect"] in view.taint_effects


def test_several_clusters_of_several_apis_on_a_branch(fleet: Checkout, capsys: Capsys) -> None:
    """One commit; a name means the clusters of that name in all APIs."""
    same = EXAMPLE["clusters/fleet.yaml"].replace("name: fleet1\n", "name: member1\n", 1)
    fleet.commit({"clusters/fleet.yaml": same}, "A second member1")
    words = ("cordon", "member1", "edge1", "cluster/member1", "--branch", "repairs", *BY_ADA)
    code, _, _ = answer(fleet, capsys, *words)

    changed = fleet.git("diff", "--name-only", "main", "repairs").split()
    assert (0, "") == (code, fleet.status())
    assert ["clusters/edge.yaml", "clusters/fleet.yaml", "clusters/member1.yaml"] == changed
    assert "Cordon cluster/member1, membercluster/member1, managedcluster/edge1" == (
        fleet.git("log", "-1", "--format=%s", "repairs").strip()
    )


def test_a_kind_narrows_it(fleet: Checkout, capsys: Capsys) -> None:
    """To the cluster of one API."""
    same = EXAMPLE["clusters/fleet.yaml"].replace("name: fleet1\n", "name: member1\n", 1)
    fleet.commit({"clusters/fleet.yaml": same}, "A second member1")

    _, _, err = answer(fleet, capsys, "cordon", "membercluster/member1", "--dry-run")
    _, out, _ = answer(fleet, capsys, "cordon", "cluster/member1", "--dry-run")

    assert "nothing is written (--dry-run)\n" == err
    assert ("clusters/member1.yaml" in out, "clusters/fleet.yaml" in out) == (True, False)
    assert "" == fleet.status()


def test_uncordon_leaves_other_taints(fleet: Checkout, capsys: Capsys) -> None:
    """With their comments."""
    path = "clusters/member1.yaml"
    own = "  taints:  # of this cluster\n  # old\n  - {key: old, effect: NoSchedule}\n"
    fleet.commit({path: f"{EXAMPLE[path]}{own}"}, "Taint it")

    answer(fleet, capsys, "cordon", "member1")
    cordoned = (fleet.folder / path).read_text()
    answer(fleet, capsys, "uncordon", "member1")

    added = "  - {key: cluster.karmada.io/unschedulable, effect: NoSchedule}\n"
    assert f"{EXAMPLE[path]}{own}{added}" == cordoned
    assert f"{EXAMPLE[path]}{own}" == (fleet.folder / path).read_text()


@pytest.mark.parametrize("verb", ["cordon", "uncordon"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param([], "name clusters, or select them with -l", id="nothing"),
        pytest.param(["member1", "-l", "a=b"], "do not name clusters", id="a-name-and-labels"),
        pytest.param(["-l", "tier=none"], "no cluster with tier=none", id="none-has-the-labels"),
        pytest.param(["mebmer1"], "there is no cluster", id="unknown"),
        pytest.param(["pp/shop"], "a PropagationPolicy has no taints", id="policy"),
        pytest.param(["member1", "--branch", "main"], 'branch "main" already exists', id="branch"),
    ],
)
def test_mistakes_are_told(
    fleet: Checkout, capsys: Capsys, verb: str, words: list[str], message: str
) -> None:
    """What is wrong, and no file is touched."""
    code, out, err = answer(fleet, capsys, verb, *words)

    assert (2, "", "") == (code, out, fleet.status())
    assert message in err

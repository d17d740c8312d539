"""`reconciler cordon`, `uncordon` and `drain`: clusters of each API, and what is left on them."""

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from reconciler.core.dialects import DIALECTS
from reconciler.dialects.contract import Dialect
from reconciler.shell.resources import load_schemas
from tests.builders import Body, cluster, configuration, deployment, path_of, policy, text
from tests.cli.history import answer, answer_json
from tests.dialects.kubefleet.fleet import budget, member, namespaced_placement, pick, placement
from tests.shell.fleet import EXAMPLE, decided_fleet, decisions, load_world, run_pass
from tests.shell.repositories import Checkout, new_checkout

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
    """The example after a pass: something is on a cluster of each API."""
    return decided_fleet(tmp_path / "fleet")


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


@pytest.mark.parametrize(("name", "path", "taint"), APIS)
def test_a_cluster_that_reports_itself_is_cordoned_in_its_file(
    fleet: Checkout, capsys: Capsys, name: str, path: str, taint: str
) -> None:
    """The status of its report lies over the file, which is edited as it is written."""
    documents = yaml.safe_load_all(EXAMPLE[path])
    own = next(one for one in documents if one["metadata"]["name"] == name)
    report = {**own, "metadata": {"name": name}, "status": {"conditions": []}}
    report.pop("spec", None)
    fleet.commit({f"feedback/{name}/cluster.yaml": text(report)}, "Report")
    assert load_world(fleet.folder).reported
    before = (fleet.folder / path).read_text()

    assert 0 == answer(fleet, capsys, "cordon", name)[0]
    assert before == (fleet.folder / path).read_text().replace(f"  taints:\n{taint}", "")
    assert 0 == answer(fleet, capsys, "uncordon", name)[0]
    assert before == (fleet.folder / path).read_text()


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
    assert sorted(view.clusters.taint_effects) == sorted(found["enum"])
    assert view.clusters.cordon["effect"] in view.clusters.taint_effects


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


OF_EACH_API = ("member1", "edge2", "fleet1")
FOR_EVER: Body = {"key": "reconciler.dev/drained", "operator": "Exists", "effect": "NoExecute"}


def fleet_of(folder: Path, *bodies: Body) -> Checkout:
    """A repository of these objects after a pass."""
    checkout = new_checkout(folder / "fleet", {path_of(body): text(body) for body in bodies})
    run_pass(checkout.folder, 0)
    return checkout


def drained(fleet: Checkout, capsys: Capsys, *clusters: str) -> str:
    """Drain clusters, merge that and let a pass run; return what the verb printed."""
    code, out, _ = answer(fleet, capsys, "drain", *clusters)
    assert 0 == code
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message=Drain")
    run_pass(fleet.folder, 60)
    return out


def left(fleet: Checkout, capsys: Capsys, name: str) -> list[tuple[str, str | None, str]]:
    """Return what is left on a cluster: what it is called, when it goes, and why it is there."""
    code, found = answer_json(fleet, capsys, ("drain", name, "--status"))
    (told,) = found["clusters"]
    assert (1 if told["left"] else 0) == code
    return [(one["called"], one["goes"], one["why"]) for one in told["left"]]


def test_a_drain_empties_clusters_of_each_api(fleet: Checkout, capsys: Capsys) -> None:
    """Taints, and an eviction where a taint takes nothing away; the next passes do the rest."""
    code, before, _ = answer(fleet, capsys, "drain", *OF_EACH_API, "--status")
    out = drained(fleet, capsys, *OF_EACH_API)
    waiting = left(fleet, capsys, "member1")
    run_pass(fleet.folder, 900)
    code_after, after, _ = answer(fleet, capsys, "drain", *OF_EACH_API, "--status")

    assert (1, 3) == (code, before.count(" is not drained: "))
    assert "+  - key: reconciler.dev/drained\n+    effect: NoExecute\n" in out
    assert "+  - key: reconciler.dev/drained\n+    effect: NoSelect\n" in out
    assert "+  placementName: tools\n+  clusterName: fleet1\n" in out
    ((called, goes, why),) = waiting
    assert ("deployment/shop", True) == (called, goes is not None)
    assert "its copy waits for it to be healthy on backup1" == why
    assert (
        "cluster/member1 is drained: nothing is left\n\n"
        "managedcluster/edge2 is drained: nothing is left\n\n"
        "membercluster/fleet1 is drained: nothing is left\n"
    ) == after
    assert 0 == code_after


def test_what_nothing_replaces_is_told_before_the_merge(fleet: Checkout, capsys: Capsys) -> None:
    """Duplicated workloads and PickAll are on each cluster already."""
    _, out, _ = answer(fleet, capsys, "drain", "member1", "--dry-run")

    assert out.endswith(
        "\nnot replaced: resourcebinding/settings-configmap in namespace default "
        "loses its place on member1\n"
    )
    assert "" == fleet.status()


@pytest.mark.parametrize("name", OF_EACH_API)
def test_uncordon_takes_back_what_a_drain_wrote_and_nothing_else(
    fleet: Checkout, capsys: Capsys, name: str
) -> None:
    """Every byte of the files, an eviction's own file, and no taint of a person's."""
    mine = (
        "taint",
        "cluster",
        name,
        "mine=yes:NoSelect" if name == "edge2" else "mine=yes:NoSchedule",
    )
    answer(fleet, capsys, *mine)
    fleet.git("commit", "--quiet", "--all", "--message=Taint")
    files = fleet.git("ls-tree", "-r", "HEAD", "--", "clusters", "evictions")
    drained(fleet, capsys, name)
    changed = fleet.git("ls-tree", "-r", "HEAD", "--", "clusters", "evictions")
    code, _, err = answer(fleet, capsys, "uncordon", name, "--branch", "back", *BY_ADA)

    assert (0, True) == (code, "committed on the new branch back" in err)
    assert files == fleet.git("ls-tree", "-r", "back", "--", "clusters", "evictions") != changed


def test_a_second_drain_has_nothing_to_do(fleet: Checkout, capsys: Capsys) -> None:
    """While the first one's eviction waits for its pass, too."""
    answer(fleet, capsys, "drain", "fleet1")
    code, out, err = answer(fleet, capsys, "drain", "fleet1")

    assert (0, "", "membercluster/fleet1 is drained already\n") == (code, out, err)


def test_a_budget_blocks_an_eviction_and_a_second_drain_asks_again(
    tmp_path: Path, capsys: Capsys
) -> None:
    """An eviction is judged once; what blocked it is told."""
    checkout = fleet_of(
        tmp_path, member("a"), member("b"), placement(), budget({"minAvailable": 2})
    )
    drained(checkout, capsys, "a")
    ((called, goes, why),) = left(checkout, capsys, "a")
    answer(checkout, capsys, "drain", "a")

    assert ("clusterresourceplacement/web", None) == (called, goes)
    assert why.startswith("drain-a-web did not evict it: Eviction is blocked by specified")
    assert ["drain-a-web-2.yaml", "drain-a-web.yaml"] == sorted(
        one.name for one in (checkout.folder / "evictions").iterdir()
    )


FIXED = placement({"placementType": "PickFixed", "clusterNames": ["a"]})
ENDLESS = [{"key": "cordon-key", "operator": "Exists"}]
STAYS = [
    pytest.param(
        [cluster("a"), deployment(), policy(placement={"clusterTolerations": [FOR_EVER]})],
        "it tolerates reconciler.dev/drained:NoExecute without an end",
        id="tolerated",
    ),
    pytest.param(
        [
            cluster("a"),
            deployment(),
            policy(),
            configuration(karmada={"failover": {"enabled": False}}),
        ],
        "spec.karmada.failover.enabled is false in reconciler.yaml, so no taint takes anything "
        "away",
        id="no-failover",
    ),
    pytest.param(
        [member("a"), FIXED],
        'the placement "web" names its clusters, so none must be evicted',
        id="pick-fixed",
    ),
    pytest.param(
        [member("a"), placement({"placementType": "PickAll", "tolerations": ENDLESS})],
        "it tolerates cordon-key=cordon-value:NoSchedule without an end",
        id="tolerated-cordon",
    ),
    pytest.param(
        [member("a"), namespaced_placement()],
        "evictions are for placements of no namespace",
        id="namespaced",
    ),
]


@pytest.mark.parametrize(("bodies", "why"), STAYS)
def test_what_stays_is_told_with_the_reason(
    tmp_path: Path, capsys: Capsys, bodies: list[Body], why: str
) -> None:
    """Before the merge, and after it for as long as it stays."""
    checkout = fleet_of(tmp_path, *bodies)
    out = drained(checkout, capsys, "a")
    ((_, goes, told),) = left(checkout, capsys, "a")

    assert (None, why) == (goes, told)
    assert out.endswith(f", since {why}\n")
    assert "stays on a: " in out


def test_a_placement_that_tolerates_keeps_its_decision(fleet: Checkout, capsys: Capsys) -> None:
    """Of Open Cluster Management, too."""
    written = EXAMPLE["placements/reports.yaml"]
    endless = "  tolerations: [{key: reconciler.dev/drained, operator: Exists}]\n"
    assert "spec:\n" in written
    changed = written.replace("spec:\n", f"spec:\n{endless}", 1)
    fleet.commit({"placements/reports.yaml": changed}, "Tolerate")
    run_pass(fleet.folder, 30)
    drained(fleet, capsys, "edge2")

    assert [
        (
            "placement/reports",
            None,
            "it tolerates reconciler.dev/drained:NoSelect without an end",
        )
    ] == left(fleet, capsys, "edge2")


def test_a_drain_on_a_branch_is_one_commit(fleet: Checkout, capsys: Capsys) -> None:
    """With the taint and the eviction; the checkout is not touched."""
    code, _, _ = answer(fleet, capsys, "drain", "fleet1", "--branch", "empty", *BY_ADA)

    assert (0, "") == (code, fleet.status())
    assert "Drain membercluster/fleet1" == fleet.git("log", "-1", "--format=%s", "empty").strip()
    assert ["clusters/fleet.yaml", "evictions/drain-fleet1-tools.yaml"] == (
        fleet.git("diff", "--name-only", "main", "empty").split()
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param((), "name clusters, or select them with -l", id="none"),
        pytest.param(("nowhere",), 'there is no cluster "nowhere"', id="unknown"),
        pytest.param(
            ("member1", "--status", "--dry-run"), "--status does not write", id="status-and-edit"
        ),
    ],
)
def test_what_cannot_be_drained_is_refused(
    fleet: Checkout, capsys: Capsys, words: tuple[str, ...], said: str
) -> None:
    """In one sentence, and nothing is written."""
    code, out, err = answer(fleet, capsys, "drain", *words)

    assert (2, "", True) == (code, out, said in err)
    assert "" == fleet.status()


def test_one_drain_empties_a_cluster_for_all_apis(tmp_path: Path, capsys: Capsys) -> None:
    """Where APIs see each other's clusters its taint counts in each, and evictions go along."""
    fleet = fleet_of(
        tmp_path,
        configuration(inventory={"project": True}),
        cluster("a"),
        cluster("b"),
        policy(placement={"clusterAffinity": {"clusterNames": ["a", "b"]}}),
        deployment(),
        placement(pick(1), name="base"),
    )
    run_pass(fleet.folder, 10)
    before = {called for called, _, _ in left(fleet, capsys, "b")}

    out = drained(fleet, capsys, "b")
    run_pass(fleet.folder, 900)
    code, after, _ = answer(fleet, capsys, "drain", "b", "--status")
    answer(fleet, capsys, "uncordon", "b")

    assert {"deployment/web", "clusterresourceplacement/base"} == before
    assert "+  placementName: base\n+  clusterName: b\n" in out
    assert (0, "cluster/b is drained: nothing is left\n") == (code, after)
    assert " D evictions/drain-b-base.yaml\n M" in f"{fleet.status()}\n M"

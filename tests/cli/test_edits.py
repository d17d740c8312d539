"""`reconciler label` and `taint`: lines in people's files, of one object or all that are chosen."""

from pathlib import Path

import pytest

from tests.cli.history import answer
from tests.shell.fleet import EXAMPLE, decided_fleet, decisions, load_world, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]
BARE = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: bare
  namespace: other
  labels:
    app: shop
spec:
  replicas: 1
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The example and a workload of another namespace, after a pass."""
    return decided_fleet(tmp_path / "fleet", {"workloads/bare.yaml": BARE})


def edited(fleet: Checkout, capsys: Capsys, *arguments: str) -> tuple[str, ...]:
    """Run an edit, and return the files that it changed."""
    code, _, err = answer(fleet, capsys, *arguments)
    assert 0 == code, err
    return tuple(line[3:] for line in fleet.status().splitlines())


ROWS = [
    pytest.param(
        "scale deploy -l app=shop --replicas=7", ("workloads/shop.yaml",), id="of-one-namespace"
    ),
    pytest.param(
        "scale deploy -l app=shop -A --replicas=7",
        ("workloads/bare.yaml", "workloads/shop.yaml"),
        id="of-all-namespaces",
    ),
    pytest.param(
        "label deploy --all tier=gold",
        ("workloads/frontend.yaml", "workloads/shop.yaml"),
        id="all-of-a-kind",
    ),
    pytest.param(
        "label deploy,cluster --field-selector metadata.name=member1 a=b",
        ("clusters/member1.yaml",),
        id="by-field",
    ),
    pytest.param(
        "cordon -l tier=production",
        ("clusters/member1.yaml", "clusters/member2.yaml"),
        id="clusters",
    ),
    pytest.param(
        "taint cluster -l tier=production a=b:NoSchedule",
        ("clusters/member1.yaml", "clusters/member2.yaml"),
        id="taints",
    ),
    pytest.param(
        "taint clusters.cluster.karmada.io --all a:NoExecute",
        ("clusters/backup1.yaml", "clusters/member1.yaml", "clusters/member2.yaml"),
        id="taints-of-one-api",
    ),
]


@pytest.mark.parametrize(("words", "files"), ROWS)
def test_what_is_chosen_is_edited(
    fleet: Checkout, capsys: Capsys, words: str, files: tuple[str, ...]
) -> None:
    """And nothing else."""
    assert files == edited(fleet, capsys, *words.split())


def test_uncordon_takes_back_what_labels_choose(fleet: Checkout, capsys: Capsys) -> None:
    """The files are as they were."""
    edited(fleet, capsys, "cordon", "-l", "tier=production")

    assert () == edited(fleet, capsys, "uncordon", "-l", "tier=production")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        pytest.param("taint pp --all a:NoSchedule", "has no taints", id="no-cluster"),
        pytest.param(
            "taint cluster --all -l a=b c:NoSchedule",
            "--all selects all objects",
            id="all-and-some",
        ),
        pytest.param("taint member1 --all c:NoSchedule", "no kind", id="a-name-for-a-kind"),
        pytest.param("label deploy tier=gold", "with -l or --all", id="a-kind-alone"),
        pytest.param("label deploy -l app=none a=b", "no deploy with app=none", id="nothing"),
        pytest.param("label deploy -l a=b=c d=e", "-l", id="no-selector"),
    ],
)
def test_what_chooses_nothing_is_refused(
    fleet: Checkout, capsys: Capsys, words: str, says: str
) -> None:
    """And nothing is written."""
    code, _, err = answer(fleet, capsys, *words.split())

    assert (2, "") == (code, fleet.status())
    assert says in err


BY_ADA = ("--author", "Ada <ada@example.com>")
ODD = """\
# Mine.
{apiVersion: v1, kind: ConfigMap, metadata: {name: flow, labels: {a: 'b'}}}
---
apiVersion: v1
kind: ConfigMap
metadata:
    name: wide   # four blanks
    labels:
        tier: "web"   # for people
        other: x
"""
IN_SET = "  labels:\n    cluster.open-cluster-management.io/clusterset: edge\n"
JSON = '{"apiVersion": "v1", "kind": "ConfigMap",\n  "metadata": {"name": "json"}}\n'


@pytest.fixture
def label_fleet(tmp_path: Path) -> Checkout:
    """The example after a pass, with files that are written otherwise."""
    extra = {"workloads/odd.yaml": ODD, "workloads/one.json": JSON}
    return decided_fleet(tmp_path / "fleet", extra)


LABEL_ROWS = [
    pytest.param(
        ["deployment/shop", "tier=gold"],
        "workloads/shop.yaml",
        ("    app: shop\nspec:", "    app: shop\n    tier: gold\nspec:"),
        id="added",
    ),
    pytest.param(
        ["deployment", "shop", "example.com/on=true", "number=1", "-n", "default"],
        "workloads/shop.yaml",
        ("app: shop\nspec:", 'app: shop\n    example.com/on: "true"\n    number: "1"\nspec:'),
        id="texts-that-look-otherwise",
    ),
    pytest.param(
        ["cluster/member1", "tier-"],
        "clusters/member1.yaml",
        ("  labels:\n    tier: production\n", ""),
        id="removed",
    ),
    pytest.param(
        ["mcl/edge2", "region=north"],
        "clusters/edge.yaml",
        (
            f"name: edge2\n{IN_SET}",
            f"name: edge2\n{IN_SET}    region: north\n",
        ),
        id="second-document",
    ),
    pytest.param(
        ["cm/wide", "tier=api", "--overwrite"],
        "workloads/odd.yaml",
        ('tier: "web"   # for', "tier: api   # for"),
        id="overwritten",
    ),
    pytest.param(
        ["cm/wide", "tier=web", "new=it", "absent-"],
        "workloads/odd.yaml",
        ("        other: x\n", "        other: x\n        new: it\n"),
        id="same-value-and-absent-key",
    ),
    pytest.param(
        ["cm/flow", "c=d"],
        "workloads/odd.yaml",
        ("labels: {a: 'b'}", 'labels: {a: \'b\', "c": "d"}'),
        id="braces",
    ),
    pytest.param(
        ["cm/json", "c=d"],
        "workloads/one.json",
        ('"name": "json"}', '"name": "json", "labels": {"c": "d"}}'),
        id="json",
    ),
]


@pytest.mark.parametrize(("words", "path", "change"), LABEL_ROWS)
def test_only_the_label_changes(
    label_fleet: Checkout, capsys: Capsys, words: list[str], path: str, change: tuple[str, str]
) -> None:
    """Every other byte stays, and a second time there is nothing to do."""
    before = (label_fleet.folder / path).read_text()
    code, _, err = answer(label_fleet, capsys, "label", *words)
    after = (label_fleet.folder / path).read_text()
    again = answer(label_fleet, capsys, "label", *words)

    assert (0, True) == (code, f"{path} is written" in err)
    assert before != before.replace(*change) == after
    assert (0, "", True) == (again[0], again[1], "is labelled so already" in again[2])
    assert after == (label_fleet.folder / path).read_text()
    assert 0 == answer(label_fleet, capsys, "validate", path)[0]


def test_a_label_moves_what_a_policy_chooses_by_it(tmp_path: Path, capsys: Capsys) -> None:
    """Of two clusters that get a label, one now takes a copy: told before it is merged."""
    policy = EXAMPLE["policies/settings.yaml"]
    affinity = "{clusterAffinity: {labelSelector: {matchLabels: {zone: a}}}}"
    chosen = f"{policy}  placement: {affinity}\n"
    fleet = decided_fleet(tmp_path / "fleet", {"policies/settings.yaml": chosen})

    words = ("cluster", "member1", "backup1", "zone=a")
    code, out, _ = answer(fleet, capsys, "label", *words, "--branch", "zone", *BY_ADA)

    assert (0, "") == (code, fleet.status())
    assert "default/settings" in out
    assert "Label cluster/member1, cluster/backup1 zone=a" == (
        fleet.git("log", "-1", "--format=%s", "zone").strip()
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["cluster/member1", "tier=x"],
            'the label tier has the value "production"; add --overwrite',
            id="no-overwrite",
        ),
        pytest.param(["cluster/member1"], "there is no label to change", id="no-label"),
        pytest.param(["tier=gold"], "name an object before", id="no-object"),
        pytest.param(["cm/wide", "a=b", "cm/flow"], "stands behind a label", id="order"),
        pytest.param(["cm/wide", "a=b", "a-"], "cannot be set and removed at once", id="both"),
        pytest.param(["cm/wide", "a=b", "a=c"], "is given twice", id="twice"),
        pytest.param(["cm/wide", "a=b c"], "must be KEY=VALUE or KEY-", id="value"),
        pytest.param(["cm/wide", "=b"], "must be KEY=VALUE or KEY-", id="key"),
        pytest.param(["cm/wdie", "a=b"], "near it:", id="unknown"),
        pytest.param(["rb/shop-deployment", "a=b"], "is written by passes", id="output"),
    ],
)
def test_mistakes_are_told_in_one_line(
    label_fleet: Checkout, capsys: Capsys, arguments: list[str], message: str
) -> None:
    """What is wrong, and no file is touched, not even of the objects before."""
    code, out, err = answer(label_fleet, capsys, "label", *arguments)

    assert (2, "", "") == (code, out, label_fleet.status())
    assert message in err
    assert 1 == err.count("\n")


def test_no_file_is_edited_if_one_cannot_be(label_fleet: Checkout, capsys: Capsys) -> None:
    """Of two objects the second has another value."""
    code, _, _ = answer(
        label_fleet, capsys, "label", "cluster", "backup1", "member1", "tier=backup"
    )

    assert (2, "") == (code, label_fleet.status())


def test_what_sops_has_summed_is_for_sops_to_edit(label_fleet: Checkout, capsys: Capsys) -> None:
    """Its checksum covers labels, too: the file could not be decrypted any more."""
    manifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nsops: {mac: x}\n"
    label_fleet.commit({"workloads/key.yaml": manifest}, "A key")

    code, out, err = answer(label_fleet, capsys, "label", "secret/key", "a=b")

    assert (2, "", "") == (code, out, label_fleet.status())
    assert "workloads/key.yaml is encrypted" in err


SHOP = "ResourceBinding.work.karmada.io default/shop-deployment"
PATH = "clusters/member2.yaml"
TAINTED = """\
  taints:
  # For the north.
  - key: zone   # named so for long
    value: 'north'
    effect: NoSchedule
  - key: zone
    effect: PreferNoSchedule
  - {key: disk, effect: NoSchedule}
"""
FIRST = "  - key: zone   # named so for long\n    value: 'north'\n    effect: NoSchedule\n"


@pytest.fixture
def taint_fleet(tmp_path: Path) -> Checkout:
    """The example after a pass, with taints on a cluster that nothing heeds."""
    return decided_fleet(tmp_path / "fleet", {PATH: EXAMPLE[PATH] + TAINTED})


TAINT_ROWS = [
    pytest.param(
        ["repair=disk:PreferNoSchedule"],
        (
            "effect: NoSchedule}\n",
            "effect: NoSchedule}\n  - {key: repair, value: disk, effect: PreferNoSchedule}\n",
        ),
        id="added-as-the-last-is-written",
    ),
    pytest.param(
        ["zone=south:NoSchedule", "--overwrite"], ("value: 'north'", "value: south"), id="value"
    ),
    pytest.param(
        ["zone:NoSchedule", "--overwrite"], ("    value: 'north'\n", ""), id="no-value-any-more"
    ),
    pytest.param(
        ["disk=old:NoSchedule", "--overwrite"],
        ("{key: disk, effect: NoSchedule}", '{key: disk, effect: NoSchedule, "value": "old"}'),
        id="a-value-that-was-not",
    ),
    pytest.param(
        ["zone:NoSchedule-"],
        (FIRST, ""),
        id="removed-by-effect",
    ),
    pytest.param(
        ["zone-"],
        (
            f"{FIRST}  - key: zone\n    effect: PreferNoSchedule\n",
            "",
        ),
        id="removed-by-key",
    ),
    pytest.param(
        ["zone=north:NoSchedule", "disk-", "new:NoSchedule"],
        ("  - {key: disk, effect: NoSchedule}\n", "  - {key: new, effect: NoSchedule}\n"),
        id="several",
    ),
]


@pytest.mark.parametrize(("words", "change"), TAINT_ROWS)
def test_only_the_taint_changes(
    taint_fleet: Checkout, capsys: Capsys, words: list[str], change: tuple[str, str]
) -> None:
    """Every other byte stays."""
    before = (taint_fleet.folder / PATH).read_text()
    code, _, _ = answer(taint_fleet, capsys, "taint", "cluster", "member2", *words)

    assert 0 == code
    assert before != before.replace(*change) == (taint_fleet.folder / PATH).read_text()
    assert 0 == answer(taint_fleet, capsys, "validate", PATH)[0]


def test_the_same_taint_again_is_nothing_to_do(taint_fleet: Checkout, capsys: Capsys) -> None:
    """Also without `--overwrite`: nothing is overwritten."""
    code, out, err = answer(
        taint_fleet, capsys, "taint", "cluster/member2", "zone=north:NoSchedule"
    )

    assert (0, "", "") == (code, out, taint_fleet.status())
    assert "cluster/member2 is tainted so already\n" == err


def test_what_a_taint_moves_is_told_and_comes_true(taint_fleet: Checkout, capsys: Capsys) -> None:
    """NoExecute of Karmada: the shop leaves member1."""
    code, out, _ = answer(
        taint_fleet, capsys, "taint", "cluster", "member1", "repair=disk:NoExecute"
    )
    taint_fleet.git("commit", "--quiet", "--all", "--message=Repair")
    run_pass(taint_fleet.folder, 60)

    assert (0, True) == (code, "default/shop (changed): evicted" in out)
    assert [{"name": "backup1", "replicas": 2}] == decisions(load_world(taint_fleet.folder))[SHOP]


@pytest.mark.parametrize(
    ("words", "path"),
    [
        pytest.param(["mcl", "edge1", "edge2", "a=b:NoSelect"], "clusters/edge.yaml", id="ocm"),
        pytest.param(["cluster", "fleet1", "a:NoSchedule"], "clusters/fleet.yaml", id="kubefleet"),
        pytest.param(["membercluster/fleet1", "a:NoSchedule"], "clusters/fleet.yaml", id="kind"),
        pytest.param(["edge1", "a:NoSelectIfNew"], "clusters/edge.yaml", id="name-alone"),
    ],
)
def test_clusters_of_other_apis(
    taint_fleet: Checkout, capsys: Capsys, words: list[str], path: str
) -> None:
    """`cluster` is a word for those of all APIs; taken away again, the file is as it was."""
    tainted = answer(taint_fleet, capsys, "taint", *words)
    changed = taint_fleet.status()
    untainted = answer(taint_fleet, capsys, "taint", *words[:-1], "a-")

    assert (0, 0, True) == (tainted[0], untainted[0], path in changed)
    assert "" == taint_fleet.status()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(
            ["cluster/member1", "a:NoSelect"],
            'Cluster have no effect "NoSelect"; they have PreferNoSchedule, NoSchedule, NoExecute',
            id="karmada-effect",
        ),
        pytest.param(
            ["mcl/edge1", "a:NoSchedule"],
            "they have PreferNoSelect, NoSelectIfNew, NoSelect",
            id="ocm-effect",
        ),
        pytest.param(
            ["cluster/fleet1", "a:NoExecute"],
            'a MemberCluster have no effect "NoExecute"; they have NoSchedule',
            id="kubefleet-effect",
        ),
        pytest.param(
            ["cluster/member2", "zone=south:NoSchedule"],
            'zone:NoSchedule has the value "north"; add --overwrite',
            id="overwrite",
        ),
        pytest.param(
            ["cluster/member2", "disk=x:NoSchedule"], "disk:NoSchedule has no value", id="no-value"
        ),
        pytest.param(
            ["cluster/member2", "gone-"], "there is no taint gone on cluster/member2", id="gone"
        ),
        pytest.param(
            ["cluster/member2", "disk:NoExecute-"], "no taint disk:NoExecute", id="other-effect"
        ),
        pytest.param(["cluster/member2", "a=b"], "must be KEY=VALUE:EFFECT", id="no-effect"),
        pytest.param(["cluster/member2", "a:"], "must be KEY=VALUE:EFFECT", id="empty-effect"),
        pytest.param(["cluster/member2", "a b:NoSchedule"], "must be KEY", id="key"),
        pytest.param(
            ["cluster/member2", "a:NoSchedule", "a-"], "set and removed at once", id="both"
        ),
        pytest.param(
            ["cluster/member2", "a=b:NoSchedule", "a=c:NoSchedule"], "is given twice", id="twice"
        ),
        pytest.param(["cluster/member2"], "there is no taint to change", id="no-taint"),
        pytest.param(["a:NoSchedule"], "name an object before", id="no-cluster"),
        pytest.param(["deployment/shop", "a:NoSchedule"], "a Deployment has no taints", id="kind"),
        pytest.param(
            ["nodes", "member1", "a:NoSchedule"], "nodes are the clusters' own", id="nodes"
        ),
    ],
)
def test_mistakes_of_taints_are_told_in_one_line(
    taint_fleet: Checkout, capsys: Capsys, words: list[str], message: str
) -> None:
    """What is wrong, and no file is touched."""
    code, out, err = answer(taint_fleet, capsys, "taint", *words)

    assert (2, "", "") == (code, out, taint_fleet.status())
    assert message in err
    assert 1 == err.count("\n")

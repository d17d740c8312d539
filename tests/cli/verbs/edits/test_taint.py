"""`reconciler taint`: taints of clusters in kubectl's words, each effect one that its API has."""

from pathlib import Path

import pytest

from tests.cli.history import answer
from tests.shell.fleet import EXAMPLE, decisions, load_world, new_fleet, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]
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
def fleet(tmp_path: Path) -> Checkout:
    """The example after a pass, with taints on a cluster that nothing heeds."""
    checkout = new_fleet(tmp_path / "fleet", {PATH: EXAMPLE[PATH] + TAINTED})
    run_pass(checkout.folder, 0)
    return checkout


ROWS = [
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


@pytest.mark.parametrize(("words", "change"), ROWS)
def test_only_the_taint_changes(
    fleet: Checkout, capsys: Capsys, words: list[str], change: tuple[str, str]
) -> None:
    """Every other byte stays."""
    before = (fleet.folder / PATH).read_text()
    code, _, _ = answer(fleet, capsys, "taint", "cluster", "member2", *words)

    assert 0 == code
    assert before != before.replace(*change) == (fleet.folder / PATH).read_text()
    assert 0 == answer(fleet, capsys, "validate", PATH)[0]


def test_the_same_taint_again_is_nothing_to_do(fleet: Checkout, capsys: Capsys) -> None:
    """Also without `--overwrite`: nothing is overwritten."""
    code, out, err = answer(fleet, capsys, "taint", "cluster/member2", "zone=north:NoSchedule")

    assert (0, "", "") == (code, out, fleet.status())
    assert "cluster/member2 is tainted so already\n" == err


def test_what_a_taint_moves_is_told_and_comes_true(fleet: Checkout, capsys: Capsys) -> None:
    """NoExecute of Karmada: the shop leaves member1."""
    code, out, _ = answer(fleet, capsys, "taint", "cluster", "member1", "repair=disk:NoExecute")
    fleet.git("commit", "--quiet", "--all", "--message=Repair")
    run_pass(fleet.folder, 60)

    assert (0, True) == (code, "default/shop (changed): evicted" in out)
    assert [{"name": "backup1", "replicas": 2}] == decisions(load_world(fleet.folder))[SHOP]


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
    fleet: Checkout, capsys: Capsys, words: list[str], path: str
) -> None:
    """`cluster` is a word for those of all APIs; taken away again, the file is as it was."""
    tainted = answer(fleet, capsys, "taint", *words)
    changed = fleet.status()
    untainted = answer(fleet, capsys, "taint", *words[:-1], "a-")

    assert (0, 0, True) == (tainted[0], untainted[0], path in changed)
    assert "" == fleet.status()


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
def test_mistakes_are_told_in_one_line(
    fleet: Checkout, capsys: Capsys, words: list[str], message: str
) -> None:
    """What is wrong, and no file is touched."""
    code, out, err = answer(fleet, capsys, "taint", *words)

    assert (2, "", "") == (code, out, fleet.status())
    assert message in err
    assert 1 == err.count("\n")

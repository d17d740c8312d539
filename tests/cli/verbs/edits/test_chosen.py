"""Edits of all objects of a kind, or of those with some labels, as kubectl's `-l` and `--all`."""

from pathlib import Path

import pytest

from tests.cli.history import answer
from tests.shell.fleet import new_fleet, run_pass
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
    checkout = new_fleet(tmp_path / "fleet", {"workloads/bare.yaml": BARE})
    run_pass(checkout.folder, 0)
    return checkout


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

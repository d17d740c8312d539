"""`reconciler label`: labels in a person's file, in kubectl's words."""

from pathlib import Path

import pytest

from tests.cli.history import answer
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]
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
def fleet(tmp_path: Path) -> Checkout:
    """The example after a pass, with files that are written otherwise."""
    extra = {"workloads/odd.yaml": ODD, "workloads/one.json": JSON}
    checkout = new_fleet(tmp_path / "fleet", extra)
    run_pass(checkout.folder, 0)
    return checkout


ROWS = [
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


@pytest.mark.parametrize(("words", "path", "change"), ROWS)
def test_only_the_label_changes(
    fleet: Checkout, capsys: Capsys, words: list[str], path: str, change: tuple[str, str]
) -> None:
    """Every other byte stays, and a second time there is nothing to do."""
    before = (fleet.folder / path).read_text()
    code, _, err = answer(fleet, capsys, "label", *words)
    after = (fleet.folder / path).read_text()
    again = answer(fleet, capsys, "label", *words)

    assert (0, True) == (code, f"{path} is written" in err)
    assert before != before.replace(*change) == after
    assert (0, "", True) == (again[0], again[1], "is labelled so already" in again[2])
    assert after == (fleet.folder / path).read_text()
    assert 0 == answer(fleet, capsys, "validate", path)[0]


def test_a_label_moves_what_a_policy_chooses_by_it(tmp_path: Path, capsys: Capsys) -> None:
    """Of two clusters that get a label, one now takes a copy: told before it is merged."""
    policy = EXAMPLE["policies/settings.yaml"]
    affinity = "{clusterAffinity: {labelSelector: {matchLabels: {zone: a}}}}"
    chosen = f"{policy}  placement: {affinity}\n"
    fleet = new_fleet(tmp_path / "fleet", {"policies/settings.yaml": chosen})
    run_pass(fleet.folder, 0)

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
    fleet: Checkout, capsys: Capsys, arguments: list[str], message: str
) -> None:
    """What is wrong, and no file is touched, not even of the objects before."""
    code, out, err = answer(fleet, capsys, "label", *arguments)

    assert (2, "", "") == (code, out, fleet.status())
    assert message in err
    assert 1 == err.count("\n")


def test_no_file_is_edited_if_one_cannot_be(fleet: Checkout, capsys: Capsys) -> None:
    """Of two objects the second has another value."""
    code, _, _ = answer(fleet, capsys, "label", "cluster", "backup1", "member1", "tier=backup")

    assert (2, "") == (code, fleet.status())


def test_what_sops_has_summed_is_for_sops_to_edit(fleet: Checkout, capsys: Capsys) -> None:
    """Its checksum covers labels, too: the file could not be decrypted any more."""
    manifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nsops: {mac: x}\n"
    fleet.commit({"workloads/key.yaml": manifest}, "A key")

    code, out, err = answer(fleet, capsys, "label", "secret/key", "a=b")

    assert (2, "", "") == (code, out, fleet.status())
    assert "workloads/key.yaml is encrypted" in err

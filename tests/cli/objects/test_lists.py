"""What kubectl prints, brought as it is: Lists on standard input, in files, in what-ifs."""

import io
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.cli.history import answer
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]


def as_items(*paths: str) -> str:
    """A List of the documents of some files of the example."""
    items = []
    for path in paths:
        first, *rest = EXAMPLE[path].strip().splitlines()
        items += [f"- {first}", *(f"  {line}" for line in rest)]
    return "\n".join(["apiVersion: v1", "items:", *items, "kind: List", "metadata: {}"]) + "\n"


CLUSTERS = as_items("clusters/member1.yaml", "clusters/member2.yaml")


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The example, its clusters in one List; one pass has run."""
    checkout = new_fleet(tmp_path / "fleet")
    for name in ("member1", "member2"):
        (checkout.folder / f"clusters/{name}.yaml").unlink()
    (checkout.folder / "workloads/shop.yaml").unlink()
    checkout.git("add", "--all")
    checkout.commit({"clusters/all.yaml": CLUSTERS, "shop.yaml": as_items("workloads/shop.yaml")})
    run_pass(checkout.folder, 0)
    return checkout


def test_what_kubectl_prints_is_checked_on_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """Item by item, each fault at its place."""
    wrong = CLUSTERS.replace("  spec:\n", "  spec:\n    typo: 1\n", 1)
    line = wrong.splitlines().index("    typo: 1") + 1
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(wrong.encode())))

    assert 1 == run(["validate", "-"])
    shown = capsys.readouterr()
    assert f'<stdin>:{line}:5: error: "typo" is not a field of spec' in shown.out
    assert "1 manifest valid, 1 fault\n" == shown.err


def test_nothing_on_standard_input_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """The command before it in the pipe has failed."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))

    assert 1 == run(["validate", "-"])
    assert "no manifest was found\n" == capsys.readouterr().err


def test_clusters_of_a_list_are_listed_with_their_file(fleet: Checkout, capsys: Capsys) -> None:
    """As those that have a file of their own."""
    code, out, _ = answer(fleet, capsys, "get", "clusters", "-o", "wide")

    assert 0 == code
    assert 2 == out.count("clusters/all.yaml")
    assert "member1" in answer(fleet, capsys, "get", "rb", "shop-deployment", "-o", "yaml")[1]


def test_what_leads_nowhere_is_at_its_item(fleet: Checkout, capsys: Capsys) -> None:
    """A reference of a policy in a List."""
    policy = as_items("policies/shop.yaml").replace("- member1", "- membr1")
    (fleet.folder / "policies/shop.yaml").write_text(policy)
    line = next(i for i, text in enumerate(policy.splitlines(), 1) if "- membr1" in text)

    code, out, _ = answer(fleet, capsys, "validate")

    assert 0 == code
    assert f"policies/shop.yaml:{line}:" in out


def test_a_list_can_be_added_in_a_simulation(
    fleet: Checkout, tmp_path: Path, capsys: Capsys
) -> None:
    """What another fleet's kubectl printed."""
    more = tmp_path / "more.yaml"
    more.write_text(
        CLUSTERS.replace("name: member1", "name: new1").replace("name: member2", "name: new2")
    )

    code, out, _ = answer(fleet, capsys, "simulate", "--add", str(more), "--cordon", "new2")

    assert 0 == code
    assert "new2 cordoned" in out


def test_an_object_in_a_list_is_edited_by_a_person(fleet: Checkout, capsys: Capsys) -> None:
    """The sentence says where it stands."""
    before = (fleet.folder / "shop.yaml").read_text()
    code, _, err = answer(fleet, capsys, "suspend", "deployment/shop")

    assert 2 == code
    assert " is part of a List (shop.yaml, /items/0); give it a document " in err
    assert before == (fleet.folder / "shop.yaml").read_text()

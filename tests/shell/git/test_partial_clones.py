"""A clone that left blobs or trees out, as pipelines make them, is told as that."""

from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass
from tests.shell.repositories import Checkout, git

SHOP = "workloads/shop.yaml"
ASKED: tuple[tuple[str, ...], ...] = (
    ("plan", "--base", "origin/main", "--head", "HEAD"),
    ("verify", "origin/main"),
    ("history", "deployment/shop"),
    ("blame", "deployment/shop"),
    ("get", "rb", "-A", "--at", "origin/main"),
)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A repository in which a branch and `main` went on from a pass."""
    found = new_fleet(tmp_path_factory.mktemp("partial") / "fleet")
    run_pass(found.folder, 0)
    found.git("config", "uploadpack.allowFilter", "true")
    found.git("switch", "--quiet", "--create", "scaled")
    found.commit({SHOP: EXAMPLE[SHOP].replace("replicas: 2", "replicas: 5")})
    found.git("switch", "--quiet", "main")
    found.commit({SHOP: EXAMPLE[SHOP].replace("image: ", "image:  ")})
    run_pass(found.folder, 60)
    return found


@pytest.mark.parametrize("objects", ["blob:none", "tree:0"])
def test_what_a_partial_clone_lacks_is_told_once_with_what_fetches_it(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str], objects: str
) -> None:
    """In one sentence, whatever is asked; what it says is all that it takes."""
    place = tmp_path / "clone"
    source = f"file://{fleet.folder}"
    git(tmp_path, "clone", "-q", f"--filter={objects}", "-b", "scaled", source, str(place))

    for arguments in ASKED:
        assert 1 == run(["-C", str(place), *arguments])
        shown = capsys.readouterr()
        sentence = (
            f"reconciler: this clone is partial ({objects}), and what is needed here was not "
            "fetched; fetch the rest with git fetch --refetch --no-filter origin\n"
        )
        assert ("", sentence) == (shown.out, shown.err), arguments

    git(place, "fetch", "-q", "--refetch", "--no-filter", "origin")
    for arguments in ASKED:
        assert 0 == run(["-C", str(place), *arguments]), capsys.readouterr()


def test_a_partial_clone_answers_what_it_has(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its checkout is whole."""
    place = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{fleet.folder}", str(place))

    assert 0 == run(["-C", str(place), "get", "deployments", "-A"])
    assert 0 == run(["-C", str(place), "validate"])
    assert "shop" in capsys.readouterr().out

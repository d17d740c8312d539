"""One function says which files are input: every reader takes the same files for manifests."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.library.folder import read_folder
from tests.builders import cluster, deployment, groups, path_of, policy, text
from tests.shell.fleet import load_world, run_pass
from tests.shell.repositories import Checkout, new_checkout

BODIES = (cluster("a"), cluster("b"), policy(placement=groups(["a"], ["b"])), deployment())

CONFIGURATIONS = [
    pytest.param({}, id="nothing is delivered"),
    pytest.param({"delivery": {"folders": {}}}, id="folders"),
    pytest.param({"delivery": {"folders": {"path": "out/{cluster}/apps"}}}, id="at a path"),
    pytest.param(
        {"delivery": {"decisions": {}, "works": {"hubsWithoutControllers": True}}},
        id="decisions and works",
    ),
    pytest.param({"delivery": {"folders": {}}, "exclude": ["drafts/**"]}, id="with an exclusion"),
    pytest.param(
        {"delivery": {"folders": {}}, "include": ["**/*.yaml"]}, id="with everything included"
    ),
]


def delivered_fleet(tmp_path: Path, spec: Mapping[str, object], root: str = "") -> Path:
    """A fleet of this configuration, below a folder of the repository, after two passes."""
    configuration = {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": "ReconcilerConfiguration",
        "metadata": {"name": "fleet"},
        "spec": dict(spec),
    }
    files = {path_of(body): text(body) for body in BODIES}
    files |= {"reconciler.yaml": text(configuration)}
    below = {f"{root}{path}": content for path, content in files.items()}
    fleet: Checkout = new_checkout(tmp_path / "fleet", below)
    folder = fleet.folder / root
    run_pass(folder, 0)
    run_pass(folder, 5)
    return folder


@pytest.mark.parametrize("root", ["", "teams/a/"])
@pytest.mark.parametrize("spec", CONFIGURATIONS)
def test_every_reader_reads_the_same_files(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    spec: Mapping[str, object],
    root: str,
) -> None:
    """Passes, the library, `validate` on disk and of a commit, from the root and from elsewhere."""
    folder = delivered_fleet(tmp_path, spec, root)
    expected = set(load_world(folder).inputs)
    monkeypatch.chdir(tmp_path)
    at = ["-C", str(folder)]

    assert {deployment()["kind"]} <= {key.kind for key in expected}
    assert expected == set(read_folder(folder).inputs)
    for asked in (["validate"], ["validate", "--rev", "HEAD"], ["validate", "."]):
        assert (0, f"{len(expected)} manifests valid, 0 faults") == (
            run([*at, *asked]),
            capsys.readouterr().err.splitlines()[-1],
        )


@pytest.mark.parametrize("spec", CONFIGURATIONS)
def test_what_is_delivered_is_not_edited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spec: Mapping[str, object]
) -> None:
    """`suspend` finds the workload in the person's file, in the checkout and for a branch."""
    folder = delivered_fleet(tmp_path, spec)
    asked = ["-C", str(folder), "suspend", "deployment/web", "--dry-run", "-o", "json"]

    for where in ([], ["--branch", "hold", "--author", "Ada <ada@example.com>"]):
        assert 0 == run([*asked, *where])
        assert path_of(deployment()) == json.loads(capsys.readouterr().out)["path"]


def test_nothing_is_written_into_a_folder_that_passes_write_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rebalancers go to `rebalancers/`; where that is delivered to, one would never be read."""
    folder = delivered_fleet(tmp_path, {"delivery": {"folders": {"path": "rebalancers/{cluster}"}}})

    assert 2 == run(["-C", str(folder), "rebalance", "deployment/web"])
    assert "would not be read" in capsys.readouterr().err
    assert not list(folder.glob("rebalancers/*.yaml"))


def test_a_file_that_is_named_is_checked_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person who asks about a delivered file gets an answer; a hook can leave it out."""
    folder = delivered_fleet(tmp_path, {"delivery": {"folders": {}}})
    delivered = next(folder.glob("delivery/a/**/*web*.yaml")).relative_to(folder).as_posix()
    at = ["-C", str(folder), "validate", "--no-references", str(folder / delivered)]

    assert 0 == run(at)
    assert "1 manifest valid" in capsys.readouterr().err
    assert 0 == run([*at, "--force-exclude"])
    assert "no manifest was found" in capsys.readouterr().err

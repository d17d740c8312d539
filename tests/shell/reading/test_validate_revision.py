"""`validate --rev`: the files of a commit, in a checkout, in a bare repository, before a push."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.builders import configuration, text
from tests.shell.fleet import EXAMPLE, ROOT, process_environment
from tests.shell.repositories import ENVIRONMENT, Checkout, git, new_checkout

Capsys = pytest.CaptureFixture[str]
CLUSTER = EXAMPLE["clusters/member1.yaml"]
WRONG = CLUSTER.replace("kind: Cluster\n", "kind: Cluster\ntypo: 1\n")
HOOK = re.compile(r"<!-- pre-receive hook -->\n```sh\n(.*?)```\n", re.DOTALL)


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """A wrong cluster at first, which the second commit mends."""
    checkout = new_checkout(tmp_path / "fleet", {"clusters/member1.yaml": WRONG})
    checkout.commit(
        {"clusters/member1.yaml": CLUSTER, "policies/p.yaml": EXAMPLE["policies/shop.yaml"]}
    )
    return checkout


def bare(fleet: Checkout) -> Path:
    """Return a bare clone."""
    folder = fleet.folder.with_name("bare.git")
    git(fleet.folder, "clone", "--quiet", "--bare", ".", str(folder))
    return folder


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["--rev", "HEAD~1"], 1, id="earlier"),
        pytest.param(["--rev", "main"], 0, id="branch"),
        pytest.param(["--rev", "nowhere"], 2, id="no-revision"),
        pytest.param(["--rev", "HEAD~1", "clusters"], 1, id="folder"),
        pytest.param(["--rev", "HEAD~1", "clusters/member1.yaml"], 1, id="file"),
        pytest.param(["--rev", "HEAD~1", "clusters/*.yaml"], 1, id="glob"),
        pytest.param(["--rev", "HEAD~1", "**/member*.yaml"], 1, id="deep-glob"),
        pytest.param(["--rev", "HEAD~1", "policies"], 2, id="not-there-yet"),
        pytest.param(
            ["--rev", "HEAD", "policies", "--references", "--fail-level", "warning"],
            1,
            id="references",
        ),
        pytest.param(["--rev", "HEAD", "policies"], 0, id="by-itself"),
        pytest.param(["--rev", "HEAD", "-"], 2, id="standard-input"),
        pytest.param(["--rev", "HEAD", "../elsewhere"], 2, id="outside"),
    ],
)
@pytest.mark.parametrize("place", ["checkout", "bare"])
def test_a_commit_is_checked_as_it_is(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, place: str
) -> None:
    """What is on disk plays no part."""
    (fleet.folder / "clusters/untracked.yaml").write_text("kind: [\n")
    monkeypatch.chdir(bare(fleet) if place == "bare" else fleet.folder)

    assert code == run(["validate", *arguments])


def test_a_bare_repository_is_checked_at_its_head(fleet: Checkout, capsys: Capsys) -> None:
    """It has no files on disk."""
    assert 0 == run(["-C", str(bare(fleet)), "validate", "--no-references"])
    assert "2 manifests valid, 0 faults\n" == capsys.readouterr().err


def test_a_path_of_a_commit_is_named_from_where_one_stands(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """As one on disk is; the finding is told from the root."""
    monkeypatch.chdir(fleet.folder / "clusters")

    assert 1 == run(["validate", "--rev", "HEAD~1", "member1.yaml"])
    assert capsys.readouterr().out.startswith("clusters/member1.yaml:")


def test_a_root_below_the_top_is_checked_at_a_commit(fleet: Checkout, capsys: Capsys) -> None:
    """Its own configuration counts."""
    fleet.commit(
        {
            "prod/reconciler.yaml": text(configuration(exclude=["drafts/**"])),
            "prod/drafts/wrong.yaml": WRONG,
            "prod/clusters/member1.yaml": CLUSTER,
        }
    )

    assert 0 == run(["-C", str(fleet.folder / "prod"), "validate", "--rev", "HEAD"])
    assert "2 manifests valid, 0 faults\n" == capsys.readouterr().err


def pushed(fleet: Checkout, files: Mapping[str, str]) -> tuple[int, str, str]:
    """Push a commit to a bare repository with the hook of the documentation."""
    served = bare(fleet)
    found = HOOK.search((ROOT / "docs/pull-requests.md").read_text(encoding="utf-8"))
    assert found is not None
    tools = fleet.folder.with_name("tools")
    tools.mkdir()
    for path, script in (
        (served / "hooks/pre-receive", found[1]),
        (tools / "reconciler", f'#!/bin/sh\nexec "{sys.executable}" -m reconciler "$@"\n'),
    ):
        path.write_text(script)
        path.chmod(0o755)
    fleet.commit(files)
    before = git(served, "rev-parse", "main")
    environment = {
        **process_environment(),
        **ENVIRONMENT,
        "PATH": f"{tools}{os.pathsep}{ENVIRONMENT['PATH']}",
    }
    done = subprocess.run(
        ["git", "push", str(served), "main"],
        cwd=fleet.folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    after = git(served, "rev-parse", "main")
    return done.returncode, done.stderr, "moved" if before != after else "stayed"


def test_the_documented_hook_refuses_a_fault(fleet: Checkout) -> None:
    """Git keeps what is pushed aside until the hook has agreed; it is read there."""
    code, said, branch = pushed(fleet, {"clusters/member2.yaml": WRONG})

    assert (1, "stayed") == (code, branch)
    assert "remote: clusters/member2.yaml:" in said


def test_the_documented_hook_lets_the_rest_pass(fleet: Checkout) -> None:
    """Warnings included."""
    code, said, branch = pushed(
        fleet, {"clusters/member2.yaml": CLUSTER.replace("name: member1", "name: member2")}
    )

    assert (0, "moved") == (code, branch), said


LINKS = {"clusters/link.yaml": "member1.yaml", "more": "clusters", "notes": "README.md"}


@pytest.mark.parametrize("arguments", [[], ["--rev", "HEAD"]], ids=["disk", "commit"])
def test_a_symbolic_link_that_is_skipped_is_said(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys, arguments: list[str]
) -> None:
    """One that is named like a manifest, and one to a folder; none to anything else."""
    fleet.write({"README.md": ""})
    for path, target in LINKS.items():
        (fleet.folder / path).symlink_to(target)
    fleet.git("add", "--all")
    fleet.git("commit", "--quiet", "--message", "Link")
    monkeypatch.chdir(fleet.folder)

    assert 0 == run(["validate", "--no-references", *arguments])
    warned = [line for line in capsys.readouterr().out.splitlines() if "[link-skipped]" in line]
    said = "warning: a symbolic link is never followed, so what it leads to is not read here"
    expected = [f"{path}: {said} [link-skipped]" for path in ("clusters/link.yaml", "more")]
    assert expected == warned


@pytest.mark.parametrize("output", ["json", "junit", "sarif", "github"])
def test_every_report_can_tell_of_a_link(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys, output: str
) -> None:
    """It has no line."""
    (fleet.folder / "clusters/link.yaml").symlink_to("member1.yaml")
    monkeypatch.chdir(fleet.folder)

    assert 0 == run(["validate", "-o", output])
    assert "clusters/link.yaml" in capsys.readouterr().out


def test_a_link_that_is_left_out_is_not_said(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    """By the configuration, as any file is."""
    fleet.write({"reconciler.yaml": text(configuration(exclude=["more/**"]))})
    (fleet.folder / "more").symlink_to("clusters")
    monkeypatch.chdir(fleet.folder)

    assert 0 == run(["validate", "--no-references"])
    assert "" == capsys.readouterr().out

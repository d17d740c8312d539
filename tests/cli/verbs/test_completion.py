"""What a shell offers when Tab is pressed."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import get_completion_class

from reconciler.cli.main import cli, run
from reconciler.cli.verbs.completion import VARIABLE
from tests.cli.history import told_fleet
from tests.shell.fleet import process_environment
from tests.shell.repositories import Checkout

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Three passes, a second branch and a tag."""
    told = told_fleet(tmp_path_factory.mktemp("completion") / "fleet")
    told.git("branch", "topic")
    told.git("tag", "v1.0")
    return told


def offered(folder: Path, line: str, shell: str = "bash") -> list[str]:
    """Return what click's completion of a shell offers for the last word of a line."""
    *words, incomplete = line.split(" ")
    found = get_completion_class(shell)
    assert found is not None
    complete = found(cli, {}, "reconciler", VARIABLE)
    return [
        item.value for item in complete.get_completions(["-C", str(folder), *words], incomplete)
    ]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("descr", ["describe"], id="verb"),
        pytest.param("get propag", ["propagationpolicies"], id="kind"),
        pytest.param(
            "get mc",
            ["mcl", "mcls", "mclset", "mclsets", "mclsetbinding", "mclsetbindings"],
            id="short",
        ),
        pytest.param(
            "get deploy,pla", ["deploy,placementdecisions", "deploy,placements"], id="second-kind"
        ),
        pytest.param("get deploy ", ["frontend", "shop"], id="name"),
        pytest.param("get deploy shop fr", ["frontend"], id="second-name"),
        pytest.param("get deploy/s", ["deploy/shop"], id="kind-and-name"),
        pytest.param("get clusters --at v", ["v1.0"], id="revision"),
        pytest.param("get clusters --branch t", ["topic"], id="branch"),
        pytest.param("get deploy -n d", ["default"], id="namespace"),
        pytest.param("get deploy -n other ", [], id="name-elsewhere"),
        pytest.param("why deploy sh", ["shop"], id="object"),
        pytest.param("why deploy shop mem", ["member1", "member2"], id="cluster"),
        pytest.param("why deploy/shop b", ["backup1"], id="cluster-behind-one-word"),
        pytest.param("describe pp/sh", ["pp/shop"], id="describe"),
        pytest.param("tree crp ", ["tools"], id="tree"),
        pytest.param("rebalance deploy shop f", ["frontend"], id="target"),
        pytest.param("suspend pp sh", ["shop"], id="suspend"),
        pytest.param("simulate --fail e", ["edge1", "edge2"], id="simulate"),
        pytest.param("plan --head t", ["topic"], id="plan"),
        pytest.param("verify main..to", ["main..topic"], id="range"),
        pytest.param("explain workl", ["workloadrebalancers"], id="explain"),
        pytest.param("explain wr.spec.lim", ["wr.spec.limits"], id="field"),
        pytest.param("get gizmos ", [], id="no-such-kind"),
    ],
)
def test_words_are_offered(fleet: Checkout, shell: str, line: str, expected: list[str]) -> None:
    """Kinds, names, clusters, namespaces, branches and revisions, in every shell."""
    assert sorted(expected) == sorted(offered(fleet.folder, line, shell))


def test_objects_are_those_of_the_revision(fleet: Checkout) -> None:
    """Before the first pass there was no binding."""
    first = fleet.git("rev-list", "--max-parents=0", "HEAD")

    assert "rb" in offered(fleet.folder, "get r")
    assert "rb" not in offered(fleet.folder, f"get --at {first} r")


@pytest.mark.parametrize("line", ["get deploy ", "why deploy/", "get x --at ", "simulate --fail "])
def test_nothing_is_printed_outside_of_a_repository(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    """A shell would mix it into the line that is being typed."""
    assert [] == [word for word in offered(tmp_path, line) if word != "HEAD"]
    assert ("", "") == capsys.readouterr()


def test_kinds_are_offered_outside_of_a_repository(tmp_path: Path) -> None:
    """Those that are read wherever they stand."""
    assert ["workloadrebalancers", "wr"] == [
        word for word in offered(tmp_path, "get w") if word.startswith("w")
    ]


def test_bash_offers_them(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A real one, by the script that `completion bash` prints."""
    assert 0 == run(["completion", "bash"])
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out)
    command = tmp_path / "bin" / "reconciler"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m reconciler "$@"\n')
    command.chmod(0o755)
    typed = "COMP_WORDS=(reconciler why deployment sh) COMP_CWORD=3"
    asked = f'. {script}; {typed}; _reconciler_completion reconciler; echo "${{COMPREPLY[@]}}"'
    environment = process_environment()
    finished = subprocess.run(
        ["bash", "--norc", "-c", asked],
        cwd=fleet.folder / "workloads",  # the root is found from any sub-folder
        env={**environment, "PATH": f"{command.parent}:{environment['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert ("shop\n", "") == (finished.stdout, finished.stderr)

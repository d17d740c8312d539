"""What a shell offers when Tab is pressed."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.shell_completion import get_completion_class

from reconciler.cli.main import cli, run
from reconciler.cli.verbs.beside import VARIABLE
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.parts import PartReader
from tests.builders import deployment, path_of, text
from tests.cli.history import told_fleet
from tests.shell.fleet import process_environment
from tests.shell.reading.table_damage import DAMAGES
from tests.shell.repositories import Checkout

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Three passes, a second branch and a tag."""
    told = told_fleet(tmp_path_factory.mktemp("completion") / "fleet")
    told.git("branch", "topic")
    told.git("tag", "v1.0")
    return told


def offered(
    folder: Path, line: str, shell: str = "bash", cache: str | Path | None = None
) -> list[str]:
    """Return what click's completion of a shell offers for the last word of a line."""
    *words, incomplete = line.split(" ")
    found = get_completion_class(shell)
    assert found is not None
    complete = found(cli, {}, "reconciler", VARIABLE)
    kept = () if cache is None else ("--cache-dir", str(cache))
    typed = ["-C", str(folder), *kept, *words]
    return [item.value for item in complete.get_completions(typed, incomplete)]


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


KEPT = (
    "get ",
    "get deploy ",
    "get Deployment ",
    "get deploy,rb ",
    "get deploy -n ",
    "get -A all ",
    "why deploy shop ",
    "get gizmos ",
)


def keep(fleet: Checkout, cache: Path) -> None:
    """Ask once, so that the commit's answers are kept."""
    for line in KEPT:
        offered(fleet.folder, line, cache=cache)


@pytest.mark.parametrize("line", KEPT)
def test_the_next_tab_offers_the_same_and_reads_no_file(
    fleet: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """What a commit has to offer is kept with the first Tab."""
    keep(fleet, tmp_path)
    without = offered(fleet.folder, line, cache="off")

    with monkeypatch.context() as patched:
        patched.setattr(Loader, "load", lambda *_: pytest.fail("files were read"))
        patched.setattr(PartReader, "known_heads", lambda *_: pytest.fail("files were listed"))
        assert without == offered(fleet.folder, line, cache=tmp_path)


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_of_what_is_kept_offers_the_same(
    fleet: Checkout, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """Whatever happened to the table."""
    keep(fleet, tmp_path)
    damage(tmp_path / "documents" / "offers.db")

    assert ["frontend", "shop"] == offered(fleet.folder, "get deploy ", cache=tmp_path)


def test_another_commit_offers_its_own(tmp_path: Path) -> None:
    """An object that a commit adds is offered at once."""
    grown = told_fleet(tmp_path / "fleet")
    keep(grown, tmp_path / "cache")
    added = deployment("web")
    grown.commit({path_of(added): text(added)}, "Add")

    names = offered(grown.folder, "get deploy ", cache=tmp_path / "cache")

    assert ["frontend", "shop", "web"] == names


def test_outputs_on_a_branch_of_their_own_are_looked_at_each_time(
    fleet: Checkout, tmp_path: Path
) -> None:
    """That branch may move while the commit of the inputs stays."""
    offered(fleet.folder, "get --output-branch topic ", cache=tmp_path)

    assert not (tmp_path / "documents" / "offers.db").exists()


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

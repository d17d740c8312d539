"""`reconciler init` and `demo`: any choice is a fleet that works, and documents are true."""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import chain, combinations, product
from pathlib import Path

import click
import pytest
from ruamel.yaml import YAML

from reconciler.cli.fleet_choice import APIS, CI, DELIVERIES, FORGES
from reconciler.cli.init import api_by_file
from reconciler.cli.main import VERBS, run
from reconciler.cli.verbs.begin import init_command
from reconciler.core.dialects import DIALECTS
from reconciler.delivery.settings import DEFAULT_PATHS
from reconciler.manifests.paths import is_manifest_name
from reconciler.shell.resources import example_files
from tests.shell.fleet import ROOT, new_fleet, process_environment, reconciler
from tests.shell.repositories import git, new_checkout

Capsys = pytest.CaptureFixture[str]
EXAMPLE = example_files()
SUBSETS = list(chain.from_iterable(combinations(APIS, size) for size in (1, 2, 3)))
OWNERS = api_by_file(EXAMPLE)
CLUSTER = """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata:
  name: mine
spec:
  syncMode: Push
"""


def options(apis: tuple[str, ...], *more: str) -> list[str]:
    """The words of a choice."""
    return [*chain.from_iterable(("--api", name) for name in apis), *more]


def files(folder: Path) -> set[str]:
    """What stands in a folder, but for git's own."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {path for path in found if not path.startswith(".git/")}


def commit(folder: Path) -> None:
    """Make a repository of a folder."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message=Start")


@pytest.mark.parametrize(
    ("apis", "examples", "delivery"),
    [*product(SUBSETS, ["--examples", "--no-examples"], DELIVERIES)],
    ids=lambda value: "+".join(value) if isinstance(value, tuple) else value.strip("-"),
)
def test_any_choice_is_a_fleet_without_faults(
    tmp_path: Path, capsys: Capsys, apis: tuple[str, ...], examples: str, delivery: str
) -> None:
    """It is valid to the letter, and a pass decides about it."""
    fleet = tmp_path / "fleet"
    words = options(apis, examples, "--delivery", delivery)
    assert 0 == run(["init", str(fleet), *words])
    capsys.readouterr()

    assert 0 == run(["-C", str(fleet), "validate", "--strict"])
    assert capsys.readouterr().err.endswith(" valid, 0 faults\n")
    commit(fleet)
    assert 0 == run(["-C", str(fleet), "reconcile", "--dry-run"])
    shown = capsys.readouterr()
    assert "" == shown.err
    assert (examples == "--examples") == ("nowhere -> " in shown.out)


@pytest.mark.parametrize("ci", CI)
def test_the_pipelines_are_those_of_the_forge(tmp_path: Path, ci: str) -> None:
    """Both, one or none; the README tells of those that are there."""
    assert 0 == run(["init", str(tmp_path / "fleet"), "--ci", ci])

    wanted = FORGES if ci == "both" else {ci}
    pipelines = {path for path in EXAMPLE if path.startswith((".github/", ".gitlab"))}
    there = {path for path in pipelines if any(path.startswith(f".{one}") for one in wanted)}
    readme = (tmp_path / "fleet/README.md").read_text()
    assert there == files(tmp_path / "fleet") & pipelines
    assert there == {path for path in pipelines if f"`{path}`" in readme}


@pytest.mark.parametrize("apis", SUBSETS, ids="+".join)
def test_an_api_has_its_own_files_only(tmp_path: Path, apis: tuple[str, ...]) -> None:
    """Its clusters, policies and placements, and the workloads that these name."""
    fleet = tmp_path / "fleet"
    assert 0 == run(["init", str(fleet), *options(apis)])

    found = {path for path in files(fleet) if is_manifest_name(path) and not path.startswith(".")}
    ours = {path for path, owners in OWNERS.items() if owners & set(apis)}
    assert found - {"reconciler.yaml"} == {path for path in ours if is_manifest_name(path)}
    kept = {path: (fleet / path).read_bytes() for path in found - {"reconciler.yaml"}}
    assert {path: EXAMPLE[path] for path in kept} == kept


def test_every_file_of_the_example_belongs_somewhere() -> None:
    """A manifest to exactly one API, what begins with a dot to a forge or to all."""
    hidden = {path for path in EXAMPLE if path.startswith(".")}
    for_all = {"README.md", "reconciler.yaml", ".gitattributes"}

    assert EXAMPLE.keys() - hidden - for_all == OWNERS.keys()
    assert dict.fromkeys(OWNERS, 1) == {path: len(apis) for path, apis in OWNERS.items()}
    assert set(APIS) == set(chain.from_iterable(OWNERS.values()))
    assert hidden - for_all == {p for p in hidden if p.startswith(tuple(f".{f}" for f in FORGES))}


def test_what_can_be_chosen_is_what_there_is() -> None:
    """Every API; every transport that needs no promise of a person."""
    offered = {name for _, transports in DELIVERIES.values() for name in transports}

    assert {dialect.name for dialect in DIALECTS} == set(APIS)
    assert DEFAULT_PATHS.keys() - {"works"} == offered


@pytest.mark.parametrize("examples", ["--examples", "--no-examples"])
@pytest.mark.parametrize("delivery", DELIVERIES)
def test_the_configuration_names_the_transports(
    tmp_path: Path, delivery: str, examples: str
) -> None:
    """Those of the way that was chosen, and no other."""
    assert 0 == run(["init", str(tmp_path / "fleet"), "--delivery", delivery, examples])

    spec = YAML(typ="safe").load((tmp_path / "fleet/reconciler.yaml").read_text()).get("spec", {})
    assert set(DELIVERIES[delivery][1]) == spec.get("delivery", {}).keys()
    assert (examples == "--examples") == ("feedback" in spec)


def test_without_examples_each_folder_says_what_it_is_for(tmp_path: Path) -> None:
    """No cluster, no policy, no workload is there."""
    assert 0 == run(["init", str(tmp_path / "fleet"), "--api", "karmada", "--no-examples"])

    folders = ("clusters", "policies", "workloads", "rebalancers")
    pipelines = {path for path in EXAMPLE if path.startswith(".")}
    assert {"README.md", "reconciler.yaml", *pipelines} | {
        f"{folder}/README.md" for folder in folders
    } == files(tmp_path / "fleet")
    assert (
        "Written by you: `Cluster` (`cluster.karmada.io/v1alpha1`).\n"
        == (tmp_path / "fleet/clusters/README.md").read_text()
    )


def test_what_is_there_is_left_alone(
    tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And said; the rest is written beside it, in the folder that one stands in."""
    checkout = new_checkout(tmp_path / "fleet", {"README.md": "Mine.", "reconciler.yaml": "# Mine"})
    monkeypatch.chdir(checkout.folder)

    assert 0 == run(["init", "--api", "karmada", "--delivery", "flux"])

    shown = capsys.readouterr().out
    assert "kept README.md: it already exists\n" in shown
    assert "kept reconciler.yaml: it already exists\n" in shown
    assert shown.endswith(
        "for delivery, add to reconciler.yaml:\nspec:\n"
        "  # The Flux of each cluster syncs its folder below delivery/.\n"
        "  delivery:\n    folders: {}\n"
    )
    assert ("Mine.", "# Mine") == (
        (checkout.folder / "README.md").read_text(),
        (checkout.folder / "reconciler.yaml").read_text(),
    )
    assert (checkout.folder / "policies/shop.yaml").is_file()
    assert "" == checkout.git("diff", "--name-only")


def test_beside_manifests_no_examples_are_written(tmp_path: Path, capsys: Capsys) -> None:
    """A sample policy would claim what is there; who wants them all the same says so."""
    fleet = new_checkout(tmp_path / "fleet", {"eu/mine.yaml": CLUSTER}).folder
    pipelines = {path for path in EXAMPLE if path.startswith(".")}

    assert 0 == run(["init", str(fleet)])
    assert {"eu/mine.yaml", "reconciler.yaml", *pipelines} == files(fleet) - {"README.md"}
    assert 0 == run(["-C", str(fleet), "validate", "--strict"])
    capsys.readouterr()

    assert 0 == run(["init", str(fleet), "--examples"])
    assert EXAMPLE.keys() | {"eu/mine.yaml"} == files(fleet)
    assert "already exists" in capsys.readouterr().out


def test_nothing_is_written_through_a_link(tmp_path: Path, capsys: Capsys) -> None:
    """A folder that is a link leads elsewhere; a file where a folder would be stays."""
    (tmp_path / "elsewhere").mkdir()
    fleet = tmp_path / "fleet"
    fleet.mkdir()
    (fleet / "clusters").symlink_to(tmp_path / "elsewhere")
    (fleet / "policies").write_text("mine")

    assert 0 == run(["init", str(fleet)])

    assert set() == files(tmp_path / "elsewhere")
    assert "mine" == (fleet / "policies").read_text()
    assert "already exists" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("https://github.com/acme/fleet.git", {"github"}, id="github"),
        pytest.param("git@gitlab.example.org:acme/fleet.git", {"gitlab"}, id="gitlab"),
        pytest.param("https://git.example.org/github/fleet.git", set(FORGES), id="path-only"),
        pytest.param(None, set(FORGES), id="no-remote"),
    ],
)
def test_the_remote_tells_the_forge(tmp_path: Path, url: str | None, expected: set[str]) -> None:
    """By the name of its host."""
    checkout = new_checkout(tmp_path / "fleet")
    if url is not None:
        checkout.git("remote", "add", "origin", url)

    assert 0 == run(["init", str(checkout.folder)])

    found = files(checkout.folder)
    assert expected == {one for one in FORGES if any(path.startswith(f".{one}") for path in found)}
    assert 0 == run(["init", str(checkout.folder / "new")])
    assert EXAMPLE.keys() == files(checkout.folder / "new")


def test_a_pipeline_below_the_top_is_told(tmp_path: Path, capsys: Capsys) -> None:
    """Forges read them at the top of a repository only."""
    checkout = new_checkout(tmp_path / "mono")

    assert 0 == run(["-C", str(checkout.folder), "init", "fleet"])
    assert "only from the top of a repository" in capsys.readouterr().err
    assert 0 == run(["-C", str(checkout.folder), "init", "other", "--ci", "none"])
    assert "" == capsys.readouterr().err


def stamps(folder: Path) -> dict[str, tuple[int, int, int]]:
    """What of each file would be another one had it been written; when it was read is not."""
    found = ((path, (folder / path).stat()) for path in files(folder))
    return {path: (one.st_ino, one.st_mtime_ns, one.st_ctime_ns) for path, one in found}


def test_a_second_time_writes_nothing(tmp_path: Path, capsys: Capsys) -> None:
    """Each file is there."""
    assert 0 == run(["init", str(tmp_path / "fleet")])
    before = stamps(tmp_path / "fleet")
    capsys.readouterr()

    assert 0 == run(["init", str(tmp_path / "fleet"), "--examples"])

    assert "wrote" not in capsys.readouterr().out
    assert before == stamps(tmp_path / "fleet")


def test_every_option_is_documented_with_its_words() -> None:
    """The words that can be chosen are those of the table."""
    chosen = {
        one.name: one.type for one in init_command.params if isinstance(one.type, click.Choice)
    }

    assert {"apis": [*APIS], "ci": [*CI], "delivery": [*DELIVERIES]} == {
        name: [*kind.choices] for name, kind in chosen.items()
    }


def answering(folder: Path, answers: str, *words: str) -> str:
    """Run the command on a terminal, type the answers, and return what the terminal got."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "reconciler", "init", "fleet", *words],
        cwd=folder,
        env={**process_environment(), "TERM": "xterm-256color"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        os.write(ours, answers.encode())
        shown = b"".join(reading(ours)).decode()
        os.close(ours)
        assert 0 == process.wait(30)
    return shown


def reading(terminal: int) -> Iterator[bytes]:
    """What comes until its end, which Linux tells by an error."""
    try:
        while chunk := os.read(terminal, 4096):
            yield chunk
    except OSError:
        return


def test_on_a_terminal_it_asks(tmp_path: Path) -> None:
    """What is no answer is asked again."""
    shown = answering(tmp_path, "nomad\nkarmada ocm\nn\ngithub\nflux\n")

    assert "give one or more of karmada, ocm, kubefleet" in shown
    found = files(tmp_path / "fleet")
    assert {"scores/README.md", "policies/README.md", ".github/workflows/reconciler.yaml"} <= found
    assert ".gitlab-ci.yml" not in found
    assert "folders: {}" in (tmp_path / "fleet/reconciler.yaml").read_text()


def test_enter_takes_the_example_as_it_is(tmp_path: Path) -> None:
    """So what the documents show is what a person gets."""
    shown = answering(tmp_path, "\n\n\n\n")

    assert EXAMPLE == {p: (tmp_path / "fleet" / p).read_bytes() for p in files(tmp_path / "fleet")}
    assert "see its README.md" in shown


def test_with_an_option_it_does_not_ask(tmp_path: Path) -> None:
    """Who says something has said it all."""
    shown = answering(tmp_path, "", "--ci", "none")

    assert "[" not in shown
    assert ".gitlab-ci.yml" not in files(tmp_path / "fleet")


GOLDEN = ROOT / "fixtures" / "demo" / "story.txt"
DOCUMENTS = ["README.md", "example-repo/README.md", "example-repo/rebalancers/README.md"]
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


def normalised(text: str, folder: Path) -> str:
    """Replace what differs from run to run: commit ids, how long it took, and the folder."""
    short = re.sub(r"\b[0-9a-f]{7,12}\b", lambda found: "#" * len(found[0]), text)
    timed = re.sub(r"(?m)^This took \d+ seconds", "This took N seconds", short)
    return timed.replace(str(folder), "FOLDER")


def test_the_demo_tells_its_story(tmp_path: Path) -> None:
    """Word for word; run with REFRESH=1 in the environment to write the golden text anew."""
    folder = tmp_path / "fleet"

    finished = reconciler(tmp_path, "demo", "--folder", str(folder))

    assert 0 == finished.code, finished.stderr
    assert "" == finished.stderr
    story = normalised(finished.stdout, folder)
    if os.environ.get("REFRESH"):
        GOLDEN.write_text(story)
    assert GOLDEN.read_text() == story


def blocks(document: str, language: str) -> list[str]:
    """Return the code blocks of a document in one language, their indentation taken away."""
    text = (ROOT / document).read_text()
    return [
        "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))
        for indent, name, body in FENCE.findall(text)
        if name == language
    ]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_manifests_in_documents_are_valid(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], document: str
) -> None:
    """Each is accepted by `validate`; what is to be appended is appended to a cluster."""
    cluster = (ROOT / "example-repo/clusters/member1.yaml").read_text()
    found = blocks(document, "yaml")
    for number, block in enumerate(found):
        whole = block if "apiVersion" in block else cluster + block
        (tmp_path / f"{number}.yaml").write_text(whole)
        assert "kind" in YAML(typ="safe").load(whole)

    code = run(["-C", str(tmp_path), "validate", "--no-references"])

    assert (0 if found else 1) == code, capsys.readouterr().out


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_in_documents_exist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], document: str
) -> None:
    """Each verb that is shown is one; what only reads is run on the example."""
    text = (ROOT / document).read_text()
    shown = re.findall(r"(?:^|`)reconciler ((?:[a-z-]+ ?)[^`\n;]*)", text, re.MULTILINE)
    fleet = new_fleet(tmp_path / "fleet")
    for line in shown:
        words = line.split()
        assert words[0] in VERBS, line
        if words[0] in ("get", "validate") or "--dry-run" in words:
            assert run(["-C", str(fleet.folder), *words]) in (0, 2), capsys.readouterr().err

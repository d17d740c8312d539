"""The command line as a whole: help, docs/cli.md, completion, and verbs that only kubectl has."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.shell_completion import get_completion_class

from reconciler.cli import complete
from reconciler.cli.main import ANSWERS, ELSEWHERE, VERBS, cli, run
from reconciler.cli.reference import reference
from reconciler.cli.verbs.beside import VARIABLE
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.parts import PartReader
from tests.builders import deployment, path_of, text
from tests.cli.history import answer, told_fleet
from tests.shell.fleet import ROOT, process_environment
from tests.shell.reading.table_damage import DAMAGES
from tests.shell.repositories import Checkout


def test_the_reference_is_up_to_date() -> None:
    """`make docs` writes it anew, in a process of its own: click remembers names of options."""
    written = subprocess.run(
        [sys.executable, "-m", "reconciler.cli.reference"],
        check=True,
        capture_output=True,
        text=True,
        env=process_environment(),
    ).stdout

    assert (ROOT / "docs/cli.md").read_text(encoding="utf-8") == written, "run make docs"


def test_every_verb_has_a_section() -> None:
    """With its usage."""
    page = reference()

    for verb in VERBS:
        assert f"\n## reconciler {verb}\n\n```\nreconciler {verb}" in page


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_asks_the_command(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the variable that the command listens to."""
    assert 0 == run(["completion", shell])

    shown = capsys.readouterr()
    assert f"_RECONCILER_COMPLETE={shell}_complete" in shown.out
    assert "" == shown.err


def test_an_unknown_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """With the shells that there are."""
    assert 2 == run(["completion", "tcsh"])
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "number", "expected"),
    [
        pytest.param(
            "reconciler re",
            "1",
            ["rebalance", "reconcile", "render", "report", "resume"],
            id="verbs",
        ),
        pytest.param("reconciler why -o ", "3", ["text", "json", "yaml"], id="formats"),
        pytest.param(
            "reconciler top ", "2", ["clusters", "cluster", "quotas", "quota"], id="arguments"
        ),
    ],
)
def test_a_shell_gets_what_may_follow(words: str, number: str, expected: list[str]) -> None:
    """As bash asks."""
    asked = {"_RECONCILER_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": number}
    script = "from reconciler.cli.main import main; main()"
    finished = subprocess.run(
        [sys.executable, "-c", script],
        env={**process_environment(), **asked},
        capture_output=True,
        text=True,
        check=True,
    )

    assert expected == [line.partition(",")[2] for line in finished.stdout.splitlines()]


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_help_shows_examples_line_by_line(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each verb shows at least one command to copy, on a line of its own."""
    code = run([verb, "--help"])
    shown = capsys.readouterr().out

    assert 0 == code
    assert "\\b" not in shown
    assert re.search(rf"^ +(reconciler|\$).*\b{verb}\b", shown, re.MULTILINE)


def test_a_bug_of_ours_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What nobody foresaw ends with a sentence, and with the traceback only for who asks."""

    def fail() -> None:
        raise LookupError("who knows")

    monkeypatch.setattr("reconciler.cli.verbs.beside.version_command.callback", fail)
    monkeypatch.setattr("reconciler.cli.verbs.beside.version_command.params", [])

    assert 1 == run(["version"])
    assert "bug in reconciler (LookupError)" in capsys.readouterr().err


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


def test_many_files_of_a_fresh_clone_are_not_parsed_for_a_tab(
    fleet: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are looked for, and the same are offered."""
    lines = (*KEPT, "simulate --fail ", "describe crp/", "get cluster ")
    read = [offered(fleet.folder, line, cache="off") for line in lines]

    monkeypatch.setattr(complete, "FEW_FILES", 0)
    monkeypatch.setattr(Loader, "load", lambda *_: pytest.fail("files were parsed"))

    assert read == [offered(fleet.folder, line, cache="off") for line in lines]
    assert ["frontend", "shop"] == read[1]


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


KUBECTL = """
annotate api-resources api-versions apply attach auth autoscale certificate cluster-info
completion config cordon cp create debug delete describe diff drain edit events exec explain
expose get kustomize label logs options patch plugin port-forward proxy replace rollout run
scale set taint top uncordon version wait
"""
KARMADACTL = "addons deinit init interpret join promote register token unjoin unregister"
NAMED = re.compile(r"reconciler ((?:--)?[a-z-]+)")


@pytest.mark.parametrize("verb", [*KUBECTL.split(), *KARMADACTL.split()])
def test_every_verb_of_theirs_is_one_of_ours_or_has_an_answer(verb: str) -> None:
    """By name, not by what looks like it."""
    assert 1 == (verb in VERBS) + (verb in ANSWERS) + (verb in ELSEWHERE)


@pytest.mark.parametrize("verb", sorted(ANSWERS))
def test_an_answer_is_a_sentence_and_names_verbs_that_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    """On one line, whatever stands behind the verb; the exit code is that of wrong usage."""
    code, out, err = answer(Checkout(tmp_path), capsys, verb, "deployment/shop", "-f", "x.yaml")

    assert (2, "", f'reconciler: there is no verb "{verb}"; {ANSWERS[verb]}\n') == (code, out, err)
    assert set(NAMED.findall(ANSWERS[verb])) <= {*VERBS, "--help"}


@pytest.mark.parametrize(
    ("verb", "part"),
    [
        pytest.param("delete", "remove its file", id="delete"),
        pytest.param("apply", "commit it", id="apply"),
        pytest.param("edit", "open its file", id="edit"),
    ],
)
def test_the_file_to_edit_is_said(verb: str, part: str) -> None:
    """Not only that there is no such verb."""
    assert part in ANSWERS[verb]

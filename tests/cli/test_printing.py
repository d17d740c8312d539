"""What reaches a terminal or a pipe: data on standard output, all else and progress beside it."""

import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from reconciler.cli import progress
from reconciler.cli.main import run
from tests.cli.history import told_fleet
from tests.shell.fleet import (
    EXAMPLE,
    MANIFESTS,
    PATIENCE_SECONDS,
    decided_fleet,
    new_fleet,
    process_environment,
    reconciler,
)
from tests.shell.repositories import Checkout

ESCAPE = "\x1b"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet that was passed once; tests only read it."""
    checkout = decided_fleet(tmp_path_factory.mktemp("terminal") / "fleet")
    return checkout.folder


def on_terminal(folder: Path, arguments: Sequence[str], variables: dict[str, str]) -> str:
    """Run the command with a terminal for its output; return all that the terminal got."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "reconciler", *arguments],
        cwd=folder,
        env={**process_environment(), "TERM": "xterm-256color", **variables},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = read_all(ours)
    assert 0 == process.wait(30)
    return shown


def read_all(terminal: int) -> str:
    """Return all that comes out of a terminal until nobody writes to it any more; it is closed."""
    chunks = []
    with contextlib.suppress(OSError):  # Linux says EIO at the end of a terminal
        while chunk := os.read(terminal, 4096):
            chunks.append(chunk)
    os.close(terminal)
    return b"".join(chunks).decode()


def test_colour_is_for_terminals_only(fleet: Path) -> None:
    """A table has a bold head on a terminal, and none in a pipe."""
    assert ESCAPE in on_terminal(fleet, ["get", "rb"], {})
    assert ESCAPE not in reconciler(fleet, "get", "rb").stdout


def test_a_table_is_as_wide_as_the_terminal(fleet: Path) -> None:
    """Long cells are cut, names never; a wide one and a pipe have everything."""
    plain = {"COLUMNS": "120", "NO_COLOR": "1"}

    cut = on_terminal(fleet, ["events"], plain).splitlines()
    whole = on_terminal(fleet, ["events", "-o", "wide"], plain)
    piped = reconciler(fleet, "events").stdout

    assert max(map(len, cut)) <= 120
    assert "…" in cut[1]
    assert "…" not in whole + piped
    assert {line.split()[3] for line in piped.splitlines()[1:]} == {
        line.split()[3] for line in cut[1:]
    }


def test_a_plan_is_coloured_on_terminals_only(fleet: Path) -> None:
    """Its headline is bold there, and plain text in a pipe."""
    assert ESCAPE in on_terminal(fleet, ["plan"], {})
    assert ESCAPE not in reconciler(fleet, "plan").stdout


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colour_can_be_refused(fleet: Path, variables: dict[str, str]) -> None:
    """NO_COLOR and a dumb terminal are honoured."""
    assert ESCAPE not in on_terminal(fleet, ["get", "rb"], variables)


@pytest.mark.parametrize("output", ["table", "wide", "yaml", "json", "name"])
@pytest.mark.parametrize("kind", ["clusters", "rb", "pp", "cpp", "deploy", "cm"])
def test_each_format_shows_each_kind(
    fleet: Path, capsys: pytest.CaptureFixture[str], kind: str, output: str
) -> None:
    """Data is on standard output and parses; nothing is beside it."""
    assert 0 == run(["-C", str(fleet), "get", kind, "-A", "-o", output])
    shown = capsys.readouterr()

    assert "" == shown.err
    assert shown.out.endswith("\n")
    match output:
        case "json":
            assert json.loads(shown.out)["items"]
        case "yaml":
            assert all(body["kind"] for body in YAML(typ="safe").load_all(shown.out))
        case "name":
            assert all("/" in line for line in shown.out.splitlines())
        case _:
            assert "NAME" in shown.out.splitlines()[0]
            assert len({line.rstrip() == line for line in shown.out.splitlines()}) == 1


def test_a_workload_may_hold_anything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What no API server would take for a spec is shown as far as it goes."""
    odd = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: odd}\nspec: 3\n"
    checkout = new_fleet(tmp_path / "fleet", {"workloads/odd.yaml": odd})

    assert 0 == run(["-C", str(checkout.folder), "get", "deploy", "odd", "--no-headers"])
    assert ["odd", "<none>", "<none>"] == capsys.readouterr().out.split()
    assert 0 == run(["-C", str(checkout.folder), "simulate", "--scale", "deploy/odd=2"])


@pytest.mark.parametrize("word", ["rb", "ResourceBinding", "resourcebindings.work.karmada.io"])
def test_a_kind_has_several_names(
    fleet: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    """Short, singular, plural, with its group."""
    assert 0 == run(["-C", str(fleet), "get", word, "shop-deployment", "-o", "json"])
    assert "shop-deployment" == json.loads(capsys.readouterr().out)["metadata"]["name"]


def test_what_is_not_there_is_told_beside_the_data(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that is not there is a no; an empty list is an answer."""
    assert 1 == run(["-C", str(fleet), "get", "rb", "nope"])
    assert 0 == run(["-C", str(fleet), "get", "rb", "-n", "other"])
    shown = capsys.readouterr()

    assert "" == shown.out
    assert shown.err.startswith("no rb named nope in namespace default; near it: frontend-")
    assert shown.err.endswith("\nno rb in namespace other\n")


@pytest.mark.parametrize("word", ["wr", "scheduletriggers", "PriorityClass"])
def test_a_known_kind_may_have_no_object(
    fleet: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    """As with kubectl: nothing is found, which is no wrong usage; no namespace is at fault."""
    assert 0 == run(["-C", str(fleet), "get", word])
    shown = capsys.readouterr()

    assert ("", f"no {word}\n") == (shown.out, shown.err)


def test_no_file_name_or_value_reaches_the_terminal_raw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Escapes in manifests and in names of files are shown, not obeyed."""
    evil = '"\\e]0;owned\\a\\e[2J"'
    cluster = EXAMPLE["clusters/member1.yaml"].replace("eu-west", evil)
    checkout = new_fleet(
        tmp_path / "fleet",
        {
            "clusters/member1.yaml": cluster,
            "workloads/a\x1b[2J.yaml": "apiVersion: [\n",
            "workloads/b.yaml": f"apiVersion: v1\nkind: {evil}\nmetadata: {{name: x}}\n",
            "workloads/c.yaml": f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {evil}}}\n",
        },
    )
    base = ["-C", str(checkout.folder)]

    run([*base, "validate", "-v"])
    run([*base, "reconcile"])
    for output in ("table", "wide", "yaml", "json", "name"):
        run([*base, "get", "clusters", "-o", output])
    run([*base, "get", "rb", f"{ESCAPE}[2J"])
    run([*base, "get", f"{ESCAPE}[2J"])
    shown = capsys.readouterr()

    assert ESCAPE not in shown.out
    assert ESCAPE not in shown.err
    assert "\x07" not in shown.out + shown.err


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    """`reconciler get ... | head -1` ends quietly."""
    many = {
        f"clusters/c{number}.yaml": EXAMPLE["clusters/member1.yaml"].replace(
            "member1", f"c{number}"
        )
        for number in range(900)
    }
    checkout = new_fleet(tmp_path / "fleet", many)
    command = f"{sys.executable} -m reconciler get clusters -o yaml | head -n 1"
    finished = subprocess.run(
        ["bash", "-c", command],
        cwd=checkout.folder,
        env=process_environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, "") == (finished.returncode, finished.stderr)
    assert 1 == finished.stdout.count("\n")


def test_closed_outputs_are_no_mistake_of_ours(fleet: Path) -> None:
    """`reconciler get ... >&-` has nowhere to print, and says nothing."""
    command = (
        f"{sys.executable} -m reconciler get rb >&-; {sys.executable} -m reconciler why x 2>&-"
    )
    finished = subprocess.run(
        ["bash", "-c", command],
        cwd=fleet,
        env=process_environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (2, "", "") == (finished.returncode, finished.stdout, finished.stderr)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_ends_with_130(tmp_path: Path, number: int) -> None:
    """No traceback; the command waits for a remote that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(PATIENCE_SECONDS)
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/fleet.git"
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "reconciler", "reconcile"),
                *("--remote", url, "--mirror", str(tmp_path / "mirror")),
            ],
            env=process_environment(),
            stderr=subprocess.PIPE,
            text=True,
        )
        asking, _ = silent.accept()
        with asking:
            process.send_signal(number)
            _, said = process.communicate(timeout=PATIENCE_SECONDS)

    assert (130, "") == (process.returncode, said.strip())


def test_version_and_validate_speak_json(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For machines."""
    assert 0 == run(["version", "-o", "json"])
    assert ["schemaVersion", "version"] == list(json.loads(capsys.readouterr().out))
    assert 0 == run(["-C", str(fleet), "validate", "-o", "json"])
    assert {"schemaVersion": 1, "findings": []} == json.loads(capsys.readouterr().out)
    assert MANIFESTS


AT_ONCE = (
    "import runpy\n"
    "from reconciler.cli import progress\n"
    "progress.AFTER_SECONDS = {after}\n"
    "runpy.run_module('reconciler', run_name='__main__')\n"
)
READING, PASSES, HISTORY = progress.READING, progress.PASSES, progress.HISTORY
QUESTIONS = [
    pytest.param("get rb -A -o wide", PASSES, id="get"),
    pytest.param("describe deployment/shop", HISTORY, id="describe"),
    pytest.param("status", PASSES, id="status"),
    pytest.param("top clusters", "Adding up", id="top"),
    pytest.param("tree pp/shop", PASSES, id="tree"),
    pytest.param("events", HISTORY, id="events"),
    pytest.param("why deployment/shop", PASSES, id="why"),
    pytest.param("history deployment/shop", HISTORY, id="history"),
    pytest.param("blame deployment/shop", HISTORY, id="blame"),
    pytest.param("verify", "Verifying commits", id="verify"),
    pytest.param("report -o fleet.html", "Writing the page", id="report"),
    pytest.param("validate --references", "Following references", id="validate"),
    pytest.param("plan --worktree", PASSES, id="plan"),
    pytest.param("simulate --fail member2", PASSES, id="simulate"),
    pytest.param("simulate --fail-each", "Failing clusters", id="simulate-each"),
    pytest.param("render deployment/shop", "Rendering", id="render"),
    pytest.param("rebalance deployment/shop --dry-run", PASSES, id="rebalance"),
    pytest.param("scale deployment/shop --replicas=3 --dry-run", PASSES, id="scale"),
    pytest.param("reconcile --dry-run", "Deciding", id="reconcile"),
    pytest.param("api-resources", READING, id="api-resources"),
]


@pytest.fixture(scope="module")
def progress_fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A fleet in which three passes ran."""
    return told_fleet(tmp_path_factory.mktemp("progress") / "fleet")


def progress_on_terminal(fleet: Checkout, words: str, *, after: float) -> tuple[str, str]:
    """Run a verb that tells of its work after so many seconds; return the answer, and the rest."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", AT_ONCE.format(after=after), "--cache-dir", "off", *words.split()],
        cwd=fleet.folder,
        env={**process_environment(), "TERM": "xterm-256color", "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        said = read_all(ours)
        assert process.stdout is not None
        answer = process.stdout.read().decode()
    assert 0 == process.returncode, said
    return answer, said


@pytest.mark.parametrize(("words", "what"), QUESTIONS)
def test_each_question_says_what_it_does(progress_fleet: Checkout, words: str, what: str) -> None:
    """On standard error, and nowhere in the answer."""
    answer, said = progress_on_terminal(progress_fleet, words, after=0)

    assert what in said
    assert what not in answer


def test_what_is_counted_is_told_as_a_count(progress_fleet: Checkout) -> None:
    """So many of so many."""
    _, said = progress_on_terminal(progress_fleet, "verify", after=0)

    assert "of 6" in said


def test_what_takes_no_time_is_not_told(progress_fleet: Checkout) -> None:
    """Before half a second is over nobody has to be told to wait."""
    assert "" == progress_on_terminal(progress_fleet, "get rb", after=60)[1]


def test_a_pipe_gets_nothing_of_it(progress_fleet: Checkout) -> None:
    """Neither beside the data nor in it."""
    finished = reconciler(progress_fleet.folder, "verify")

    assert 0 == finished.code
    assert "Verifying" not in finished.stdout + finished.stderr


class TestTelling:
    """The parts of it, without a terminal."""

    def test_nobody_watches_unless_a_verb_says_so(self) -> None:
        """Servers work silently, and so does whoever uses the library."""
        with progress.doing("Something", 3) as done:
            done()
        assert [1, 2] == [*progress.tracked([1, 2], 2)]

    def test_half_a_second_counts_from_the_beginning_of_the_verb(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Many short pieces of work are long together."""
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        started: list[float] = []

        class Timer:
            def __init__(self, seconds: float, _: object) -> None:
                started.append(seconds)

            def start(self) -> None: ...

            def cancel(self) -> None: ...

        monkeypatch.setattr("threading.Timer", Timer)
        with progress.telling():
            for _ in range(2):
                with progress.doing("Something"):
                    pass
        first, second = started

        assert second < first <= progress.AFTER_SECONDS

"""Running git: environment, configuration, time limit, and no secrets in errors or on the wire."""

import base64
import os
import select
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from git.cmd import Git as Runner

from reconciler.shell.git.command import Git, GitError, GitKilled, RemoteMisconfigured
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.git.repository import Repository, may_configure
from reconciler.shell.processes import limits
from tests.shell.repositories import new_checkout


def test_nothing_of_the_callers_environment_leaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only PATH and the agent's socket come from outside."""
    monkeypatch.setenv("GIT_DIR", "/somewhere/else")
    monkeypatch.setenv("GIT_TRACE", "1")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "/bin/false")
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    new_checkout(tmp_path / "r", {})
    git = Git(folder=tmp_path / "r", settings={"alias.env": "!env"})

    printed = git.output("env").decode()

    assert "SECRET_TOKEN" not in printed
    assert "GIT_TRACE" not in printed
    assert "GIT_EXTERNAL_DIFF" not in printed
    assert "GIT_DIR=/somewhere/else" not in printed
    assert f"PATH={os.environ['PATH']}" in printed or os.environ["PATH"] in printed
    assert "GIT_TERMINAL_PROMPT=0" in printed


@pytest.mark.parametrize("limits", [{}, {"processor_seconds": 9}], ids=["free", "limited"])
def test_what_reads_is_started_as_what_writes(
    limits: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same environment, folder, group of processes and open files; GitPython or not."""
    stand_in = tmp_path / "git"
    stand_in.write_text(
        "#!/bin/sh\npwd; ls /proc/$$/fd; ulimit -t; cut -d' ' -f5,6 /proc/$$/stat | xargs -n 1 test"
        " $$ = || exit 3\ntr '\\0' '\\n' < /proc/$$/environ | sort\n"
    )
    stand_in.chmod(0o755)
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    monkeypatch.setenv("GIT_DIR", "/somewhere/else")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/agent")
    opened = os.open(tmp_path, os.O_RDONLY)
    git = Git(folder=tmp_path, settings={"a.b": "c"}, inherited=(opened,), **limits)  # type: ignore[arg-type]

    reads, writes = git.output("cat-file"), git.output("fast-import")

    os.close(opened)
    assert writes == reads
    assert b"SSH_AUTH_SOCK=/agent" in reads
    assert b"GIT_CONFIG_GLOBAL=/dev/null" in reads
    assert b"SECRET_TOKEN" not in reads
    assert b"GIT_DIR" not in reads


def test_what_the_operator_gives_arrives(tmp_path: Path) -> None:
    """Variables on top of the hardened environment reach git."""
    new_checkout(tmp_path / "r", {})
    git = Git(folder=tmp_path / "r", variables={"GIT_SSL_CAINFO": "/ca.pem"})

    assert "/ca.pem" in git.having(settings={"alias.env": "!env"}).output("env").decode()


def test_a_failure_is_one_line_that_names_the_command(tmp_path: Path) -> None:
    """The text is fit for a log and a terminal."""
    with pytest.raises(GitError, match=r"^git cat-file: [^\n]*repository[^\n]*$"):
        Git(folder=tmp_path, options=("--git-dir=nowhere",)).output("cat-file", "-p", "HEAD")


@pytest.mark.parametrize("command", ["version", "fast-import"])
@pytest.mark.parametrize("tools", [(), ("env",)], ids=["nothing", "all-but-git"])
def test_a_path_without_git_is_told(
    tools: tuple[str, ...], command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that lacks env(1), by which git is started where it writes."""
    for tool in tools:
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(GitError, match=r"^git was not found; install git"):
        Git(folder=tmp_path).run(command)


def test_a_command_ends_at_its_time_limit(tmp_path: Path) -> None:
    """Children of git end as well."""
    new_checkout(tmp_path / "r", {})
    git = Git(folder=tmp_path / "r", settings={"alias.hang": "!sleep 600"}, timeout_seconds=0.2)

    with pytest.raises(GitError, match=r"took longer than 0\.2 seconds"):
        git.run("hang")


def test_a_folder_that_is_gone_is_no_missing_git(tmp_path: Path) -> None:
    """The sentence says what is not there."""
    with pytest.raises(GitError, match=r'gone" is not there'):
        Git(folder=tmp_path / "gone").run("version")


def test_a_stream_ends_at_its_time_limit(tmp_path: Path) -> None:
    """A command that never answers does not hold its reader."""
    new_checkout(tmp_path / "r", {})
    git = Git(folder=tmp_path / "r", settings={"alias.hang": "!sleep 600"}, timeout_seconds=0.2)

    with (
        pytest.raises(GitError, match=r"took longer than 0\.2 seconds"),
        git.stream("hang", stdin=()) as output,
    ):
        output.read()


def test_a_stream_reports_its_failure(tmp_path: Path) -> None:
    """The exit code is looked at when the output has been read."""
    git = Git(folder=tmp_path, options=("--git-dir=nowhere",))

    with (
        pytest.raises(GitError, match="not a git repository"),
        git.stream("cat-file", "--batch", stdin=[b"x\n"]) as output,
    ):
        output.read()


def test_what_cannot_be_fed_to_a_command_ends_it(tmp_path: Path) -> None:
    """The exception of what is fed is raised to whoever reads, not lost in a thread."""
    git = Git(folder=tmp_path)

    def contents() -> Iterator[bytes]:
        yield b"x"
        raise MemoryError

    with (
        pytest.raises(MemoryError),
        git.stream("hash-object", "--stdin", stdin=contents()) as output,
    ):
        output.read()


def test_a_thread_without_memory_for_its_first_step_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits for ever for a thread that ended before it began."""
    monkeypatch.setattr("_thread.start_new_thread", lambda _work, _arguments: 0)
    monkeypatch.setattr(limits, "BEGIN_SECONDS", 0.0)
    git = Git(folder=tmp_path)

    with (
        pytest.raises(MemoryError),
        git.stream("cat-file", "--batch", stdin=[b"x\n"]) as output,
    ):
        output.read()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("fatal: unable to access 'https://me:hunter2@h/r/'", id="password"),
        pytest.param("fatal: unable to access 'https://hunter2@h/r/'", id="token-as-user"),
        pytest.param("remote: bad token hunter2", id="secret-in-text"),
    ],
)
def test_credentials_never_reach_an_error(text: str) -> None:
    """User info of every URL, and secrets wherever they stand."""
    assert "hunter2" not in Git(folder=Path(), secrets=("hunter2",)).mask(text)


def test_a_command_that_a_signal_ends_has_said_nothing(tmp_path: Path) -> None:
    """It is no answer: "no branch is checked out" would be one."""
    stand_in = tmp_path / "git"
    stand_in.write_text("#!/bin/sh\nkill -PIPE $$\n")
    stand_in.chmod(0o755)

    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    with pytest.raises(GitKilled, match="git symbolic-ref: exit code -13"):
        Git(folder=tmp_path, variables={"PATH": path}).run("symbolic-ref", "HEAD")


def test_who_is_asked_to_end_while_git_starts_leaves_no_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither it nor its children: they would write into folders that are cleared away."""
    new_checkout(tmp_path / "r", {})
    os.mkfifo(tmp_path / "alive")
    hang = f"!exec 9> {tmp_path}/alive; echo >&9; sleep 600; true"
    execute = Runner.execute
    alive: list[BinaryIO] = []

    def asked(*arguments: Any, **options: Any) -> Any:
        found = execute(*arguments, **options)
        alive.append((tmp_path / "alive").open("rb", buffering=0))
        assert b"\n" == alive[0].readline()
        signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(Runner, "execute", asked)

    with pytest.raises(KeyboardInterrupt):
        Git(folder=tmp_path / "r", settings={"alias.hang": hang}).run("hang")

    with alive[0] as ends:
        ending = select.poll()
        ending.register(ends, select.POLLIN)
        assert ending.poll(10_000), "a child is still there"
        assert b"" == ends.read()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, False, id="nothing"),
        pytest.param({"user.name": "Ada"}, False, id="another"),
        pytest.param({"filter.lfs.clean": "x"}, True, id="itself"),
        pytest.param({"FILTER.lfs.clean": "x"}, True, id="in-capitals"),
        pytest.param({"include.path": "other"}, True, id="another-file"),
        pytest.param({"extensions.worktreeConfig": "true"}, True, id="one-a-worktree"),
    ],
)
def test_git_is_asked_only_where_it_may_answer(
    tmp_path: Path, settings: dict[str, str], *, expected: bool
) -> None:
    """A word that is nowhere in the file sets nothing."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    for key, value in settings.items():
        checkout.git("config", key, value)

    assert expected == may_configure(Repository.open(checkout.folder), "filter")


def test_what_the_operator_sets_counts(tmp_path: Path) -> None:
    """It is in no file."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    given = {"GIT_CONFIG_PARAMETERS": "'filter.x.clean=y'"}

    assert may_configure(Repository.open(checkout.folder, variables=given), "filter")


@contextmanager
def server(
    *, redirect: str = "", asked: list[str] | None = None
) -> Iterator[tuple[int, list[str]]]:
    """A web server that wants a password, then says 403; or one that sends everybody elsewhere.

    Yields:
        The port, and the credentials that it was given so far; `asked` gets every path.
    """
    given: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if asked is not None:
                asked.append(self.path)
            kind, _, encoded = self.headers.get("Authorization", "").partition(" ")
            if kind == "Basic":
                given.append(base64.b64decode(encoded).decode())
            if redirect:
                self.send_response(302)
                self.send_header("Location", redirect + self.path)
            else:
                self.send_response(403 if kind else 401)
                self.send_header("WWW-Authenticate", 'Basic realm="r"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield http.server_port, given
        finally:
            http.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("userinfo", "expected"),
    [
        pytest.param("me:p%40w%2F", "me:p@w/", id="user-and-password"),
        pytest.param("tok-123", "tok-123:", id="lone-token"),
        pytest.param("x-access-token:tok", "x-access-token:tok", id="forge-token"),
    ],
)
def test_credentials_of_the_url_arrive(tmp_path: Path, userinfo: str, expected: str) -> None:
    """Decoded, and not in the message of the failure that follows."""
    with (
        server() as (port, given),
        Mirror.open(
            f"http://{userinfo}@127.0.0.1:{port}/r", tmp_path / "m", insecure=True
        ) as mirror,
        pytest.raises(RemoteMisconfigured) as caught,
    ):
        mirror.fetch("main")

    assert expected in given
    for secret in ("p%40w", "p@w", "tok-123"):
        assert secret not in str(caught.value)


def test_credentials_do_not_follow_a_redirect(tmp_path: Path) -> None:
    """The other server asks for a password and gets none."""
    with (
        server() as (evil, stolen),
        server(redirect=f"http://127.0.0.1:{evil}") as (port, _),
        Mirror.open(f"http://me:pw@127.0.0.1:{port}/r", tmp_path / "m", insecure=True) as mirror,
        pytest.raises(GitError),
    ):
        mirror.fetch("main")

    assert [] == stolen


def test_a_token_in_the_query_arrives_and_is_neither_shown_nor_stored(tmp_path: Path) -> None:
    """Git gets it as a setting; arguments, messages and files have the URL without it."""
    asked: list[str] = []
    with (
        server(asked=asked) as (port, _),
        Mirror.open(
            f"http://127.0.0.1:{port}/r?private_token=tok-123", tmp_path / "m", insecure=True
        ) as mirror,
        pytest.raises(GitError) as caught,
    ):
        mirror.fetch("main")

    assert any("private_token=tok-123" in path for path in asked)
    assert "tok-123" not in str(caught.value) + repr(mirror.repository) + repr(mirror.remote)
    stored = [path.read_bytes() for path in (tmp_path / "m").rglob("*") if path.is_file()]
    assert not any(b"tok-123" in content for content in stored)

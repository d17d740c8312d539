"""Fetching and pushing through our own mirror, against real repositories."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from reconciler.core.changes import WriteFile
from reconciler.errors import UsageError
from reconciler.model.records import replace
from reconciler.shell.git.command import (
    Finished,
    GitError,
    LostRace,
    MirrorBusy,
    RemoteMisconfigured,
    RemoteRefused,
    RemoteUnreachable,
)
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.objects import list_files
from reconciler.shell.git.remotes import mirror as module
from reconciler.shell.git.remotes.mirror import (
    Mirror,
    answer_to_push,
    answer_to_transport,
    is_beyond_limits,
)
from reconciler.shell.git.remotes.remote import parse_remote
from reconciler.shell.git.repository import CommitIdentity, Repository
from reconciler.shell.processes.identity import this_process
from tests.shell.counted import CommandLog
from tests.shell.repositories import ENVIRONMENT, NOW, Checkout, git, new_bare


def commit(mirror: Mirror, path: str, content: str, *, parent: str | None) -> str:
    """Write a commit with one file."""
    return write_commit(
        mirror.repository,
        [WriteFile(path, content)],
        parent=parent,
        message=f"Write {path}",
        at=NOW,
        author=CommitIdentity("r", "r@x"),
    )


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A remote with one commit."""
    return new_bare(tmp_path / "remote.git", {"a": "1"})


@pytest.fixture
def mirror(tmp_path: Path, bare: Path) -> Iterator[Mirror]:
    """A mirror of it, by file URL."""
    with Mirror.open(f"file://{bare}", tmp_path / "mirror") as opened:
        yield opened


def clone(bare: Path, folder: Path) -> Checkout:
    """What a person has."""
    git(bare.parent, "clone", "--quiet", str(bare), str(folder))
    return Checkout(folder)


def test_a_commit_goes_round(mirror: Mirror, bare: Path) -> None:
    """Fetch, commit, push."""
    old = mirror.fetch("main")
    new = commit(mirror, "b", "2", parent=old)

    mirror.push("main", old=old, new=new)

    assert new == git(bare, "rev-parse", "main")
    assert new == mirror.repository.resolve("main") == mirror.fetch("main")
    assert ["a", "b"] == list(list_files(mirror.repository, new))


def test_an_absent_branch_is_none_and_can_be_made(mirror: Mirror, bare: Path) -> None:
    """Only while nobody else made it."""
    assert None is mirror.fetch("decisions")
    first = commit(mirror, "b", "2", parent=None)
    other = commit(mirror, "b", "3", parent=None)

    mirror.push("decisions", old=None, new=first)

    assert first == git(bare, "rev-parse", "decisions")
    with pytest.raises(LostRace):
        mirror.push("decisions", old=None, new=other)
    git(bare, "update-ref", "-d", "refs/heads/decisions")
    assert None is mirror.fetch("decisions")
    assert None is mirror.repository.find("decisions")


def test_a_sha256_remote_goes_round(tmp_path: Path) -> None:
    """The operator says so; without that the message does."""
    git(tmp_path, "init", "--quiet", "--bare", "--object-format=sha256", "-b", "main", "r.git")
    url = f"file://{tmp_path}/r.git"
    with Mirror.open(url, tmp_path / "m", object_format="sha256", prefix="team") as mirror:
        new = commit(mirror, "b", "2", parent=mirror.fetch("main"))
        mirror.push("main", old=None, new=new)

    assert "team/b" == git(tmp_path / "r.git", "ls-tree", "-r", "--name-only", "main")
    with (
        Mirror.open(url, tmp_path / "wrong") as mirror,
        pytest.raises(RemoteMisconfigured, match="mismatched algorithms"),
    ):
        mirror.fetch("main")


def test_a_rewind_of_the_remote_is_followed(mirror: Mirror, bare: Path, tmp_path: Path) -> None:
    """And a push on top of what was rewound does not bring it back."""
    person = clone(bare, tmp_path / "person")
    start = person.head()
    bad = person.commit({"secret": "oops"})
    person.git("push", "--quiet", "origin", "main")
    assert bad == mirror.fetch("main")
    new = commit(mirror, "b", "2", parent=bad)
    git(bare, "update-ref", "refs/heads/main", start)

    with pytest.raises(LostRace):
        mirror.push("main", old=bad, new=new)

    assert start == git(bare, "rev-parse", "main") == mirror.fetch("main")


def test_a_push_that_would_remove_commits_is_a_mistake(mirror: Mirror) -> None:
    """Not even with the lease of the present head."""
    old = mirror.fetch("main")

    with pytest.raises(ValueError, match="does not come after"):
        mirror.push("main", old=old, new=commit(mirror, "b", "2", parent=None))


def test_a_push_after_somebody_elses_loses(mirror: Mirror, bare: Path, tmp_path: Path) -> None:
    """Their commit stays."""
    old = mirror.fetch("main")
    person = clone(bare, tmp_path / "person")
    theirs = person.commit({"c": "3"})
    person.git("push", "--quiet", "origin", "main")

    with pytest.raises(LostRace):
        mirror.push("main", old=old, new=commit(mirror, "b", "2", parent=old))

    assert theirs == git(bare, "rev-parse", "main")


def test_a_hook_of_the_remote_refuses(mirror: Mirror, bare: Path) -> None:
    """Its words are in the message, fit for a terminal."""
    hook = bare / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nprintf 'no pushes on Fridays\\033[31m\\n' >&2\nexit 1\n")
    hook.chmod(0o755)
    old = mirror.fetch("main")

    words = 'hook declined; the server says: "no pushes on Fridays\ufffd'
    with pytest.raises(RemoteRefused, match=words):
        mirror.push("main", old=old, new=commit(mirror, "b", "2", parent=old))


def test_a_locked_branch_of_the_remote_is_busy(mirror: Mirror, bare: Path) -> None:
    """Back off and retry."""
    (bare / "refs/heads/main.lock").touch()
    old = mirror.fetch("main")

    with pytest.raises(RemoteUnreachable, match="is busy"):
        mirror.push("main", old=old, new=commit(mirror, "b", "2", parent=old))


def test_a_checked_out_branch_of_the_remote_is_told(tmp_path: Path, bare: Path) -> None:
    """An operator must push elsewhere."""
    person = clone(bare, tmp_path / "person")
    with Mirror.open(str(person.folder), tmp_path / "mirror") as mirror:
        old = mirror.fetch("main")

        with pytest.raises(RemoteMisconfigured, match="has the branch checked out"):
            mirror.push("main", old=old, new=commit(mirror, "b", "2", parent=old))


def test_an_absent_remote_is_told(tmp_path: Path) -> None:
    """The URL is in the message."""
    with (
        Mirror.open(f"file://{tmp_path}/nowhere", tmp_path / "mirror") as mirror,
        pytest.raises(RemoteMisconfigured, match=r"nowhere.*check the URL"),
    ):
        mirror.fetch("main")


def test_a_push_that_arrived_before_the_connection_broke_counts(mirror: Mirror, bare: Path) -> None:
    """The remote's hook kills the connection after the branch moved."""
    hook = bare / "hooks/post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nkill -9 $PPID\n")
    hook.chmod(0o755)
    old = mirror.fetch("main")
    new = commit(mirror, "b", "2", parent=old)

    mirror.push("main", old=old, new=new)

    assert new == git(bare, "rev-parse", "main")


def test_a_remote_that_broke_without_moving_is_retried(mirror: Mirror, bare: Path) -> None:
    """Killed before the branch moved: nothing arrived."""
    hook = bare / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nkill -9 $PPID\n")
    hook.chmod(0o755)
    old = mirror.fetch("main")

    with pytest.raises(RemoteUnreachable):
        mirror.push("main", old=old, new=commit(mirror, "b", "2", parent=old))
    assert old == git(bare, "rev-parse", "main")


def test_one_process_a_folder(tmp_path: Path, bare: Path, mirror: Mirror) -> None:
    """The second is told; after the first closed it may."""
    with pytest.raises(MirrorBusy, match="another process"):
        Mirror.open(f"file://{bare}", tmp_path / "mirror")
    mirror.close()
    Mirror.open(f"file://{bare}", tmp_path / "mirror").close()


def test_credentials_are_not_in_a_repr(tmp_path: Path) -> None:
    """A traceback with local values must not show them."""
    with Mirror.open("https://me:hunter2@h/x", tmp_path / "m") as mirror:
        assert "hunter2" not in repr(mirror.repository) + repr(mirror.remote) + repr(mirror)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "another-host"])
def test_locks_of_a_killed_git_are_removed(tmp_path: Path, bare: Path, *, elsewhere: bool) -> None:
    """At the start and while running; on another host git may still run, so they must be old."""
    url, folder = f"file://{bare}", tmp_path / "mirror"
    with Mirror.open(url, folder) as mirror:
        mirror.fetch("main")
        references = mirror.repository.common_dir
    if elsewhere:
        other = replace(this_process(), host="elsewhere", boot="another")
        (folder / "reconciler-lock").write_text(json.dumps(other.as_fields()))
    stale, fresh = references / "refs/heads/main.lock", references / "packed-refs.lock"
    stale.touch()
    fresh.touch()
    os.utime(stale, (1, 1))

    with Mirror.open(url, folder) as mirror:
        assert (False, elsewhere) == (stale.exists(), fresh.exists())
        fresh.touch()
        os.utime(fresh, (1, 1))
        mirror.recover()
        assert not fresh.exists()


def test_a_folder_of_something_else_is_refused(tmp_path: Path, bare: Path) -> None:
    """We are about to write its configuration."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home/file").touch()
    with pytest.raises(UsageError, match="not empty and not a mirror"):
        Mirror.open(f"file://{bare}", tmp_path / "home")
    Mirror.open(f"file://{bare}", tmp_path / "mirror").close()
    with pytest.raises(UsageError, match=r"is the mirror of file:.*; name another folder"):
        Mirror.open("https://example.com/other", tmp_path / "mirror")


def test_a_silent_server_is_given_up(tmp_path: Path) -> None:
    """It accepts, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"git://127.0.0.1:{server.getsockname()[1]}/r"
        with (
            Mirror.open(url, tmp_path / "m", insecure=True, timeout_seconds=5) as mirror,
            pytest.raises(RemoteUnreachable, match=r"took longer than 5 seconds"),
        ):
            mirror.fetch("main")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 100 kB be too much to fetch."""
    monkeypatch.setattr(module, "FETCHED_BYTES", 100_000)


def push_large(person: Checkout, seed: int = 0) -> str:
    """Push what no packing makes smaller than 300 kB."""
    person.git("pull", "--quiet", "--rebase", "origin", "main")
    large = person.commit({f"large-{seed}": Random(seed).randbytes(300_000).hex()})  # noqa: S311  # to be repeated, no secret
    person.git("push", "--quiet", "--force", "origin", "main")
    return large


def test_a_head_that_takes_too_much_stays_where_it_is(
    mirror: Mirror, bare: Path, tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The branch is here as it was; the same head is fetched twice, and again once it has moved."""
    old = mirror.fetch("main")
    person = clone(bare, tmp_path / "person")
    large = push_large(person)
    log = CommandLog(tmp_path / "bin", monkeypatch)

    found = [mirror.fetch("main") for _ in range(4)]

    tries = [verb for verb in log.taken() if verb == "fetch"]
    assert ([old] * 4, [large], 2) == (
        found,
        [one.revision for one in mirror.unfetched.values()],
        len(tries),
    )
    assert "it takes more than" in mirror.unfetched["main"].problem
    mirror.recover()
    assert [] == list((mirror.repository.common_dir / "objects/pack").glob("tmp_*"))
    person.git("reset", "--quiet", "--hard", "HEAD^")
    mended = person.commit({"b": "2"})
    person.git("push", "--quiet", "--force", "origin", "main")
    assert (mended, {}) == (mirror.fetch("main"), mirror.unfetched)


def test_a_head_that_took_too_much_is_tried_again_in_an_hour(
    mirror: Mirror, bare: Path, tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been the network that was slow."""
    mirror.fetch("main")
    large = push_large(clone(bare, tmp_path / "person"))
    for _ in range(2):
        mirror.fetch("main")
    monkeypatch.setattr(module, "FETCHED_BYTES", 100_000_000)
    before = mirror.fetch("main")
    again_at = mirror.unfetched["main"].again_at
    mirror.moment = lambda: again_at

    assert before != large
    assert (large, {}) == (mirror.fetch("main"), mirror.unfetched)


def test_the_first_fetch_takes_what_it_takes(tmp_path: Path, bare: Path, small: None) -> None:
    """The operator has named that repository; there is nothing yet to go on from."""
    large = push_large(clone(bare, tmp_path / "person"))
    with Mirror.open(f"file://{bare}", tmp_path / "mirror") as mirror:
        assert large == mirror.fetch("main")


def test_a_new_branch_that_takes_too_much_is_not_there(
    mirror: Mirror, bare: Path, tmp_path: Path, small: None
) -> None:
    """Whoever can push to a branch of reports stops nothing by it."""
    mirror.fetch("main")
    person = clone(bare, tmp_path / "person")
    person.git("switch", "--quiet", "-c", "reports")
    large = person.commit({"large": Random(1).randbytes(300_000).hex()})  # noqa: S311  # to be repeated, no secret
    person.git("push", "--quiet", "origin", "reports")

    assert [None, None] == [mirror.fetch("reports") for _ in range(2)]
    assert large == mirror.unfetched["reports"].revision


@pytest.mark.parametrize(
    ("finished", "expected"),
    [
        (Finished(128, b"", "fatal: fetch-pack: invalid index-pack output\n"), True),
        (Finished(1, b"", "error: unpack-objects died of signal 9\n"), True),
        (Finished(1, b"", "error: x did not send all necessary objects\n"), True),
        (Finished(124, b"", "git fetch took longer than 120 seconds"), True),
        (Finished(128, b"", "fatal: early EOF\nfatal: invalid index-pack output\n"), False),
        (Finished(128, b"", "fatal: write error: No space left on device\n"
                            "fatal: fetch-pack: invalid index-pack output\n"), False),
        (Finished(128, b"", "remote: fatal: invalid index-pack output\n"), False),
    ],
    ids=["killed", "signal", "incomplete", "slow", "cut", "disk", "words-of-the-server"],
)  # fmt: skip
def test_what_is_fetched_is_told_from_what_lies_between(
    finished: Finished, *, expected: bool
) -> None:
    """A network that breaks or a full disk refuses no head."""
    assert expected == is_beyond_limits(finished)


def test_nobody_listens(tmp_path: Path) -> None:
    """A refused connection is a reason to wait, not to give up."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with (
        Mirror.open(f"https://me:hunter2@127.0.0.1:{port}/r", tmp_path / "m") as mirror,
        pytest.raises(RemoteUnreachable) as caught,
    ):
        mirror.fetch("main")

    assert "hunter2" not in str(caught.value)
    stored = [path.read_bytes() for path in (tmp_path / "m").rglob("*") if path.is_file()]
    assert not any(b"hunter2" in content for content in stored)


@contextmanager
def daemon(base: Path) -> Iterator[int]:
    """`git daemon` on a free port of the loopback interface."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    process = subprocess.Popen(
        [
            "git", "daemon", "--verbose", "--export-all", "--enable=receive-pack", "--reuseaddr",
            "--listen=127.0.0.1", f"--port={port}", f"--base-path={base}", str(base),
        ],
        env=ENVIRONMENT, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        assert b"Ready to rumble" in process.stderr.readline()
        yield port
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate()


def test_a_network_protocol_works_alike(tmp_path: Path, bare: Path) -> None:
    """Through `git daemon`."""
    with (
        daemon(tmp_path) as port,
        Mirror.open(
            f"git://127.0.0.1:{port}/remote.git", tmp_path / "mirror", insecure=True
        ) as mirror,
    ):
        old = mirror.fetch("main")
        new = commit(mirror, "b", "2", parent=old)
        mirror.push("main", old=old, new=new)

        assert new == git(bare, "rev-parse", "main")
        with pytest.raises(LostRace):
            mirror.push("main", old=old, new=commit(mirror, "c", "2", parent=old))


def write_until_it_counts(mirror: Mirror, name: str, commits: int) -> None:
    """What the daemon does: fetch, commit, push; again on a lost race."""
    for number in range(commits):
        while True:
            old = mirror.fetch("main")
            new = commit(mirror, f"{name}/{number}", "x", parent=old)
            try:
                mirror.push("main", old=old, new=new)
            except (LostRace, RemoteUnreachable):
                continue
            break


def test_nothing_of_three_writers_is_lost(tmp_path: Path, bare: Path) -> None:
    """Two daemons and a person on one branch: slower, never wrong."""
    mirrors = [Mirror.open(f"file://{bare}", tmp_path / f"mirror{i}") for i in range(2)]
    person = clone(bare, tmp_path / "person")

    def work() -> None:
        for number in range(4):
            person.commit({f"person/{number}": "x"})
            while True:
                person.git("pull", "--quiet", "--rebase", "origin", "main")
                pushed = subprocess.run(
                    ["git", "push", "--quiet", "origin", "main"],
                    cwd=person.folder, env=ENVIRONMENT, capture_output=True, check=False,
                )  # fmt: skip
                if pushed.returncode == 0:
                    break

    threads = [
        threading.Thread(target=write_until_it_counts, args=(mirror, f"daemon{i}", 4))
        for i, mirror in enumerate(mirrors)
    ]
    threads.append(threading.Thread(target=work))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for mirror in mirrors:
        mirror.close()

    repository = Repository.open(bare)
    files = list_files(repository, repository.resolve("main"))
    assert {"a"} | {f"{w}/{n}" for w in ("daemon0", "daemon1", "person") for n in range(4)} == set(
        files
    )
    assert "13" == git(bare, "rev-list", "--count", "main")


@pytest.mark.parametrize(
    "url",
    [
        "", "ext::sh -c id", "-oProxyCommand=id", "--upload-pack=id", "ssh://-oProxyCommand=id/x",
        "https:///host", "https://host/\nx", "http://host/x", "git://host/x", "fd::0", "relative",
        "file://host/x", "user@host:-x", "-x@host:y", "ssh://host:port/x", "./x", "a::b",
        "ssh://-u@host/x", "https://ho st/x", "ftp://h/x",
    ],
)  # fmt: skip
def test_an_address_that_could_do_harm_is_refused(url: str) -> None:
    """The message lists what is accepted."""
    with pytest.raises(UsageError):
        parse_remote(url)


@pytest.mark.parametrize(
    ("address", "url", "protocol"),
    [
        ("https://h/x.git", "https://h/x.git", "https"),
        ("https://h:8443/x", "https://h:8443/x", "https"),
        ("https://me:pw@h/x", "https://h/x", "https"),
        ("https://token@h/x", "https://h/x", "https"),
        ("https://[::1]/x", "https://[::1]/x", "https"),
        ("ssh://git@h:22/x", "ssh://git@h:22/x", "ssh"),
        ("git@h:o/r.git", "git@h:o/r.git", "ssh"),
        ("file:///srv/r", "file:///srv/r", "file"),
        ("/srv/r", "/srv/r", "file"),
        ("https://h/x?private=token", "https://h/x", "https"),
        ("https://me:pw@h/x?a=1&private=token", "https://h/x", "https"),
        ("ssh://git:pw@h/x", "ssh://git@h/x", "ssh"),
        ("git:pw@h:o/r.git", "git@h:o/r.git", "ssh"),
    ],
)
def test_an_accepted_address_loses_its_credentials(address: str, url: str, protocol: str) -> None:
    """They go another way."""
    remote = parse_remote(address)

    assert (url, protocol) == (remote.url, remote.protocol)
    assert "pw" not in repr(remote)
    assert "token" not in repr(remote)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Username for 'https://h': ", "me"),
        ("Password for 'https://me@h': ", "p@w"),
        ("Password for 'https://me@evil': ", None),
        ("Username for 'https://evil': ", None),
        ("Enter passphrase for key '/k': ", None),
    ],
)
def test_credentials_go_to_their_own_host_only(
    tmp_path: Path, prompt: str, expected: str | None
) -> None:
    """A redirect elsewhere gets none."""
    with Mirror.open("https://me:p%40w@h/x", tmp_path / "m") as mirror:
        variables = {**mirror.repository.git.variables, **mirror.remote.variables}
        said = subprocess.run(
            [variables["GIT_ASKPASS"], prompt],
            env={"PATH": os.environ["PATH"], **variables}, capture_output=True, check=False,
        )  # fmt: skip

    assert (expected or "") == said.stdout.decode().strip()
    assert (expected is None) == (said.returncode != 0)


REFUSAL = "To x\n!\tabc:refs/heads/main\t{}\nDone\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[rejected] (fetch first)", LostRace),
        ("[rejected] (non-fast-forward)", LostRace),
        ("[rejected] (stale info)", LostRace),
        ("[remote rejected] (non-fast-forward)", LostRace),
        ("[remote rejected] (pre-receive hook declined)", RemoteRefused),
        ("[remote rejected] (hook declined)", RemoteRefused),
        ("[remote rejected] (protected branch hook declined)", RemoteRefused),
        ("[remote rejected] (failed to update ref)", RemoteUnreachable),
        ("[remote rejected] (unpacker error)", RemoteUnreachable),
        ("[remote failure] (remote failed to report status)", RemoteUnreachable),
        ("[remote rejected] (branch is currently checked out)", RemoteMisconfigured),
    ],
)
def test_an_answer_to_a_push_has_one_meaning(line: str, expected: type[GitError]) -> None:
    """By the porcelain line."""
    finished = Finished(1, REFUSAL.format(line).encode(), "remote: because\n")

    assert expected is type(answer_to_push("x", finished))


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        ("fatal: Authentication failed for 'https://h/'", RemoteMisconfigured),
        ("fatal: unable to access 'https://h/': The requested URL returned error: 403",
         RemoteMisconfigured),
        ("git@h: Permission denied (publickey).", RemoteMisconfigured),
        ("Host key verification failed.", RemoteMisconfigured),
        ("fatal: unable to access 'x': SSL certificate problem: expired", RemoteMisconfigured),
        ("fatal: 'x' does not appear to be a git repository", RemoteMisconfigured),
        ("fatal: detected dubious ownership in repository at '/r'", RemoteMisconfigured),
        ("fatal: repository 'https://h/r/' not found", RemoteMisconfigured),
        ("fatal: unable to access 'x': Could not resolve host: h", RemoteUnreachable),
        ("fatal: unable to access 'x': Couldn't connect to server", RemoteUnreachable),
        ("ssh: connect to host h port 22: Connection refused", RemoteUnreachable),
        ("fatal: unable to access 'x': The requested URL returned error: 503", RemoteUnreachable),
        ("fatal: the remote end hung up unexpectedly", RemoteUnreachable),
    ],
)  # fmt: skip
def test_a_failure_of_transport_has_one_meaning(stderr: str, expected: type[GitError]) -> None:
    """An operator must act, or time must pass."""
    error = answer_to_transport("x", Finished(128, b"", stderr))

    assert expected is type(error)
    assert re.match(r"x: ", str(error))


@pytest.mark.parametrize("asked", ["Username", "Password"])
def test_without_a_credential_the_error_begins_with_what_to_do(asked: str) -> None:
    """Before what git says, which speaks of terminals."""
    stderr = f"fatal: could not read {asked} for 'https://h': terminal prompts disabled"
    error = answer_to_transport("https://h/r", Finished(128, b"", stderr))

    assert isinstance(error, RemoteMisconfigured)
    assert str(error).startswith(
        "give a credential that the remote takes (--credential-file FILE or "
    )
    assert f"https://h/r: could not read {asked} for" in str(error).replace("fatal: ", "")


def test_the_words_of_a_server_are_marked_and_decide_nothing() -> None:
    """It may print anything, ours among it."""
    stderr = "remote: fatal: Authentication failed\nfatal: the remote end hung up unexpectedly\n"
    answer = answer_to_transport("https://h/r", Finished(128, b"", stderr))

    assert isinstance(answer, RemoteUnreachable)
    assert 'hung up unexpectedly; the server says: "Authentication failed"' in str(answer)

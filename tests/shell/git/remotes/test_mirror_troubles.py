"""Mirrors in trouble: killed, unreadable, tended beside passes, before remotes that fail."""

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from reconciler.cli.main import run
from reconciler.errors import UsageError
from reconciler.shell.git.command import MirrorBusy
from reconciler.shell.git.objects import list_files
from reconciler.shell.git.remotes import mirror_folder as upkeep_module
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.git.remotes.mirror_folder import EVERY_SECONDS, Upkeep
from tests.shell.fleet import EXAMPLE, decisions, eventually, load_world, reconciler, running
from tests.shell.git.remotes.test_mirror import commit
from tests.shell.repositories import Checkout, git, new_bare
from tests.shell.servers import Trouble, WebServer, basic, new_certificate, web_server


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A remote with the example."""
    return new_bare(tmp_path / "remote.git", EXAMPLE)


def empty_objects(repository: Path) -> None:
    """Lose the content of every object, as a loss of power does."""
    for path in [*repository.glob("objects/??/*"), *repository.glob("objects/pack/*")]:
        path.chmod(0o644)
        os.truncate(path, 0)


def damaged_blobs(repository: Path) -> None:
    """Overwrite the end of every object but the commits."""
    head = git(repository, f"--git-dir={repository}", "rev-parse", "main")
    for path in repository.glob("objects/??/*"):
        if path.parent.name + path.name != head:
            path.chmod(0o644)
            path.write_bytes(path.read_bytes()[:-8] + b"\0" * 8)


def no_head(repository: Path) -> None:
    """Lose HEAD."""
    (repository / "HEAD").unlink()


def no_objects(repository: Path) -> None:
    """Lose the folder of objects."""
    (repository / "objects").rename(repository / "away")


def empty_reference(repository: Path) -> None:
    """Lose the content of the branch."""
    os.truncate(repository / "refs/heads/main", 0)


def bad_configuration(repository: Path) -> None:
    """Write nonsense into the configuration."""
    (repository / "config").write_text("[core\n")


def only_begun(repository: Path) -> None:
    """Leave what a killed `git init` may leave."""
    for name in ("HEAD", "objects", "refs", "config"):
        (repository / name).rename(repository.parent / f"reconciler-new-{name}")


DAMAGES = [
    empty_objects,
    damaged_blobs,
    no_head,
    no_objects,
    empty_reference,
    bad_configuration,
    only_begun,
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_mirror_is_made_anew_at_the_start(
    tmp_path: Path, bare: Path, damage: Callable[[Path], None]
) -> None:
    """One pass is enough, and nothing of the remote changes but by that pass."""
    options = ["--remote", str(bare), "--mirror", str(tmp_path / "mirror")]
    assert 0 == reconciler(tmp_path, "reconcile", "--dry-run", *options).code
    damage(tmp_path / "mirror/repository.git")

    finished = reconciler(tmp_path, "reconcile", *options)

    assert 0 == finished.code, finished.stderr
    subject = git(bare, "log", "-1", "--format=%s", "main")
    assert subject.startswith("Place "), subject
    known = {"reconciler-remote", "reconciler-lock", "reconciler-askpass", "repository.git"}
    assert known == {path.name for path in (tmp_path / "mirror").iterdir()}
    git(tmp_path / "mirror/repository.git", f"--git-dir={tmp_path}/mirror/repository.git", "fsck")


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_mirror_is_made_anew_while_it_is_used(
    tmp_path: Path, bare: Path, damage: Callable[[Path], None]
) -> None:
    """A fetch that fails finds it out, or a repair before the next try."""
    with Mirror.open(str(bare), tmp_path / "mirror") as mirror:
        head = mirror.fetch("main")
        damage(mirror.repository.common_dir)
        mirror.repair()

        assert head == mirror.fetch("main")
        assert not mirror.repair()


def test_a_sound_mirror_stays(tmp_path: Path, bare: Path) -> None:
    """Though the remote cannot be reached: what was fetched is not thrown away."""
    with Mirror.open(str(bare), tmp_path / "mirror") as mirror:
        head = mirror.fetch("main")
    bare.rename(tmp_path / "away")

    with Mirror.open(str(bare), tmp_path / "mirror") as mirror:
        assert not mirror.repair()
        assert head == mirror.repository.find("main")


@pytest.mark.parametrize("left", ["nothing", "empty-mark", "half-a-mark"])
def test_a_kill_while_the_folder_is_claimed_leaves_nothing_in_the_way(
    tmp_path: Path, bare: Path, left: str
) -> None:
    """The mark is written whole or not at all; a loss of power may empty it."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    if left != "nothing":
        name = "reconciler-remote" if left == "empty-mark" else "reconciler-new-1"
        (folder / name).touch()

    with Mirror.open(str(bare), folder) as mirror:
        assert mirror.fetch("main")


def test_the_folder_of_another_remote_stays_refused(tmp_path: Path, bare: Path) -> None:
    """Also where its owner is dead."""
    Mirror.open(str(bare), tmp_path / "mirror").close()
    (tmp_path / "mirror/reconciler-lock").write_text(json.dumps({"pid": 1}))

    with pytest.raises(UsageError, match="is the mirror of"):
        Mirror.open("https://example.com/r", tmp_path / "mirror")


def test_a_git_command_of_a_dead_process_keeps_the_folder(tmp_path: Path, bare: Path) -> None:
    """It inherited the lock, so nothing is removed under its hands."""
    first = Mirror.open(str(bare), tmp_path / "mirror")
    with first.repository.git.stream("cat-file", "--batch", stdin=()) as output:
        held = os.dup(first._place.lock)
        first.close()
        with pytest.raises(MirrorBusy):
            Mirror.open(str(bare), tmp_path / "mirror")
        output.read()
    os.close(held)
    Mirror.open(str(bare), tmp_path / "mirror").close()


PROTECTED = """\
#!/bin/sh
echo 'error: GH006: Protected branch update failed for refs/heads/main.' >&2
exit 1
"""
"""What GitHub answers to a push to a protected branch."""


@dataclass
class Served:
    """A remote on a web server, and the options that reach it."""

    folder: Path
    web: WebServer

    @property
    def remote(self) -> Path:
        """The repository."""
        return self.folder / "remote"

    @property
    def options(self) -> list[str]:
        """Options of `run` and `reconcile`."""
        return [
            *("--remote", f"{self.web.url}/remote", "--mirror", str(self.folder / "mirror")),
            *("--ca-file", str(self.folder / "server.pem")),
            *("--credential-file", str(self.folder / "credential")),
        ]

    def refuse_pushes(self) -> None:
        """Protect the branch."""
        hook = self.remote / "hooks/pre-receive"
        hook.write_text(PROTECTED)
        hook.chmod(0o755)

    def allow_pushes(self) -> None:
        """Take the protection away."""
        (self.remote / "hooks/pre-receive").unlink()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A remote with the example, and a server that asks for a password."""
    new_bare(tmp_path / "remote", EXAMPLE)
    (tmp_path / "credential").write_text("me:pass-word\n")
    with web_server(tmp_path, certificate=new_certificate(tmp_path)) as web:
        web.credential = basic("me", "pass-word")
        yield Served(tmp_path, web)


@contextmanager
def daemon(served: Served) -> Iterator["Watched"]:
    """Run a daemon with a listener while the block lasts."""
    log = served.folder / "log"
    options = [*served.options, "--poll-seconds", "0.2", "--listen", "0", "--log-format", "json"]
    with running(served.folder, *options, log=log):
        yield Watched(log)
    assert "pass-word" not in log.read_text()


@dataclass
class Watched:
    """A daemon that runs, as its operator sees it."""

    log: Path

    def ready(self) -> tuple[int, str]:
        """Ask its probe."""
        ports = re.findall(r'"port": ?(\d+)', self.log.read_text())
        if not ports:
            return 0, ""
        answer = httpx.get(f"http://127.0.0.1:{ports[0]}/readyz")
        return answer.status_code, answer.text

    def is_green(self) -> bool:
        """True once it is ready."""
        return self.ready()[0] == 200

    def failures(self) -> list[str]:
        """Return what the log tells of passes that failed."""
        lines = map(json.loads, self.log.read_text().splitlines())
        return [line["error"] for line in lines if line["msg"].startswith("pass failed")]

    def until_red(self, reason: str) -> None:
        """Wait until the probe is red for a reason, which the log has, too."""
        eventually(lambda: self.ready()[0] == 503 and reason in self.ready()[1], reason)
        assert any(reason in failure for failure in self.failures())


def recovers(watched: Watched, served: Served) -> None:
    """The daemon becomes ready by itself, and what it decided is at the remote."""
    eventually(watched.is_green, "recovery")
    assert 3 == len(decisions(load_world(served.remote)))


def test_a_protected_branch_is_told(served: Served) -> None:
    """With the server's words; once it lets the push through, all is well."""
    served.refuse_pushes()
    with daemon(served) as watched:
        watched.until_red("refused the push (remote rejected): pre-receive hook declined")
        assert 'the server says: "GH006: Protected branch' in watched.ready()[1]
        served.allow_pushes()
        recovers(watched, served)


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        pytest.param(Trouble.STRANGER, "check the URL and the credentials", id="authentication"),
        pytest.param(Trouble.FORBIDDEN, "returned error: 403; check the URL", id="permission"),
        pytest.param(Trouble.AWAY, "unable to access", id="network"),
    ],
)
def test_a_remote_that_lets_nobody_in_is_told(
    served: Served, trouble: Trouble, reason: str
) -> None:
    """Its reason on the probe and in the log, without the password; afterwards it goes on."""
    served.web.trouble = trouble
    with daemon(served) as watched:
        watched.until_red(reason)
        served.web.trouble = Trouble.NONE
        recovers(watched, served)


def test_a_remote_that_stops_in_a_pack_is_given_up(served: Served) -> None:
    """After the time limit of the options, in words."""
    served.web.trouble = Trouble.STALL
    assert 1 == run(["reconcile", *served.options, "--remote-timeout-seconds", "1"])
    served.web.trouble = Trouble.NONE
    assert 0 == run(["reconcile", *served.options])


def test_a_push_whose_outcome_is_not_known_is_found_out(served: Served) -> None:
    """The answer is lost each time, and yet everything is decided once."""
    served.web.trouble = Trouble.LOST_ANSWER
    with daemon(served) as watched:
        recovers(watched, served)
    assert [] == watched.failures()
    placed = git(served.remote, "log", "--grep=^Place ", "--format=%H", "main")
    assert 1 == len(placed.splitlines())


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        pytest.param(Trouble.STRANGER, "check the URL and the credentials", id="authentication"),
        pytest.param(Trouble.AWAY, "unable to access", id="network"),
    ],
)
def test_one_pass_that_cannot_reach_its_remote_says_no(
    served: Served, capsys: pytest.CaptureFixture[str], trouble: Trouble, said: str
) -> None:
    """Exit code 1, and a sentence."""
    served.web.trouble = trouble

    assert 1 == run(["reconcile", *served.options])
    assert said in capsys.readouterr().err


def test_one_pass_that_is_refused_says_no(
    served: Served, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, and the server's words."""
    served.refuse_pushes()

    assert 1 == run(["reconcile", *served.options])
    assert "GH006: Protected branch" in capsys.readouterr().err


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    """The mirror of a remote with one commit."""
    remote = new_bare(tmp_path / "remote.git", {"a": "1"})
    with Mirror.open(f"file://{remote}", tmp_path / "mirror") as opened:
        yield opened


def test_upkeep_packs_and_loses_nothing(mirror: Mirror) -> None:
    """The mirror goes on as before, and git knows which paths a commit changed."""
    old = mirror.fetch("main")
    new = commit(mirror, "b", "2", parent=old)
    mirror.push("main", old=old, new=new)

    maintained(mirror)

    objects = mirror.repository.git_dir / "objects"
    assert [] == list(objects.glob("??/*"))
    assert b"BIDX" in b"".join(one.read_bytes() for one in objects.glob("info/**/*.graph"))
    assert ["a", "b"] == list(list_files(mirror.repository, new))
    assert new == mirror.fetch("main")


def test_upkeep_comes_sooner_where_much_is_fetched(
    mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is fetched is a pack each time, and git opens each of them."""
    monkeypatch.setattr(upkeep_module, "MANY", 3)
    mirror.fetch("main")
    maintained(mirror)
    person = Checkout(tmp_path / "person")
    git(tmp_path, "clone", "--quiet", mirror.remote.url, str(person.folder))
    begun = []
    for number in range(4):
        person.commit({f"{number}": "x"})
        person.git("push", "--quiet", "origin", "main")
        for _ in range(2):  # one that brings nothing counts for nothing
            mirror.fetch("main")
        begun.append(mirror.upkeep.go_on())

    assert [False, False, True] == begun[:3]


def test_upkeep_is_waited_for_by_nothing(mirror: Mirror) -> None:
    """Each call starts a process or looks at one; a pass goes on, and takes away nothing of it."""
    mirror.fetch("main")
    mirror.maintain()
    lock = mirror.repository.git_dir / "config.lock"
    while mirror.upkeep.is_running():
        lock.touch()
        mirror.recover()
        if mirror.upkeep.is_running():
            assert lock.exists()
    mirror.recover()

    assert not lock.exists()


def test_upkeep_ends_with_the_mirror(mirror: Mirror) -> None:
    """No process is left that would write into a folder that another one may use."""
    mirror.fetch("main")
    mirror.maintain()
    mirror.close()

    assert not mirror.upkeep.is_running()


def test_upkeep_is_due_each_hour(mirror: Mirror) -> None:
    """In between it starts nothing."""
    mirror.fetch("main")
    now = [0.0]
    upkeep = Upkeep(mirror.repository.git, moment=lambda: now[0])
    started = []
    for now[0] in (0.0, EVERY_SECONDS - 1, EVERY_SECONDS):
        started.append(upkeep.go_on())
        finish(upkeep)

    assert [True, False, True] == started


def test_the_daemon_looks_after_its_mirror(tmp_path: Path) -> None:
    """After its passes, so that questions about the history are answered fast there."""
    remote = new_bare(tmp_path / "remote.git", EXAMPLE)
    folder = tmp_path / "mirror"
    graphs = folder / "repository.git/objects/info/commit-graphs"
    asked = ("--remote", f"file://{remote}", "--mirror", str(folder), "--poll-seconds", "1")
    with running(tmp_path, *asked):
        eventually(lambda: any(graphs.glob("*.graph")), "the upkeep of the mirror")


def maintained(mirror: Mirror) -> None:
    """Let the upkeep come to its end."""
    mirror.maintain()
    finish(mirror.upkeep)


def finish(upkeep: Upkeep) -> None:
    """Go on until there is nothing left to do."""
    eventually(lambda: not upkeep.go_on())

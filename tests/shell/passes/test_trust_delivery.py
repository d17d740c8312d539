"""Strangers at branches that are delivered to or watched: undone, judged at a bounded cost."""

import hashlib
import json
import shlex
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from reconciler.manifests.text.raw import MAX_READ_BYTES
from reconciler.shell.git.command import Finished, Git, GitKilled
from reconciler.shell.git.history import CommitRecord, read_commits
from reconciler.shell.git.objects import object_sizes
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.signing import AllowedKeys, Signature, read_signatures
from reconciler.shell.passes import trust
from tests.shell.counted import DOWN, Guarded, new_guarded
from tests.shell.fleet import EXAMPLE, reconciler
from tests.shell.keys import commit_signed, new_ssh_key
from tests.shell.passes.test_trust_purpose import delivering
from tests.shell.repositories import ENVIRONMENT, Checkout, git

FOLDER = "delivery/member1/default/deployments.apps"
SHOP_FILE = f"{FOLDER}/shop.yaml"
MANY = {f"{FOLDER}/evil-{number}.yaml": "e: 1\n" for number in range(20)}


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    """The example, trusted as it is, delivered to the branch `fleet`."""
    found = new_guarded(tmp_path)
    commit_signed(found.fleet, found.ada, delivering("fleet"))
    found.run()
    found.run()
    return found


def commit_on_fleet(fleet: Checkout, *changes: Callable[[], object]) -> str:
    """Commit unsigned changes to the branch, and return to the served one."""
    fleet.git("switch", "--quiet", "fleet")
    for change in changes:
        change()
    commit = fleet.commit({})
    fleet.git("switch", "--quiet", "main")
    return commit


def delivered(fleet: Checkout, revision: str = "fleet") -> str:
    """Return the files of delivery at a commit."""
    return fleet.git("ls-tree", "-r", revision, "--", "delivery", "delivery.yaml")


def test_what_a_stranger_delivers_is_put_back(guarded: Guarded) -> None:
    """So many files that pruning would hold them, an edit and a removal; other folders stay."""
    fleet = guarded.fleet
    before = delivered(fleet)
    edits = {**MANY, "delivery.yaml": "status: {}\n", "notes.txt": "n\n"}
    stranger = commit_on_fleet(
        fleet,
        lambda: fleet.git("rm", "--quiet", SHOP_FILE),
        lambda: fleet.write(edits),
        lambda: fleet.git("add", "--all", "--force"),
    )

    report = guarded.run()
    commits = fleet.git("rev-list", "fleet")

    assert (before, "n") == (delivered(fleet), fleet.git("show", "fleet:notes.txt"))
    assert [("fleet", stranger)] == [(one.branch, one.revision) for one in report.refused]
    assert stranger == fleet.git("rev-parse", "fleet^")
    status = reconciler(fleet.folder, "status", "-o", "json")
    assert [stranger] == [one["commit"] for one in json.loads(status.stdout)["unaccepted"]]
    again = guarded.run()
    assert (1, commits) == (len(again.refused), fleet.git("rev-list", "fleet"))


def test_a_branch_that_is_set_elsewhere_is_delivered_to_again(guarded: Guarded) -> None:
    """To the served branch, and to an older delivery, whose files were ours once."""
    fleet, old = guarded.fleet, guarded.fleet.git("rev-parse", "fleet")
    guarded.scale(4, by=guarded.ada)
    guarded.run()
    wanted = delivered(fleet)
    assert wanted != delivered(fleet, old)

    for elsewhere in ("main", old):
        fleet.git("branch", "--force", "fleet", elsewhere)
        report = guarded.run()

        assert (1, wanted) == (len(report.refused), delivered(fleet))
        assert fleet.git("rev-parse", elsewhere) == fleet.git("rev-parse", "fleet^")


def test_a_branch_that_was_deleted_begins_where_it_was(guarded: Guarded) -> None:
    """With its history, though nothing else is to be delivered."""
    last = guarded.fleet.git("rev-parse", "fleet")
    guarded.fleet.git("branch", "--delete", "--force", "fleet")

    guarded.run()

    assert last == guarded.fleet.git("rev-parse", "fleet")


def test_what_a_person_signs_there_counts(guarded: Guarded) -> None:
    """It is as an edit without keys: files that nothing else writes stay, the others are ours."""
    fleet, before = guarded.fleet, delivered(guarded.fleet)
    fleet.git("switch", "--quiet", "fleet")
    commit_signed(fleet, guarded.ada, {SHOP_FILE: "e: 1\n", "notes.txt": "n\n"})
    fleet.git("switch", "--quiet", "main")

    report = guarded.run()

    assert ((), before) == (report.refused, delivered(fleet))


def test_what_an_older_version_delivered_is_taken_as_it_is(guarded: Guarded) -> None:
    """Nothing was accepted of the branch yet; from the next delivery on it is followed."""
    fleet = guarded.fleet
    fleet.git("update-ref", "-d", "refs/reconciler/accepted/fleet")
    commit_on_fleet(fleet, lambda: fleet.write({"notes.txt": "n\n"}), lambda: fleet.git("add", "."))
    guarded.scale(4, by=guarded.ada)

    report = guarded.run()

    head = fleet.git("rev-parse", "fleet")
    assert ((), head) == (report.refused, fleet.git("rev-parse", "refs/reconciler/accepted/fleet"))


def test_what_waits_in_a_folder_of_delivery_to_be_is_put_back_once(tmp_path: Path) -> None:
    """A person's files stand there, so nothing is delivered before they are let go."""
    found = new_guarded(tmp_path)
    files = {**delivering(), "delivery/member1/old.yaml": "a: 1\n"}
    placed = EXAMPLE["workloads/settings.yaml"].replace("name: settings", "name: others")
    commit_signed(found.fleet, found.ada, {**files, **DOWN, "workloads/others.yaml": placed})
    found.run()  # the shop leaves a cluster, which keeps its copy until the other one has its own
    found.fleet.commit({"delivery/member1/old.yaml": "a: 2\n"})
    found.seconds += 60

    commits = [found.run().commit for _ in range(3)]

    assert [True, False, False] == [one is not None for one in commits]
    assert "a: 1" == found.fleet.git("show", "HEAD:delivery/member1/old.yaml")


FOR = b"Place nothing\n\nReconciled-For: decisions main\n"
RUNS = 3  # of ssh-keygen for one signature: who it is, whether it is good, and once more if not
COMMIT = 1  # gitformat-pack(5)


def test_what_a_stranger_pushes_is_judged_within_limits(flood: "Flood") -> None:
    """Every kind of push after the other; the limits of numbers are smaller here."""
    guarded, asked = flood.guarded, flood.asked
    base = guarded.fleet.head()
    for name, push in KINDS_OF_PUSHES.items():
        guarded.fleet.git("update-ref", "refs/heads/main", base)
        guarded.run()
        asked.clear()

        tip = push(flood)
        refused = guarded.run().refused

        assert (name, tip, True) == (name, guarded.fleet.git("rev-parse", "main"), bool(refused))
        assert asked.processes() <= RUNS * (trust.TOGETHER + trust.MOST_OWN), name
        assert asked.judged_bytes <= 2 * trust.TOGETHER_BYTES + trust.MOST_AFTER_BYTES, name
        assert asked.read_bytes <= 3 * trust.MOST_AFTER_BYTES, name


def test_a_line_that_takes_too_long_to_walk_waits(
    flood: "Flood", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is judged; passes go on at what was accepted last."""
    accepted = flood.guarded.run().heads.inputs
    tip = flood.push([b"m"])
    run = Git.run

    def killed(git: Git, *arguments: str, stdin: bytes = b"") -> Finished:
        if arguments[:2] == ("rev-list", "--count"):
            assert trust.WALK_SECONDS == git.processor_seconds
            raise GitKilled("git rev-list: exit code -9")
        return run(git, *arguments, stdin=stdin)

    monkeypatch.setattr(Git, "run", killed)
    flood.asked.clear()
    report = flood.guarded.run()

    assert [(tip, trust.TOO_MUCH)] == [(one.revision, one.problem) for one in report.refused]
    assert (accepted, tip, 0) == (report.heads.inputs, report.heads.tip, flood.asked.processes())


def test_a_commit_that_is_too_large_is_not_asked_about(flood: "Flood") -> None:
    """It waits; what a person signed before it counts."""
    flood.guarded.scale(4, by=flood.guarded.ada)
    tip = flood.push([b"m" * MAX_READ_BYTES])

    report = flood.guarded.run()

    assert [(tip, trust.UNKNOWN, trust.TOO_LARGE, trust.TAKE_IT_OFF)] == [
        (one.revision, one.author, one.problem, one.expected) for one in report.refused
    ]
    assert 4 == flood.guarded.replicas()


@dataclass
class Asked:
    """What is asked about commits: by this process in bytes, by git in processes of ssh-keygen."""

    log: Path
    judged_bytes: int = 0
    read_bytes: int = 0

    def processes(self) -> int:
        """Return how many of ssh-keygen there were."""
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def clear(self) -> None:
        """Begin to count anew."""
        self.log.unlink(missing_ok=True)
        self.judged_bytes = self.read_bytes = 0


@dataclass
class Flood:
    """Pushes of somebody whose key is not allowed.

    `signature` is one that is good of another commit.
    """

    guarded: Guarded
    asked: Asked
    signature: bytes
    count: int = field(default=0)

    def push(self, messages: Iterable[bytes], *, signed: bool = False) -> str:
        """Push a line of commits without changes; return its head."""
        tree = self.guarded.fleet.git("rev-parse", "main^{tree}")
        parent = self.guarded.fleet.git("rev-parse", "main")
        commits = []
        for message in messages:
            commits.append(self._commit(tree, parent, message, signed=signed))
            parent = _id(commits[-1])
        pack = _pack(commits)
        git(self.guarded.fleet.folder, "index-pack", "--stdin", stdin=pack)
        return self.move(parent)

    def move(self, tip: str) -> str:
        """Move the branch, and no checkout."""
        self.guarded.fleet.git("update-ref", "refs/heads/main", tip)
        return tip

    def _commit(self, tree: str, parent: str, message: bytes, *, signed: bool) -> bytes:
        self.count += 1
        who = b"S <s@example.com> %d +0000" % (1_700_000_000 + self.count)
        block = self.signature.rstrip(b"\n").replace(b"\n", b"\n ")
        head = (
            b"tree %s" % tree.encode(),
            b"parent %s" % parent.encode(),
            b"author %s" % who,
            b"committer %s" % who,
            *([b"gpgsig %s" % block] if signed else []),
        )
        return b"\n".join((*head, b"", message))


def many(flood: Flood) -> str:
    """Push many small commits."""
    return flood.push([b"m"] * 3000)


def many_signed(flood: Flood) -> str:
    """Push many that a stranger signed and that say that they are passes."""
    return flood.push([FOR] * 3000, signed=True)


def huge_messages(flood: Flood) -> str:
    """Push passes, so they say, of a megabyte each, which is a kilobyte on the way."""
    return flood.push([b"P\n\n%s\n\n%s" % (b"m" * 1_000_000, FOR)] * 40, signed=True)


def few_that_are_larger(flood: Flood) -> str:
    """Push some that are larger than anything that is read, behind one that is not signed."""
    return flood.push([b"m", *[b"m" * (MAX_READ_BYTES + 1)] * 5], signed=True)


def many_blobs(flood: Flood) -> str:
    """Push many files, in one folder, in deep ones, and where passes write."""
    names = [f"blobs/{number}" for number in range(2000)]
    names += ["/".join(["deep"] * 400), *(f"notes/{number}.yaml" for number in range(500))]
    files = "".join(f"M 644 inline {name}\ndata 4\n{n:04}\n" for n, name in enumerate(names))
    head = flood.guarded.fleet.git("rev-parse", "main")
    said = "committer S <s@x> 1700000000 +0000\ndata 1\nm"
    _import(flood, f"commit refs/heads/flood\n{said}\nfrom {head}\n{files}")
    return flood.move(flood.guarded.fleet.git("rev-parse", "flood"))


def many_references(flood: Flood) -> str:
    """Push many tags and branches, and one commit."""
    head = flood.guarded.fleet.git("rev-parse", "main")
    names = [f"refs/{kind}/{n}" for kind in ("tags", "heads") for n in range(500)]
    _import(flood, "".join(f"reset {name}\nfrom {head}\n\n" for name in names))
    return flood.push([b"m"])


KINDS_OF_PUSHES = {
    "many commits": many,
    "many signed commits": many_signed,
    "huge messages": huge_messages,
    "larger than anything": few_that_are_larger,
    "many blobs": many_blobs,
    "many references": many_references,
}


@pytest.fixture
def flood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Flood:
    """A fleet whose commits must be signed, and somebody who may push there."""
    guarded = new_guarded(tmp_path)
    stranger = new_ssh_key(tmp_path / "keys", "stranger")
    signature = _signature(guarded, commit_signed(guarded.fleet, stranger, {"notes.txt": "n"}))
    guarded.fleet.git("reset", "--quiet", "--hard", "HEAD^")
    asked = Asked(_log_of_ssh_keygen(tmp_path / "bin", monkeypatch))
    monkeypatch.setattr(trust, "MOST_OWN", 10)
    monkeypatch.setattr(trust, "MOST_AFTER", 100)

    def signatures(
        repository: Repository, revisions: Sequence[str], allowed: AllowedKeys
    ) -> list[Signature]:
        asked.judged_bytes += sum(object_sizes(repository, revisions))
        return read_signatures(repository, revisions, allowed)

    def records(repository: Repository, revisions: Iterable[str]) -> Iterator[CommitRecord]:
        listed = list(revisions)
        asked.read_bytes += sum(object_sizes(repository, listed))
        return read_commits(repository, listed)

    monkeypatch.setattr(trust, "read_signatures", signatures)
    monkeypatch.setattr(trust, "read_commits", records)
    return Flood(guarded, asked, signature)


def _log_of_ssh_keygen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put one on the PATH that writes a line for each time it is run."""
    real, log = shutil.which("ssh-keygen"), folder / "log"
    assert real is not None
    folder.mkdir()
    stand_in = folder / "ssh-keygen"
    stand_in.write_text(f'#!/bin/sh\necho run >> {shlex.quote(str(log))}\nexec {real} "$@"\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return log


def _signature(guarded: Guarded, revision: str) -> bytes:
    """Return the signature of a commit, as it is without the blanks before its lines."""
    raw = guarded.fleet.git("cat-file", "commit", revision).encode()
    block = raw.partition(b"gpgsig ")[2].partition(b"-----END SSH SIGNATURE-----")[0]
    return block.replace(b"\n ", b"\n") + b"-----END SSH SIGNATURE-----"


def _import(flood: Flood, commands: str) -> None:
    subprocess.run(
        ["git", "fast-import", "--quiet", "--force"],
        cwd=flood.guarded.fleet.folder,
        env=ENVIRONMENT,
        input=commands.encode(),
        check=True,
    )


def _pack(commits: Sequence[bytes]) -> bytes:
    """Return commits as git sends them, by gitformat-pack(5)."""
    body = b"PACK" + (2).to_bytes(4, "big") + len(commits).to_bytes(4, "big")
    body += b"".join(map(_entry, commits))
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _entry(data: bytes) -> bytes:
    left, byte, head = len(data) >> 4, COMMIT << 4 | len(data) & 15, bytearray()
    while left:
        head.append(byte | 0x80)
        byte, left = left & 0x7F, left >> 7
    return bytes((*head, byte)) + zlib.compress(data)


def _id(data: bytes) -> str:
    named = b"commit %d\0%s" % (len(data), data)
    return hashlib.sha1(named, usedforsecurity=False).hexdigest()

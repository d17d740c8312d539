"""Finding repositories and roots; a repository is data, and nothing in it is ever run."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.core.changes import DeleteFile, WriteFile
from reconciler.errors import UsageError
from reconciler.shell.git.checkout.worktree import advance
from reconciler.shell.git.command import GitError, RemoteMisconfigured
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.history import find_roots, read_commit, read_removal
from reconciler.shell.git.objects import changed_files, list_files, read_blobs, read_file
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.git.repository import CommitIdentity, Repository, check_branch
from tests.shell.repositories import NOW, Checkout, git, new_bare, new_checkout


def test_a_checkout_is_found_from_a_subfolder(tmp_path: Path) -> None:
    """The prefix is the subfolder's place in the repository."""
    checkout = new_checkout(tmp_path / "r", {"team/a/x": "1"})

    repository = Repository.open(checkout.folder / "team" / "a")

    assert checkout.folder.resolve() == repository.work_tree
    assert "team/a" == repository.prefix
    assert checkout.folder.resolve() / ".git" == repository.git_dir == repository.common_dir
    assert "sha1" == repository.object_format
    assert "main" == repository.head_branch()
    assert checkout.head() == repository.resolve("main")


def test_a_bare_repository_is_found(tmp_path: Path) -> None:
    """It has no work tree and no prefix."""
    repository = Repository.open(new_bare(tmp_path / "b.git", {"x": "1"}))

    assert None is repository.work_tree
    assert "" == repository.prefix
    assert "main" == repository.head_branch()


def test_a_linked_worktree_has_its_own_git_dir(tmp_path: Path) -> None:
    """References are shared, HEAD is not."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    checkout.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))

    repository = Repository.open(tmp_path / "linked")

    assert "side" == repository.head_branch()
    assert checkout.folder.resolve() / ".git" == repository.common_dir
    assert checkout.folder.resolve() / ".git/worktrees/linked" == repository.git_dir


def test_a_sha256_repository_is_read(tmp_path: Path) -> None:
    """Ids are as long as the repository's format makes them."""
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "--initial-branch=main", "r")
    git(tmp_path / "r", "commit", "--quiet", "--allow-empty", "--message=x")

    repository = Repository.open(tmp_path / "r")

    assert "sha256" == repository.object_format
    assert 64 == len(repository.resolve("main"))


def test_what_is_not_a_repository_is_refused(tmp_path: Path) -> None:
    """The message says what would do."""
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError, match="is not a folder; name one inside a git repository"):
        Repository.open(tmp_path / "file")
    with pytest.raises(UsageError, match="is not in a git repository; clone one"):
        Repository.open(tmp_path)


def test_an_unborn_branch_is_told(tmp_path: Path) -> None:
    """A fresh `git init` has a branch name but no commit."""
    repository = Repository.open(new_checkout(tmp_path / "r").folder)

    assert "main" == repository.head_branch()
    assert None is repository.find("main")
    with pytest.raises(UsageError, match='branch "main" has no commit yet'):
        repository.resolve("main")


def test_a_missing_branch_lists_near_names(tmp_path: Path) -> None:
    """Most often it is a slip."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    checkout.git("branch", "production")

    with pytest.raises(UsageError, match='no branch "prodction"; near it: production'):
        Repository.open(checkout.folder).resolve("prodction")


def test_a_tag_is_no_branch(tmp_path: Path) -> None:
    """A tag of the same name does not stand in for a branch."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    checkout.git("tag", "v1")

    assert None is Repository.open(checkout.folder).find("v1")


def test_a_detached_head_needs_a_branch_name(tmp_path: Path) -> None:
    """Without a branch there is nothing to move."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    checkout.git("checkout", "--quiet", "--detach")

    with pytest.raises(UsageError, match="HEAD is detached"):
        Repository.open(checkout.folder).head_branch()


def test_git_dir_of_the_caller_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a hook, which runs with GIT_DIR set."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    other = new_checkout(tmp_path / "other", {"y": "2"})
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.folder / ".git/index"))

    assert checkout.head() == Repository.open(checkout.folder).resolve("main")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As git does; the operator may trust the owner."""
    monkeypatch.delenv("SUDO_UID", raising=False)
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    os.chown(checkout.folder / ".git", 54321, 54321)

    with pytest.raises(UsageError, match=r"belongs to user 54321, but .* trust the owner"):
        Repository.open(checkout.folder)

    trusted = Repository.open(checkout.folder, trust_owner=True)

    assert "main" == trusted.head_branch()
    assert None is not trusted.find("main")


@pytest.mark.parametrize(
    "name",
    [
        "", "-h", "--all", "@{-1}", "@", "a b", "a\nb", "a..b", "a~1", "a^", "a:b", "a?", "a*",
        "a[b", "a\\b", "/a", "a/", "a//b", ".a", "a/.b", "a.", "a.lock", "a.lock/b", "a\x7f",
        "HEAD",
    ],
)  # fmt: skip
def test_a_name_that_git_would_refuse_is_refused(name: str) -> None:
    """Before it comes near a command line."""
    with pytest.raises(UsageError, match="no branch name"):
        check_branch(name)


@pytest.mark.parametrize("name", ["main", "a/b", "v1.2", "fix-#3", "größe", "a@b", "a.locked"])
def test_a_fit_name_passes(name: str) -> None:
    """Nothing that git accepts is refused without need."""
    assert name == check_branch(name)


MARKED = ("teams/a", "teams/b", "teams/b/inner", "regions/eu/west", "x")
FILES = {
    **{f"{folder}/reconciler.yaml": "" for folder in MARKED},
    "teams/plain/clusters.yaml": "",
    "teams/reconciler.yaml/folder": "",
    "teams/c": "a file",
    "teams/b\\c/reconciler.yaml": "where we would not write",
}


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        pytest.param(["teams/*"], ["teams/a", "teams/b"], id="a-level"),
        pytest.param(["teams/[ab]", "teams/a"], ["teams/a", "teams/b"], id="twice"),
        pytest.param(["*/*/west"], ["regions/eu/west"], id="deep"),
        pytest.param(["*"], ["x"], id="top"),
        pytest.param(["teams/*", "teams/*/*"], ["teams/a", "teams/b"], id="inner-is-part-of-outer"),
        pytest.param(["teams/b/inner"], ["teams/b/inner"], id="plain"),
        pytest.param(["nowhere/*", "teams/plain", "teams/c"], [], id="none"),
    ],
)
def test_folders_with_a_configuration_match(
    tmp_path: Path, patterns: list[str], expected: list[str]
) -> None:
    """A star stands for one name, and not for a slash."""
    fleet = new_checkout(tmp_path / "fleet", FILES)

    assert tuple(expected) == find_roots(Repository.open(fleet.folder), fleet.head(), patterns)


def test_patterns_begin_at_the_folder_that_is_served(tmp_path: Path) -> None:
    """As `--root` does."""
    fleet = new_checkout(tmp_path / "fleet", FILES)
    repository = Repository.open(fleet.folder / "teams")

    assert ("a", "b") == find_roots(repository, fleet.head(), ["*"])


@pytest.mark.parametrize("pattern", ["", "/teams/*", "teams/../*", "teams/**", "teams//a", "a/"])
def test_what_is_no_pattern_is_refused(tmp_path: Path, pattern: str) -> None:
    """With one that is."""
    fleet = new_checkout(tmp_path / "fleet", FILES)

    with pytest.raises(UsageError, match=r"--roots .* must be folders such as teams/\*"):
        find_roots(Repository.open(fleet.folder), fleet.head(), [pattern])


HOOKS = (
    "pre-commit", "post-commit", "commit-msg", "post-checkout", "post-index-change",
    "reference-transaction", "pre-push", "post-merge", "pre-auto-gc", "post-rewrite",
    "fsmonitor-watchman",
)  # fmt: skip

PROGRAM_SETTINGS = (
    "core.fsmonitor", "core.sshCommand", "core.editor", "core.pager", "core.askPass",
    "core.gitProxy", "core.alternateRefsCommand", "diff.external", "diff.evil.command",
    "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process",
    "gpg.program", "gpg.ssh.program",
    "credential.helper", "uploadpack.packObjectsHook", "merge.evil.driver", "sequence.editor",
    "remote.origin.uploadpack", "remote.origin.receivepack", "remote.origin.vcs",
    "interactive.diffFilter",
)  # fmt: skip


@pytest.fixture
def trap(tmp_path: Path) -> Iterator[Path]:
    """A program that leaves a trace; whoever uses it must have left none."""
    program, trace = tmp_path / "trap.sh", tmp_path / "trace"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {trace}\ncat\n')
    program.chmod(0o755)
    yield program
    assert not trace.exists(), trace.read_text()


def set_traps(folder: Path, trap: Path) -> None:
    """Configure everything by which a repository could run a program."""
    for name in PROGRAM_SETTINGS:
        git(folder, "config", name, str(trap))
    git(folder, "config", "filter.evil.required", "true")
    git(folder, "config", "commit.gpgSign", "true")
    git(folder, "config", "log.showSignature", "true")
    git(folder, "config", "filter.e=v.clean", str(trap))
    git(folder, "config", "filter.e=v.smudge", str(trap))
    git(folder, "config", "filter.e=v.required", "true")
    git(folder, "config", "core.hooksPath", str(folder / "evil-hooks"))
    git(folder, "config", "alias.ls-tree", f"!{trap}")
    (folder / "evil-hooks").mkdir()
    hooks = Path(git(folder, "rev-parse", "--absolute-git-dir")) / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in HOOKS:
        for where in (folder / "evil-hooks", hooks):
            (where / hook).write_bytes(trap.read_bytes())
            (where / hook).chmod(0o755)


def write(repository: Repository, parent: str) -> str:
    """Write a commit that changes, adds and deletes a file."""
    return write_commit(
        repository,
        [WriteFile("a.evil", "new\n"), WriteFile("b.evil", "b\n"), DeleteFile("gone.evil")],
        parent=parent, message="Place", at=NOW, author=CommitIdentity("r", "r@x"),
    )  # fmt: skip


def write_object(checkout: Checkout, kind: str, text: str) -> str:
    """Write an object as it is, whatever it says; return its id."""
    arguments = ("hash-object", "-t", kind, "-w", "--stdin", "--literally")
    return git(checkout.folder, *arguments, stdin=text.encode())


def hostile_checkout(tmp_path: Path, trap: Path) -> Checkout:
    """A clean checkout whose every file has a filter."""
    checkout = new_checkout(
        tmp_path / "r",
        {
            ".gitattributes": "*.evil filter=evil diff=evil merge=evil\n*.worse filter=e=v\n",
            "a.evil": "a\n", "gone.evil": "g\n", "kept.evil": "k\n", "kept.worse": "k\n",
        },
    )  # fmt: skip
    set_traps(checkout.folder, trap)
    return checkout


def test_the_trap_is_one(tmp_path: Path, trap: Path) -> None:
    """The same steps by a git that is not hardened do run it."""
    checkout = hostile_checkout(tmp_path, trap)
    for path in checkout.folder.iterdir():
        os.utime(path, (1, 1))
    with contextlib.suppress(AssertionError):  # the trap makes a poor filter
        checkout.git("update-index", "-q", "--refresh")
    trace = (tmp_path / "trace").read_text()

    assert "trap.sh" in trace
    (tmp_path / "trace").unlink()


def test_no_operation_runs_what_a_checkout_configures(tmp_path: Path, trap: Path) -> None:
    """Reads, commit, and a move of its files with every one looked at."""
    checkout = hostile_checkout(tmp_path, trap)
    repository = Repository.open(checkout.folder)
    old = repository.resolve(repository.head_branch())
    new = write(repository, old)

    files = list_files(repository, new)
    assert 5 == len(list(read_blobs(repository, [entry.blob for entry in files.values()])))
    assert 3 == len(changed_files(repository, old, new))
    assert b"new\n" == read_file(repository, new, "a.evil")
    assert "Place" == read_commit(repository, new).subject
    for path in checkout.folder.iterdir():
        os.utime(path, (1, 1))
    advance(repository, "main", old=old, new=new)

    assert "new\n" == (checkout.folder / "a.evil").read_text()
    assert not (checkout.folder / "gone.evil").exists()


def test_a_signed_commit_is_read_without_its_program(tmp_path: Path, trap: Path) -> None:
    """Whoever removed a file is looked up in the log, which could be told to check signatures."""
    checkout = hostile_checkout(tmp_path, trap)
    plain = checkout.git("cat-file", "commit", checkout.head())
    head, _, message = plain.partition("\n\n")
    signed = f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----"
    parent = write_object(checkout, "commit", f"{signed}\n\n{message}\n")
    repository = Repository.open(checkout.folder)
    removed = write(repository, parent)
    tree = checkout.git("rev-parse", f"{removed}^{{tree}}")
    facts = f"tree {tree}\nparent {parent}\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n"
    signature = signed.partition("\ngpgsig")[2]
    new = write_object(checkout, "commit", f"{facts}gpgsig{signature}\n\nRemove\n")

    found = read_removal(repository, new, "gone.evil")

    assert found is not None
    assert "Remove" == found.subject


def test_a_mirror_runs_nothing_of_a_hostile_folder(tmp_path: Path, trap: Path) -> None:
    """The remote's own settings are the remote's; ours are rewritten at each start."""
    bare = new_bare(tmp_path / "b.git", {"a.evil": "a\n", "gone.evil": "g\n"})
    Mirror.open(f"file://{bare}", tmp_path / "mirror").close()
    set_traps(tmp_path / "mirror/repository.git", trap)
    git(
        tmp_path / "mirror/repository.git", "config", "url.ext::sh -c touch% x.insteadOf", "file://"
    )

    with Mirror.open(f"file://{bare}", tmp_path / "mirror") as mirror:
        old = mirror.fetch("main")
        assert old is not None
        new = write(mirror.repository, old)
        mirror.push("main", old=old, new=new)

    assert new == git(bare, "rev-parse", "main")


def test_a_partial_clone_does_not_fetch_behind_our_back(tmp_path: Path, trap: Path) -> None:
    """What is missing is an error; the promisor's program does not run."""
    checkout = hostile_checkout(tmp_path, trap)
    checkout.git("config", "extensions.partialClone", "origin")
    checkout.git("config", "remote.origin.promisor", "true")
    checkout.git("config", "remote.origin.url", f"ext::{trap}")
    checkout.git("config", "protocol.ext.allow", "always")

    with pytest.raises(GitError, match="no blob"):
        list(read_blobs(Repository.open(checkout.folder), ["ab" * 20]))


def test_a_moved_work_tree_is_not_followed(tmp_path: Path, trap: Path) -> None:
    """`core.worktree` of the repository does not lead files elsewhere."""
    checkout = new_checkout(tmp_path / "r", {"a.evil": "a\n", "gone.evil": "g\n"})
    (tmp_path / "victim").mkdir()
    repository = Repository.open(checkout.folder)
    old = repository.resolve("main")
    new = write(repository, old)
    checkout.git("config", "core.worktree", str(tmp_path / "victim"))
    repository = Repository.open(checkout.folder)

    assert checkout.folder.resolve() == repository.work_tree
    advance(repository, "main", old=old, new=new)

    assert "new\n" == (checkout.folder / "a.evil").read_text()
    assert [] == list((tmp_path / "victim").iterdir())


def test_replaced_objects_and_grafts_are_not_believed(tmp_path: Path) -> None:
    """What a commit id names is what is read."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    honest = checkout.head()
    fake = checkout.commit({"x": "2"})
    checkout.git("replace", honest, fake)

    repository = Repository.open(checkout.folder)

    assert b"1" == read_file(repository, honest, "x")


def test_a_bare_repository_inside_a_checkout_is_not_opened(tmp_path: Path) -> None:
    """Somebody committed one, with a configuration of their own."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    new_bare(checkout.folder / "nested.git", {"y": "2"})
    (checkout.folder / "nested.git/folder").mkdir()

    repository = Repository.open(checkout.folder / "nested.git/folder")

    assert checkout.folder.resolve() == repository.work_tree


def test_a_branch_named_like_an_option_is_refused(tmp_path: Path) -> None:
    """Even where one exists."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    (checkout.folder / ".git/refs/heads/-h").write_text(f"{checkout.head()}\n")
    (checkout.folder / ".git/HEAD").write_text("ref: refs/heads/-h\n")
    repository = Repository.open(checkout.folder)

    with pytest.raises(UsageError, match='"-h" is no branch name'):
        repository.head_branch()
    with pytest.raises(UsageError, match='"-h" is no branch name'):
        repository.resolve("-h")


def test_a_remote_that_wants_another_protocol_is_refused(tmp_path: Path) -> None:
    """A rewrite in the environment of the operator's shell does not reach us."""
    bare = new_bare(tmp_path / "b.git", {"x": "1"})
    with Mirror.open(f"file://{bare}", tmp_path / "mirror") as mirror:
        (tmp_path / "mirror/repository.git/config").write_text(
            '[core]\nrepositoryformatversion=0\nbare=true\n[url "ext::sh -c"]\ninsteadOf=file://\n'
        )
        with pytest.raises((RemoteMisconfigured, GitError), match="not allowed"):
            mirror.fetch("main")

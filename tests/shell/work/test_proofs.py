"""A history is proven alike here, in stretches, and by the workers of any executor."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from reconciler.audit.history.revisions import Commit
from reconciler.audit.proof import Proof, ProofState
from reconciler.model.identity import RepositoryLayout
from reconciler.model.world import RULES
from reconciler.shell.reading.revisions import GitRevisions
from reconciler.shell.work.executors import Workers, start_pool
from reconciler.shell.work.proofs import Prover, cut_stretch, prove_all, prove_stretch
from tests.cli.history import SHOP, told_fleet
from tests.shell.fleet import EXAMPLE, MANIFESTS, new_fleet, run_pass
from tests.shell.repositories import Checkout

BROKEN = {"workloads/frontend.yaml": "kind: [\n"}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Honest passes, a file that stays broken, an edit of an output, a forged pass, a link."""
    fleet = told_fleet(tmp_path_factory.mktemp("proofs") / "fleet")
    fleet.commit(BROKEN, "Break it")
    run_pass(fleet.folder, 200)
    moved = (fleet.folder / SHOP).read_text().replace("backup1", "member2")
    fleet.commit({SHOP: moved, "status/notes.txt": "mine"}, "Move it myself")
    run_pass(fleet.folder, 260)
    (fleet.folder / "workloads/other.yaml").symlink_to("shop.yaml")
    fleet.commit({"docs/page.md": "text"}, "Link it")
    trailers = f"Reconciled-From: {fleet.head()}\nReconciled-At: 2026-11-20T12:30:00Z\n"
    rules = f"Reconciled-Rules: {RULES}\nReconciler-Version: 0.1.0\n"
    fleet.commit({SHOP: moved}, f"Place it\n\n{trailers}{rules}")
    run_pass(fleet.folder, 1900)
    for number in range(8):
        fleet.commit({f"docs/{number}.md": "text"}, f"Write page {number}")
    return fleet


def opened(folder: Path) -> tuple[GitRevisions, list[Commit]]:
    """Return the history of a repository, read by who knows nothing of it yet."""
    revisions = GitRevisions.open(folder, RepositoryLayout())
    head = revisions.repository.resolve("main")
    return revisions, revisions.commits(head)[::-1]


def proven(folder: Path, workers: Workers | None) -> list[Proof]:
    """Prove a whole history."""
    revisions, commits = opened(folder)
    return list(prove_all(revisions, commits, workers=workers))


def proven_singly(folder: Path) -> list[Proof]:
    """Prove each commit beside the repository."""
    revisions, commits = opened(folder)
    return list(map(Prover(revisions).prove, commits))


@contextmanager
def threads(count: int) -> Iterator[Workers]:
    """Threads of this process."""
    with ThreadPoolExecutor(count) as executor:
        yield Workers(executor, count)


@contextmanager
def processes(count: int) -> Iterator[Workers]:
    """Other processes of this machine."""
    with start_pool(count) as executor:
        yield Workers(executor, count)


@contextmanager
def nothing(_count: int) -> Iterator[None]:
    """This process."""
    yield None


@pytest.mark.parametrize("executor", [nothing, threads, processes])
def test_any_executor_proves_what_one_process_proves(
    fleet: Checkout, executor: Callable[[int], AbstractContextManager[Workers | None]]
) -> None:
    """Every proof is equal, with its findings."""
    with executor(2) as workers:
        assert proven_singly(fleet.folder) == proven(fleet.folder, workers)


def test_history_of_the_test_has_all_sorts_of_commits(fleet: Checkout) -> None:
    """The comparison of executors is about findings, too."""
    states = {proof.state for proof in proven_singly(fleet.folder)}

    assert {
        ProofState.INPUT,
        ProofState.PROVEN,
        ProofState.TAMPERED,
        ProofState.DIFFERENT,
    } == states


def test_root_in_a_folder_is_proven_by_workers(tmp_path: Path) -> None:
    """Its stretches hold what lies below it, and tell of files elsewhere."""
    top = new_fleet(tmp_path / "top", {f"prod/{path}": EXAMPLE[path] for path in MANIFESTS})
    folder = top.folder / "prod"
    run_pass(folder, 0)
    top.commit({"prod/status/notes.txt": "mine", "elsewhere.txt": "x"}, "Write below it")
    expected = proven_singly(folder)

    assert [ProofState.INPUT, ProofState.PROVEN, ProofState.TAMPERED] == [
        proof.state for proof in expected
    ]
    with threads(2) as workers:
        assert expected == proven(folder, workers)


def test_what_was_not_sent_is_proven_beside_the_repository(fleet: Checkout) -> None:
    """The last good version of a file that broke before a stretch begins is not in it."""
    revisions, commits = opened(fleet.folder)
    last = next(number for number, one in enumerate(commits) if one.subject == "Link it")
    late = commits[last:]
    stretch = cut_stretch(revisions, late, last_inputs=None)

    with threads(1) as fresh:
        assert None in fresh.executor.submit(prove_stretch, stretch).result()
    assert [proof for proof in proven_singly(fleet.folder) if proof.commit in late] == list(
        prove_all(revisions, late, workers=None)
    )


def test_history_that_lost_an_object_is_judged_alike(tmp_path: Path) -> None:
    """What cannot be read is told by the proof of the commit that needs it, whoever proves."""
    fleet = told_fleet(tmp_path / "fleet")
    blob = fleet.git("rev-parse", "HEAD~3:workloads/shop.yaml")
    (fleet.folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    expected = proven_singly(fleet.folder)

    assert ProofState.UNKNOWN in {proof.state for proof in expected}
    assert expected == proven(fleet.folder, None)

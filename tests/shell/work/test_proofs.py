"""A history is proven alike by anyone; what was proven is not proven again, unless damaged."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reconciler.audit.history.revisions import Commit
from reconciler.audit.proof import Proof, ProofFinding, ProofState
from reconciler.cli import verify
from reconciler.model.identity import RepositoryLayout
from reconciler.model.world import RULES
from reconciler.shell.reading.revisions import GitRevisions
from reconciler.shell.work.executors import Workers, start_pool
from reconciler.shell.work.proofs import (
    ProofRecord,
    Prover,
    cut_stretch,
    open_record,
    prove_all,
    prove_stretch,
)
from tests.cli.history import SHOP, answer, told_fleet
from tests.shell.fleet import EXAMPLE, MANIFESTS, new_fleet, open_revisions, run_pass
from tests.shell.repositories import Checkout, git

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
    revisions = open_revisions(folder)
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


COMMITS = 4
MOMENT = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of records, which are kept of short histories, too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(verify, "FEW", 0)
    return tmp_path / "cache/reconciler/proofs"


def commit(number: int) -> Commit:
    """One of some commits."""
    return Commit(
        revision=f"{number:040x}", author="Ada <ada@example.com>", authored_at=MOMENT,
        committed_at=MOMENT, subject="Scale", trailers=(), parents=(),
    )  # fmt: skip


def proof_of(number: int) -> Proof:
    """The proof of one of them."""
    return Proof(commit=commit(number), state=ProofState.PROVEN)


def recorded(folder: Path, prefix: str = "", output_root: str = "status") -> list[bool]:
    """Which of the commits are recorded."""
    layout = RepositoryLayout(output_root=output_root)
    with open_record(folder, prefix=prefix, layout=layout) as record:
        return [record.find(commit(number)) is not None for number in range(COMMITS)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The record of four proofs."""
    with open_record(tmp_path / "proofs", prefix="", layout=RepositoryLayout()) as record:
        for number in range(COMMITS):
            record.add(proof_of(number))
    return next((tmp_path / "proofs").iterdir())


def cut_off(data: bytes) -> bytes:
    """As a loss of power leaves it."""
    return data[:-20]


def alter(data: bytes) -> bytes:
    """Another state for the last commit."""
    return data[:-80].replace(b"proven", b"input ") + data[-80:]


def garble(data: bytes) -> bytes:
    """Any byte."""
    return data[:-30] + b"\xff\0" + data[-28:]


def empty(_data: bytes) -> bytes:
    """Nothing."""
    return b""


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        pytest.param(bytes, [True] * 4, id="whole"),
        pytest.param(cut_off, [True, True, True, False], id="cut-off"),
        pytest.param(garble, [True, True, True, False], id="garbled"),
        pytest.param(alter, [False, False, False, True], id="altered"),
        pytest.param(empty, [False] * 4, id="empty"),
    ],
)
def test_damaged_line_is_not_believed(
    file: Path, damage: Callable[[bytes], bytes], expected: list[bool]
) -> None:
    """Each line stands for itself."""
    file.write_bytes(damage(file.read_bytes()))

    assert expected == recorded(file.parent)


def test_line_after_one_that_was_cut_off_is_whole(file: Path) -> None:
    """A proof that was killed while it wrote is followed by others."""
    file.write_bytes(cut_off(file.read_bytes()))
    with open_record(file.parent, prefix="", layout=RepositoryLayout()) as record:
        record.add(proof_of(3))

    assert [True] * 4 == recorded(file.parent)


def test_each_root_has_its_own_record(file: Path) -> None:
    """A proof is about the outputs of one root."""
    assert [False] * 4 == recorded(file.parent, prefix="prod")
    assert [False] * 4 == recorded(file.parent, output_root="out")


def test_other_code_has_its_own_record(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It might decide otherwise."""
    monkeypatch.setattr("reconciler.shell.work.proofs.package_digest", lambda: "other")

    assert [False] * 4 == recorded(file.parent)


def test_record_that_others_may_write_is_not_believed(file: Path) -> None:
    """Only its owner may."""
    file.chmod(0o666)

    assert [False] * 4 == recorded(file.parent)


def test_what_a_person_must_look_at_is_not_recorded(tmp_path: Path) -> None:
    """It is found again each time."""
    finding = ProofFinding("status/a.yaml", "edited")
    with open_record(tmp_path, prefix="", layout=RepositoryLayout()) as record:
        record.add(Proof(commit=commit(0), state=ProofState.TAMPERED, findings=(finding,)))

    assert [False] * 4 == recorded(tmp_path)


def test_folder_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    """Everything is proven."""
    (tmp_path / "file").write_text("")

    assert [False] * 4 == recorded(tmp_path / "file/proofs")


def test_proof_that_was_killed_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cache: Path
) -> None:
    """What was proven by then is there, though no objects are left to prove it from."""
    fleet = told_fleet(tmp_path / "fleet")
    expected = answer(fleet, capsys, "verify", "-v")
    blob = fleet.git("rev-parse", "HEAD~5:workloads/shop.yaml")
    (fleet.folder / ".git/objects" / blob[:2] / blob[2:]).unlink()

    assert expected == answer(fleet, capsys, "verify", "-v")
    assert 1 == answer(fleet, capsys, "verify", "--afresh")[0]


def test_each_proof_is_recorded_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    """A kill loses none of those before it."""
    fleet: Checkout = told_fleet(tmp_path / "fleet")
    add = ProofRecord.add
    counts = []

    def counted(record: ProofRecord, proof: Proof) -> None:
        add(record, proof)
        counts.append(next(cache.iterdir()).read_bytes().count(b"\n\n") + 1)

    monkeypatch.setattr(ProofRecord, "add", counted)
    answer(fleet, capsys, "verify")

    assert [1, 2, 3, 4, 5, 6] == counts


def test_tampering_after_a_proof_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cache: Path
) -> None:
    """A commit that is written anew has another id."""
    fleet = told_fleet(tmp_path / "fleet")
    assert 0 == answer(fleet, capsys, "verify")[0]
    changed = (fleet.folder / SHOP).read_text().replace("name: backup1", "name: member2")
    (fleet.folder / SHOP).write_text(changed)
    git(fleet.folder, "commit", "--quiet", "--all", "--amend", "--no-edit")

    assert 1 == answer(fleet, capsys, "verify")[0]

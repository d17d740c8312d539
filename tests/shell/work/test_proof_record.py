"""What was proven is not proven again; what is damaged is not believed."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reconciler.audit.history.revisions import Commit
from reconciler.audit.proof import Proof, ProofFinding, ProofState
from reconciler.cli import verify
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.work.proofs import ProofRecord, open_record
from tests.cli.history import SHOP, answer, told_fleet
from tests.shell.repositories import Checkout, git

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


def proven(number: int) -> Proof:
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
            record.add(proven(number))
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
        record.add(proven(3))

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

"""What a worker keeps of roots: as long as somebody needs it, and never a secret in an answer."""

from pathlib import Path

import pytest

from reconciler.model.identity import RepositoryLayout
from reconciler.shell.daemon.events import PassFailure
from reconciler.shell.git.command import mask_of
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.branches import LocalBranch
from reconciler.shell.passes.pass_report import PassSummary
from reconciler.shell.work.held_roots import HeldRoots, OpenedRoot, RootPiece, RootPlace
from tests.shell.daemon.test_roots import ROOTS, fleets
from tests.shell.fleet import DAEMON, Clock, passes_of
from tests.shell.repositories import new_checkout

FIRST, SECOND = (
    RootPlace(
        remote="file:///fleet", branch="main", root=root, layout=RepositoryLayout(), author=DAEMON
    )
    for root in ROOTS
)


class Opener:
    """Opens roots of a checkout, and counts how often."""

    def __init__(self, folder: Path) -> None:
        fleet = new_checkout(folder, fleets(*ROOTS))
        self.branch = LocalBranch(Repository.open(fleet.folder), "main")
        self.opened: list[str] = []

    def __call__(self, place: RootPlace) -> OpenedRoot:
        """Open one."""
        self.opened.append(place.root)
        return OpenedRoot(passes_of(self.branch.below(place.root), Clock()), mask_of(["secret"]))


@pytest.fixture
def opener(tmp_path: Path) -> Opener:
    """A checkout with two roots."""
    return Opener(tmp_path / "fleet")


def piece(place: RootPlace, *beside: RootPlace, session: str = "s") -> RootPiece:
    """What a daemon asks about a root, and which others it leaves there."""
    return RootPiece(place=place, session=session, held=frozenset((place, *beside)))


def test_a_root_is_opened_once(opener: Opener) -> None:
    """Its memory is there for the next pass."""
    roots = HeldRoots()
    first, second = (roots.run(opener, piece(FIRST)) for _ in range(2))

    assert isinstance(first, PassSummary)
    assert isinstance(second, PassSummary)
    assert first.commit is not None
    assert second.commit is None
    assert [FIRST.root] == opener.opened


def test_what_another_worker_has_now_is_let_go(opener: Opener) -> None:
    """Of the daemon that says so; what another daemon needs stays."""
    roots = HeldRoots()
    for one in (piece(FIRST), piece(SECOND, FIRST)):
        roots.run(opener, one)
    both = roots.held()
    roots.run(opener, piece(SECOND, session="another"))
    still = roots.held()
    roots.run(opener, piece(SECOND))

    assert (FIRST, SECOND) == both == still
    assert (SECOND,) == roots.held()


def test_a_daemon_that_ends_leaves_nothing(opener: Opener) -> None:
    """And none of its passes begins any more."""
    roots = HeldRoots()
    roots.run(opener, piece(FIRST))

    assert frozenset() == roots.end("s", forget=True)
    assert () == roots.held()
    assert roots.run(opener, piece(FIRST)) is None


def test_a_daemon_that_begins_anew_finds_its_roots(opener: Opener) -> None:
    """And what it serves no more goes with its first question."""
    roots = HeldRoots()
    for one in (piece(FIRST), piece(SECOND, FIRST)):
        roots.run(opener, one)
    roots.end("s", forget=False)
    before = roots.held()
    roots.run(opener, piece(SECOND, session="anew"))

    assert (FIRST, SECOND) == before
    assert (SECOND,) == roots.held()
    assert [FIRST.root, SECOND.root] == opener.opened


def test_a_failure_shows_no_secret_of_the_worker(opener: Opener) -> None:
    """It is told where nobody knows what to mask."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reconciler.shell.passes.one_pass.Passes.run", _fail)
        answer = HeldRoots().run(opener, piece(FIRST))

    assert isinstance(answer, PassFailure)
    assert answer.trace.rstrip().endswith("KeyError")
    assert "secret of the worker" not in answer.trace


def _fail(*_: object, **__: object) -> None:
    words = "the", "secret", "of", "the", "worker"
    raise KeyError(" ".join(words))

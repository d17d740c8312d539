"""Proves a history: here, or stretch by stretch by the workers of an executor."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from reconciler.audit.history.revisions import Commit, Provable, claim_of
from reconciler.audit.proofs.proof import Proof, prove
from reconciler.core.memo import Memo
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.shell.git.errors import GitError
from reconciler.shell.reading.revisions import GitRevisions
from reconciler.shell.work.executors import Workers, results_of, size_of_pieces
from reconciler.shell.work.proof_record import ProofRecord
from reconciler.shell.work.sent_history import (
    NotSent,
    SentRevisions,
    Stretch,
    cut_stretch,
    empty_stretch,
)

LEAST, MOST = 8, 64  # commits of a stretch: what a kill costs, against what a beginning costs
ENOUGH = 128  # commits for each process, which needs a second before its first proof


R = TypeVar("R", bound=Provable)


@dataclass(frozen=True, slots=True)
class Prover(Generic[R]):
    """Proves commits one by one; neighbours in history share most of their work."""

    revisions: R
    memo: Memo = field(default_factory=Memo)

    def prove(self, commit: Commit) -> Proof:
        """Prove one commit."""
        return prove(commit, self.revisions, memo=self.memo)


def prove_rest(
    revisions: GitRevisions,
    commits: Sequence[Commit],
    *,
    workers: Workers | None,
    record: ProofRecord,
) -> Iterator[Proof]:
    """Prove commits as `prove_all` does, but for those that the record has; it gets the others."""
    known = {commit.revision: record.find(commit) for commit in commits}
    rest = [commit for commit in commits if known[commit.revision] is None]
    proving = prove_all(revisions, rest, workers=workers)
    for commit in commits:
        proof = known[commit.revision]
        if proof is None:
            proof = next(proving)
            record.add(proof)
        yield proof


def prove_all(
    revisions: GitRevisions,
    commits: Sequence[Commit],
    *,
    workers: Workers | None,
) -> Iterator[Proof]:
    """Prove commits, in the order given.

    Args:
        revisions: Where they are.
        commits: Neighbours should be neighbours in history, too, the oldest first.
        workers: Who proves; `None` is this process.
    """
    here = Prover(revisions)
    stretches = _cut(revisions, commits, workers)
    for stretch, found in results_of(workers, prove_stretch, stretches):
        for commit, proof in zip(stretch.commits, found, strict=True):
            yield here.prove(commit) if proof is None else proof


def _cut(
    revisions: GitRevisions, commits: Sequence[Commit], workers: Workers | None
) -> Iterator[Stretch]:
    """Yield the stretches of a history; one that is not whole in the repository is empty."""
    size = size_of_pieces(len(commits), workers, least=LEAST, most=MOST)
    known = {commit.revision for commit in commits}
    inputs: str | None = None
    for start in range(0, len(commits), size):
        piece = commits[start : start + size]
        if revisions.layout.apart:
            yield empty_stretch(piece, revisions.layout)
            continue
        try:
            yield cut_stretch(revisions, piece, last_inputs=inputs)
        except GitError:  # of a commit, which its proof tells
            yield empty_stretch(piece, revisions.layout)
        claimed = [claim.inputs for claim in map(claim_of, piece) if claim is not None]
        inputs = next((one for one in reversed(claimed) if one in known), inputs)


class _Kept(threading.local):
    """What a worker keeps between stretches, by root; a worker may have several threads."""

    def __init__(self) -> None:
        self.root = ("", RepositoryLayout())
        self.prover: Prover[SentRevisions] | None = None


_KEPT = _Kept()


def prove_stretch(stretch: Stretch) -> list[Proof | None]:
    """Prove a stretch where its repository need not be; `None` of what it lacks something for."""
    root = (stretch.prefix, stretch.layout)
    if _KEPT.prover is None or _KEPT.root != root:
        _KEPT.root = root
        _KEPT.prover = Prover(SentRevisions(stretch.layout))
    prover = _KEPT.prover
    prover.revisions.take(stretch)
    return [_prove_sent(prover, commit) for commit in stretch.commits]


def _prove_sent(prover: Prover[SentRevisions], commit: Commit) -> Proof | None:
    """Prove a commit, `None` if that takes more than was sent."""
    try:
        return prover.prove(commit)
    except NotSent:
        return None

"""Which commits were proven, so that a proof that was interrupted goes on where it ended.

A proof depends on a commit, which names all that led to it, on the root, and on our code. So one
file for each root and each state of the code holds what was proven, a line a commit. Each line has
its own check sum: one that is cut off or altered is not believed, and the commit is proven again.
Commits with findings are never recorded. The file may be deleted at any time.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from reconciler.audit.history.revisions import Commit
from reconciler.audit.proofs.proof import Proof, ProofState
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.shell.resources import package_digest

KEPT = frozenset({ProofState.PROVEN, ProofState.INPUT})
OURS_ONLY = 0o600


class ProofRecord:
    """What is proven of one root; without a file nothing is, and nothing is kept."""

    def __init__(self, key: str, descriptor: int | None) -> None:
        """Read what is recorded; see `open_record`."""
        self._key = key
        self._descriptor = descriptor
        self._states = {} if descriptor is None else dict(self._read(descriptor))

    def find(self, commit: Commit) -> Proof | None:
        """Return the proof of a commit that was proven before."""
        state = self._states.get(commit.revision)
        return None if state is None else Proof(commit=commit, state=state)

    def add(self, proof: Proof) -> None:
        """Keep a proof, unless a person must look at it; from now on no kill loses it."""
        if self._descriptor is None or proof.state not in KEPT or proof.findings:
            return
        try:
            os.write(self._descriptor, self._line(proof.commit.revision, proof.state))
        except OSError:  # such as a full disk: the next proof begins a little earlier
            self._descriptor = None

    def _read(self, descriptor: int) -> Iterator[tuple[str, ProofState]]:
        """Yield the lines that are whole."""
        with open(descriptor, "rb", closefd=False) as file:
            for line in file:
                revision, _, rest = line.decode("ascii", errors="replace").partition(" ")
                for state in KEPT:
                    if rest.startswith(f"{state} ") and line == self._line(revision, state)[1:]:
                        yield revision, state

    def _line(self, revision: str, state: ProofState) -> bytes:
        """Return a line; the line feed before it ends one that was cut off."""
        said = f"{revision} {state}"
        check = hashlib.sha256(f"{self._key} {said}".encode()).hexdigest()
        return f"\n{said} {check}\n".encode()


@contextlib.contextmanager
def open_record(
    folder: Path | None, *, prefix: str, layout: RepositoryLayout
) -> Iterator[ProofRecord]:
    """Open the record of a root until the block ends.

    Args:
        folder: Where records are; made if it is not there. `None` keeps none.
        prefix: The root inside of its repository, `""` for its top.
        layout: Where passes write.
    """
    said = "\0".join((package_digest(), prefix, layout.output_root))
    key = hashlib.sha256(said.encode(errors="surrogateescape")).hexdigest()
    descriptor = None if folder is None else _open(folder, key)
    try:
        yield ProofRecord(key, descriptor)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _open(folder: Path, key: str) -> int | None:
    """Open a file that is ours alone, `None` where there can be none."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder / key, flags, OURS_ONLY)
    except OSError:
        return None
    found = os.fstat(descriptor)
    if stat.S_IMODE(found.st_mode) & ~OURS_ONLY or found.st_uid != os.geteuid():
        os.close(descriptor)
        return None
    return descriptor

"""The commit that adopts: state of a live control plane, which no pass could compute.

It names what it brings in a trailer, by a digest of the files. That is no signature: whoever may
push can write it. It says that this state came whole from an import, over nothing that a pass had
written.
"""

from collections.abc import Iterable, Sequence

from reconciler.audit.history.revisions import Commit, FileChange
from reconciler.manifests.admission import digest

ADOPTED = "Adopted-State"


def state_digest(files: Iterable[tuple[str, str]]) -> str:
    """Return by what adopted state is known: path and blob id of each of its files."""
    return digest(sorted(map(list, files)))


def adopts(commits: Iterable[Commit], edited: Sequence[FileChange]) -> bool:
    """Return whether one of some commits says that it adopts just these outputs.

    Args:
        commits: The one that changed them, or those that it merged.
        edited: Each change of an output.
    """
    if not edited or any(one.before is not None or one.after is None for one in edited):
        return False
    known = state_digest((one.path, one.after) for one in edited if one.after is not None)
    return any((ADOPTED, known) in one.trailers for one in commits)

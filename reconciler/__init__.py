"""A Git-native multi-cluster scheduler.

What it offers to programs; docs/library.md shows it at work, and everything else may change:

open_repository: opens the repository that a folder is in, as a FleetRepository.
read_folder: returns the World of a folder of manifests that needs no git.
reconcile: decides what a World should hold at a moment, as an Outcome; pure, the same each time.
FleetRepository: a repository to be asked: its world, passes, plans, reasons, proofs, commits.
World: everything that a pass looks at: what people wrote, and what the last pass wrote.
Outcome: everything that a pass decides: files to write or delete, moves, faults, the next moment.
Preview: what a change would move, and what a pass would do anyway.
Why: where an object is, and for each cluster which rule kept it in or out.
Proof: whether a commit of a pass is what that pass decides of its inputs.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from reconciler.version import __version__

if TYPE_CHECKING:
    from reconciler.audit.previews.preview import Preview
    from reconciler.audit.proof import Proof
    from reconciler.audit.reasons import Why
    from reconciler.core.changes import Outcome
    from reconciler.core.reconcile import reconcile
    from reconciler.library.fleet import FleetRepository, open_repository
    from reconciler.library.folder import read_folder
    from reconciler.model.world import World

__all__ = [
    "FleetRepository",
    "Outcome",
    "Preview",
    "Proof",
    "Why",
    "World",
    "__version__",
    "open_repository",
    "read_folder",
    "reconcile",
]
PLACES = {
    "FleetRepository": "library.fleet",
    "Outcome": "core.changes",
    "Preview": "audit.previews.preview",
    "Proof": "audit.proof",
    "Why": "audit.reasons",
    "World": "model.world",
    "open_repository": "library.fleet",
    "read_folder": "library.folder",
    "reconcile": "core.reconcile",
}
"""Where each of them is; imported when it is asked for, so that a command starts fast."""


def __getattr__(name: str) -> object:
    """Import what is asked for."""
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{PLACES[name]}"), name)

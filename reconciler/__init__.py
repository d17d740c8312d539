"""A Git-native multi-cluster scheduler.

The functional core is `reconciler.core.reconcile`; everything in `reconciler.shell` carries data
to it or from it. What this package offers to programs is in `__all__`; see docs/library.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from reconciler.version import __version__

if TYPE_CHECKING:
    from reconciler.audit.previews.preview import Preview
    from reconciler.audit.proofs.proof import Proof
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
    "Proof": "audit.proofs.proof",
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

"""Which placements are followed from one world to the next, and which outputs are theirs."""

from reconciler.dialects.followed_objects import Ownership
from reconciler.dialects.kubefleet.api.kinds import OWNED, PLACEMENTS
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.drift_repair import owner_of
from reconciler.model.fields import mapping
from reconciler.model.world import Manifest


def _is_there(manifest: Manifest) -> bool:
    """Return whether a placement is not being deleted."""
    return not mapping(manifest.body, "metadata").get("deletionTimestamp")


PLACEMENT_FILES = Ownership(
    kinds=frozenset((GROUP, kind) for kind in PLACEMENTS),
    owned=frozenset((GROUP, kind) for kind in OWNED),
    owner_of=owner_of,
    is_there=_is_there,
)

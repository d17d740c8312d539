"""On which clusters each policy and placement has put something, whichever API it is of."""

from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from reconciler.core.dialects import DIALECTS
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World


def clusters_by_policy(world: World) -> Mapping[ObjectKey, AbstractSet[str]]:
    """Return the clusters by policy or placement, as passes wrote them; one without any is absent.

    Those of a policy are the clusters of all that it has claimed.
    """
    found: dict[ObjectKey, set[str]] = defaultdict(set)
    for dialect in DIALECTS:
        view = dialect.view()
        for kind in sorted(dialect.placed):
            for one in world.outputs_of_kind(dialect.parts.get(kind, kind)):
                owner = view.outputs.policy_of(one.body) or view.outputs.owner_of(one.key, one.body)
                names = {name for name, _ in view.outputs.clusters_in(one.body)}
                if names:
                    found[one.key if owner is None else owner] |= names
    return found

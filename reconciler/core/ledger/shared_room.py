"""Whether what one object gets depends on what others get: on room that is protected."""

from reconciler.core.dialects import DIALECTS
from reconciler.core.ledger.ledger_file import LEDGER
from reconciler.dialects.contract import CapacityRules
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.settings import settings_in
from reconciler.model.world import World
from reconciler.schedule.capacity.settings import protects


def shares_room(world: World) -> bool:
    """Return whether room is protected, and any cluster has a limit or something reserved.

    A cluster that reports no capacity has none, such as a declared one.
    """
    if not protects(settings_in(world)):
        return False
    return bool(world.outputs_of_kind(LEDGER)) or any(
        _is_limited(rules, one.body)
        for dialect in DIALECTS
        if (rules := dialect.capacity()) is not None
        for one in world.of_kind(*dialect.cluster)
    )


def _is_limited(rules: CapacityRules, cluster: Body) -> bool:
    """Return whether a cluster has a limit; of one that cannot be read nobody knows."""
    try:
        return rules.reported(cluster) is not None
    except UserError:
        return True

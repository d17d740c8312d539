"""What of decisions may be where, and which files a pass has taken away from clusters by that."""

from collections.abc import Callable, Collection, Iterable
from functools import partial

from reconciler.delivery.owned_files import is_in, places
from reconciler.delivery.settings import Destination
from reconciler.dialects.object_boundary import Failed, FaultPlace, attempt
from reconciler.dialects.renderer import Affected, Reach, Renderer
from reconciler.model.identity import ObjectKey
from reconciler.model.versioned import differing_keys
from reconciler.model.world import World


def reach_of(renderer: Renderer, key: ObjectKey) -> Reach | None:
    """Return what of a decision may be where, `None` if a person made it unreadable."""
    found = attempt(partial(renderer.reach, key), lambda: FaultPlace(key.name, str(key)))
    return None if isinstance(found, Failed) else found


def explained_by(
    before: World,
    after: World,
    renderers: Iterable[tuple[Renderer, Renderer, Affected | None]],
    destinations: Collection[Destination],
) -> Callable[[str], bool]:
    """Return what tells whether a decision of a pass took a file away from a cluster.

    Args:
        before: As the pass found it.
        after: As it leaves it.
        renderers: Of both worlds, with the decisions that are others by what is a part of them.
        destinations: Where is delivered to.
    """
    changed = {
        *differing_keys(after.outputs, before.outputs),
        *differing_keys(after.inputs, before.inputs),
    }
    found: set[str] = set()
    for then, now, affected in renderers:
        for key in sorted(changed.union(() if affected is None else affected.own)):
            reach = reach_of(then, key) or {}
            left = reach.keys() - (reach_of(now, key) or {}).keys()
            found.update(places(key, reach, left, destinations))
    taken = frozenset(found)
    return lambda path: is_in(path, taken)

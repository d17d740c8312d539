"""What of decisions may be where, and which files a pass has taken away from clusters by that."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial

from reconciler.delivery.owned_files import is_in, places
from reconciler.delivery.settings import Destination
from reconciler.dialects.object_boundary import Failed, FaultPlace, attempt
from reconciler.dialects.renderer import UNKNOWN_OBJECTS, Affected, Reach, Rendered, Renderer
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.versioned import differing_keys
from reconciler.model.world import World


def reach_of(renderer: Renderer, key: ObjectKey) -> Reach | None:
    """Return what of a decision may be where, `None` if a person made it unreadable."""
    found = attempt(partial(renderer.reach, key), lambda: FaultPlace(key.name, str(key)))
    return None if isinstance(found, Failed) else found


def changed_by(
    before: World, after: World, affected: Mapping[str, Affected | None]
) -> dict[str, frozenset[ObjectKey]]:
    """Return by API what a pass changed, with the decisions that are others by a part of them.

    Args:
        before: As the pass found it.
        after: As it leaves it.
        affected: What each API says of both.
    """
    changed = _differing(before, after)
    return {
        name: changed.union(() if found is None else found.own) for name, found in affected.items()
    }


def explained_by(
    before: World,
    after: World,
    renderers: Iterable[tuple[Renderer, Renderer, Affected | None]],
    destinations: Collection[Destination],
) -> Callable[[str], bool]:
    """Return what tells whether a decision of a pass took a file away from a cluster.

    It did where it has left the cluster, or where it is known again what it has there.

    Args:
        before: As the pass found it.
        after: As it leaves it.
        renderers: Of both worlds, with the decisions that are others by what is a part of them.
        destinations: Where is delivered to.
    """
    found: set[str] = set()
    for key, _, reach, since in _moved(before, after, renderers):
        left = {
            one for one in reach if one not in since or _is_unknown(reach, one, unless=since[one])
        }
        found.update(places(key, reach, left, destinations))
    taken = frozenset(found)
    return lambda path: is_in(path, taken)


def taken_by_known(
    before: World,
    after: World,
    renderers: Iterable[tuple[Renderer, Renderer, Affected | None]],
    destinations: Collection[Destination],
) -> Callable[[str], bool]:
    """Return what tells whether a file was of a decision of which it is known what it has now.

    Single objects that a decision no longer has count as well. The arguments are those of
    `explained_by`.
    """
    found: set[str] = set()
    for key, then, reach, since in _moved(before, after, renderers):
        known = {one for one in reach if UNKNOWN_OBJECTS not in since.get(one, ())}
        found.update(places(key, reach, known - since.keys(), destinations))
        rendered = attempt(partial(then.render, key), lambda: FaultPlace("", ""))
        if isinstance(rendered, Rendered):
            for work in rendered.works:
                if work.cluster in known:
                    had = {work.cluster: tuple(work.manifests)}
                    found.update(places(key, had, had, destinations))
    taken = frozenset(found)
    return lambda path: is_in(path, taken)


def _moved(
    before: World,
    after: World,
    renderers: Iterable[tuple[Renderer, Renderer, Affected | None]],
) -> Iterator[tuple[ObjectKey, Renderer, Reach, Reach]]:
    """Yield the decisions that changed, what rendered them, and what they may have where."""
    changed = _differing(before, after)
    for then, now, affected in renderers:
        for key in sorted(changed.union(() if affected is None else affected.own)):
            reach = reach_of(then, key)
            if reach:
                yield key, then, reach, reach_of(now, key) or {}


def _differing(before: World, after: World) -> frozenset[ObjectKey]:
    """Return the keys of what two worlds have otherwise."""
    return frozenset(
        (
            *differing_keys(after.outputs, before.outputs),
            *differing_keys(after.inputs, before.inputs),
        )
    )


def _is_unknown(reach: Reach, cluster: ClusterName, *, unless: Collection[ObjectKey]) -> bool:
    """Return whether it was not known what is on a cluster, and is now."""
    return UNKNOWN_OBJECTS in reach[cluster] and UNKNOWN_OBJECTS not in unless

"""What a change of the inputs does to the manifests of each cluster: files before and after."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import unified_diff

from reconciler.core.dialects import DIALECTS
from reconciler.core.memo import Memo
from reconciler.core.next_world import next_world
from reconciler.core.reconcile import reconcile
from reconciler.dialects.renderer import Rendered, Renderer
from reconciler.manifests.secrets import without_secrets
from reconciler.manifests.text.emitter import encode
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.settings import settings_in
from reconciler.model.world import World

Texts = Mapping[tuple[ClusterName, ObjectKey], str]


@dataclass(frozen=True, slots=True, order=True)
class ManifestChange:
    """One object on one cluster: the lines of a unified diff, without their ends."""

    cluster: ClusterName
    key: ObjectKey
    lines: tuple[str, ...]


def manifest_changes(base: World, merged: World, now: datetime) -> list[ManifestChange]:
    """Return what passes at a moment make otherwise on clusters with a change, sorted.

    Values of Secrets are hidden, so a change of nothing else is not told.

    Args:
        base: The world without the change.
        merged: The world with it.
        now: Moment of both passes.
    """
    memo = Memo()
    before, after = (
        next_world(world, reconcile(world, now, memo=memo)) for world in (base, merged)
    )
    found: list[ManifestChange] = []
    for dialect in DIALECTS:
        renderers = dialect.renderers()
        sides = [renderers.of(world, settings_in(world)) for world in (before, after)]
        affected = renderers.affected(before, after)
        stays = settings_in(before) == settings_in(after)
        if affected is not None and not affected.questions and stays:
            owners = set(affected.own)
        else:
            owners = {key for side in sides for key in side.owners()}
        for owner in sorted(owners):
            found += _changes(owner, *sides)
    return sorted(found)


def _changes(owner: ObjectKey, before: Renderer, after: Renderer) -> Iterator[ManifestChange]:
    """Yield how the manifests of one decision differ."""
    then, now = before.render(owner), after.render(owner)
    old, new = _texts(then), _texts(now)
    stays = frozenset[ClusterName]()
    if now is not None:
        stays = now.kept.union(one.cluster for one in now.failed)
    for place in sorted(old.keys() | new.keys()):
        cluster, key = place
        if old.get(place) != new.get(place) and not (place not in new and cluster in stays):
            yield ManifestChange(cluster, key, tuple(_diff(place, old, new)))


def _texts(rendered: Rendered | None) -> Texts:
    """Return the manifests of a decision as text."""
    if rendered is None:
        return {}
    return {
        (work.cluster, key): encode(without_secrets(manifest))
        for work in rendered.works
        for key, manifest in work.manifests.items()
    }


def _diff(place: tuple[ClusterName, ObjectKey], old: Texts, new: Texts) -> Iterator[str]:
    """Yield the lines of a unified diff."""
    cluster, key = place
    then, now = (texts.get(place, "").splitlines() for texts in (old, new))
    before, after = (f"{cluster}: {key}" if place in texts else "/dev/null" for texts in (old, new))
    return unified_diff(then, now, before, after, lineterm="")

"""The texts of one object as the page shows them: as they are, or what a pass changed."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reconciler.audit.fleet.placed import decision_on, parts_of
from reconciler.audit.history.revisions import UnreadableRevision
from reconciler.audit.named_object import near, spelled
from reconciler.core.asked.own_outputs import own_outputs
from reconciler.core.dialects import PLACED
from reconciler.errors import UsageError
from reconciler.model.moments import format_moment
from reconciler.page.chosen_objects import called
from reconciler.page.links import Anchor
from reconciler.page.manifest_text import ManifestView, ShownText, shown_difference, shown_text

if TYPE_CHECKING:
    from reconciler.cli.page.views import PageViews
    from reconciler.model.body import Body
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World

PASSES = 5  # whose changes can be chosen


def manifest_view(views: "PageViews", key: "ObjectKey", at: str) -> ManifestView:
    """Return the view.

    Args:
        views: What is known of the commit.
        key: What a person wrote, or what is decided about it.
        at: Full hex id of the pass of which the change is shown, `""` for the present files.

    Raises:
        UsageError: There is no such object, or no such pass.
    """
    world = views.world
    decided = key if key[:2] in PLACED else decision_on(key)
    outputs = () if decided is None else parts_of(world, decided)
    own = world.outputs.get(decided or key)
    if key not in world.inputs and own is None and not outputs:
        raise UsageError(f"there is no {spelled(key)} at this commit{near(world, key)}")
    texts: list[ShownText] = []
    if at:
        texts = list(_changes(views, decided or key, at))
    else:
        documents = [world.inputs.get(key), world.outputs.get(key), own, *outputs]
        seen = {one.origin: one for one in documents if one is not None}
        texts = [
            shown_text(
                one.origin.path, one.body, is_here=not world.apart or one.key in world.inputs
            )
            for one in seen.values()
        ]
    told = decided is not None and decided in world.outputs
    return ManifestView(
        key=key,
        texts=texts,
        object=Anchor(called(key), views.links.object(key)) if told else None,
        passes=[*_passes(views, key, decided)] if decided is not None else [],
        chosen=at,
    )


def _passes(
    views: "PageViews", key: "ObjectKey", decided: "ObjectKey"
) -> Iterator[tuple[Anchor, str]]:
    """Yield the newest passes that moved the object, with when."""
    for step in views.passes.newest(PASSES):
        if any(one.key == decided for one in step.every):
            anchor = Anchor(step.subject, views.links.manifest(key, step.revision))
            yield anchor, format_moment(step.at)


def _changes(views: "PageViews", key: "ObjectKey", at: str) -> Iterator[ShownText]:
    """Yield what a pass changed in the outputs of an object, file by file."""
    revisions = views.revisions
    views.passes.check("at", at)
    commit = revisions.commit_at(at)
    only = own_outputs(key, revisions.layout.output_root)
    sides: list[dict[str, Body]] = []
    for revision in (commit.parent, commit.revision):
        world = None if revision is None else revisions.world_at(revision, only=only)
        if isinstance(world, UnreadableRevision):
            raise UsageError(world.reason)
        sides.append({} if world is None else dict(_outputs(world, key)))
    before, after = sides
    for path in sorted({*before, *after}):
        found = shown_difference(path, before.get(path), after.get(path))
        if found is not None:
            yield found


def _outputs(world: "World", key: "ObjectKey") -> "Iterator[tuple[str, Body]]":
    """Yield the outputs of an object by path."""
    own = world.outputs.get(key)
    for one in (*(() if own is None else (own,)), *parts_of(world, key)):
        yield one.origin.path, one.body

"""What a decision puts onto clusters, asked of the same functions as delivery asks."""

from collections.abc import Iterator
from dataclasses import dataclass

from reconciler.core.dialects import DIALECTS
from reconciler.delivery.refusals import without_refused
from reconciler.delivery.settings import decode_delivery
from reconciler.dialects.renderer import Rendered
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import settings_in
from reconciler.model.world import World


@dataclass(frozen=True, slots=True)
class RenderedDecision:
    """What a decision puts onto clusters, and the decision."""

    key: ObjectKey
    rendered: Rendered


def rendered_in(world: World, key: ObjectKey | None = None) -> Iterator[RenderedDecision]:
    """Yield what the decisions of a world put onto clusters, those of one object or all, sorted.

    Whether anything is delivered does not matter; what delivery would refuse is told as not
    rendered.
    """
    settings = settings_in(world)
    delivery = decode_delivery(settings)
    for dialect in DIALECTS:
        renderer = dialect.renderers().of(world, settings)
        for owner in sorted(renderer.owners() if key is None else (key,)):
            rendered = renderer.render(owner)
            if rendered is not None:
                allowed, _ = without_refused(rendered, delivery, world.known)
                yield RenderedDecision(owner, allowed)

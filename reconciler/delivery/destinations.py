"""Where delivery may go: to folders of its own, beside everything else."""

from collections.abc import Iterable, Sequence

from reconciler.delivery.settings import SECTION, Destination, decode_delivery
from reconciler.model.frozen import is_at_or_below
from reconciler.model.settings import CONFIGURATION_PATH, settings_in
from reconciler.model.world import Fault, World

MISPLACED = "delivery-path"


def roots_of(destinations: Iterable[Destination]) -> tuple[str, ...]:
    """Return the folders that are delivery's own, sorted."""
    return tuple(sorted({one.root for one in destinations}))


def folders_of_passes(world: World) -> tuple[str, ...]:
    """Return the folders of the branch of outputs that nothing but passes writes to."""
    found = decode_delivery(settings_in(world)).destinations
    return (world.output_root, *(one.root for one in found if one.root and not one.branch))


def misplaced(destinations: Sequence[Destination], ours: str) -> Fault | None:
    """Return what is wrong with the paths of delivery, `None` if nothing is.

    Each needs a folder that neither holds another one's nor stands in it, nor in `ours`, where
    passes write on that branch.
    """
    taken = [("the output root", ours)]
    for one in destinations:
        wrong = f"`{one.path}` must begin with a folder of its own" if not one.root else ""
        for name, root in taken:
            if one.root and (is_at_or_below(root, one.root) or is_at_or_below(one.root, root)):
                wrong = f"`{one.path}` and {name} ({root}) must not stand in one another"
        if wrong:
            return Fault(
                path=CONFIGURATION_PATH,
                line=0,
                column=0,
                field=f"/spec/{SECTION}/{one.transport}/path",
                rule=MISPLACED,
                message=wrong,
                expected="a folder that nothing else uses, such as delivery/{cluster}",
            )
        taken.append((f"the path of {one.transport}", one.root))
    return None

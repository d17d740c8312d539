"""Where delivery may go: to folders of its own, beside everything else."""

from collections.abc import Iterable, Sequence

from reconciler.delivery.settings import SECTION, Destination
from reconciler.model.frozen import is_at_or_below
from reconciler.model.settings import CONFIGURATION_PATH
from reconciler.model.world import Fault

MISPLACED = "delivery-path"


def roots_of(destinations: Iterable[Destination]) -> tuple[str, ...]:
    """Return the folders that are delivery's own, sorted."""
    return tuple(sorted({one.root for one in destinations}))


def misplaced(destinations: Sequence[Destination], output_root: str) -> Fault | None:
    """Return what is wrong with the paths of delivery, `None` if nothing is.

    Each needs a folder that neither holds another one's nor stands in it.
    """
    taken = [("the output root", output_root)]
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

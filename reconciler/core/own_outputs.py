"""Which outputs a pass over what one object reads may look at, told by their paths alone.

Of a commit of the past no others are read: every binding may have been written anew since.
"""

from reconciler.core.dialects import dialect_of
from reconciler.core.stated import shared_kinds
from reconciler.dialects.contract import OutputPlace
from reconciler.manifests.paths import ALONE, LONGEST_STEM, folder_of, is_escaped, output_path
from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass
from reconciler.rebalance.target import REBALANCER, TRIGGER


@dataclass(frozen=True, slots=True)
class OwnOutputs:
    """Chooses files below the output root by how their paths begin."""

    stems: tuple[str, ...]

    def __call__(self, path: str) -> bool:
        """Return whether a file is chosen; nothing of ours has a name that cannot be printed."""
        return path.startswith(self.stems) and not is_escaped(path)


def own_outputs(key: ObjectKey, root: str) -> OwnOutputs:
    """Return what chooses the outputs that one object reads, and those that all objects read.

    It may choose more than is read. Where no API decides about it, those that all read.

    Args:
        key: What decisions about the object bear.
        root: The output root.
    """
    dialect = dialect_of(key.group)
    statement = None if dialect is None else dialect.statement()
    places = () if statement is None else statement.places(key)
    shared = sorted({*shared_kinds(), REBALANCER, TRIGGER})
    return OwnOutputs(
        (
            *(output_path(root, one) for one in ALONE),
            *(f"{root}/{folder_of(*kind)}/" for kind in shared),
            *(_stem(place, root) for place in places),
        )
    )


def _stem(place: OutputPlace, root: str) -> str:
    """Return how the paths of outputs at a place begin."""
    namespace = f"{place.namespace}/" if place.namespace else ""
    return f"{root}/{folder_of(*place.kind)}/{namespace}{place.stem[:LONGEST_STEM]}"

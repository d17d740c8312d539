"""What one commit moved: told from the outputs that it changed, without computing a pass again."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reconciler.audit.fleet.placed import owner_of
from reconciler.audit.history.commit_events import Texts, changed_outputs
from reconciler.audit.history.revisions import FileChange
from reconciler.audit.previews.placement_moves import PlacementMove, moves_of
from reconciler.core.dialects import DIALECTS, PLACED, dialect_of
from reconciler.manifests.paths import folder_of
from reconciler.model.body import Body
from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.repository_layout import RepositoryLayout

IN_PARTS = frozenset(
    folder_of(*kind) for dialect in DIALECTS for pair in dialect.parts.items() for kind in pair
)
"""Where outputs stand that are told together: decisions that are written in parts, and these."""


@dataclass(frozen=True, slots=True)
class ObjectMoves:
    """The clusters of one object where its part is another one, ascending by name."""

    key: ObjectKey
    moves: tuple[PlacementMove, ...]


def moves_of_commit(
    changes: Sequence[FileChange], texts: Texts, layout: RepositoryLayout
) -> tuple[ObjectMoves, ...]:
    """Return what a commit moved, sorted by object.

    Args:
        changes: What it changed.
        texts: Every blob that `commit_events.needed` names.
        layout: Where the outputs are.
    """
    sides: dict[ObjectKey, tuple[dict[str, int], dict[str, int]]] = {}
    for key, before, after in changed_outputs(changes, texts, layout):
        owner = key if (key.group, key.kind) in PLACED else owner_of(key, after or before or {})
        dialect = dialect_of(key.group)
        if owner is None or dialect is None:
            continue
        then, later = sides.setdefault(owner, ({}, {}))
        if key == owner and (owner.group, owner.kind) in dialect.parts:
            continue  # its clusters stand in its parts
        then.update(_clusters(before, key))
        later.update(_clusters(after, key))
    return differences(
        {key: _placed(then) for key, (then, _) in sides.items()},
        {key: _placed(later) for key, (_, later) in sides.items()},
    )


def pieces_of(
    changes: Sequence[FileChange], layout: RepositoryLayout, size: int
) -> Iterator[Sequence[FileChange]]:
    """Yield what a commit changed in pieces whose moves are told one after the other.

    What one object's clusters stand in is in one piece: where an API has parts of decisions, all of
    these are.

    Args:
        changes: What it changed.
        layout: Where the outputs are.
        size: How many changes a piece has, but for those of parts.
    """
    root = f"{layout.output_root}/"
    parts: list[FileChange] = []
    own: list[FileChange] = []
    for change in changes:
        folder = change.path.removeprefix(root).partition("/")[0]
        (parts if folder in IN_PARTS else own).append(change)
    yield from (own[at : at + size] for at in range(0, len(own), size))
    if parts:
        yield parts


def differences(
    before: Mapping[ObjectKey, Placed], after: Mapping[ObjectKey, Placed]
) -> tuple[ObjectMoves, ...]:
    """Return what is elsewhere on two sides, sorted by object."""
    found = []
    for key in sorted(before.keys() | after.keys()):
        then, later = before.get(key, ()), after.get(key, ())
        moves = tuple(one for one in moves_of(then, later) if one.before != one.after)
        if moves:
            found.append(ObjectMoves(key, moves))
    return tuple(found)


def _clusters(body: Body | None, key: ObjectKey) -> Iterable[tuple[str, int]]:
    """Return the clusters that stand in an output, none of one that is not there."""
    dialect = dialect_of(key.group)
    return () if body is None or dialect is None else dialect.view().clusters_in(body)


def _placed(found: Mapping[str, int]) -> Placed:
    return tuple((ClusterName(name), found[name]) for name in sorted(found))

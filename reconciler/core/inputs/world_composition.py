"""The two trees, composed into a World: valid inputs, last good ones for the faulty, outputs."""

from collections.abc import Mapping

from reconciler.core.inputs.input_index import InputIndex
from reconciler.core.inputs.last_known_good import LastKnownGood
from reconciler.core.inputs.projected_clusters import with_projected
from reconciler.core.state import StateTree
from reconciler.model.body import Body
from reconciler.model.known_kinds import Kind
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.model.settings import CONFIGURATION
from reconciler.model.versioned import branched
from reconciler.model.world import Kinds, Projections, World


def compose(
    index: InputIndex,
    good: LastKnownGood,
    state: StateTree,
    *,
    revision: str,
    layout: RepositoryLayout,
    reported_at: str = "",
    delivered: Mapping[str, str] | None = None,
    obstacles: frozenset[str] = frozenset(),
    edited: Mapping[str, frozenset[Kind] | None] | None = None,
    last: World | None = None,
) -> World:
    """Put the last good documents in the place of faulty ones, and add the state tree.

    A faulty document never takes effect and never disturbs another one.

    Args:
        index: What the input tree holds.
        good: What stands in for what cannot be understood, and the faults of the input tree.
        state: What the files below the output root hold.
        revision: Full hex id of the input commit.
        layout: Where the outputs are.
        reported_at: Full hex id of the commit of another branch with the reports, `""` for none.
        delivered: Path to blob id of the files below the folders of delivery, `None` for none.
        obstacles: What may stand in the way of delivery.
        edited: The input files that differ from those of the last pass, `None` for none.
        last: The world before, from which the index of kinds is told.
    """
    earlier = good.manifests.items()
    inputs = branched(index.manifests, {key: one for key, one in earlier if not key.reporter})
    feedback = branched(index.reports, {key: one for key, one in earlier if key.reporter})
    world = World(
        revision=revision,
        known=index.known,
        inputs=inputs,
        feedback=feedback,
        outputs=state.manifests,
        present=state.present,
        delivered={} if delivered is None else delivered,
        obstacles=obstacles,
        frozen=state.frozen,
        inexact=state.inexact,
        blobs=branched(index.blobs, {entry.path: entry.blob for entry in good.held}),
        texts=index.texts,
        faults=tuple(sorted((*good.faults, *state.faults))),
        traces=(*index.traces, *state.traces),
        held=good.held,
        output_root=layout.output_root,
        reported_at=reported_at,
        apart=layout.apart,
        edited={} if edited is None else edited,
        kinds=Kinds() if last is None else last.kinds.next(),
        output_kinds=Kinds() if last is None else last.output_kinds.next(),
        projections=Projections() if last is None else last.projections,
    )
    return with_projected(world)


def configuration_of(index: InputIndex, good: LastKnownGood) -> Body | None:
    """Return the configuration in force, `None` if there is none; see `compose`."""
    for manifests in (good.manifests, index.manifests):
        for key, one in manifests.items():
            if (key.group, key.kind) == CONFIGURATION:
                return one.body
    return None

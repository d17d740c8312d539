"""A toy: what it answers about the files of a world."""

from collections.abc import Iterator

from reconciler.dialects.view import (
    ChangeAnswers,
    ClusterAnswers,
    ClusterReport,
    Draining,
    OutputAnswers,
    TreeNode,
    View,
    WorldAnswers,
    node_of,
    status_in,
)
from reconciler.manifests.columns import NONE, ColumnTable, Row, status_of, taints
from reconciler.model.body import Body
from reconciler.model.decision import NORMAL, ObjectEvent, OutputChange, UpstreamEvent
from reconciler.model.fields import bodies, mapping, strings, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World
from tests.toys.dialect.berth import on
from tests.toys.dialect.dialect import BERTH, SITE


def _names(output: Body) -> str:
    return ", ".join(name for name, _ in on(output)) or NONE


def _sites(row: Row) -> str:
    return _names(row.body)


def _problem(row: Row) -> str:
    return text(status_of(row), "problem") or NONE


COLUMNS: ColumnTable = {
    SITE: ((("TAINTS", taints),), ()),
    BERTH: ((("SITES", _sites),), (("PROBLEM", _problem),)),
}


def _tree(world: World, key: ObjectKey) -> TreeNode:
    status = status_in(world, key)
    facts = {"problem": text(status, "problem") or NONE}
    return node_of(key, facts, tuple(TreeNode(None, name) for name in strings(status, "sites")))


def _events(change: OutputChange) -> Iterator[ObjectEvent]:
    if on(change.before) != on(change.after):
        moved = f"from {_names(change.before)} to {_names(change.after)}"
        yield change.key, UpstreamEvent(NORMAL, "Moved", moved)


def _unreachable(site: Body, _moment: str) -> Body:
    spec = mapping(site, "spec")
    lost = {"key": "lost", "effect": "NoExecute"}
    return {**site, "spec": {**spec, "taints": [*bodies(spec, "taints"), lost]}}


VIEW = View(
    outputs=OutputAnswers(
        is_placed=lambda output: bool(on(output.body)),
        clusters_in=on,
    ),
    changes=ChangeAnswers(
        events=_events,
    ),
    clusters=ClusterAnswers(
        report_of=lambda _: ClusterReport(ready="Unknown", capacity=None),
        cordon={"key": "closed", "effect": "NoSchedule"},
        draining=Draining(
            taint={"key": "closed", "effect": "NoExecute"}, stays=lambda _world, _key, _cluster: ""
        ),
        taint_effects=("NoSchedule", "NoExecute"),
        unreachable=_unreachable,
    ),
    world=WorldAnswers(
        tree=_tree,
        columns=COLUMNS,
    ),
)

"""What placements and sets read, as questions, and which of these a round answers otherwise.

A placement chooses among the clusters of the sets that are bound in its namespace: it looks at the
clusters that have the label of such a set, or at all where a set asks for more than a label. Of a
score it looks at the reports on the clusters of all sets that are bound there. Where Balance counts
it looks at all decisions. Whatever upstream queues for an event is looked at. One that is asked
alone reads its own files, its placements, and the whole hub.
"""

from collections.abc import Collection, Iterable, Iterator

from reconciler.dialects.contract import Documents, OutputPlace, Statement
from reconciler.dialects.ocm.api.cluster import (
    EXCLUSIVE,
    SET_BINDINGS,
    SET_LABEL,
    SETS,
    Members,
    eligible_sets,
)
from reconciler.dialects.ocm.api.placement import (
    CLUSTER,
    CLUSTER_GROUP,
    PLACEMENT_LABEL,
    WORK_GROUP,
    Placement,
    decode_placement,
)
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    REPLICA_SET,
    WORK,
    ReplicaSet,
    SetRecord,
    template_id,
)
from reconciler.dialects.ocm.scheduler.plugins import BALANCE, prioritizers_of
from reconciler.dialects.ocm.scheduler.schedule import Hub
from reconciler.dialects.reads import (
    FLEET,
    Question,
    SeenCluster,
    about_cluster,
    changed,
    labelled,
    of_kind,
)
from reconciler.dialects.scores import SCORES
from reconciler.errors import Misconfigured, UserError
from reconciler.model.fields import at, mappings_of
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.world import Manifest
from reconciler.rebalance.surge import surge_in

DECISIONS: Question = ("all that is decided",)


def placement_reads(placement: Placement, hub: Hub) -> Iterator[Question]:
    """Yield what a placement that rests looked at; the clusters that it has are among these."""
    bindings = hub.bindings.get(placement.namespace, ())
    bound = {name for one in bindings for name in (one.name, one.cluster_set)}
    yield "bindings", placement.namespace
    yield from (("set", name) for name in bound)
    yield from _scopes(eligible_sets(placement, bound), hub)
    for scope in _scopes(bound, hub):
        yield from (("scores", name, scope) for name in _scores(placement))
    if _is_balanced(placement):
        yield DECISIONS


def _scopes(names: Iterable[str], hub: Hub) -> Iterator[Question]:
    """Yield questions to one of which each cluster of some sets belongs."""
    for cluster_set in (hub.sets[name] for name in names if name in hub.sets):
        if cluster_set.selector_type == EXCLUSIVE:
            yield "label", SET_LABEL, cluster_set.name
        elif cluster_set.selector is not None:
            labels = labelled(cluster_set.selector)
            yield from (FLEET,) if labels is None else labels


def _scores(placement: Placement) -> set[str]:
    """Return the names of the scores that a placement looks at, `""` for any."""
    scores = {""} if any(one.cel for one in placement.predicates) else set()
    for configuration in placement.configurations:
        if configuration.coordinate is not None and configuration.coordinate.add_on is not None:
            scores.add(configuration.coordinate.add_on.resource_name)
    return scores


def changed_hub(
    before: Members | None, now: Members, objects: Iterable[ObjectKey]
) -> Iterator[Question]:
    """Yield the questions whose answers differ between two hubs.

    Args:
        before: The clusters of the last round.
        now: The clusters.
        objects: What differs beside them.
    """
    if before is not now:
        yield from changed(_seen(before), _seen(now))
    for key in objects:
        if key[:2] == SETS:
            yield "set", key.name
        elif key[:2] == SET_BINDINGS:
            yield "bindings", key.namespace
        elif key[:2] == SCORES:
            scopes = [one for members in (before, now) for one in _about(key.namespace, members)]
            yield from (("scores", name, one) for one in scopes for name in ("", key.name))


def _about(name: str, members: Members | None) -> Iterator[Question]:
    """Yield the questions to which a cluster of a fleet belongs, none if it is not there."""
    position = None if members is None else members.fleet.position.get(ClusterName(name))
    if members is not None and position is not None:
        yield from about_cluster(name, members.views[position].cluster.labels)


def _seen(members: Members | None) -> dict[str, SeenCluster]:
    """Return the clusters of a fleet by name."""
    views = () if members is None else members.views
    return {one.cluster.name: SeenCluster(one, "", one.cluster.labels) for one in views}


def decided(key: ObjectKey) -> Question:
    """Return what a placement is decided to be."""
    return "placement", key


def reports(key: ObjectKey) -> Question:
    """Return what clusters report of an object."""
    return "reports", key._replace(reporter="")


def set_reads(
    key: ObjectKey, wanted: ReplicaSet, record: SetRecord, placements: Collection[ObjectKey]
) -> Iterator[Question]:
    """Yield what a set of ManifestWorks that rests looked at.

    Args:
        key: Of the set.
        wanted: The set.
        record: Its works.
        placements: Those that it refers to.
    """
    yield from map(decided, placements)
    yield from map(reports, record.sources(template_id(wanted.template)))
    for work in record.works:
        yield reports(ObjectKey(WORK_GROUP, WORK, work.cluster, work.name(key)))


PLACEMENT = (CLUSTER_GROUP, "Placement")
DECISION = (CLUSTER_GROUP, "PlacementDecision")
SET = (WORK_GROUP, REPLICA_SET)
STEM = "-decision-"


def placements_of(replica_set: Manifest, *_: object) -> Iterator[ObjectKey]:
    """Yield the placements that a set refers to."""
    for reference in mappings_of(at(replica_set.body, "spec").get("placementRefs")):
        yield ObjectKey(*PLACEMENT, replica_set.key.namespace, str(reference.get("name", "")))


def _owner(decision: Manifest) -> str:
    return str(at(decision.body, "metadata", "labels").get(PLACEMENT_LABEL, ""))


def _owners(decision: Manifest) -> Iterator[ObjectKey]:
    """Yield the placement that a decision is of by its label, and the one by its name."""
    key = decision.key
    for name in {_owner(decision), key.name.rpartition(STEM)[0]}:
        yield ObjectKey(*PLACEMENT, key.namespace, name)


def _counted(placement: Manifest, documents: Documents) -> Iterator[Question]:
    """Yield all placements where one counts what others have."""
    is_written = documents.world.inputs.get(placement.key) is placement
    if is_written and _counts_others(placement):
        yield of_kind(PLACEMENT)


def _counts_others(manifest: Manifest) -> bool:
    """Return whether a placement that is written counts the decisions of others."""
    try:
        return _is_balanced(decode_placement(manifest.body))
    except UserError:
        return True


def _is_balanced(placement: Placement) -> bool:
    """Return whether the decisions of other placements count; where it cannot be told, they do."""
    try:
        return any(item.name == BALANCE for item in prioritizers_of(placement))
    except Misconfigured:
        return True


def _others(key: ObjectKey, documents: Documents) -> str:
    """Return why a placement or a set depends on others, `""` if it does not."""
    inputs, placements = documents.world.inputs, [key]
    if key[:2] == SET:
        manifest = inputs.get(key)
        placements = [] if manifest is None else [*placements_of(manifest)]
    for placement in placements:
        manifest, output = inputs.get(placement), documents.world.outputs.get(placement)
        if output is not None and surge_in(output.body) is not None:
            return "its sets say whether what a step started is ready"
        if manifest is not None and _counts_others(manifest):
            return "its prioritizer Balance counts the decisions of all placements"
        for decision in sorted(documents.outputs(placement)):
            if _owner(documents.world.outputs[decision]) != placement.name:
                return f"{decision} bears the name of its decisions, and is of another placement"
            if decision.name.rpartition(STEM)[0] != placement.name:
                return f"{decision} is of it, and bears the name of another placement's decisions"
    return ""


def _places(key: ObjectKey) -> Iterator[OutputPlace]:
    """Yield the places of its own file and decisions; of a set, of all in its namespace."""
    stem = key.name if key[:2] == PLACEMENT else ""
    yield OutputPlace(key[:2], key.namespace, key.name)
    yield OutputPlace(PLACEMENT, key.namespace, stem)
    yield OutputPlace(DECISION, key.namespace, f"{stem}{STEM}" if stem else "")


HUB: frozenset[Kind] = frozenset({CLUSTER, SETS, SET_BINDINGS, SCORES})
STATEMENT = Statement(
    decided=frozenset({PLACEMENT, SET}),
    shared=HUB,
    consulted=HUB,
    owners={DECISION: _owners},
    leads={SET: placements_of, PLACEMENT: _counted},
    others=_others,
    places=_places,
)

"""What Open Cluster Management answers about the files of a world, in one place.

The answers of the dialect are listed in one table. Answers that are short have their code here: the
columns of clusters, placements and decisions; events of decisions made and changed, and of what is
not as a placement asks; the tree below a placement or a set; what sets carry, and what they ask not
to happen to objects on clusters, as it is written. A ManagedCluster is emptied by a taint with
NoSelect.
"""

from collections.abc import Iterator

from reconciler.dialects.cluster_steps import step_events, step_warnings
from reconciler.dialects.ocm.api.admission import TEMPLATE
from reconciler.dialects.ocm.api.cluster import AVAILABLE, SET_LABEL, taints_of
from reconciler.dialects.ocm.api.placement import (
    CLUSTER,
    CLUSTER_GROUP,
    GROUP_NAME_LABEL,
    PLACEMENT_LABEL,
    SCORING,
    WORK_GROUP,
    decode_decision,
    decode_placement,
    decode_status,
)
from reconciler.dialects.ocm.manifestworkreplicaset.renderer import asked_by_template
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    REPLICA_SET,
    WORK,
    decode_record,
    standing_set,
)
from reconciler.dialects.ocm.view.placed import (
    CORDON,
    SET,
    TAINT_EFFECTS,
    carried,
    carriers,
    chosen,
    clusters_in,
    is_placed,
    owner_of,
    report_of,
    unreachable,
)
from reconciler.dialects.ocm.view.references import dangling_in_ocm
from reconciler.dialects.renderer import Instructed
from reconciler.dialects.view import (
    DRAINED,
    ChangeAnswers,
    ClusterAnswers,
    Draining,
    OutputAnswers,
    TreeNode,
    View,
    WorldAnswers,
    WrittenAnswers,
    condition_facts,
    node_of,
    status_in,
    tolerated_for_ever,
)
from reconciler.errors import UserError
from reconciler.manifests.columns import (
    FILE,
    NONE,
    ColumnTable,
    Row,
    age,
    condition,
    if_reported,
    label,
    printed,
    spec_of,
    status_of,
    taints,
)
from reconciler.manifests.references import Brought, Known
from reconciler.model.body import Body
from reconciler.model.decision import (
    NORMAL,
    WARNING,
    ObjectEvent,
    OutputChange,
    UpstreamEvent,
    condition_of,
    said,
)
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.late import late
from reconciler.model.world import Manifest, World
from reconciler.rebalance.surge import given_back

TAINT: Body = {"key": DRAINED, "effect": "NoSelect"}
"""Source: ours; upstream has no tool that drains, but the effect by which decisions end."""


def stays(world: World, key: ObjectKey, _: ClusterName) -> str:
    """Return why a placement keeps its decision for a drained cluster.

    What a ManifestWorkReplicaSet puts there goes as its placements say.
    """
    written = world.inputs.get(key)
    if written is None or key.kind != "Placement":
        return ""
    try:
        return tolerated_for_ever(decode_placement(written.body).tolerations, TAINT)
    except UserError:
        return "its placement cannot be read"


DRAINING = Draining(taint=TAINT, stays=stays)


def brought_by_sets(referable: Known) -> Iterator[Brought]:
    """Yield the objects in the templates of sets, by the names that they have there."""
    for manifest in referable.of_kind(*SET):
        for key, position in carried(manifest, referable.world.known).items():
            yield Brought(manifest.key, f"{TEMPLATE}/workload/manifests/{position}", key)


def _rolled_out_by_sets(referable: Known) -> Iterator[tuple[ObjectKey, ObjectKey]]:
    """Yield the sets that have a rollout strategy of their own."""
    for manifest in referable.of_kind(*SET):
        if standing_set(manifest).rolls_out:
            yield manifest.key, manifest.key


def _selected(row: Row) -> str:
    wanted = spec_of(row).get("numberOfClusters")
    selected = str(decode_status(row.body).selected)
    return f"{selected}/{wanted}" if isinstance(wanted, int) else selected


def _scores(row: Row) -> str:
    scores = bodies(status_of(row), "scores")
    return ", ".join(f"{text(one, 'name')}={number(one, 'value')}" for one in scores) or NONE


def _decided(row: Row) -> str:
    return ", ".join(decode_decision(row.body).clusters) or NONE


def _available(row: Row) -> str:
    summary = mapping(status_of(row), "summary")
    return f"{number(summary, 'available')}/{number(summary, 'total')}"


COLUMNS: ColumnTable = {
    CLUSTER: (
        (
            ("HUB ACCEPTED", printed(".spec.hubAcceptsClient")),
            ("MANAGED CLUSTER URLS", printed(".spec.managedClusterClientConfigs[*].url")),
            ("JOINED", if_reported(condition("ManagedClusterJoined"))),
            ("AVAILABLE", if_reported(condition(AVAILABLE))),
            ("TAINTS", taints),
            ("AGE", age),
        ),
        (("SET", label(SET_LABEL)), FILE),
    ),
    (CLUSTER_GROUP, "ManagedClusterSet"): (
        (("EMPTY", condition("ClusterSetEmpty")), ("AGE", age)),
        (("SELECTOR", printed(".spec.clusterSelector.selectorType")), FILE),
    ),
    (CLUSTER_GROUP, "ManagedClusterSetBinding"): ((("SET", printed(".spec.clusterSet")),), (FILE,)),
    (CLUSTER_GROUP, "AddOnPlacementScore"): (
        (("SCORES", _scores), ("VALID UNTIL", printed(".status.validUntil"))),
        (FILE,),
    ),
    (CLUSTER_GROUP, "Placement"): (
        (
            ("SUCCEEDED", condition("PlacementSatisfied")),
            ("REASON", condition("PlacementSatisfied", "reason")),
            ("SELECTEDCLUSTERS", _selected),
            ("AGE", age),
        ),
        (
            ("MESSAGE", condition("PlacementSatisfied", "message")),
            ("MISCONFIGURED", condition("PlacementMisconfigured", "message")),
        ),
    ),
    (WORK_GROUP, REPLICA_SET): (
        (
            ("PLACEMENT", condition("PlacementVerified", "reason")),
            ("FOUND", condition("PlacementVerified")),
            ("MANIFESTWORKS", condition("ManifestworkApplied", "reason")),
            ("APPLIED", condition("ManifestworkApplied")),
        ),
        (
            ("ROLLED OUT", condition("PlacementRolledOut")),
            ("AVAILABLE", _available),
            ("MESSAGE", condition("ManifestworkApplied", "message")),
        ),
    ),
    (CLUSTER_GROUP, "PlacementDecision"): (
        (("PLACEMENT", label(PLACEMENT_LABEL)), ("CLUSTERS", _decided), ("AGE", age)),
        (FILE,),
    ),
}
"""By kind."""


CONTROLLER = "placementController"
"""Source: ocm@00f84c3 pkg/placement/controllers/manager.go `NewRecorder`."""


def events_of(change: OutputChange) -> Iterator[ObjectEvent]:
    """Yield what a change of a placement or a decision was."""
    if change.key.kind == "Placement":
        yield from _placement(change)
    elif change.key.kind == "PlacementDecision":
        yield from _decision_event(change.key, change.before, change.after)


def _decision_event(key: ObjectKey, before: Body, after: Body) -> Iterator[ObjectEvent]:
    """Return the event of decisions that were made or changed.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `createOrUpdatePlacementDecision`. Its ScoreUpdate is not told: why has the scores.
    """
    name = text(mapping(mapping(after, "metadata"), "labels"), PLACEMENT_LABEL)
    placement = ObjectKey(CLUSTER_GROUP, "Placement", key.namespace, name)
    where = f"with placement {name} in namespace {key.namespace}"
    if not before:
        message = f"Decision {key.name} is created {where}"
        yield placement, UpstreamEvent(NORMAL, "DecisionCreate", message, CONTROLLER)
    was, now = decode_decision(before), decode_decision(after)
    gone = dict.fromkeys(sorted(set(was.clusters) - set(now.listed)), 1)
    if gone and not set(was.leaving).isdisjoint(now.clusters):
        yield placement, UpstreamEvent(WARNING, "MoveGivenBack", given_back(gone))
    if was.clusters != now.clusters:
        message = f"Decision {key.name} is updated {where}"
        yield placement, UpstreamEvent(NORMAL, "DecisionUpdate", message, CONTROLLER)


def _placement(change: OutputChange) -> Iterator[ObjectEvent]:
    """Return what is not as a placement asks, which upstream says in conditions only; and steps."""
    key, before, after = change.key, change.before, change.after
    yield from step_events(change)
    for kind, bad in (("PlacementMisconfigured", "True"), ("PlacementSatisfied", "False")):
        condition = condition_of(after, kind)
        if condition.get("status") == bad and said(before, kind) != said(after, kind):
            message = text(condition, "message")
            yield key, UpstreamEvent(WARNING, text(condition, "reason"), message, CONTROLLER)


def tree_of(world: World, key: ObjectKey) -> TreeNode:
    """Return the decisions of a placement, or the works of a set, with their clusters."""
    if key.kind == REPLICA_SET:
        return _set(world, key)
    facts = condition_facts(status_in(world, key), good={"PlacementMisconfigured": "False"})
    children = tuple(
        _decision_node(manifest)
        for found, manifest in sorted(world.outputs.items())
        if owner_of(found, manifest.body) == key
    )
    return node_of(key, facts, children)


def _set(world: World, key: ObjectKey) -> TreeNode:
    """Return the ManifestWorks of a set, each with its cluster."""
    output = world.outputs.get(key)
    record = decode_record(None if output is None else output.body)
    children = tuple(
        node_of(
            ObjectKey(key.group, WORK, one.cluster, one.name(key)),
            {"placement": one.placement, "template": one.template},
            (TreeNode(None, one.cluster),),
        )
        for one in record.works
    )
    return node_of(key, condition_facts(status_in(world, key), good={}), children)


def _decision_node(manifest: Manifest) -> TreeNode:
    """Return a PlacementDecision with its clusters."""
    labels = mapping(mapping(manifest.body, "metadata"), "labels")
    group = text(labels, GROUP_NAME_LABEL)
    facts = {"group": group} if group else {}
    decision = decode_decision(manifest.body)
    clusters = [TreeNode(None, name) for name in decision.clusters]
    facts_of = {"leaving": "until what replaces it is ready"}
    clusters += [TreeNode(None, name, facts=facts_of) for name in decision.leaving]
    return node_of(manifest.key, facts, tuple(clusters))


EVERY_CLUSTER = "it has every cluster that fits, so none could replace another"


def unmakeable(manifest: Manifest) -> str:
    """Return why a placement, as it is written, cannot be made before it breaks, `""` if it may."""
    if manifest.key[:2] != (CLUSTER_GROUP, "Placement"):
        return ""
    every = mapping(manifest.body, "spec").get("numberOfClusters") is None
    return EVERY_CLUSTER if every else ""


def instructed_by_sets(referable: Known) -> Iterator[Instructed]:
    """Yield what the templates of sets ask."""
    for manifest in referable.of_kind(WORK_GROUP, REPLICA_SET):
        template = mapping(mapping(manifest.body, "spec"), "manifestWorkTemplate")
        for pointer, instruction in asked_by_template(template):
            yield Instructed(manifest.key, f"{TEMPLATE}{pointer}", instruction)


VIEW = View(
    outputs=OutputAnswers(
        is_placed=is_placed,
        owner_of=owner_of,
        clusters_in=clusters_in,
        problem_of=late("reconciler.dialects.ocm.view.record", "known_problem"),
        may_wait=lambda body: text(body, "kind") == REPLICA_SET,  # a placement has no copies
    ),
    changes=ChangeAnswers(
        events=events_of,
        is_edited=late("reconciler.dialects.ocm.placement_files", "is_edited"),
    ),
    clusters=ClusterAnswers(
        report_of=report_of,
        taints_of=taints_of,
        cordon=CORDON,
        draining=DRAINING,
        taint_effects=TAINT_EFFECTS,
        scoring=SCORING,
        unreachable=unreachable,
    ),
    world=WorldAnswers(
        tree=tree_of,
        chosen=chosen,
        carriers=carriers,
        copies=late("reconciler.dialects.ocm.view.copies", "copies_in"),
        assumed={
            (WORK_GROUP, REPLICA_SET): late("reconciler.dialects.ocm.view.copies", "assumed_sets")
        },
        assumed_beside=frozenset({(WORK_GROUP, REPLICA_SET)}),
        columns=COLUMNS,
    ),
    written=WrittenAnswers(
        references=dangling_in_ocm,
        brought=brought_by_sets,
        rolled_out=_rolled_out_by_sets,
        instructed=instructed_by_sets,
        unmakeable=unmakeable,
        warnings=lambda effects: step_warnings(effects, {(CLUSTER_GROUP, "Placement")}),
    ),
)

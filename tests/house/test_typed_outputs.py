"""What passes write is read and written as values: their fields are spelled by codecs alone.

A kind of ours is decoded and encoded in the `api` room of its API. Elsewhere no field of it stands
as text: not in a subscript, not in the arguments of any reader, not in a table or a path.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest

from reconciler.model.records import replace
from tests.house.sources import tree_of, trees_with


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """The kinds of one API that passes write.

    Attributes:
        room: Where the API is at home.
        codecs: The files and folders that may spell its fields.
        fields: Names that nothing else has: they stand nowhere else at all.
        words: Names that other things have, too: they stand nowhere else in its room, and nowhere
            else is a field of such a name read.
        others: File and word to what it is a field of instead, which people or agents write.
    """

    room: str
    codecs: tuple[str, ...]
    fields: frozenset[str]
    words: frozenset[str] = frozenset()
    others: Mapping[tuple[str, str], str] = field(default_factory=dict)


KARMADA = Owned(
    room="dialects/karmada/",
    codecs=("dialects/karmada/api/",),
    fields=frozenset(
        (
            "aggregatedStatus",
            "appliedMessage",
            "clusterName",
            "clustersBeforeFailover",
            "conflictResolution",
            "dispatchingOnClusters",
            "fromCluster",
            "gracefulEvictionTasks",
            "gracePeriodSeconds",
            "lastScheduledTime",
            "preserveResourcesOnDeletion",
            "preservedLabelState",
            "propagateDeps",
            "purgeMode",
            "replicaRequirements",
            "requiredBy",
            "rescheduleTriggeredAt",
            "schedulePriority",
            "schedulerName",
            "schedulerObservedAffinityName",
            "schedulerObservedGeneration",
            "schedulerObservingAffinityName",
            "suppressDeletion",
        )
    ),
    words=frozenset(
        (
            "applied",
            "clusters",
            "components",
            "failover",
            "health",
            "placement",
            "producer",
            "replicas",
            "resource",
            "suspension",
        )
    ),
    others={
        ("cli/demo.py", "replicas"): "a workload",
        ("core/freeze.py", "failover"): "the configuration",
        ("core/safety.py", "replicas"): "the record of a pass",
        ("dialects/importer.py", "replicas"): "a workload, or a Deployment",
        ("model/health.py", "replicas"): "a workload",
        ("multicluster/placement_decision.py", "replicas"): "the configuration",
        ("multicluster/placement_decision.py", "schedulerName"): "the neutral kind",
        ("dialects/karmada/binding/works.py", "replicas"): "a workload",
        ("dialects/karmada/binding/renderer.py", "replicas"): "a workload",
        ("dialects/karmada/binding/replicas.py", "replicas"): "a workload",
        ("dialects/karmada/view/references.py", "replicas"): "a workload",
        ("dialects/karmada/hub_import.py", "health"): "a Work",
        ("dialects/karmada/hub_import.py", "resource"): "a Work",
        ("schedule/capacity.py", "replicas"): "a workload",
        ("dialects/karmada/view/tree.py", "applied"): "what is shown",
        ("dialects/karmada/view/tree.py", "health"): "what is shown",
        ("shell/observation/kube_access.py", "clusters"): "a kubeconfig",
        ("staging/staged_delivery.py", "clusters"): "a staged delivery",
        ("shell/observation/kube_api.py", "resource"): "discovery",
    },
)
KUBEFLEET = Owned(
    room="dialects/kubefleet/",
    codecs=("dialects/kubefleet/api/",),
    fields=frozenset(
        (
            "affinityScore",
            "clusterDecision",
            "clusterScore",
            "diffedPlacements",
            "driftedPlacements",
            "failedPlacements",
            "observedCRPGeneration",
            "observedResourceIndex",
            "placementStatuses",
            "policyHash",
            "priorityScore",
            "resourceSnapshotName",
            "schedulingPolicySnapshotName",
            "selectedResources",
            "targetCluster",
            "targetClusters",
        )
    ),
    words=frozenset(
        (
            "applyStrategy",
            "blob",
            "clusterName",
            "document",
            "hash",
            "pointer",
            "policy",
            "selected",
            "state",
        )
    ),
    others={
        ("core/record.py", "blob"): "the record of a pass",
        ("dialects/kubefleet/eviction.py", "clusterName"): "an eviction",
        ("dialects/kubefleet/hub_import.py", "applyStrategy"): "a Work, or a placement",
        ("dialects/kubefleet/snapshots/overrides.py", "policy"): "an override",
        ("dialects/kubefleet/view/answers.py", "clusterName"): "an eviction",
        ("dialects/kubefleet/view/answers.py", "policy"): "a placement",
        ("dialects/kubefleet/view/references.py", "policy"): "a placement",
        ("dialects/kubefleet/view/tree.py", "state"): "what is shown",
        ("dialects/kubefleet/rollout/works.py", "applyStrategy"): "a Work",
        ("rebalance/admission.py", "policy"): "a rebalancer",
        ("rebalance/rebalancer_files.py", "policy"): "a rebalancer",
        ("rebalance/rebalancer_files.py", "state"): "a rebalancer",
        ("rebalance/view.py", "policy"): "a rebalancer",
        ("shell/git/checkout/moves.py", "blob"): "what git prints",
        ("staging/staged_delivery.py", "state"): "a staged delivery",
        ("shell/git/objects.py", "blob"): "what git prints",
        ("shell/reports/metrics.py", "state"): "a label of a series",
    },
)
REBALANCE = Owned(
    room="rebalance/",
    codecs=("rebalance/rebalancer_files.py", "rebalance/schedule_trigger.py"),
    fields=frozenset(
        (
            "failReason",
            "failedResourceList",
            "finishTime",
            "lastBatchTime",
            "lastRunTime",
            "lastScheduleTime",
            "movedReplicas",
            "observedWorkloads",
            "remainingReplicas",
            "waitsFor",
        )
    ),
    words=frozenset(("note", "phase", "progress", "result")),
    others={
        ("audit/fleet/copy_counts.py", "waitsFor"): "what is shown",
        ("core/ledger.py", "phase"): "a Pod",
        ("model/health.py", "phase"): "a workload",
        ("shell/reports/metrics.py", "result"): "a label of a series",
    },
)
OCM = Owned(
    room="dialects/ocm/",
    codecs=("dialects/ocm/api/",),
    fields=frozenset(
        (
            "availableDecisionGroups",
            "clusterCount",
            "decisionGroupIndex",
            "decisionGroupName",
            "desiredTotal",
            "lastScoreUpdateTime",
            "numberOfSelectedClusters",
            "placementSummary",
        )
    ),
    words=frozenset(("clusterName", "decisionGroups", "decisions")),
    others={
        ("multicluster/placement_decision.py", "decisions"): "the configuration, the neutral kind"
    },
)
APIS = {"karmada": KARMADA, "kubefleet": KUBEFLEET, "ocm": OCM, "rebalance": REBALANCE}

PATH = re.compile(r"[\w.*\[\]]+")
READERS = frozenset(("get", "pop", "setdefault"))
"""Methods whose first argument is a field; of any function it is a later one."""


def spelled(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Each word of each text of a file, with its line.

    Of a path, each step is a word. Documentation is passed over, as are named arguments, and JSON
    pointers, by which a person is told where to look.
    """
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    prose |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield from ((word, node.lineno) for word in words_of(node.value))


def words_of(text: str) -> list[str]:
    """The steps of a path; a text that is none is one word."""
    if text.startswith("/"):
        return []
    return re.split(r"[.\[\]]+", text) if PATH.fullmatch(text) else [text]


def read(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Each field that is read in a file: by subscript, by method, by any function, or by `in`."""
    for node in ast.walk(tree):
        found: list[ast.expr] = []
        match node:
            case ast.Subscript(slice=index, ctx=ast.Load()):
                found = [index]
            case ast.Call(func=ast.Attribute(attr=method), args=arguments) if method in READERS:
                found = arguments[:1]
            case ast.Call(args=arguments):
                found = arguments[1:]
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()]):
                found = [left]
            case _:
                pass
        for item in found:
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                yield from ((word, item.lineno) for word in words_of(item.value))


def found_in(source: str, tree: ast.Module, owned: Owned) -> list[str]:
    """The fields of an API that a file spells though it is no codec, each with its line."""
    if source.startswith(owned.codecs):
        return []
    own = source.startswith(owned.room)
    strange = source.startswith("dialects/") and not own and source.count("/") > 1
    if strange:  # another API, in which the word is another one
        return []
    wanted = [(word, line) for word, line in spelled(tree) if word in owned.fields]
    told = spelled(tree) if own else read(tree)
    wanted += [(word, line) for word, line in told if word in owned.words]
    return sorted(
        {f"{line}: {word}" for word, line in wanted if (source, word) not in owned.others}
    )


@pytest.mark.parametrize("name", APIS)
def test_only_codecs_spell_the_fields_of_what_is_written(name: str) -> None:
    """Everything else reads and makes values."""
    owned = APIS[name]
    words = "|".join(owned.fields | owned.words)
    spelling = rf"[\"'][\w.*\[\]]*\b(?:{words})\b"  # most files need no tree
    found = {source: found_in(source, tree, owned) for source, tree in trees_with(spelling)}

    assert {} == {source: told for source, told in found.items() if told}


def test_every_exception_is_in_use() -> None:
    """A word that is another thing's is in that file."""
    found = [
        (name, source, word)
        for name, owned in APIS.items()
        for source, word in owned.others
        for told in found_in(source, tree_of(source), replace(owned, others={}))
        if told.endswith(f": {word}")
    ]
    listed = {(name, *entry) for name, owned in APIS.items() for entry in owned.others}

    assert listed == set(found)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('body["spec"]["clusters"]', id="subscript"),
        pytest.param('spec["clusters"] = []', id="write"),
        pytest.param('spec.get("gracefulEvictionTasks")', id="get"),
        pytest.param('spec.pop("clusters", None)', id="pop"),
        pytest.param('bodies(mapping(body, "spec"), "clusters")', id="reader"),
        pytest.param('fields.at(body, "spec", "clusters")', id="path-of-arguments"),
        pytest.param('_local(body, "placement")', id="wrapper-of-its-own"),
        pytest.param('"requiredBy" in spec', id="in"),
        pytest.param('{"clusters": []}', id="mapping"),
        pytest.param('ORDER = ("resource", "clusters")', id="table"),
        pytest.param('FIELD = "rescheduleTriggeredAt"', id="constant"),
        pytest.param('printed(".status.schedulerObservingAffinityName")', id="path"),
    ],
)
def test_a_spelled_field_would_be_noticed(text: str) -> None:
    """In whatever form it is read or written in a room of the API."""
    assert found_in("dialects/karmada/view/new.py", ast.parse(text), KARMADA)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('body["spec"]["clusters"]', id="subscript"),
        pytest.param('bodies(spec, "clusters")', id="reader"),
        pytest.param('printed(".status.aggregatedStatus")', id="path"),
    ],
)
def test_a_field_would_be_noticed_outside_of_every_api(text: str) -> None:
    """Rooms that know no API ask its view."""
    assert found_in("core/new.py", ast.parse(text), KARMADA)


def test_what_names_something_else_is_no_field() -> None:
    """A named argument, a pointer for people, prose."""
    text = 'f(folder="clusters")\nwhere = "/spec/placement/clusters"\n"""The `clusters`."""'

    assert [] == found_in("dialects/karmada/view/new.py", ast.parse(text), KARMADA)

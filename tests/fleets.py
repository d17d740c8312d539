"""Small worlds of KubeFleet for the laws: clusters that come and go, placements of every type."""

from collections.abc import Mapping

from hypothesis import strategies as st

from reconciler.dialects.kubefleet.api.policy import PREFERRED
from tests.builders import NOW, Body, after, metadata, text_of
from tests.dialects.kubefleet.fleet import (
    GROUP,
    budget,
    eviction,
    member,
    namespaced_placement,
    placement,
)

MEMBERS = ("a", "b", "c", "d")
PLACEMENTS = ("web", "api")
TARGETS = tuple(
    {"apiVersion": f"{GROUP}/v1beta1", "kind": "ClusterResourcePlacement", "name": name}
    for name in (*PLACEMENTS, "nowhere")
)

labels = st.fixed_dictionaries(
    {}, optional={"env": st.sampled_from(("prod", "dev")), "zone": st.sampled_from(("x", "y"))}
)
taints = st.sampled_from(
    ([], [], [{"key": "old", "effect": "NoSchedule"}], [{"key": "team", "effect": "NoSchedule"}])
)


def _agent(healthy: str, joined: str, since: str, cpu: str) -> Body:
    """A status as the member agent reports it."""
    conditions = [
        {"type": kind, "status": status, "lastTransitionTime": since, "reason": "R", "message": ""}
        for kind, status in (("Joined", joined), ("Healthy", healthy))
    ]
    entry = {"type": "MemberAgent", "conditions": conditions, "lastReceivedHeartbeat": since}
    return {"agentStatus": [entry], "resourceUsage": {"available": {"cpu": cpu}}}


statuses = st.none() | st.builds(
    _agent,
    st.sampled_from(("True", "True", "False", "Unknown")),
    st.sampled_from(("True", "True", "False")),
    st.sampled_from((text_of(NOW), text_of(after(-250)))),
    st.sampled_from(("1", "2500m", "4")),
)


def members(name: str) -> st.SearchStrategy[Body]:
    """A cluster of this name."""
    return st.builds(
        member,
        st.just(name),
        labels=labels,
        taints=taints,
        status=statuses,
        leaving=st.sampled_from((False, False, False, True)),
    )


CPU = "resources.kubernetes-fleet.io/available-cpu"
required = st.sampled_from(
    (
        {"labelSelector": {"matchLabels": {"env": "prod"}}},
        {"labelSelector": {"matchExpressions": [{"key": "env", "operator": "Exists"}]}},
        {
            "propertySelector": {
                "matchExpressions": [{"name": CPU, "operator": "Ge", "values": ["2"]}]
            }
        },
    )
).map(
    lambda term: {
        "requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": [term]}
    }
)
preferred = st.sampled_from(
    (
        {"weight": 10, "preference": {"labelSelector": {"matchLabels": {"env": "prod"}}}},
        {
            "weight": -5,
            "preference": {"propertySorter": {"name": CPU, "sortOrder": "Descending"}},
        },
    )
).map(lambda term: {PREFERRED: [term]})
spreads = st.sampled_from(("DoNotSchedule", "ScheduleAnyway")).map(
    lambda when: [{"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": when}]
)
tolerations = st.just([{"key": "old", "operator": "Exists"}])


def _affine(found: tuple[Body, ...]) -> Body:
    """Parts of a cluster affinity together."""
    merged: dict[str, object] = {}
    for part in found:
        merged |= part
    return {"clusterAffinity": merged}


policies = st.one_of(
    st.none(),
    st.fixed_dictionaries(
        {},
        optional={"affinity": required.map(lambda r: _affine((r,))), "tolerations": tolerations},
    ),
    st.fixed_dictionaries(
        {"placementType": st.just("PickN"), "numberOfClusters": st.integers(0, 4)},
        optional={
            "affinity": st.tuples(required, preferred).map(_affine),
            "topologySpreadConstraints": spreads,
            "tolerations": tolerations,
        },
    ),
    st.fixed_dictionaries(
        {
            "placementType": st.just("PickFixed"),
            "clusterNames": st.lists(
                st.sampled_from((*MEMBERS, "e")), min_size=1, max_size=3, unique=True
            ),
        }
    ),
)
strategies = st.none() | st.fixed_dictionaries(
    {
        "rollingUpdate": st.fixed_dictionaries(
            {},
            optional={
                "maxUnavailable": st.sampled_from((0, 1, "100%")),
                "maxSurge": st.sampled_from((0, 1, "50%")),
                "unavailablePeriodSeconds": st.sampled_from((0, 30)),
            },
        )
    },
    optional={"applyStrategy": st.sampled_from(({}, {"type": "ReportDiff"}))},
)


def placements(name: str) -> st.SearchStrategy[Body]:
    """A placement of this name."""
    return st.builds(placement, policies, name=st.just(name), strategy=strategies)


def namespace(name: str = "default") -> Body:
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(name)}


CHANGES: tuple[Body, ...] = (
    {"jsonPatchOverrides": [{"op": "add", "path": "/metadata/labels", "value": {"at": "there"}}]},
    {"jsonPatchOverrides": [{"op": "remove", "path": "/spec/replicas"}]},
    {
        "jsonPatchOverrides": [
            {
                "op": "add",
                "path": "/metadata/annotations",
                "value": {"env": "${MEMBER-CLUSTER-LABEL-KEY-env}"},
            }
        ]
    },
    {"overrideType": "Delete"},
)
WHERE: tuple[Body, ...] = (
    {"clusterSelectorTerms": []},
    {"clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"env": "prod"}}}]},
)
NAMED: Mapping[str, tuple[str, Body]] = {
    "ClusterResourceOverride": (
        "clusterResourceSelectors",
        {"group": "", "version": "v1", "kind": "Namespace", "name": "default"},
    ),
    "ResourceOverride": (
        "resourceSelectors",
        {"group": "apps", "version": "v1", "kind": "Deployment", "name": "web"},
    ),
}
"""Kind of an override to its field of what it is for, and one such thing."""


def override(kind: str, change: Body, where: Body) -> Body:
    """An override of one thing on some clusters."""
    name, chosen = NAMED[kind]
    scope = "default" if kind == "ResourceOverride" else ""
    rule = {"clusterSelector": where, **change}
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": kind,
        "metadata": metadata("o", namespace=scope),
        "spec": {name: [chosen], "policy": {"overrideRules": [rule]}},
    }


overrides = st.builds(
    override, st.sampled_from(tuple(NAMED)), st.sampled_from(CHANGES), st.sampled_from(WHERE)
)


def _eviction(cluster: str, placement_name: str) -> Body:
    """An eviction that is named by what it evicts, for it must not change."""
    return eviction(cluster, name=f"{placement_name}-{cluster}", placement_name=placement_name)


evictions = st.builds(_eviction, st.sampled_from(MEMBERS), st.sampled_from(PLACEMENTS))
LIMITS: tuple[Body, ...] = ({"maxUnavailable": 1}, {"minAvailable": "50%"}, {"minAvailable": 2}, {})
budgets = st.builds(budget, st.sampled_from(LIMITS), st.sampled_from(PLACEMENTS))


@st.composite
def fleets(draw: st.DrawFn) -> list[Body]:
    """Clusters, placements, perhaps what is about them; half the time nothing."""
    if not draw(st.booleans()):
        return []

    def some(pool: tuple[str, ...]) -> list[str]:
        return draw(st.lists(st.sampled_from(pool), max_size=len(pool), unique=True).map(sorted))

    return [
        *(draw(members(name)) for name in some(MEMBERS)),
        *(draw(placements(name)) for name in some(PLACEMENTS)),
        *draw(st.lists(st.builds(namespace), max_size=1)),
        *draw(st.lists(overrides, max_size=1)),
        *draw(st.lists(evictions, max_size=4, unique_by=str)),
        *draw(st.lists(budgets, max_size=1)),
        *draw(st.lists(st.builds(namespaced_placement, policies, strategy=strategies), max_size=1)),
    ]


EDITS: Mapping[str, str] = {
    "targetCluster: a": "targetCluster: d",
    "state: Bound": "state: Unscheduled",
    "policy-index": "odd-index",
    "selected: true": "selected: false",
}
"""What people change in KubeFleet's outputs."""
MALFORMED: Mapping[str, Body] = {
    "zz/placement.yaml": {"spec": {"policy": {"placementType": "PickN"}}},
    "zz/selectors.yaml": {"spec": {"resourceSelectors": [{"group": "apps", "kind": "Deployment"}]}},
}
"""Placements that take no effect."""

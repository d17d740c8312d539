"""Small worlds of KubeFleet for the laws: clusters that come and go, placements of every type."""

from collections.abc import Mapping
from typing import cast

from hypothesis import strategies as st

from reconciler.dialects.kubefleet.api.placement import PREFERRED
from reconciler.dialects.kubefleet.updaterun.runs import run_uid
from reconciler.model.identity import ObjectKey
from tests.builders import NOW, Body, after, metadata, text_of
from tests.dialects.kubefleet.fleet import (
    APPROVAL,
    EXTERNAL,
    GROUP,
    RUN,
    approval,
    budget,
    eviction,
    member,
    namespaced_placement,
    placement,
    run,
    stage,
    strategy,
    waits,
)
from tests.stories import Story

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


SCORE = "score.reconciler.dev/r.s"
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
        {
            "weight": 20,
            "preference": {"propertySorter": {"name": SCORE, "sortOrder": "Descending"}},
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


def placements(name: str, *, external: bool = False) -> st.SearchStrategy[Body]:
    """A placement of this name; an external one is rolled out by runs only, mostly to all."""
    chosen = st.one_of(st.none(), st.none(), policies) if external else policies
    rollout = st.just(EXTERNAL) if external else strategies
    return st.builds(placement, chosen, name=st.just(name), strategy=rollout)


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


def _with_env(value: str) -> Body:
    """The clusters of a stage."""
    return {"labelSelector": {"matchLabels": {"env": value}}}


ALL: Body = {"labelSelector": {}}
STAGES: tuple[tuple[Body, ...], ...] = (
    (stage("all", **ALL, maxConcurrency=1),),
    (stage("all", **ALL, maxConcurrency="50%", beforeStageTasks=[APPROVAL]),),
    (
        stage(
            "prod", labelSelector={"matchLabels": {"env": "prod"}}, afterStageTasks=[waits("1m")]
        ),
        stage("dev", labelSelector={"matchLabels": {"env": "dev"}}, afterStageTasks=[APPROVAL]),
    ),
)
RUNS = ("first", "second")
REQUESTS = f"status/clusterapprovalrequests.{GROUP}/"
STATES = ("Initialize", "Run", "Run", "Stop")


@st.composite
def updates(draw: st.DrawFn) -> list[Body]:
    """A strategy of staged updates and up to two runs; mostly nothing."""
    if draw(st.integers(0, 2)) != 0:
        return []
    names = draw(st.lists(st.sampled_from(RUNS), min_size=1, max_size=2, unique=True))
    runs = [
        run(
            draw(st.sampled_from(STATES)),
            name=name,
            placementName=draw(st.sampled_from(PLACEMENTS)),
        )
        for name in sorted(names)
    ]
    return [strategy(*draw(st.sampled_from(STAGES))), *runs]


def approve(told: Story) -> None:
    """Approve whatever runs ask for; a person can only once a pass has seen the run."""
    for path in [path for path in told.outputs if path.startswith(REQUESTS)]:
        name = path.removeprefix(REQUESTS).removesuffix(".yaml")
        found = told.output(path)
        [owner] = cast(list[Mapping[str, str]], cast(Body, found["metadata"])["ownerReferences"])
        where = str(cast(Body, found["spec"])["targetStage"])
        told.put(approval(told, name, where, of=owner["uid"]))


def anonymous(content: str, moment: str) -> str:
    """A file in which uids of runs that a pass saw first at this moment are all the same.

    They follow from it, so that what was approved of a run says nothing of the next of its name.
    """
    for name in RUNS:
        uid = run_uid(ObjectKey(GROUP, RUN, "", name), moment)
        content = content.replace(f'"{uid}"', "UID").replace(uid, "UID")  # YAML quotes some
    return content


@st.composite
def fleets(draw: st.DrawFn) -> list[Body]:
    """Clusters, placements, perhaps what is about them; half the time nothing."""
    if not draw(st.booleans()):
        return []

    def some(pool: tuple[str, ...]) -> list[str]:
        return draw(st.lists(st.sampled_from(pool), max_size=len(pool), unique=True).map(sorted))

    runs = draw(updates())
    return [
        *(draw(members(name)) for name in (MEMBERS if runs else some(MEMBERS))),
        *(
            draw(placements(name, external=bool(runs)))
            for name in (PLACEMENTS if runs else some(PLACEMENTS))
        ),
        *draw(st.lists(st.builds(namespace), max_size=1)),
        *draw(st.lists(overrides, max_size=1)),
        *draw(st.lists(evictions, max_size=4, unique_by=str)),
        *draw(st.lists(budgets, max_size=1)),
        *draw(st.lists(st.builds(namespaced_placement, policies, strategy=strategies), max_size=1)),
        *runs,
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

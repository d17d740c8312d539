"""Small repositories for the laws: what was, what a pass made of it, what people did then."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from hypothesis import strategies as st

from reconciler.core.reconcile import reconcile
from tests.builders import (
    BY_SCORE,
    DYNAMIC,
    NOT_READY,
    NOW,
    Body,
    after,
    cluster,
    cluster_role,
    cluster_status,
    configmap,
    configuration,
    deployment,
    divided,
    policy,
    quota,
    rebalancer,
    schedule_trigger,
    selector,
    taint,
    target,
    text,
    text_of,
)
from tests.dialects.kubefleet.fleet import placement
from tests.dialects.ocm.worlds import score
from tests.fleets import EDITS, approve, fleets
from tests.fleets import MALFORMED as MALFORMED_FLEETS
from tests.fleets import TARGETS as PLACEMENT_TARGETS
from tests.stories import (
    Story,
    applied,
)

CLUSTERS = ("a", "b", "c", "d")
LABELS = st.sampled_from(({}, {"env": "prod"}, {"env": "dev"}))
SECONDS = st.sampled_from((0, 1, 30, 60, 90, 299, 300, 301, 700))
WORKLOADS = ("web", "api", "settings", "reader")

taints = st.builds(
    taint,
    st.sampled_from(("spot", "old", NOT_READY)),
    st.sampled_from(("NoSchedule", "NoExecute", "PreferNoSchedule")),
    at=st.sampled_from((None, NOW, after(-200))),
)
statuses = st.none() | st.builds(
    cluster_status,
    st.sampled_from(("True", "True", "False", "Unknown")),
    since=st.sampled_from((NOW, after(-250))),
    cpu=st.sampled_from(("0", "1", "4")),
    pods=st.sampled_from((2, 100)),
)


def clusters(name: str) -> st.SearchStrategy[Body]:
    """A cluster of this name."""
    return st.builds(
        cluster,
        st.just(name),
        labels=LABELS,
        taints=st.lists(taints, max_size=2, unique_by=str),
        region=st.sampled_from(("", "north", "south")),
        status=statuses,
        leaving=st.sampled_from((False, False, False, True)),
    )


names = st.lists(st.sampled_from(CLUSTERS), min_size=1, max_size=3, unique=True)
affinities = st.fixed_dictionaries({"clusterNames": names}) | st.just(
    {"labelSelector": {"matchLabels": {"env": "prod"}}}
)
tolerations = st.fixed_dictionaries(
    {"operator": st.just("Exists")},
    optional={
        "key": st.sampled_from(("spot", NOT_READY)),
        "effect": st.sampled_from(("NoSchedule", "NoExecute")),
        "tolerationSeconds": st.sampled_from((0, 30, 300)),
    },
)
divisions = st.sampled_from(
    (
        {"replicaSchedulingType": "Duplicated"},
        {},
        DYNAMIC,
        BY_SCORE,
        divided(),
        divided("Aggregated"),
        divided(
            weightPreference={
                "staticWeightList": [
                    {"targetCluster": {"clusterNames": ["a"]}, "weight": 2},
                    {"targetCluster": {"clusterNames": ["b", "c"]}, "weight": 1},
                ]
            }
        ),
    )
)
spreads = st.sampled_from(
    (
        [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 2}],
        [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 3}],
        [
            {"spreadByField": "cluster", "minGroups": 2, "maxGroups": 4},
            {"spreadByField": "region", "minGroups": 2, "maxGroups": 2},
        ],
    )
)


def grouped(found: Sequence[Body]) -> list[Body]:
    """Affinities as groups, named in order."""
    return [{"affinityName": f"g{number}", **one} for number, one in enumerate(found)]


placements = st.one_of(
    st.fixed_dictionaries({}, optional={"clusterAffinity": affinities}),
    st.fixed_dictionaries(
        {"clusterAffinities": st.lists(affinities, min_size=1, max_size=3).map(grouped)}
    ),
).flatmap(
    lambda chosen: st.fixed_dictionaries(
        {key: st.just(value) for key, value in chosen.items()},
        optional={
            "clusterTolerations": st.lists(tolerations, min_size=1, max_size=2),
            "replicaScheduling": divisions,
            "spreadConstraints": spreads,
        },
    )
)
selections = st.lists(
    st.builds(selector, st.sampled_from(("Deployment", "ConfigMap")), name=st.just(""))
    | st.builds(selector, st.just("Deployment"), name=st.sampled_from(("web", "api"))),
    min_size=1,
    max_size=2,
)
KEPT: Body = {
    "statePreservation": {
        "rules": [{"aliasLabelName": "available", "jsonPath": "{.availableReplicas}"}]
    }
}
options = st.fixed_dictionaries(
    {},
    optional={
        "priority": st.integers(0, 2),
        "schedulerName": st.just("another"),
        "failover": st.just({"cluster": {"purgeMode": "Directly"}}),
        "activationPreference": st.just("Lazy"),
        "propagateDeps": st.booleans(),
    },
) | st.sampled_from(
    tuple(
        {
            "propagateDeps": True,
            "failover": {
                "application": {
                    "decisionConditions": {"tolerationSeconds": 60},
                    "purgeMode": mode,
                    **kept,
                },
                "cluster": {"purgeMode": "Directly", **kept},
            },
        }
        for mode, kept in (
            ("Gracefully", {}),
            ("Never", {}),
            ("Directly", {}),
            ("Directly", KEPT),
        )
    )
)


@st.composite
def policies(draw: st.DrawFn, name: str) -> Body:
    """A policy of this name; the last one is cluster-wide and takes ClusterRoles, too."""
    placement: Body = draw(placements)
    more = cast(Any, draw(options))
    if name == "cp":
        chosen = [selector("ClusterRole"), selector("Deployment")]
        return policy(name, namespace="", selectors=chosen, placement=placement, **more)
    return policy(name, selectors=draw(selections), placement=placement, **more)


READS_SETTINGS: Body = {
    "template": {"spec": {"volumes": [{"name": "v", "configMap": {"name": "settings"}}]}}
}


def reports(available: int, generation: int) -> Body:
    """What a cluster says of web."""
    body = deployment()
    return {
        **body,
        "metadata": {**cast(Body, body["metadata"]), "generation": generation},
        "status": {"observedGeneration": 1, "updatedReplicas": 2, "availableReplicas": available},
    }


WORKLOAD_BODIES: Mapping[str, st.SearchStrategy[Body]] = {
    "web": st.builds(
        deployment,
        replicas=st.integers(0, 5),
        labels=LABELS,
        cpu=st.sampled_from(("", "500m", "2")),
    ),
    "api": st.builds(deployment, st.just("api"), replicas=st.integers(0, 3)).map(
        lambda body: {**body, "spec": {**cast(Body, body["spec"]), **READS_SETTINGS}}
    ),
    "settings": st.just(configmap()),
    "reader": st.just(cluster_role()),
}
TARGETS = (
    target(),
    target(name="api"),
    target("ConfigMap", "settings"),
    target("ClusterRole", "reader", ""),
    target(name="nowhere"),
    *PLACEMENT_TARGETS,
)


EXTENSIONS: tuple[Mapping[str, Any], ...] = (
    {},
    {},
    {"limits": {"maxMoves": 1, "intervalSeconds": 30}},
    {"selector": {"kind": "Deployment", "namespace": "default"}},
    {"selector": {"policy": {"name": "p", "namespace": "default"}}, "limits": {"maxMoves": 2}},
    {"selector": {"onCluster": "a"}, "limits": {"maxMoves": 1}},
    {"selector": {"state": "Unschedulable"}},
    {"selector": {"state": "AwayFromFirstAffinity"}},
    {"schedule": "*/5 * * * *"},
    {"schedule": "1 12 * * *", "limits": {"maxMoves": 1}},
)
ONE_RUN = 8  # of the extensions: only these may have a time to live


@st.composite
def rebalancers(draw: st.DrawFn, name: str) -> Body:
    """A rebalancer of this name, or a trigger."""
    chosen = draw(st.lists(st.sampled_from(TARGETS), min_size=1, max_size=3))
    if draw(st.integers(0, 3)) == 0:
        named = draw(st.sampled_from(((), ("p",), ("p", "nowhere"))))
        return schedule_trigger(
            name, *chosen, policies=named, autoCleanAfterMinutes=draw(st.sampled_from((0, 1)))
        )
    number = draw(st.integers(0, len(EXTENSIONS) - 1))
    ttl = draw(st.sampled_from((None, 0, 45))) if number < ONE_RUN else None
    return rebalancer(name, *chosen, ttl=ttl, **EXTENSIONS[number])


WORKS = {"path": "for/{cluster}/agents", "hubsWithoutControllers": True}
configurations = st.builds(
    configuration,
    feedback=st.sampled_from(({}, {"assumeAfterSeconds": 0}, {"assumeAfterSeconds": None})),
    karmada=st.sampled_from(
        (
            {},
            {"failover": {"enabled": False}},
            {"failover": {"defaultTolerationSeconds": 20}},
            {"federatedQuotaEnforcement": True},
            {"failover": {"statePreservation": True}},
        )
    ),
    inventory=st.sampled_from(({}, {"declared": False}, {"project": True})),
    delivery=st.sampled_from(({}, {"folders": {}}, {"works": WORKS, "manifestworks": {}})),
    scores=st.sampled_from(({}, {"extend": True}, {"extend": True})),
)
limits = st.sampled_from(({}, {}, *({"validUntil": text_of(after(n))} for n in (-9, 30, 300))))
scores = st.builds(
    lambda name, value, limit: score(name, value, **limit),
    st.sampled_from(CLUSTERS),
    st.sampled_from((-20, 0, 10, 30)),
    limits,
)


_matches = st.lists(
    st.builds(
        lambda operator, status: {
            "conditionType": "Ready",
            "operator": operator,
            "statusValues": [status],
        },
        st.sampled_from(["In", "NotIn"]),
        st.sampled_from(["True", "False", "Unknown"]),
    ),
    max_size=2,
)
taint_policies = st.builds(
    lambda name, key, add, remove: {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "ClusterTaintPolicy",
        "metadata": {"name": name},
        "spec": {
            "taints": [{"key": key, "effect": "NoSchedule"}],
            "addOnConditions": add,
            "removeOnConditions": remove,
        },
    },
    st.sampled_from(["t", "u"]),
    st.sampled_from(["maintenance", "slow"]),
    _matches,
    _matches,
)


def _quota(name: str, limit: str) -> Body:
    return quota(name, overall={"cpu": limit}, staticAssignments=[])


quotas = st.builds(_quota, st.sampled_from(["quota", "other"]), st.sampled_from(["1", "3", "500m"]))


@st.composite
def objects(draw: st.DrawFn) -> list[Body]:
    """The objects of one repository."""

    def some(pool: tuple[str, ...]) -> list[str]:
        return draw(st.lists(st.sampled_from(pool), max_size=len(pool), unique=True).map(sorted))

    return [
        *(draw(clusters(name)) for name in some(CLUSTERS)),
        *(draw(policies(name)) for name in some(("p", "q", "cp"))),
        *(draw(WORKLOAD_BODIES[name]) for name in some(WORKLOADS)),
        *(draw(rebalancers(name)) for name in some(("r", "s"))),
        *draw(fleets()),
        *draw(st.lists(taint_policies, max_size=2, unique_by=str)),
        *draw(st.lists(quotas, max_size=2, unique_by=str)),
        *draw(st.lists(scores, max_size=3, unique_by=str)),
        *draw(st.lists(configurations, max_size=1)),
    ]


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """A repository after up to two passes, edited since; `now` is the moment of the next one."""
    told = Story().put(*draw(objects()))
    for _ in range(draw(st.integers(0, 2))):
        report(told, draw(reported))
        told.files = applied(told.files, reconcile(told.world(), told.now))
        edit(told, draw(objects()), draw(st.integers(0, 15)))
        if draw(st.booleans()):
            approve(told)
        harm(told, draw(st.sampled_from(HARMS)), draw(st.integers(0, 20)))
        told.now += timedelta(seconds=1 + draw(SECONDS))
    return told


def reports_of_itself(name: str, ready: str, cpu: str) -> Body:
    """What a cluster says of itself: how it is, and how much room it has."""
    body = {**cluster(name, status=cluster_status(ready, cpu=cpu))}
    del body["spec"]
    return body


reported = (
    st.none()
    | st.tuples(st.sampled_from(CLUSTERS), st.builds(reports, st.integers(0, 2), st.integers(1, 2)))
    | st.builds(
        lambda name, *said: (name, reports_of_itself(name, *said)),
        st.sampled_from(CLUSTERS),
        st.sampled_from(("True", "False", "Unknown")),
        st.sampled_from(("1", "4")),
    )
)


def report(told: Story, found: tuple[str, Body] | None) -> None:
    """Let a cluster report, or all fall silent."""
    if found is not None:
        told.files[f"feedback/{found[0]}/{found[1]['kind']}.yaml"] = text(found[1])
    else:
        for path in [path for path in told.files if path.startswith("feedback/")]:
            del told.files[path]


BROKEN = "apiVersion: v1\nkind: [\n"
HARMS = ("none", "none", "input", "output", "lost", "edited", "joined", "tail")


def harm(told: Story, kind: str, number: int) -> None:
    """Do to a file what people do: break it, lose it, edit it, join it with another one."""
    inputs, outputs = sorted(told.inputs), sorted(told.outputs)
    chosen = outputs if kind in ("output", "lost", "edited") else inputs
    if not chosen:
        return
    path = chosen[number % len(chosen)]
    match kind:
        case "input" | "output":
            told.files[path] = BROKEN
        case "lost":
            del told.files[path]
        case "edited":
            told.files[path] = (
                told.files[path]
                .replace("replicas: ", "replicas: 1")
                .replace("- name: a", "- name: d")
            )
            for old, new in EDITS.items():
                told.files[path] = told.files[path].replace(old, new)
        case "joined":
            if len(inputs) > 1:
                told.files[inputs[0]] += f"---\n{told.files.pop(inputs[-1])}"
        case "tail":
            told.files[path] += f"---\n{BROKEN}"


def edit(told: Story, bodies: list[Body], share: int) -> None:
    """Replace a share of the inputs, in sixteenths, by those of another repository."""
    fresh = Story().put(*bodies).files
    for number, path in enumerate(sorted({*told.inputs, *fresh})):
        if number * 7 % 16 > share:
            continue
        told.files.pop(path, None)
        if path in fresh:
            told.files[path] = fresh[path]


def moments_between(start: datetime, end: datetime) -> list[datetime]:
    """A few moments from the start on, before the end."""
    span = int((end - start).total_seconds())
    offsets = {0, 1, span // 2, span - 1}
    return [start + timedelta(seconds=offset) for offset in sorted(offsets) if 0 <= offset < span]


MALFORMED = {
    "zz/broken.yaml": "apiVersion: v1\nkind: [",
    "zz/cluster.yaml": json.dumps({**cluster("zz"), "spec": {"taints": 7}}),
    "zz/policy.yaml": json.dumps(
        policy(
            "zz", placement={"clusterAffinity": {}, "clusterAffinities": [{"affinityName": "z"}]}
        )
    ),
    "zz/name.yaml": json.dumps({**deployment(), "metadata": {"name": "../up"}}),
    "zz/binding.yaml": json.dumps(
        {"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding", "metadata": {}}
    ),
    "zz/nowhere.yaml": json.dumps(deployment("unplaceable", namespace="zz", replicas=-1)),
    "zz/content.yaml": json.dumps({**deployment("odd", namespace="zz"), "spec": ["?"]}),
    **{
        path: json.dumps({**placement(name="zz"), **dict(body)})
        for path, body in MALFORMED_FLEETS.items()
    },
}

"""What KubeFleet's API server and webhooks default, convert and refuse, and where that is said."""

from collections.abc import Mapping

import pytest

from reconciler.core.dialects import KINDS
from reconciler.dialects.kubefleet.api.admission import refuse_member, refuse_placement
from reconciler.dialects.kubefleet.api.placement import decode_placement, mutated, with_defaults
from reconciler.dialects.kubefleet.workgenerator.content import contents
from reconciler.errors import UserError
from reconciler.model.fields import mapping, text
from tests.builders import Body, deployment
from tests.dialects.kubefleet.fleet import (
    clusters_of,
    condition,
    fixed,
    member,
    namespaced_placement,
    pick,
    placed,
    placement,
    states,
)
from tests.stories import Story, story

CPU = "resources.kubernetes-fleet.io/available-cpu"
NAMESPACE = {"group": "", "version": "v1", "kind": "Namespace", "name": "default"}


CHOOSING = {**NAMESPACE, "selectionScope": "NamespaceWithResourceSelectors"}


def required(*terms: Body) -> Body:
    """An affinity with required terms."""
    kind = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"clusterAffinity": {kind: {"clusterSelectorTerms": list(terms)}}}


def preferred(term: Body) -> Body:
    """An affinity with one preferred term."""
    kind = "preferredDuringSchedulingIgnoredDuringExecution"
    return {"clusterAffinity": {kind: [{"weight": 1, "preference": term}]}}


def where(name: str, *pairs: tuple[str, str]) -> Body:
    """A term with expressions on one property."""
    listed = [{"name": name, "operator": o, "values": [value]} for o, value in pairs]
    return {"propertySelector": {"matchExpressions": listed}}


def sorted_by(name: str) -> Body:
    """A term that sorts by a property."""
    return {"propertySorter": {"name": name, "sortOrder": "Ascending"}}


def rules(body: Body) -> list[str]:
    """The rules that a placement breaks, without their prefix."""
    return [
        violation.rule.removeprefix("placement-")
        for violation in refuse_placement(KINDS.scopes, body)
    ]


@pytest.mark.parametrize(
    ("policy", "broken"),
    [
        pytest.param(None, [], id="no policy"),
        pytest.param({}, [], id="no type is PickAll"),
        pytest.param({"numberOfClusters": 1}, ["policy-field"], id="PickAll with a number"),
        pytest.param({"clusterNames": ["a"]}, ["policy-field"], id="PickAll with names"),
        pytest.param({"clusterNames": []}, [], id="PickAll with an empty list of names"),
        pytest.param(pick(1, clusterNames=[]), [], id="PickN with an empty list of names"),
        pytest.param({"affinity": preferred({})}, ["preferred-ignored"], id="PickAll prefers"),
        pytest.param(pick(0), [], id="PickN of none"),
        pytest.param({"placementType": "PickN"}, ["number"], id="PickN without number"),
        pytest.param(pick(1, clusterNames=["a"]), ["policy-field"], id="PickN with names"),
        pytest.param(fixed("a", "b.c"), [], id="PickFixed"),
        pytest.param(fixed(), [], id="PickFixed of none"),
        pytest.param(fixed("a", "a"), ["names-unique"], id="PickFixed twice"),
        pytest.param(fixed("A"), ["names-valid"], id="PickFixed of no name"),
        pytest.param(
            {**fixed("a"), "tolerations": [], "affinity": {}}, ["policy-field"], id="PickFixed more"
        ),
        pytest.param(
            pick(1, affinity=required(sorted_by("a"))), ["required-sorter"], id="required sorter"
        ),
        pytest.param(
            pick(1, affinity=preferred(where(CPU, ("Gt", "1")))),
            ["preferred-selector"],
            id="preferred selector",
        ),
        pytest.param(
            pick(1, affinity=preferred(sorted_by("a b"))), ["property-name"], id="sorter's name"
        ),
    ],
)
def test_policies(policy: Body | None, broken: list[str]) -> None:
    """Each placement type has its own fields."""
    assert broken == rules(placement(policy))


@pytest.mark.parametrize(
    ("name", "pairs", "broken"),
    [
        pytest.param(CPU, [("Ge", "1"), ("Le", "1")], [], id="exactly one"),
        pytest.param(CPU, [("Gt", "1"), ("Le", "1")], ["consistent"], id="nothing between"),
        pytest.param(CPU, [("Ge", "2"), ("Le", "1")], ["consistent"], id="crossed"),
        pytest.param(CPU, [("Eq", "1"), ("Eq", "1000m")], [], id="equal quantities"),
        pytest.param(CPU, [("Eq", "1"), ("Eq", "2")], ["consistent"], id="two values"),
        pytest.param(CPU, [("Eq", "1"), ("Ne", "1")], ["consistent"], id="value excluded"),
        pytest.param(CPU, [("Eq", "1"), ("Lt", "1")], ["consistent"], id="value outside"),
        pytest.param(CPU, [("In", "1")], ["operator"], id="operator"),
        pytest.param(CPU, [("Gt", "many")], ["quantity"], id="quantity"),
        pytest.param("k8s.io/a.b/c", [("Gt", "1")], [], id="segments"),
        pytest.param("-a", [("Gt", "1")], ["name"], id="name"),
        pytest.param(
            "resources.kubernetes-fleet.io/cpu", [("Gt", "1")], ["resource"], id="no capacity"
        ),
        pytest.param(
            "resources.kubernetes-fleet.io/free-cpu", [("Gt", "1")], ["resource"], id="capacity"
        ),
        pytest.param(
            "resources.kubernetes-fleet.io/total-ephemeral-storage", [("Gt", "1")], [], id="dashes"
        ),
    ],
)
def test_properties(name: str, pairs: list[tuple[str, str]], broken: list[str]) -> None:
    """Expressions name a property, compare with one quantity, and leave a value."""
    body = placement(pick(1, affinity=required(where(name, *pairs))))

    assert [f"property-{rule}" for rule in broken] == rules(body)


@pytest.mark.parametrize(
    ("toleration", "broken"),
    [
        pytest.param({"operator": "Exists"}, [], id="all"),
        pytest.param({"key": "a", "value": "b"}, [], id="Equal by default"),
        pytest.param({"value": "b"}, ["key"], id="Equal without key"),
        pytest.param({"key": "a b", "operator": "Exists"}, ["key"], id="key"),
        pytest.param({"key": "a", "value": "b c"}, ["value"], id="value"),
        pytest.param({"key": "a", "operator": "Exists", "value": "b"}, ["value"], id="Exists"),
    ],
)
def test_tolerations(toleration: Body, broken: list[str]) -> None:
    """The operator decides on key and value; none is written twice."""
    once = placement({"tolerations": [toleration]})
    twice = placement({"tolerations": [toleration, toleration]})

    assert [f"toleration-{rule}" for rule in broken] == rules(once)
    assert "toleration-unique" in rules(twice)


@pytest.mark.parametrize(
    ("selectors", "broken"),
    [
        pytest.param([{**NAMESPACE, "labelSelector": {}}], ["exclusive"], id="name and labels"),
        pytest.param(
            [{"group": "apps", "version": "v1", "kind": "Deployment"}], ["scope"], id="namespaced"
        ),
        pytest.param(
            [
                {**NAMESPACE, "selectionScope": "NamespaceWithResourceSelectors"},
                {"group": "apps", "version": "v1", "kind": "Deployment"},
            ],
            [],
            id="in its namespace",
        ),
        pytest.param([{**NAMESPACE, "version": "v2"}], ["version"], id="version"),
    ],
)
def test_selectors(selectors: list[Body], broken: list[str]) -> None:
    """Resources of a namespace are chosen together with it."""
    body = placement()
    spec = {"resourceSelectors": selectors}

    assert [f"selector-{rule}" for rule in broken] == rules({**body, "spec": spec})


@pytest.mark.parametrize(
    ("selectors", "broken"),
    [
        pytest.param([CHOOSING], [], id="by name"),
        pytest.param([{**CHOOSING, "name": ""}], ["name"], id="by no name"),
        pytest.param([CHOOSING, NAMESPACE], ["single"], id="beside another"),
        pytest.param([CHOOSING, CHOOSING], ["single"], id="twice"),
        pytest.param([NAMESPACE, NAMESPACE], [], id="several of another scope"),
    ],
)
def test_one_namespace_whose_resources_are_chosen(selectors: list[Body], broken: list[str]) -> None:
    """NamespaceWithResourceSelectors is about one namespace, selected by name."""
    body = {**placement(), "spec": {"resourceSelectors": selectors}}

    assert [f"namespace-{rule}" for rule in broken] == rules(body)


def test_a_mirrored_status_has_a_destination() -> None:
    """Mirror says where to, Disabled need not."""
    mirrored, disabled = (
        placement(strategy={"reportBackStrategy": {"type": kind}})
        for kind in ("Mirror", "Disabled")
    )

    assert ["report-destination"] == rules(mirrored)
    assert [] == rules(disabled)


@pytest.mark.parametrize(
    ("strategy", "broken"),
    [
        pytest.param({"rollingUpdate": {"maxSurge": "10%", "maxUnavailable": 0}}, [], id="fine"),
        pytest.param({"rollingUpdate": {"maxSurge": -1}}, ["negative"], id="negative"),
        pytest.param({"rollingUpdate": {"maxSurge": "3"}}, ["share"], id="text of a number"),
        pytest.param(
            {"type": "External", "rollingUpdate": {"maxSurge": 1}}, ["external"], id="external"
        ),
        pytest.param({"type": "External", "rollingUpdate": {}}, ["external"], id="empty limits"),
        pytest.param(
            {"applyStrategy": {"serverSideApplyConfig": {"force": True}}}, ["apply"], id="apply"
        ),
    ],
)
def test_strategies(strategy: Body, broken: list[str]) -> None:
    """Limits are numbers or percentages; options go with their type."""
    assert [f"strategy-{rule}" for rule in broken] == rules(placement(strategy=strategy))


@pytest.mark.parametrize(
    ("taints", "broken"),
    [
        pytest.param([{"key": "a", "effect": "NoSchedule"}], [], id="fine"),
        pytest.param([{"key": "", "effect": "NoSchedule"}], ["key"], id="key"),
        pytest.param([{"key": "a", "value": "b c", "effect": "NoSchedule"}], ["value"], id="value"),
        pytest.param([{"key": "a", "effect": "NoSchedule"}] * 2, ["unique"], id="twice"),
        pytest.param(
            [{"key": "a", "value": value, "effect": "NoSchedule"} for value in "bc"],
            [],
            id="another value",
        ),
    ],
)
def test_taints(taints: list[Mapping[str, str]], broken: list[str]) -> None:
    """Taints are of label keys and values, each once."""
    found = [violation.rule for violation in refuse_member(member("a", taints=taints))]

    assert [f"cluster-taint-{rule}" for rule in broken] == found


@pytest.mark.parametrize(("length", "broken"), [(63, []), (64, ["cluster-name"])])
def test_the_name_of_a_cluster_fits_into_a_label(length: int, broken: list[str]) -> None:
    """Bindings carry it in one."""
    assert broken == [violation.rule for violation in refuse_member(member("a" * length))]


def test_a_refused_edit_keeps_the_last_result() -> None:
    """The fault says file, line, field and what is valid; the placement goes on as it was."""
    told = story(*(member(name) for name in "ab"), placement(pick(1)), deployment())
    told.run(0)
    told.put(placement({**pick(2), "clusterNames": ["a"]}))
    outcome = told.run(60)

    assert {"b": "Bound"} == states(told)
    assert "True" == condition(told, "Available")["status"]
    [fault] = outcome.faults
    assert ("/spec/policy/clusterNames", "PickFixed, or no clusterNames") == (
        fault.field,
        fault.expected,
    )
    assert fault.path.endswith("web.yaml")
    assert fault.line


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        pytest.param(pick(1), {}, "/spec/policy/placementType", id="PickN to PickAll"),
        pytest.param(None, pick(1), "/spec/policy/placementType", id="no policy to PickN"),
        pytest.param(
            {"tolerations": [{"operator": "Exists"}]}, {}, "/spec/policy/tolerations", id="fewer"
        ),
    ],
)
def test_a_placement_keeps_its_type_and_its_tolerations(
    before: Body | None, after: Body, field: str
) -> None:
    """An edit that upstream forbids is a fault; nothing moves until it is taken back."""
    told = story(member("a"), member("b"), placement(before), deployment())
    told.run(0)
    known = states(told)
    told.put(placement(after))
    outcome = told.run(60)

    assert known == states(told)
    assert [("placement-immutable", field)] == [(f.rule, f.field) for f in outcome.faults]
    told.put(placement(before))
    assert () == told.run(120).faults


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        pytest.param({"strategy": {"type": "External"}}, {}, "strategy/type", id="strategy"),
        pytest.param(
            {"statusReportingScope": "NamespaceAccessible"},
            {"statusReportingScope": "ClusterScopeOnly"},
            "statusReportingScope",
            id="scope",
        ),
    ],
)
def test_a_placement_keeps_external_and_its_reporting_scope(
    before: Body, after: Body, field: str
) -> None:
    """Neither may be left, not even by saying nothing."""
    body = placement()
    selecting = {"resourceSelectors": [NAMESPACE]}
    told = story(member("a"), {**body, "spec": {**selecting, **before}}, deployment())
    told.run(0)
    told.put({**body, "spec": {**selecting, **after}})

    faults = told.run(60).faults
    assert [("placement-immutable", f"/spec/{field}")] == [(f.rule, f.field) for f in faults]
    assert faults == told.run(120).faults


def test_a_placement_may_turn_external() -> None:
    """Only the way back is closed."""
    told = story(member("a"), placement(), deployment())
    told.run(0)
    told.put(placement(strategy={"type": "External"}))

    assert () == told.run(60).faults


def test_more_tolerations_and_an_explicit_pick_all_are_fine() -> None:
    """No policy is PickAll; what was tolerated still is."""
    told = story(member("a"), placement(), deployment())
    told.run(0)
    for policy in ({}, {"tolerations": [{"operator": "Exists"}]}):
        told.put(placement(policy))
        assert () == told.run().faults


def envelope(namespace: str, kind: str, inner: str) -> Body:
    """An envelope with one object, in a namespace unless that is empty."""
    own = {"namespace": namespace} if namespace else {}
    metadata = {"name": "a", **({"namespace": inner} if inner else {})}
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ResourceEnvelope" if namespace else "ClusterResourceEnvelope",
        "metadata": {"name": "e", **own},
        "data": {"d": {"apiVersion": "v1", "kind": kind, "metadata": metadata}},
    }


@pytest.mark.parametrize(
    ("namespace", "kind", "inner"),
    [
        pytest.param("work", "ConfigMap", "work", id="of-its-namespace"),
        pytest.param("", "Namespace", "", id="without-a-namespace"),
        pytest.param("", "ConfigMap", "", id="of-a-namespaced-kind-without-one"),
        pytest.param("work", "Namespace", "work", id="of-another-kind-with-its-namespace"),
    ],
)
def test_the_namespace_of_an_object_counts(namespace: str, kind: str, inner: str) -> None:
    """And not the scope of its kind."""
    found = contents(envelope(namespace, kind, inner))

    assert ["a"] == [text(mapping(one, "metadata"), "name") for one in found]


@pytest.mark.parametrize(
    ("namespace", "inner", "message"),
    [
        pytest.param(
            "",
            "work",
            "a namespaced object d (work/a) has been wrapped in a cluster resource envelope e",
            id="in-that-of-a-cluster",
        ),
        pytest.param(
            "work",
            "",
            "a cluster scope object d (a) has been wrapped in a resource envelope work/e",
            id="none-in-that-of-a-namespace",
        ),
        pytest.param(
            "work",
            "other",
            "a namespaced object d (other/a) in has been wrapped in a resource envelope "
            "from another namespace (work/e)",
            id="of-another-namespace",
        ),
    ],
)
def test_object_across_scopes_is_refused(namespace: str, inner: str, message: str) -> None:
    """In upstream's words.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/envelope.go
    `extractManifestsFromEnvelopeCR`; the sentences about an envelope of a namespace are those of
    the same function in kubefleet@2ef5748, and no vector of e160c1c holds them.
    """
    with pytest.raises(UserError) as found:
        contents(envelope(namespace, "ConfigMap", inner))

    assert message == found.value.message


STATUS = "status/clusterresourceplacements.placement.kubernetes-fleet.io/web.yaml"


def in_v1(body: Body) -> Body:
    """The same object in v1."""
    group = str(body["apiVersion"]).partition("/")[0]
    return {**body, "apiVersion": f"{group}/v1"}


def fleet(version: str) -> Story:
    """Three members and a placement that wants two of them, in one version."""
    bodies = [*(member(name) for name in "abc"), placement(pick(2))]
    return story(*map(in_v1, bodies)) if version == "v1" else story(*bodies)


def test_v1_is_placed_as_v1beta1_is() -> None:
    """The same clusters, the same outputs, but that the status has the version of its manifest."""
    older, newer = fleet("v1beta1"), fleet("v1")
    older.run(0)
    newer.run(0)

    kept = {p: d for p, d in older.outputs.items() if p not in (STATUS, "status/reconciler.yaml")}
    assert kept.items() <= newer.outputs.items()
    assert older.outputs[STATUS].replace("io/v1beta1", "io/v1") == newer.outputs[STATUS]
    assert "c" in older.outputs[STATUS]


def test_an_object_that_changes_its_version_stays_where_it_is() -> None:
    """Only the version in its status file follows."""
    told = fleet("v1beta1")
    told.run(0)
    told.run(100)
    before = told.outputs[STATUS]
    told.put(*(in_v1(body) for body in (member("a"), placement(pick(2)))))
    outcome = told.run(200)

    assert () == outcome.decisions
    assert [STATUS, "status/reconciler.yaml"] == [change.path for change in outcome.changes]
    assert before.replace("io/v1beta1", "io/v1") == told.outputs[STATUS]


def test_two_versions_of_one_object_are_written_twice() -> None:
    """The version is no part of an identity."""
    told = fleet("v1beta1")
    told.put(in_v1(placement(pick(1))), path="other.yaml")
    outcome = told.run(0)

    assert {"identity-duplicate"} == {fault.rule for fault in outcome.faults}


@pytest.mark.parametrize("field", ["deleteStrategy", "reportBackStrategy"])
def test_v1_has_not_every_field_of_v1beta1(field: str) -> None:
    """What v1 lacks is a fault that says so."""
    body = in_v1(placement(pick(1), strategy={field: {}}))
    told = story(member("a")).put(body)
    outcome = told.run(0)

    assert [("schema-unknown-field", f"/spec/strategy/{field}")] == [
        (fault.rule, fault.field) for fault in outcome.faults
    ]


def test_a_default_needs_its_parent() -> None:
    """The CRD fills what is missing in an object that is there, and makes none."""
    spec = with_defaults({"strategy": {"rollingUpdate": {"maxSurge": 1}}})

    limits = {"maxSurge": 1, "maxUnavailable": "25%", "unavailablePeriodSeconds": 60}
    assert {"type": "RollingUpdate", "rollingUpdate": limits} == spec["strategy"]
    assert "policy" not in spec


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param(None, {"placementType": "PickAll"}, id="no policy"),
        pytest.param({"tolerations": []}, {"placementType": "PickAll"}, id="empty list"),
        pytest.param({"affinity": {}}, {"placementType": "PickAll", "affinity": {}}, id="object"),
        pytest.param(
            {"tolerations": [{"key": "a", "value": ""}]},
            {"placementType": "PickAll", "tolerations": [{"operator": "Equal", "key": "a"}]},
            id="empty text",
        ),
        pytest.param(
            pick(1, topologySpreadConstraints=[{}]),
            pick(
                1,
                topologySpreadConstraints=[
                    {"topologyKey": "", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
                ],
            ),
            id="zero value",
        ),
    ],
)
def test_a_policy_is_read_as_the_webhook_writes_it(policy: Body | None, expected: Body) -> None:
    """Empty lists and texts vanish, pointers to empty objects stay, scalars get a value."""
    assert expected == decode_placement(placement(policy)).policy


def test_external_gets_no_rolling_update() -> None:
    """Limits are filled in for the type that has them."""
    strategy = mapping(mutated({"strategy": {"type": "External"}}), "strategy")

    assert ["applyStrategy", "type"] == sorted(strategy)


def test_server_side_apply_does_not_force_by_default() -> None:
    """Its options are filled in, those of another type are not."""
    apply = {"type": "ServerSideApply"}
    strategy = decode_placement(placement(strategy={"applyStrategy": apply})).strategy

    assert {"force": False} == strategy.apply["serverSideApplyConfig"]


def test_a_placement_of_no_names_is_not_scheduled() -> None:
    """PickFixed without names leaves what is placed where it is."""
    told = story(member("a"), placement(fixed("a")), deployment())
    told.run(0)
    told.put(placement(fixed()))
    told.run(60)

    assert {"a": "Bound"} == states(told)


def test_its_tolerations_may_go() -> None:
    """No webhook of upstream watches it, and its CRD has no such rule."""
    tolerant = {"tolerations": [{"key": "k", "operator": "Exists"}]}
    told = placed(namespaced_placement(pick(1, **tolerant)))

    assert () == told.put(namespaced_placement(pick(1))).run(60).faults


@pytest.mark.parametrize(
    ("after", "field"),
    [
        pytest.param(None, "/spec/policy", id="gone"),
        pytest.param(fixed("a"), "/spec/policy/placementType", id="type"),
    ],
)
def test_its_policy_stays(after: Body | None, field: str) -> None:
    """Its CRD refuses another type, and that it goes once it was written."""
    told = placed(namespaced_placement(pick(1)))
    [fault] = told.put(namespaced_placement(after)).run(60).faults

    assert ("placement-immutable", field) == (fault.rule, fault.field)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param({"placementType": "PickAll"}, ["a", "b"], id="PickAll"),
        pytest.param(pick(1), ["b"], id="PickN"),
        pytest.param(fixed("a"), ["a"], id="PickFixed"),
    ],
)
def test_a_policy_of_any_type_may_come(policy: Body, expected: list[str]) -> None:
    """None is PickAll until then, but no rule of its CRD stands on what was absent."""
    told = placed(namespaced_placement())
    came = told.put(namespaced_placement(policy)).run(60)

    assert () == came.faults
    assert expected == clusters_of(told, "default")


def test_its_strategy_may_go() -> None:
    """The rule of its CRD stands on the type in it, so External may be left that way."""
    told = placed(namespaced_placement(strategy={"type": "External"}))
    assert () == told.put(namespaced_placement()).run(60).faults

    assert () == told.put(namespaced_placement(strategy={})).run(120).faults


def test_its_strategy_stays_external_where_it_is_given() -> None:
    """The type that it does not tell is RollingUpdate."""
    told = placed(namespaced_placement(strategy={"type": "External"}))
    [fault] = told.put(namespaced_placement(strategy={})).run(60).faults

    assert ("placement-immutable", "/spec/strategy/type") == (fault.rule, fault.field)


def test_a_policy_that_came_stays() -> None:
    """It counts from the pass that saw it."""
    told = placed(namespaced_placement())
    told.put(namespaced_placement(pick(1))).run(60)
    [fault] = told.put(namespaced_placement(fixed("a"))).run(120).faults

    assert ("placement-immutable", "/spec/policy/placementType") == (fault.rule, fault.field)

"""CEL rules of upstream's CRDs, evaluated, against the functions of ours that answer them."""

import operator
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.dialects.kubefleet.api.placement import mutated, with_defaults
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import group_of
from tests.conformance.run import read_cases
from tests.crds.agreement import ANSWERS, RULES, asked_of, disagreements, rules_of, unbroken
from tests.crds.facts import our_schemas
from tests.crds.kubefleet_rules import (
    GROUP,
    KUBEFLEET,
    OF_CLUSTER,
    POLICY_STAYS,
    override_filled,
    run_filled,
)
from tests.crds.reader import Rule
from tests.crds.rules import UNANSWERED, Answer, fits, holds
from tests.manifests.shipped_schemas import schemas
from tests.shell.fleet import ROOT

VECTORS = ROOT / "fixtures/conformance/kubefleet/admission.jsonl.gz"

NAMESPACE = {"group": "", "version": "v1", "kind": "Namespace"}
PLACEMENT = {"apiVersion": f"{GROUP}/v1beta1", "kind": "ClusterResourcePlacement"}
NAMESPACED = "ResourcePlacement"
MEMBER = {"apiVersion": "cluster.kubernetes-fleet.io/v1beta1", "kind": "MemberCluster"}
LABELS: Body = {"matchLabels": {"a": "b"}}
WHOLE = "NamespaceWithResourceSelectors"


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects that have some of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


SELECTORS = st.builds(
    operator.or_,
    st.sampled_from([NAMESPACE, {**NAMESPACE, "kind": "ConfigMap"}, {**NAMESPACE, "group": "x"}]),
    some(
        name=st.sampled_from(["", "web"]),
        labelSelector=st.just(LABELS),
        selectionScope=st.sampled_from(["NamespaceOnly", WHOLE]),
    ),
)
TOLERATIONS = some(
    key=st.sampled_from(["", "a"]),
    operator=st.sampled_from(["Equal", "Exists"]),
    value=st.sampled_from(["", "b"]),
)
POLICIES = some(
    placementType=st.sampled_from(["PickAll", "PickN", "PickFixed"]),
    numberOfClusters=st.just(1),
    clusterNames=st.sampled_from([[], ["a"]]),
    affinity=st.just({"clusterAffinity": {}}),
    topologySpreadConstraints=st.sampled_from([[], [{"topologyKey": "a"}]]),
    tolerations=st.lists(TOLERATIONS, max_size=2),
)
STRATEGIES = some(
    type=st.sampled_from(["RollingUpdate", "External"]),
    reportBackStrategy=some(
        type=st.sampled_from(["Disabled", "Mirror"]), destination=st.just("WorkAPI")
    ),
)
SPECS = st.builds(
    lambda selectors, rest: {"resourceSelectors": selectors, **rest},
    st.lists(SELECTORS, min_size=1, max_size=3),
    some(
        statusReportingScope=st.sampled_from(["ClusterScopeOnly", "NamespaceAccessible"]),
        policy=POLICIES,
        strategy=STRATEGIES,
    ),
)
PLAIN: Body = {"resourceSelectors": [{**NAMESPACE, "name": "web"}]}


def placement(spec: Body) -> Body:
    """A placement as it is stored: rewritten by the webhook, defaults filled in."""
    return {**PLACEMENT, "metadata": {"name": "shop"}, "spec": mutated(spec)}


def namespaced(spec: Body) -> Body:
    """A ResourcePlacement as it is stored: defaults filled in, as no webhook sees it."""
    metadata = {"name": "shop", "namespace": "web"}
    return {**PLACEMENT, "kind": NAMESPACED, "metadata": metadata, "spec": with_defaults(spec)}


def member(name: str) -> Body:
    """A cluster of a name."""
    spec = {"identity": {"kind": "User", "name": "a"}}
    return {**MEMBER, "metadata": {"name": name}, "spec": spec}


def fixed(*selectors: Body) -> Body:
    """A placement that has just these selectors."""
    return placement({"resourceSelectors": [*selectors]})


def of_policy(**policy: object) -> Body:
    """A placement that has this policy."""
    return placement({**PLAIN, "policy": policy})


def of_scope(scope: str) -> Body:
    """A placement that reports there."""
    return placement({**PLAIN, "statusReportingScope": scope})


MIRROR = {"reportBackStrategy": {"type": "Mirror"}}
ACCESSIBLE: Body = {"statusReportingScope": "NamespaceAccessible"}
TWICE: Body = {"resourceSelectors": [NAMESPACE, NAMESPACE]}
WEB: Body = {**NAMESPACE, "name": "web", "selectionScope": WHOLE}
BROKEN: Sequence[tuple[Body, Body]] = (
    ({}, member("a" * 64)),
    ({}, fixed({**NAMESPACE, "name": "web", "labelSelector": LABELS})),
    ({}, placement({**TWICE, **ACCESSIBLE})),
    ({}, fixed(WEB, WEB)),
    ({}, fixed({**NAMESPACE, "selectionScope": WHOLE})),
    ({}, of_policy(placementType="PickFixed", numberOfClusters=1)),
    ({}, of_policy(placementType="PickAll", numberOfClusters=1)),
    ({}, of_policy(placementType="PickN")),
    ({}, of_policy(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}])),
    ({}, of_policy(tolerations=[{"operator": "Equal"}])),
    ({}, placement({**PLAIN, "strategy": MIRROR})),
    (of_policy(), of_policy(placementType="PickN", numberOfClusters=1)),
    (placement({**PLAIN, "strategy": {"type": "External"}}), placement(PLAIN)),
    (of_scope("NamespaceAccessible"), of_scope("ClusterScopeOnly")),
    (
        placement({**PLAIN, **ACCESSIBLE, "strategy": {"type": "External"}}),
        placement(PLAIN),
    ),
    (namespaced({**PLAIN, "policy": {}}), namespaced(PLAIN)),
)
"""Objects before and after: each breaks a rule of its own, the last one two."""


@given(before=st.none() | SPECS, after=SPECS)
def test_functions_answer_as_the_expressions_do(before: Body | None, after: Body) -> None:
    """Whatever a placement holds, new or edited."""
    assert [] == disagreements({} if before is None else placement(before), placement(after))
    assert [] == disagreements({} if before is None else namespaced(before), namespaced(after))


@given(length=st.integers(1, 80))
def test_names_of_clusters_are_refused_as_the_expression_does(length: int) -> None:
    """At the same length."""
    assert [] == disagreements({}, member("a" * length))


@pytest.mark.parametrize(("before", "after"), BROKEN)
def test_broken_rules_are_refused(before: Body, after: Body) -> None:
    """By the function and by the expression."""
    assert [] == disagreements(before, after)


def test_each_rule_can_be_broken() -> None:
    """A rule that always holds would be compared in vain.

    The webhook fills in the policy of a ClusterResourcePlacement, so that one cannot be lost.
    """
    assert {(OF_CLUSTER, Rule("spec", POLICY_STAYS))} == unbroken(KUBEFLEET, BROKEN)


def vectors() -> list[Body]:
    """Vectors of admission that satisfy a schema of ours, of kinds that functions answer for."""
    found = []
    for case in read_cases(VECTORS):
        body = mapping(mapping(case, "input"), "object")
        version, kind = text(body, "apiVersion"), text(body, "kind")
        about = any(fits(answer.kinds, f"{version} {kind}") for answer in ANSWERS)
        if not about or not schemas().covers(version, kind) or schemas().judge(body).violations:
            continue
        admission = ADMISSIONS.get((group_of(version), kind))
        refused = () if admission is None else admission(body)
        if all(one.rule != "schema-required" for one in refused):
            found.append(case)
    return found


FILL: Mapping[str, Callable[[Body], Body]] = {
    "ClusterResourcePlacement": mutated,
    "ResourcePlacement": with_defaults,
    "ClusterResourceOverride": override_filled,
    "ResourceOverride": override_filled,
    "ClusterStagedUpdateRun": run_filled,
    "StagedUpdateRun": run_filled,
}
"""What fills in the defaults that a rule looks at, by kind."""


def stored(case: Body, name: str) -> Body:
    """An object of a vector as it is stored: nulls dropped, defaults filled in."""
    given = mapping(mapping(case, "input"), name)
    body = schemas().judge(given).body if given else given
    fill = FILL.get(text(body, "kind"))
    return body if fill is None else {**body, "spec": fill(mapping(body, "spec"))}


def test_functions_answer_vectors_as_the_expressions_do() -> None:
    """Objects that upstream's own API server was asked."""
    found = {
        text(case, "name"): disagreements(stored(case, "oldObject"), stored(case, "object"))
        for case in vectors()
    }

    assert len(found) > 200
    assert {} == {name: one for name, one in found.items() if one}


def test_what_breaks_a_rule_was_refused_upstream() -> None:
    """The engine evaluates as upstream's does."""
    allowed = [case for case in vectors() if mapping(case, "expected")["allowed"]]
    broken = {
        (text(case, "name"), rule)
        for case in allowed
        for _, rules in asked_of(stored(case, "object"))
        for rule in rules
        if not holds(rule, stored(case, "oldObject"), stored(case, "object"))
    }

    assert set() == broken


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda one: one.by)
def test_each_function_is_there(answer: Answer) -> None:
    """Where it is said to be."""
    module, _, name = answer.by.rpartition(".")

    root = "" if module.startswith("tests.") else "reconciler.dialects."
    assert hasattr(import_module(f"{root}{module}"), name)


def test_each_answer_has_a_rule() -> None:
    """An expression that upstream dropped goes."""
    every = {(kind, rule) for kind, rules in RULES.items() for rule in rules}
    idle = [
        (answer.by, rule)
        for answer in ANSWERS
        for rule in rules_of(answer)
        if not any(answer.covers(kind, rule) and one == rule for kind, one in every)
    ]

    assert [] == idle


def test_each_reason_has_a_rule() -> None:
    """A reason goes with the rule that it explains."""
    every = [(kind, rule) for kind, rules in RULES.items() for rule in rules]

    assert [] == [row for row in UNANSWERED if not any(row.covers(*one) for one in every)]


def test_what_is_judged_has_a_function() -> None:
    """A reason is for a status, for kinds without a schema, and for those only passes write."""
    reasoned = {
        (kind.group, kind.kind)
        for kind, rules in RULES.items()
        for rule in rules
        if any(row.covers(kind, rule) for row in UNANSWERED) and not rule.field.startswith("status")
    }

    kinds = {(one.group, one.kind) for one in our_schemas()}

    assert set() == {kind for kind in reasoned & kinds if kind not in KINDS.owned}

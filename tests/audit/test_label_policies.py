"""Many policies that select by label cost what they select, not every pair; calls, not seconds."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from types import CodeType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.work_counters import counted
from reconciler.audit.references import check_references
from reconciler.dialects.karmada.api.policy import (
    closeness,
    decode_policy,
    implicit_priority,
    template_of,
)
from reconciler.dialects.karmada.detector.detect import ClaimMemory, claim_workloads
from reconciler.dialects.karmada.detector.propagation import DetectorOptions
from reconciler.manifests.selectors import LabelIndex
from reconciler.model.labels import matches
from reconciler.model.world import World
from tests.builders import (
    Body,
    cluster_policy,
    deployment,
    manifest,
    policies_among,
    policy,
    selector,
)
from tests.stories import world

FEW, MANY = 20, 200
SELECTED = 5  # workloads of a policy


def labelled(policies: int, *, wide: bool = False, scattered: bool = False) -> World:
    """Policies that each select some workloads by a label, beside one that all of these have.

    Args:
        policies: How many.
        wide: Whether they are ClusterPropagationPolicies.
        scattered: Whether each policy, with its workloads, is in a namespace of its own.
    """
    bodies: list[Body] = []
    for number in range(policies):
        namespace, app = f"n{number}" if scattered else "default", f"a{number}"
        labels = {
            "matchLabels": {"managed": "yes"},
            "matchExpressions": [{"key": "app", "operator": "In", "values": [app]}],
        }
        selectors = [selector() if scattered else selector(labelSelector=labels)]
        of = partial(cluster_policy if wide else partial(policy, namespace=namespace), f"p{number}")
        bodies.append(of(selectors=selectors))
        bodies += (
            deployment(f"{app}-{copy}", namespace=namespace, labels={"app": app, "managed": "yes"})
            for copy in range(SELECTED)
        )
    return world(*bodies)


def claim_all(found: World) -> None:
    """Claim all workloads of a world for the first time."""
    claims = claim_workloads(found, ClaimMemory(), DetectorOptions())
    drafted = {draft.policy.key for draft in claims.drafts.values() if draft.policy is not None}
    assert len(claims.drafts) == SELECTED * len(drafted)


def check_all(found: World) -> None:
    """Look for references that lead nowhere; all lead somewhere."""
    assert not check_references(found, {})


def compared(calls: Counter[CodeType]) -> int:
    """How often a selector was held against a workload, or asked the index of workloads."""
    asked = (closeness, matches, LabelIndex.selected)
    return sum(calls[one.__code__] for one in asked)


@pytest.mark.parametrize("ask", [claim_all, check_all])
@pytest.mark.parametrize(
    "fleet", [{}, {"wide": True}, {"scattered": True}], ids=["own", "wide", "scattered"]
)
def test_policies_by_label_are_held_against_what_they_select(
    ask: Callable[[World], None], fleet: dict[str, bool]
) -> None:
    """Ten times the policies and workloads are ten times the comparisons."""
    told = []
    for policies in (FEW, MANY):
        found = labelled(policies, **fleet)
        with counted() as calls:
            ask(found)
        told.append(compared(calls))

    assert 0 < told[1] <= told[0] * MANY / FEW
    assert told[1] <= 6 * SELECTED * MANY


APPS = st.sampled_from(["web", "api"])
SELECTORS = st.builds(
    selector,
    st.sampled_from(["Deployment", "ConfigMap"]),
    name=st.sampled_from(["", "", "web"]),
    namespace=st.sampled_from(["", "default", "other"]),
    labelSelector=st.none()
    | st.builds(lambda app: {"matchLabels": {"app": app}}, APPS)
    | st.builds(
        lambda app, operator: {
            "matchExpressions": [{"key": "app", "operator": operator, "values": [app]}]
        },
        APPS,
        st.sampled_from(["In", "NotIn"]),
    ),
)
POLICIES = st.builds(
    policy,
    st.sampled_from("abcd"),
    namespace=st.sampled_from(["", "default", "other"]),
    selectors=st.lists(SELECTORS, min_size=1, max_size=3),
    priority=st.integers(0, 1),
)


@given(st.lists(POLICIES, max_size=6), APPS, st.sampled_from(["default", "other"]))
def test_the_index_elects_whom_trying_all_elects(
    policies: Sequence[Body], app: str, namespace: str
) -> None:
    """The namespace's own first, then by priority, closeness and name."""
    manifests = {found.key: found for found in map(manifest, policies)}
    template = template_of(manifest(deployment("web", namespace=namespace, labels={"app": app})))
    tried = (decode_policy(found, manifests) for found in manifests.values())
    ranked = [
        (not one.key.namespace, -one.priority, -implicit_priority(one, template), one.key.name)
        for one in tried
        if one.key.namespace in {"", namespace} and implicit_priority(one, template)
    ]

    claimed = policies_among(manifests.values()).claim(template, None)

    assert (min(ranked)[-1] if ranked else None) == (claimed and claimed.key.name)

"""Which policy claims a workload; the vectors have the rest."""

import pytest

from reconciler.dialects.karmada.api.policy import (
    Implicit,
    decode_policy,
    implicit_priority,
    template_of,
)
from reconciler.model.identity import ObjectKey
from tests.builders import (
    Body,
    cluster,
    cluster_policy,
    deployment,
    manifest,
    policies_among,
    policy,
    selector,
)
from tests.stories import (
    story,
)

WEB = template_of(manifest(deployment(labels={"app": "web"})))


def winner(*policies: Body, present: ObjectKey | None = None, namespace: str = "default") -> str:
    """The name of the policy that claims web, `""` for none."""
    template = template_of(manifest(deployment(namespace=namespace)))
    claimed = policies_among(map(manifest, policies)).claim(template, present)
    return "" if claimed is None else claimed.key.name


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(selector(), Implicit.ALL, id="all"),
        pytest.param(selector(name="web"), Implicit.NAME, id="name"),
        pytest.param(selector(name="api"), Implicit.NO_MATCH, id="other-name"),
        pytest.param(selector(labelSelector={}), Implicit.LABELS, id="empty-labels"),
        pytest.param(
            selector(labelSelector={"matchLabels": {"app": "api"}}), Implicit.NO_MATCH, id="labels"
        ),
        pytest.param(
            selector(name="web", labelSelector={"matchLabels": {"app": "api"}}),
            Implicit.NAME,
            id="name-makes-labels-irrelevant",
        ),
        pytest.param(selector(namespace="other"), Implicit.NO_MATCH, id="other-namespace"),
        pytest.param(selector("ConfigMap"), Implicit.NO_MATCH, id="other-kind"),
    ],
)
def test_closeness_of_a_selector(body: Body, expected: Implicit) -> None:
    """A name beats labels, labels beat all."""
    found = decode_policy(manifest(policy(selectors=[body])), ())

    assert expected == implicit_priority(found, WEB)


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        pytest.param([policy("b"), policy("a")], "a", id="lesser-name"),
        pytest.param([policy("a"), policy("b", priority=1)], "b", id="priority"),
        pytest.param(
            [policy("a", priority=1), policy("b", selectors=[selector(name="web")])],
            "a",
            id="priority-before-closeness",
        ),
        pytest.param([policy("a"), policy("b", selectors=[selector(name="web")])], "b", id="close"),
        pytest.param([policy("z"), cluster_policy("a", priority=9)], "z", id="own-namespace-first"),
        pytest.param([policy("a", namespace="other"), cluster_policy("c")], "c", id="wide"),
        pytest.param([], "", id="none"),
    ],
)
def test_election(policies: list[Body], expected: str) -> None:
    """Greater priority, closer match, lesser name; the namespace's own policies first."""
    assert expected == winner(*policies) == winner(*reversed(policies))


def test_a_claim_sticks() -> None:
    """A better policy that appears later does not take over, unless the claim ends."""
    told = story(cluster(), policy("b"), deployment())
    told.run(0)
    told.put(policy("a", priority=9))
    told.run(10)
    assert "propagationpolicy.karmada.io/name: b\n" in told.files[_binding()]
    told.put(policy("b", selectors=[selector(name="api")]))
    told.run(20)

    assert "propagationpolicy.karmada.io/name: a\n" in told.files[_binding()]


def _binding() -> str:
    return "status/resourcebindings.work.karmada.io/default/web-deployment.yaml"


def test_a_policy_being_deleted_claims_nothing() -> None:
    """Neither anew nor any longer."""
    body = policy("a")
    leaving = {
        **body,
        "metadata": {
            "name": "a",
            "namespace": "default",
            "deletionTimestamp": "2026-01-01T00:00:00Z",
        },
    }

    assert "" == winner(leaving)
    assert "b" == winner(leaving, policy("b"), present=manifest(body).key)


def test_a_workload_owned_elsewhere_is_passed_over() -> None:
    """The label of another controller keeps policies away."""
    owned = deployment(labels={"resourcetemplate.karmada.io/claimed-by": "federatedhpa"})

    assert policies_among([manifest(policy())]).claim(template_of(manifest(owned)), None) is None

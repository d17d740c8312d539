"""Decoding: defaults, what admission refuses, and numbers at the edge of what can be said."""

from collections.abc import Mapping

import pytest

from reconciler.dialects.ocm.api.admission import OCM_ADMISSIONS
from reconciler.dialects.ocm.api.placement import (
    CLUSTER_GROUP,
    AddOnScore,
    Coordinate,
    decode_placement,
)
from reconciler.model.body import Body
from tests.dialects.ocm.worlds import (
    BY_SCORE,
    GROUP,
    at,
    binding,
    chosen,
    cluster,
    cluster_set,
    placement,
    run,
    score,
)
from tests.manifests.shipped_schemas import schemas
from tests.stories import story

METADATA = {"name": "p", "namespace": "n"}


@pytest.mark.parametrize(
    ("spec", "field", "expected"),
    [
        pytest.param({}, "mode", "Additive", id="mode-without-policy"),
        pytest.param({"prioritizerPolicy": {"mode": None}}, "mode", "Additive", id="null-mode"),
        pytest.param({"prioritizerPolicy": {"mode": ""}}, "mode", "", id="empty-mode-stays"),
        pytest.param({}, "group_length", 0, id="no-strategy"),
        pytest.param({"decisionStrategy": {}}, "group_length", 0, id="no-group-strategy"),
        pytest.param(
            {"decisionStrategy": {"groupStrategy": {}}}, "group_length", "100%", id="all-of-them"
        ),
        pytest.param({"numberOfClusters": None}, "number_of_clusters", None, id="all-that-fit"),
    ],
)
def test_defaults_apply_where_the_parent_is(
    spec: Mapping[str, object], field: str, expected: object
) -> None:
    """As the API server fills them in."""
    found = decode_placement({"metadata": METADATA, "spec": spec})

    assert expected == getattr(found, field)


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        pytest.param({"name": "Steady"}, Coordinate("BuiltIn", "Steady"), id="name"),
        pytest.param(
            {"name": "Balance", "scoreCoordinate": {"type": "BuildIn", "buildIn": "Steady"}},
            Coordinate("BuiltIn", "Steady"),
            id="coordinate-comes-before-name",
        ),
        pytest.param(
            {"scoreCoordinate": {"type": "", "builtIn": "Steady"}},
            Coordinate("BuiltIn", "Steady"),
            id="empty-type",
        ),
        pytest.param(
            {
                "scoreCoordinate": {
                    "type": "AddOn",
                    "addOn": {"resourceName": "r", "scoreName": "s"},
                }
            },
            Coordinate("AddOn", "", AddOnScore("r", "s")),
            id="add-on",
        ),
    ],
)
def test_spelling_of_the_proposal(
    configuration: Mapping[str, object], expected: Coordinate
) -> None:
    """Placement v1alpha1 passes its schema, and means what today's means."""
    body = {
        "apiVersion": f"{CLUSTER_GROUP}/v1alpha1",
        "kind": "Placement",
        "metadata": METADATA,
        "spec": {"prioritizerPolicy": {"configurations": [configuration]}},
    }
    [found] = decode_placement(body).configurations

    assert () == schemas().judge(body).violations
    assert (expected, 1) == (found.coordinate, found.weight)


def test_today_the_old_spelling_is_refused() -> None:
    """Placement v1beta1 has no type BuildIn; the sentence names what there is."""
    coordinate = {"type": "BuildIn", "builtIn": "Steady"}
    body = {
        "apiVersion": f"{CLUSTER_GROUP}/v1beta1",
        "kind": "Placement",
        "metadata": METADATA,
        "spec": {"prioritizerPolicy": {"configurations": [{"scoreCoordinate": coordinate}]}},
    }

    assert [True] == [
        "BuiltIn" in violation.expected for violation in schemas().judge(body).violations
    ]


@pytest.mark.parametrize(
    ("kind", "body", "rules"),
    [
        pytest.param("Placement", {"spec": {"numberOfClusters": 0}}, [], id="none-is-fine"),
        pytest.param(
            "Placement", {"spec": {"numberOfClusters": -1}}, ["placement-number"], id="negative"
        ),
        pytest.param(
            "Placement", {"metadata": {"name": "p" * 64}}, ["placement-name"], id="long-name"
        ),
        pytest.param(
            "ManagedClusterSetBinding",
            {"metadata": METADATA, "spec": {"clusterSet": "other"}},
            ["set-binding-name"],
            id="binding-of-another-name",
        ),
        pytest.param(
            "AddOnPlacementScore",
            {"status": {"validUntil": "tomorrow"}},
            ["score-unreadable"],
            id="unreadable-moment",
        ),
        pytest.param(
            "ManagedCluster",
            {"status": {"allocatable": {"cpu": "many"}, "capacity": {"cpu": "1"}}},
            ["cluster-unreadable"],
            id="unreadable-amount",
        ),
    ],
)
def test_admission(kind: str, body: Mapping[str, object], rules: list[str]) -> None:
    """What would crash upstream, or lose decisions, never takes effect."""
    assert rules == [violation.rule for violation in OCM_ADMISSIONS[CLUSTER_GROUP, kind](body)]


HUB = (cluster_set(), binding())
FOR_EVER = "9999-12-31T23:59:59.5Z"
BY_CPU = {"configurations": [{"scoreCoordinate": {"builtIn": "ResourceAllocatableCPU"}}]}


def amounts(**resources: str) -> Body:
    """A status with these amounts."""
    return {"allocatable": resources, "capacity": resources, "conditions": [AVAILABLE]}


AVAILABLE = {"type": "ManagedClusterConditionAvailable", "status": "True"}


def test_score_until_the_end_of_time_is_never_checked() -> None:
    """There is no second after the last one."""
    policy = placement(prioritizerPolicy=BY_SCORE)
    _, outcome = run([*HUB, cluster("a"), score("a", 1, validUntil=FOR_EVER), policy], {}, at(0))

    assert outcome.recheck_at is None


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(9_223_372_036, ["a"], id="longest"),
        pytest.param(9_223_372_037, [], id="wrapped"),
        pytest.param(-1, [], id="negative"),
        pytest.param(-(2**63), [], id="wrapped-to-nothing"),
    ],
)
def test_toleration_of_any_number_of_seconds(seconds: int, expected: list[str]) -> None:
    """Seconds are nanoseconds of 64 bits upstream, which wrap around."""
    tolerations = [{"key": "k", "operator": "Exists", "tolerationSeconds": seconds}]
    lost = {
        "type": "ManagedClusterConditionAvailable",
        "status": "Unknown",
        "lastTransitionTime": "9999-12-31T23:59:59Z",
    }
    tolerations.append({"operator": "Exists", "effect": "NoSelect", "key": f"{GROUP}/unreachable"})
    tolerations[-1]["tolerationSeconds"] = seconds
    far = cluster("b", status={"conditions": [lost]})
    near = cluster("a", {"key": "k", "effect": "NoSelect"})
    files, _ = run([*HUB, near, far, placement(tolerations=tolerations)], {}, at(0))

    assert expected == [name for name in chosen(files) if name == "a"]


def test_infinite_amount_of_cpu() -> None:
    """Upstream's floats know infinity, and what is divided by it."""
    fleet = [cluster("a", status=amounts(cpu="1e400")), cluster("b", status=amounts(cpu="1"))]
    files, _ = run([*HUB, *fleet, placement(prioritizerPolicy=BY_CPU)], {}, at(0))

    assert ["a", "b"] == chosen(files)


def test_unreadable_amount_does_not_disturb_expressions() -> None:
    """A resource that nobody counts stands in the object as it is written."""
    cel = {"celExpressions": ['managedCluster.status.allocatable.pods == "many"']}
    predicates = [{"requiredClusterSelector": {"celSelector": cel}}]
    fleet = [cluster("a", status=amounts(pods="many")), placement(predicates=predicates)]

    assert ["a"] == chosen(run([*HUB, *fleet], {}, at(0))[0])


@pytest.mark.parametrize("seconds", [0, 10**9, 10**30])
def test_period_of_any_length(seconds: int) -> None:
    """As long as there are years with four digits."""
    settings = {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": "ReconcilerConfiguration",
        "metadata": {"name": "reconciler"},
        "spec": {"ocm": {"resyncSeconds": seconds}},
    }
    policy = placement(numberOfClusters=1, prioritizerPolicy=BY_SCORE)
    hub = [*HUB, settings, policy, cluster("a"), cluster("b"), score("a", 1)]
    files, _ = run([*hub, score("b", 0)], {}, at(0))
    files, _ = run([*hub, score("b", 9)], files, at(1))

    assert ["a" if seconds else "b"] == chosen(files)


def test_moment_of_a_decision_edited_to_the_end_of_time() -> None:
    """A spoilt record does not stop the pass."""
    policy = placement(numberOfClusters=1, prioritizerPolicy=BY_SCORE)
    told = story(*HUB, policy, cluster("a"), cluster("b"), score("a", 1), score("b", 0))
    told.run(0)
    path = f"status/placements.{GROUP}/ns1/p.yaml"
    told.files[path] = told.files[path].replace(
        'decided-at: "2026-11-20T12:00:00Z"', 'decided-at: "9999-12-31T23:59:59Z"'
    )
    told.put(score("b", 9)).run(1)

    assert ["a"] == chosen(told.files)

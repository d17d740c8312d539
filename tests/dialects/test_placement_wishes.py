"""What each API says of affinity groups and spread, from files."""

import pytest

from reconciler.core.dialects import DIALECTS
from reconciler.dialects.karmada.view.answers import affinity_place
from reconciler.dialects.view import SpreadWish
from reconciler.model.identity import ObjectKey
from reconciler.rebalance.target import AffinityPlace
from tests.builders import Body, cluster, deployment, policy
from tests.dialects.kubefleet.fleet import GROUP, PLACEMENT, member, pick, placement
from tests.stories import story

GROUPS: Body = {"clusterAffinities": [{"affinityName": "home"}, {"affinityName": "away"}]}
VIEWS = {dialect.name: dialect.view() for dialect in DIALECTS}


@pytest.mark.parametrize(
    ("placement", "observed", "expected"),
    [
        pytest.param(GROUPS, "home", AffinityPlace(0, "home"), id="first"),
        pytest.param(GROUPS, "away", AffinityPlace(1, "away"), id="second"),
        pytest.param(GROUPS, "gone", AffinityPlace(2, "gone"), id="none-of-these-any-more"),
        pytest.param(GROUPS, "", None, id="never-scheduled"),
        pytest.param(GROUPS, None, None, id="no-status"),
        pytest.param({}, "home", None, id="no-groups"),
    ],
)
def test_the_group_that_placed_a_binding(
    placement: Body, observed: str | None, expected: AffinityPlace | None
) -> None:
    """By its place among those that are tried in order."""
    assert expected == affinity_place(placement, observed)


def located(name: str, **spec: object) -> Body:
    """A cluster that says where it stands."""
    found = cluster(name)
    return {**found, "spec": {**found.get("spec", {}), **spec}}  # type: ignore[dict-item]


def test_karmada_spreads_by_fields_and_labels_of_clusters() -> None:
    """Regions, first zones, providers; a cluster that says nothing is in no domain."""
    constraints = [
        {"spreadByField": "region", "minGroups": 2, "maxGroups": 3},
        {"spreadByField": "zone", "minGroups": 1},
        {"spreadByField": "cluster", "minGroups": 2},
    ]
    told = story(
        located("a", region="east", zones=["e1", "e2"]),
        located("b", region="west", zone="w1"),
        located("c"),
        deployment(),
        policy(placement={"spreadConstraints": constraints}),
    )
    told.run(0)
    key = ObjectKey("work.karmada.io", "ResourceBinding", "default", "web-deployment")

    assert (
        SpreadWish(name="region", domain_of={"a": "east", "b": "west"}, least=2, most=3),
        SpreadWish(name="zone", domain_of={"a": "e1", "b": "w1"}, least=1),
        SpreadWish(name="cluster", domain_of={"a": "a", "b": "b", "c": "c"}, least=2),
    ) == VIEWS["karmada"].spread(told.world())(key)


def test_kubefleet_spreads_by_labels() -> None:
    """With the skew that counts where none is written."""
    constraints = [{"topologyKey": "zone", "maxSkew": 2}, {"topologyKey": "rack"}]
    told = story(
        member("a", labels={"zone": "x"}),
        member("b"),
        placement(pick(1, topologySpreadConstraints=constraints)),
    )

    assert (
        SpreadWish(name="zone", domain_of={"a": "x"}, skew=2),
        SpreadWish(name="rack", domain_of={}, skew=1),
    ) == VIEWS["kubefleet"].spread(told.world())(ObjectKey(GROUP, PLACEMENT, "", "web"))

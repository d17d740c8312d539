"""What admission refuses in a FederatedResourceQuota, and where it points."""

import pytest

from reconciler.dialects.karmada.api.quota import refuse_quota
from tests.builders import Body, quota

ASSIGNED = {"clusterName": "a", "hard": {"cpu": "2"}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"overall": {"cpu": 4, "requests.memory": "1Gi", "pods": "3"}}, [], id="fine"),
        pytest.param({"overall": {"example.com/gpu": "4"}}, [], id="domain"),
        pytest.param({"overall": {"requests.hugepages-2Mi": "4"}}, [], id="huge-pages"),
        pytest.param(
            {"overall": {"gpu": "4"}}, [("/spec/overall/gpu", "quota-resource")], id="no-domain"
        ),
        pytest.param(
            {"overall": {"cpu": "-1"}},
            [("/spec/overall/cpu", "quota-amount"), ("/spec/overall/cpu", "quota-assigned")],
            id="negative",
        ),
        pytest.param(
            {"overall": {"example.com/gpu": "500m"}},
            [("/spec/overall/example.com~1gpu", "quota-amount")],
            id="half-of-a-device",
        ),
        pytest.param(
            {"overall": {"cpu": "2"}, "staticAssignments": [ASSIGNED]}, [], id="assigned-all"
        ),
        pytest.param(
            {"overall": {"cpu": "3"}, "staticAssignments": [ASSIGNED, ASSIGNED]},
            [("/spec/overall/cpu", "quota-assigned")],
            id="assigned-more",
        ),
        pytest.param(
            {"overall": {"memory": "3"}, "staticAssignments": [ASSIGNED]},
            [("/spec/staticAssignments/0/hard/cpu", "quota-assigned")],
            id="assigned-without-limit",
        ),
        pytest.param(
            {"overall": {"cpu": "3"}, "staticAssignments": [{**ASSIGNED, "clusterName": "A.b"}]},
            [("/spec/staticAssignments/0/clusterName", "quota-cluster")],
            id="cluster",
        ),
    ],
)
def test_quotas(spec: Body, expected: list[tuple[str, str]]) -> None:
    """Pointer and rule of each violation."""
    found = refuse_quota({**quota(), "spec": spec})

    assert expected == [(violation.pointer, violation.rule) for violation in found]


def test_a_name_is_a_label() -> None:
    """It is the value of one on what clusters get."""
    found = refuse_quota(quota("a" * 64, overall={"cpu": "1"}))

    assert ["quota-name"] == [violation.rule for violation in found]

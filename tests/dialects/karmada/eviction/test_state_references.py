"""What policies preserve in vain is told before it is needed."""

import pytest

from reconciler.dialects.karmada.api.names import Failover
from reconciler.dialects.karmada.api.policy import decode_policy
from reconciler.dialects.karmada.view.references import preserved_in_vain
from tests.builders import manifest, policy

ON = Failover(state_preservation=True)


def fields(purge_mode: str, failover: Failover, *paths: str) -> list[str]:
    """Where a policy preserves in vain what these paths lead to, below its failover."""
    rules = [{"aliasLabelName": "x", "jsonPath": path} for path in paths]
    behavior = {"purgeMode": purge_mode, "statePreservation": {"rules": rules}}
    body = policy(failover={"application": behavior, "cluster": {}})
    found = preserved_in_vain(decode_policy(manifest(body), {}), failover)
    return [one.pointer.removeprefix("/spec/failover/application") for one in found]


@pytest.mark.parametrize(
    ("purge_mode", "failover", "paths", "expected"),
    [
        pytest.param("Directly", ON, ["{.replicas}"], [], id="reaches-the-new-copy"),
        pytest.param("Directly", Failover(), ["{.a[}"], ["/statePreservation"], id="off"),
        pytest.param("Gracefully", ON, ["{.replicas}"], ["/purgeMode"], id="old-copy-stays"),
        pytest.param("Never", ON, ["{.replicas}"], ["/purgeMode"], id="old-copy-stays-for-good"),
        pytest.param(
            "Directly",
            ON,
            ["{.replicas}", "{..replicas}", "{.a"],
            [f"/statePreservation/rules/{position}/jsonPath" for position in (1, 2)],
            id="unreadable",
        ),
        pytest.param("Gracefully", Failover(), [], [], id="nothing-preserved"),
    ],
)
def test_what_is_preserved_in_vain(
    purge_mode: str, failover: Failover, paths: list[str], expected: list[str]
) -> None:
    """The switch comes first, then how the old copy goes, then the rules."""
    assert expected == fields(purge_mode, failover, *paths)

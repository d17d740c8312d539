"""What `get` shows of each kind."""

import pytest

from reconciler.cli.tables import columns_of


@pytest.mark.parametrize(
    ("group", "kind", "expected"),
    [
        pytest.param("cluster.karmada.io", "Cluster", ["VERSION"], id="ours"),
        pytest.param("apps", "Deployment", ["REPLICAS"], id="workload"),
        pytest.param("cluster.x-k8s.io", "Cluster", [], id="foreign-namesake"),
        pytest.param("example.org", "Widget", [], id="foreign"),
    ],
)
def test_only_kinds_that_are_known_have_columns(group: str, kind: str, expected: list[str]) -> None:
    """Another project's kind of the same name says nothing that we could read."""
    assert expected == [title for title, _ in columns_of(group, kind, wide=False)][:1]

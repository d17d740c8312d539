"""Names of new bindings: many made together are those made one by one."""

import pytest

from reconciler.dialects.kubefleet.api.binding import binding_name, binding_names
from reconciler.dialects.kubefleet.api.names import UnexpectedBehavior

CLUSTERS = ("alpha", "beta", "a-name-that-is-longer-than-the-room-it-has")


def test_many_names_are_those_of_each_cluster_alone() -> None:
    """Placement, cluster, and a suffix that both give."""
    expected = [binding_name("web", cluster, ()) for cluster in CLUSTERS]

    assert expected == binding_names("web", CLUSTERS, ())


def test_of_many_names_the_taken_one_gets_another_suffix() -> None:
    """The others stay as they are."""
    free = binding_names("web", CLUSTERS, ())
    expected = [free[0], binding_name("web", "beta", {free[1]}), free[2]]

    assert expected == binding_names("web", CLUSTERS, {free[1]})


@pytest.mark.parametrize(
    ("placement", "clusters"),
    [
        pytest.param("web", ("alpha", "be.ta"), id="dot-in-a-cluster"),
        pytest.param("web", ("alpha", "b\u00e4ta"), id="umlaut-in-a-cluster"),
        pytest.param("Web", ("alpha",), id="upper-case-placement"),
        pytest.param("-web", ("alpha",), id="placement-begins-with-a-dash"),
        pytest.param("", ("alpha",), id="no-placement"),
    ],
)
def test_a_name_that_is_no_label_is_refused_among_many(
    placement: str, clusters: tuple[str, ...]
) -> None:
    """The sentence names the cluster, as for one alone."""
    with pytest.raises(UnexpectedBehavior, match="must be a DNS-1123 label"):
        binding_names(placement, clusters, ())

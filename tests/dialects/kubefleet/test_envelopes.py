"""What may be in an envelope, and what is said of what may not."""

import pytest

from reconciler.dialects.kubefleet.workgenerator.content import contents
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text


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

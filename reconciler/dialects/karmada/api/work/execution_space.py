"""The namespaces of Works, one for each cluster."""

EXECUTION = "karmada-es-"


def execution_namespace(cluster: str) -> str:
    """Return the namespace of the Works of a cluster.

    Source: karmada@f8fdd02 pkg/util/names/names.go `GenerateExecutionSpaceName`.
    """
    return EXECUTION + cluster

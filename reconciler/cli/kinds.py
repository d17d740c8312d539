"""Which kind a person means: singular, plural, any case, short, or with its group."""

from collections.abc import Iterable, Mapping

SHORT: Mapping[str, str] = {
    "cm": "configmap",
    "cpp": "clusterpropagationpolicy",
    "crb": "clusterresourcebinding",
    "crp": "clusterresourceplacement",
    "crd": "customresourcedefinition",
    "deploy": "deployment",
    "ds": "daemonset",
    "ing": "ingress",
    "ns": "namespace",
    "po": "pod",
    "pp": "propagationpolicy",
    "pvc": "persistentvolumeclaim",
    "rb": "resourcebinding",
    "rs": "replicaset",
    "sa": "serviceaccount",
    "sts": "statefulset",
    "svc": "service",
    "wr": "workloadrebalancer",
}
"""Short names, as kubectl and karmadactl have them."""


def resolve_kind(word: str, known: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the (group, kind) pairs that a word names, sorted; none if it names nothing known.

    >>> resolve_kind("policies", [("a", "Policy")]), resolve_kind("rb.work.karmada.io", [])
    ([('a', 'Policy')], [])
    """
    name, _, group = word.lower().partition(".")
    name = SHORT.get(name, name)
    return sorted(
        (g, kind)
        for g, kind in set(known)
        if name in _spellings(kind.lower()) and (not group or g == group)
    )


def _spellings(kind: str) -> set[str]:
    """Return singular and plurals of a kind in lower case."""
    plural = f"{kind}es" if kind.endswith(("s", "x", "ch")) else f"{kind}s"
    if kind.endswith("y"):
        plural = f"{kind[:-1]}ies"
    return {kind, plural}

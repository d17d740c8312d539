"""Which kind a person means: singular, plural, any case, short, or with its group."""

from collections.abc import Iterable, Mapping

SHORT: Mapping[str, str] = {
    "cm": "configmap",
    "crd": "customresourcedefinition",
    "deploy": "deployment",
    "ds": "daemonset",
    "ing": "ingress",
    "ns": "namespace",
    "po": "pod",
    "pvc": "persistentvolumeclaim",
    "rs": "replicaset",
    "sa": "serviceaccount",
    "sts": "statefulset",
    "svc": "service",
}
"""Short names of kinds of Kubernetes, as kubectl has them."""


def resolve_kind(
    word: str, short: Mapping[str, str], known: Iterable[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the (group, kind) pairs that a word names, sorted; none if it names nothing known.

    Args:
        word: As a person wrote it.
        short: Short names of kinds of the APIs, to their kinds in lower case.
        known: Groups and kinds.

    >>> resolve_kind("policies", {}, [("a", "Policy")]), resolve_kind("rb.example.org", {}, [])
    ([('a', 'Policy')], [])
    """
    name, _, group = word.lower().partition(".")
    name = {**SHORT, **short}.get(name, name)
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

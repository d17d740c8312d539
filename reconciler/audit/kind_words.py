"""Which kind a person means: singular, plural, any case, short, or with its group."""

from collections.abc import Container, Iterable, Mapping

from reconciler.core.dialects import DIALECTS
from reconciler.manifests.paths import plural_of
from reconciler.model.known_kinds import Kind

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

ALL: Mapping[str, frozenset[Kind]] = {
    "all": frozenset(
        {("", kind) for kind in ("Pod", "ReplicationController", "Service")}
        | {("apps", kind) for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")}
        | {("autoscaling", "HorizontalPodAutoscaler"), ("batch", "CronJob"), ("batch", "Job")}
    )
}
"""The category of Kubernetes' own kinds.

Source: kubernetes pkg/registry `Categories` of the storage of each kind.
"""


PLACEMENTS = "placements"
"""The word that means what places anything in any API, where several APIs have some.

Ours: it is the plural of one kind, too, which is meant where only that is there, or by full name.
"""


def placing_kinds(present: Container[Kind]) -> tuple[Kind, ...]:
    """Return the kinds of policies and placements of all APIs that are present, in their order."""
    kinds = (kind for dialect in DIALECTS for kind in sorted(dialect.placing))
    return tuple(kind for kind in kinds if kind in present)


def kinds_in_category(word: str) -> tuple[Kind, ...]:
    """Return the kinds that a category means, sorted; none if the word is no category."""
    tables = [ALL, *(dialect.view().categories for dialect in DIALECTS)]
    return tuple(sorted({kind for table in tables for kind in table.get(word.lower(), ())}))


def resolve_kind(
    word: str,
    short: Mapping[str, str],
    known: Iterable[Kind],
    present: Container[Kind] = (),
) -> list[Kind]:
    """Return the (group, kind) pairs that a word names, sorted; none if it names nothing known.

    What is present goes before what is only known, and there a kind's own name before the short
    name of another one: `cluster` is both in the APIs that are read.

    Args:
        word: As a person wrote it.
        short: Short names of kinds of the APIs, to their kinds in lower case.
        known: Groups and kinds, those that are present among them.
        present: Groups and kinds of which there are objects.

    >>> kinds = [("a", "Policy"), ("b", "Pod")]
    >>> resolve_kind("policies", {}, kinds), resolve_kind("rb.example.org", {}, kinds)
    ([('a', 'Policy')], [])
    >>> resolve_kind("pod", {"pod": "policy"}, kinds)
    [('b', 'Pod')]
    >>> resolve_kind("pod", {"pod": "policy"}, kinds, present=[("a", "Policy")])
    [('a', 'Policy')]
    """
    name, _, group = word.lower().partition(".")
    meant = [name, {**SHORT, **short}.get(name, name)]
    kinds = sorted(kind for kind in set(known) if not group or kind[0] == group)
    tiers = [[kind for kind in kinds if one in _spellings(kind[1])] for one in meant]
    there = [[kind for kind in tier if kind in present] for tier in tiers]
    return next(filter(None, (*there, *tiers)), [])


def _spellings(kind: str) -> set[str]:
    """Return singular and plurals of a kind in lower case."""
    word = kind.lower()
    return {word, plural_of(kind), f"{word}s", f"{word}es"}

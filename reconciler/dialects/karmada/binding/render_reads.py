"""What rendering asks beside a binding and its workload, and which answers differ in two worlds.

Override policies are asked for by namespace and kind: those of the namespace of an object, and
those of the whole fleet. A cluster-scoped one may move an object to where others mean it; then it
depends on all of them.
"""

from collections.abc import Iterable, Iterator

from reconciler.dialects.cluster_reads import FLEET, NAMES, named
from reconciler.dialects.karmada.api.groups import CLUSTER, POLICY_GROUP
from reconciler.dialects.karmada.api.policies import CLUSTER_WIDE, NAMESPACED
from reconciler.dialects.karmada.overridemanager.override_policy import (
    OverridePolicies,
    OverridePolicy,
    OverrideRule,
    decode_override_policy,
    rules_for,
)
from reconciler.dialects.read_index import Question, Reads
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.fields import bodies, text
from reconciler.model.identity import ClusterName, ObjectKey, group_of
from reconciler.model.known_kinds import Kind
from reconciler.model.world import Manifest, World

OVERRIDES: tuple[Kind, ...] = (
    (POLICY_GROUP, "ClusterOverridePolicy"),
    (POLICY_GROUP, "OverridePolicy"),
)
POLICIES: tuple[Kind, ...] = ((POLICY_GROUP, CLUSTER_WIDE), (POLICY_GROUP, NAMESPACED))
ALL_OVERRIDES: Question = ("overrides",)
REPORTS: Reads = frozenset({("reports",)})
"""What a binding asks that waits for a cluster to report a copy no longer."""
ELSEWHERE = ("/spec/", "/data/", "/metadata/labels", "/metadata/annotations")
"""Where changes leave an object the kind and the namespace that it has."""


def _meant(namespace: str, kind: Kind) -> Question:
    """Return the question which override policies mean a kind in a namespace, `""` for any."""
    return "overrides", namespace, *kind


def policy_read(policy: ObjectKey) -> Question:
    """Return the question what a policy asks of copies."""
    return "policy", policy.kind, policy.namespace, policy.name


ANY_KIND: Kind = ("", "")


def binding_reads(
    key: ObjectKey, body: Body, clusters: Iterable[ClusterName], overrides: OverridePolicies
) -> Reads:
    """Return what the rendering of a workload asks.

    Args:
        key: Of the workload.
        body: It.
        clusters: Where it goes.
        overrides: All override policies.
    """
    return frozenset((*_overrides_read(key, body, overrides), *map(named, clusters)))


def namespace_reads(key: ObjectKey, body: Body, overrides: OverridePolicies) -> Reads:
    """Return what the rendering of a Namespace asks, which goes to every cluster."""
    chosen = any(rule.target is not None for _, rule in rules_for(overrides.cluster_wide, body))
    fleet = (FLEET,) if chosen else ()
    return frozenset((*_overrides_read(key, body, overrides), NAMES, *fleet))


def _overrides_read(key: ObjectKey, body: Body, overrides: OverridePolicies) -> Iterator[Question]:
    for namespace in {"", key.namespace}:
        yield _meant(namespace, key[:2])
        yield _meant(namespace, ANY_KIND)
    if any(_may_move(rule) for _, rule in rules_for(overrides.cluster_wide, body)):
        yield ALL_OVERRIDES


def _may_move(rule: OverrideRule) -> bool:
    """Return whether a rule may give an object another kind or namespace."""
    plain = (text(one, "path") for one in bodies(rule.overriders, "plaintext"))
    fields = (text(one, "fieldPath") for one in bodies(rule.overriders, "fieldOverrider"))
    return any(not path.startswith(ELSEWHERE) for path in (*plain, *fields))


def changed(before: World, now: World) -> Iterator[Question]:
    """Yield the questions that two worlds answer otherwise."""
    if now.feedback is not before.feedback:
        yield from REPORTS
    for kind in OVERRIDES:
        for one in _differing(before, now, kind):
            yield ALL_OVERRIDES
            yield from _means(decode_override_policy(one))
    for kind in POLICIES:
        yield from (policy_read(one.key) for one in _differing(before, now, kind))
    for then, since in _pairs(before, now, CLUSTER):
        if then is None or since is None:
            yield NAMES
        elif _asked(then) == _asked(since):
            continue
        yield FLEET
        yield from (named(one.key.name) for one in (then, since) if one is not None)


def _means(policy: OverridePolicy) -> Iterator[Question]:
    """Yield the questions that an override policy answers."""
    if not policy.selectors:
        yield _meant(policy.key.namespace, ANY_KIND)
    for one in policy.selectors:
        named_kind = (group_of(one.api_version), one.kind) if one.kind else ANY_KIND
        yield _meant(one.namespace, named_kind)


def _differing(before: World, now: World, kind: Kind) -> Iterator[Manifest]:
    """Yield the objects of a kind that differ, as they were and as they are."""
    for pair in _pairs(before, now, kind):
        yield from (one for one in pair if one is not None)


def _pairs(
    before: World, now: World, kind: Kind
) -> Iterator[tuple[Manifest | None, Manifest | None]]:
    """Yield the objects of a kind that differ, each as it was and as it is."""
    if before.of_kind(*kind) is now.of_kind(*kind):
        return
    then = {one.key: one for one in before.of_kind(*kind)}
    for since in now.of_kind(*kind):
        was = then.pop(since.key, None)
        if was is not since:
            yield was, since
    yield from ((gone, None) for gone in then.values())


def _asked(cluster: Manifest) -> list[object]:
    """Return what overrides ask of a cluster."""
    spec = at(cluster.body, "spec")
    fields = ("provider", "region", "zones", "zone")
    return [at(cluster.body, "metadata").get("labels"), *(spec.get(one) for one in fields)]

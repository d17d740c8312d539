"""Which overrides concern a placement, and which of those a cluster."""

from collections.abc import Callable, Iterable, Mapping

from reconciler.dialects.kubefleet.overrider.override import (
    MemberLabels,
    Override,
    OverrideTarget,
    rules_of,
    selects,
)
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.fields import text

IsNamespaced = Callable[[OverrideTarget], bool]
"""Whether an object is of a namespaced kind, as the hub knows it."""


def target_of(manifest: Body, namespace: str = "") -> OverrideTarget:
    """Return an object as overrides name it.

    Args:
        manifest: The object.
        namespace: Where it stands if it does not say so itself.
    """
    group, _, version = text(manifest, "apiVersion").rpartition("/")
    metadata = at(manifest, "metadata")
    name, stated = metadata.get("name"), metadata.get("namespace")
    place = stated if isinstance(stated, str) and stated else namespace
    return OverrideTarget(
        group, version, text(manifest, "kind"), place, name if isinstance(name, str) else ""
    )


def hits(override: Override, target: OverrideTarget, *, namespaced: bool) -> int:
    """Return how many selectors of an override are for an object; each of them applies.

    A ClusterResourceOverride is for a namespaced object if it is for its Namespace, a
    ResourceOverride only for what is in its own namespace.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/override.go `applyOverrides`.
    """
    if override.namespace:
        if not namespaced or override.namespace != target.namespace:
            return 0
        wanted = target._replace(namespace="")
    elif namespaced:
        wanted = OverrideTarget("", "v1", "Namespace", "", target.namespace)
    else:
        wanted = target
    return override.selectors.count(wanted)


def overrides_of_placement(
    overrides: Iterable[Override],
    placement: str,
    targets: Iterable[OverrideTarget],
    is_namespaced: IsNamespaced,
) -> list[Override]:
    """Return the overrides that concern a placement: any object of it, by any of its selectors.

    Args:
        overrides: All there are.
        placement: Upstream's key of the placement: its name, after the namespace if it has one.
        targets: What it places, envelopes unpacked.
        is_namespaced: Whether an object is of a namespaced kind.

    Source: kubefleet@e160c1c pkg/utils/overrider/overrider.go
    `FetchAllMatchingOverridesForResourceSnapshot`.
    """
    scopes = {target: is_namespaced(target) for target in targets}
    return [
        override
        for override in overrides
        if override.placement in (None, placement)
        and any(hits(override, one, namespaced=own) for one, own in scopes.items())
    ]


def overrides_of_cluster(overrides: Iterable[Override], member: MemberLabels) -> list[Override]:
    """Return the overrides that have a rule for a cluster, in the order in which they apply.

    Those of the whole fleet come first; each scope is sorted by the names of the snapshots as
    texts.

    Raises:
        UnexpectedBehavior: An override has no policy, or a selector that cannot be used.

    Source: kubefleet@e160c1c pkg/utils/overrider/overrider.go
    `PickFromResourceMatchedOverridesForTargetCluster`.
    """
    found = [one for one in overrides if any(selects(rule, member) for rule in rules_of(one))]
    return sorted(found, key=lambda one: (one.namespace, one.snapshot))


def snapshots_of(overrides: Iterable[Override]) -> tuple[list[str], list[Mapping[str, str]]]:
    """Return the names of overrides as a binding lists them, those of the fleet first."""
    listed = list(overrides)
    names = [one.snapshot for one in listed if not one.namespace]
    return names, [
        {"name": one.snapshot, "namespace": one.namespace} for one in listed if one.namespace
    ]

"""An override of either scope: what it changes, where, and for which placement."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from reconciler.dialects.kubefleet.scheduler.failure import UnexpectedBehavior
from reconciler.model.body import Body
from reconciler.model.fields import (
    bodies,
    bodies_or_none,
    mapping,
    mapping_or_none,
    text,
)
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.labels import LabelSelector, matches
from reconciler.model.selectors import decode_label_selector, refusal_of

CLUSTER_SELECTORS = "clusterResourceSelectors"
SELECTORS = "resourceSelectors"
DELETE = "Delete"
NAMESPACED = "Namespaced"


class OverrideTarget(NamedTuple):
    """An object as overrides name it, with its version; `namespace` is `""` in a selector."""

    group: str
    version: str
    kind: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class MemberLabels:
    """A cluster as overrides see it."""

    name: ClusterName
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OverrideChange:
    """What changes on some clusters.

    Attributes:
        terms: A label selector for each term, `None` in the place of one that has none; `None`
            instead of all terms selects no cluster, and no term at all selects every cluster.
        deletes: Whether the object does not go there.
        patches: JSON patches otherwise, in order.
    """

    terms: tuple[LabelSelector | None, ...] | None
    deletes: bool
    patches: tuple[Body, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """An override.

    Attributes:
        snapshot: Name of its snapshot, by which overrides are sorted and named in messages.
        namespace: `""` for a ClusterResourceOverride.
        selectors: What it changes; a ClusterResourceOverride also what is in these Namespaces.
        placement: For which placement alone, by upstream's key of it; `None` for all.
        rules: What changes where, `None` without a policy.
    """

    snapshot: str
    namespace: str
    selectors: tuple[OverrideTarget, ...]
    placement: str | None
    rules: tuple[OverrideChange, ...] | None


def decode_override(key: ObjectKey, spec: Body, snapshot: str) -> Override:
    """Return an override.

    Args:
        key: Of the override.
        spec: Its spec.
        snapshot: Name of its snapshot.

    Raises:
        UserError: A field has the wrong type.

    Source: kubefleet@e160c1c apis/placement/v1beta1/override_types.go.
    """
    policy = mapping_or_none(spec, "policy")
    listed = bodies(spec, SELECTORS if key.namespace else CLUSTER_SELECTORS)
    return Override(
        snapshot=snapshot,
        namespace=key.namespace,
        selectors=tuple(map(_target, listed)),
        placement=_placement(key, mapping_or_none(spec, "placement")),
        rules=None if policy is None else tuple(map(_rule, bodies(policy, "overrideRules"))),
    )


def _target(selector: Body) -> OverrideTarget:
    """Return what a selector names; labels do not count."""
    group, version, kind, name = (text(selector, n) for n in ("group", "version", "kind", "name"))
    return OverrideTarget(group, version, kind, "", name)


def _placement(key: ObjectKey, placement: Body | None) -> str | None:
    """Return the key of the only placement that an override is for, `None` if it is for all.

    Only a ResourceOverride can be for a placement of its namespace, and says so by the scope.
    """
    if placement is None:
        return None
    name = text(placement, "name")
    own = key.namespace and text(placement, "scope") == NAMESPACED
    return f"{key.namespace}/{name}" if own else name


def _rule(rule: Body) -> OverrideChange:
    selector = mapping_or_none(rule, "clusterSelector")
    terms = None if selector is None else bodies_or_none(selector, "clusterSelectorTerms") or ()
    return OverrideChange(
        terms=None if terms is None else tuple(map(_term, terms)),
        deletes=text(rule, "overrideType") == DELETE,
        patches=bodies(rule, "jsonPatchOverrides"),
    )


def _term(term: Body) -> LabelSelector | None:
    if mapping_or_none(term, "labelSelector") is None:
        return None
    return decode_label_selector(mapping(term, "labelSelector"))


def selects(rule: OverrideChange, member: MemberLabels) -> bool:
    """Return whether a rule is for a cluster: any of its terms is.

    Raises:
        UnexpectedBehavior: A selector cannot be used, and no term before it selects the cluster.

    Source: kubefleet@e160c1c pkg/utils/overrider/overrider.go `IsClusterMatched`.
    """
    if rule.terms is None:
        return False
    return not rule.terms or any(_fits(term, member) for term in rule.terms)


def _fits(term: LabelSelector | None, member: MemberLabels) -> bool:
    """Return whether a term selects a cluster; one without labels selects none."""
    if term is None:
        return False
    refusal = refusal_of(term)
    if refusal:
        raise UnexpectedBehavior(f"invalid cluster label selector: {refusal}")
    return matches(term, member.labels)


def rules_of(override: Override) -> tuple[OverrideChange, ...]:
    """Return the rules of an override.

    Raises:
        UnexpectedBehavior: It has no policy.
    """
    if override.rules is None:
        raise UnexpectedBehavior(f"the override {override.snapshot} has no policy")
    return override.rules

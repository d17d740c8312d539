"""What KubeFleet's webhooks and CEL rules refuse in overrides, disruption budgets and evictions.

Overrides are of both scopes. An eviction asks that a placement leaves a cluster.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reconciler.dialects.kubefleet.api.placement import PICK_ALL, PICK_FIXED
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, text
from reconciler.model.labels import decode_label_selector, refusal_of
from reconciler.model.text import shown

CLUSTER_SCOPED = "ClusterResourceOverride"
NAMESPACED = "ResourceOverride"
MOST_OVERRIDES = 100  # pkg/utils/validator/override.go, of a kind
DEFAULT_SCOPE = "NamespaceWithResources"
PLACEMENT_SCOPE = "Cluster"
LIST = {CLUSTER_SCOPED: "clusterResourceSelectors", NAMESPACED: "resourceSelectors"}

Resource = tuple[str, ...]
"""Group, version, kind and name; of a ClusterResourceOverride also the scope of the selection."""


def refuse_override(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with an override that its schema accepts.

    Source: kubefleet@e160c1c pkg/utils/validator/override.go `ValidateClusterResourceOverride`,
    pkg/utils/validator/resourceoverride.go `ValidateResourceOverride`.
    """
    spec = mapping(body, "spec")
    rules = bodies(mapping(spec, "policy"), "overrideRules")
    return (
        *_selectors(body),
        *_scope(body),
        *(one for position, rule in enumerate(rules) for one in _rule(rule, position)),
    )


def _selectors(body: Body) -> Iterator[Violation]:
    """Resources are named, each once."""
    field = LIST[text(body, "kind")]
    seen: set[Resource] = set()
    for position, selector in enumerate(bodies(mapping(body, "spec"), field)):
        at = f"/spec/{field}/{position}"
        resource = _resource(selector)
        if mapping_or_none(selector, "labelSelector") is not None:
            yield Violation(
                f"{at}/labelSelector",
                "override-selector",
                "an override must select resources by their names, not by labels",
                "a name",
            )
        elif not text(selector, "name") and text(body, "kind") == CLUSTER_SCOPED:
            yield Violation(at, "override-selector", "`name` must be given", "the resource's name")
        elif resource in seen:
            yield Violation(
                at,
                "override-selector",
                f"the {text(selector, 'kind')} {shown(text(selector, 'name'))} must be named once",
                "each resource once",
            )
        seen.add(resource)


def resources_of(body: Body) -> tuple[Resource, ...]:
    """Return the resources that an override selects, in its order."""
    return tuple(map(_resource, bodies(mapping(body, "spec"), LIST[text(body, "kind")])))


def _resource(selector: Body) -> Resource:
    """Return what a selector stands for; another scope makes it another resource."""
    named = tuple(text(selector, name) for name in ("group", "version", "kind", "name"))
    return (*named, text(selector, "selectionScope") or DEFAULT_SCOPE)


def _scope(body: Body) -> Iterator[Violation]:
    """An override of the cluster cannot be for a placement of a namespace.

    Source: kubefleet@e160c1c apis/placement/v1beta1/override_types.go `ClusterResourceOverride`,
    its CEL rule.
    """
    placement = mapping(mapping(body, "spec"), "placement")
    if text(body, "kind") == CLUSTER_SCOPED and text(placement, "scope") == "Namespaced":
        yield Violation(
            "/spec/placement/scope",
            "override-scope",
            f"a {CLUSTER_SCOPED} must not be for a placement of a namespace",
            f"{PLACEMENT_SCOPE}, or a {NAMESPACED}",
        )


def _rule(rule: Body, position: int) -> Iterator[Violation]:
    """A rule takes a resource away, or changes it.

    Source: kubefleet@e160c1c pkg/utils/validator/override.go `validateOverridePolicy`.
    """
    at = f"/spec/policy/overrideRules/{position}"
    terms = bodies(mapping(rule, "clusterSelector"), "clusterSelectorTerms")
    for place, term in enumerate(terms):
        yield from _term(term, f"{at}/clusterSelector/clusterSelectorTerms/{place}")
    patches = bodies(rule, "jsonPatchOverrides")
    if text(rule, "overrideType") == "Delete":
        if patches:
            yield Violation(
                f"{at}/jsonPatchOverrides",
                "override-rule",
                "`jsonPatchOverrides` must not stand beside `overrideType: Delete`",
                "one of the two",
            )
        return
    if not patches:
        message = "`jsonPatchOverrides` must be given unless `overrideType` is Delete"
        yield Violation(at, "override-rule", message, "one change at least, or Delete")
    for place, patch in enumerate(patches):
        yield from _patch(patch, f"{at}/jsonPatchOverrides/{place}")


def _term(term: Body, at: str) -> Iterator[Violation]:
    """Clusters are selected by labels only.

    Source: kubefleet@e160c1c pkg/utils/validator/override.go `validateClusterSelector`.
    """
    for name in ("propertySelector", "propertySorter"):
        if mapping_or_none(term, name) is not None:
            message = f"`{name}` must not be given, an override knows labels only"
            yield Violation(f"{at}/{name}", "override-clusters", message, "labelSelector")
    labels = mapping_or_none(term, "labelSelector")
    if labels is None:
        message = "`labelSelector` must be given"
        yield Violation(at, "override-clusters", message, "labels; {} are those of every cluster")
        return
    refusal = refusal_of(decode_label_selector(labels))
    if refusal:
        yield Violation(f"{at}/labelSelector", "override-clusters", refusal)


def _patch(patch: Body, at: str) -> Iterator[Violation]:
    """A change is of what a person may change, and has a value unless it removes.

    Source: kubefleet@e160c1c pkg/utils/validator/override.go `validateJSONPatchOverride`.
    """
    path = text(patch, "path")
    why = path_fault(path)
    if why:
        yield Violation(f"{at}/path", "override-path", f"the path {shown(path)} {why}")
    if text(patch, "op") == "remove" and patch.get("value") is not None:
        message = "`value` must not be given where `op` is remove"
        yield Violation(f"{at}/value", "override-value", message, "no value")


def path_fault(path: str) -> str | None:
    """Return what the path of a change must be and is not, `None` if all is well.

    Source: kubefleet@e160c1c pkg/utils/validator/override.go `validateJSONPatchOverridePath`.

    >>> path_fault("/metadata/labels/app"), path_fault("/kind")
    (None, 'must not lead to apiVersion or kind')
    """
    if not path.startswith("/"):
        return "must begin with /"
    first, *rest = path[1:].split("/")
    if first in ("apiVersion", "kind"):
        return "must not lead to apiVersion or kind"
    if first == "metadata" and rest[:1] not in (["annotations"], ["labels"]):
        return "must lead to labels or annotations where it leads to metadata"
    if first == "status":
        return "must not lead to status"
    if not all(part.strip() for part in (first, *rest)):
        return "must have no empty part"
    return None


def refuse_taken(body: Body, others: Iterable[Body]) -> Iterator[Violation]:
    """Yield the resources of an override that another one selects, too.

    It does not matter for which placements the two are.

    Args:
        body: The override.
        others: The other ones: of the kind, and of the namespace if the kind is namespaced.

    Source: kubefleet@e160c1c pkg/utils/validator/override.go
    `validateClusterResourceOverrideResourceLimit`.
    """
    field = LIST[text(body, "kind")]
    taken = {
        _resource(selector): text(mapping(other, "metadata"), "name")
        for other in others
        for selector in bodies(mapping(other, "spec"), field)
    }
    for position, selector in enumerate(bodies(mapping(body, "spec"), field)):
        owner = taken.get(_resource(selector))
        if owner is not None:
            what = f"{text(selector, 'kind')} {shown(text(selector, 'name'))}"
            yield Violation(
                f"/spec/{field}/{position}",
                "override-taken",
                f"the {what} must be selected by one override, {shown(owner)} selects it, too",
                "all changes of a resource in one override",
            )


def refuse_many(others: int) -> Iterator[Violation]:
    """Yield that there is no room for a new override beside so many of its kind.

    Source: kubefleet@e160c1c pkg/webhook/clusterresourceoverride `Handle`.
    """
    if others >= MOST_OVERRIDES:
        message = f"there must be at most {MOST_OVERRIDES} overrides of a kind"
        yield Violation("", "override-many", message, "several resources in one override")


LIMITS = ("maxUnavailable", "minAvailable")
_SHARE = re.compile(r"(100|[0-9]{1,2})%")


def refuse_budget(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a budget that its schema accepts; one without limits is all right.

    Source: kubefleet@e160c1c apis/placement/v1beta1/disruptionbudget_types.go
    `PlacementDisruptionBudgetSpec`, its CEL rules.
    """
    spec = mapping(body, "spec")
    violations = [violation for name in LIMITS for violation in _limit(name, spec.get(name))]
    if all(spec.get(name) is not None for name in LIMITS):
        message = "`maxUnavailable` must not stand beside `minAvailable`"
        violations.append(Violation("/spec", "budget-exclusive", message, "one of the two"))
    return tuple(violations)


def _limit(name: str, value: object) -> Iterator[Violation]:
    """A limit is a number from 0 on, or a percentage."""
    if isinstance(value, int | float) and value >= 0:
        return
    if isinstance(value, str) and _SHARE.fullmatch(value):
        return
    if value is not None:
        yield Violation(
            f"/spec/{name}",
            "budget-limit",
            f"`{name}` must be a number, 0 or more, or a percentage",
            "1, or 25%",
        )


def refuse_budget_for(body: Body, placement: Body) -> Iterator[Violation]:
    """Yield the limit of a budget that cannot be reckoned for its placement.

    A PickAll placement wants no number of clusters that a share could be of.

    Args:
        body: The budget.
        placement: The placement of the same name.

    Source: kubefleet@e160c1c pkg/utils/validator/clusterresourceplacementdisruptionbudget.go
    `ValidateClusterResourcePlacementDisruptionBudget`.
    """
    spec = mapping(body, "spec")
    if _type_of(placement) != PICK_ALL:
        return
    for name in LIMITS:
        value = spec.get(name)
        counted = name == "minAvailable" and not isinstance(value, str)
        if value is not None and not counted:
            yield Violation(
                f"/spec/{name}",
                "budget-placement",
                f"`{name}` must not be {shown(str(value))} where the placement is PickAll",
                "minAvailable with a number",
            )


def refuse_eviction(body: Body, placement: Body) -> Iterator[Violation]:
    """Yield that a placement cannot be evicted from.

    Args:
        body: The eviction.
        placement: The placement that it names; one that is missing is no fault.

    Source: kubefleet@e160c1c pkg/utils/validator/clusterresourceplacementeviction.go
    `ValidateClusterResourcePlacementForEviction`.
    """
    name = shown(text(mapping(body, "spec"), "placementName"))
    if mapping(placement, "metadata").get("deletionTimestamp") is not None:
        message = f"the placement {name} is being deleted, so nothing must be evicted from it"
        yield Violation("/spec/placementName", "eviction-placement", message, "no eviction")
    elif _type_of(placement) == PICK_FIXED:
        message = f"the placement {name} names its clusters, so none must be evicted"
        expected = "another list of clusterNames in the placement"
        yield Violation("/spec/placementName", "eviction-placement", message, expected)


def _type_of(placement: Body) -> str:
    policy = mapping(mapping(placement, "spec"), "policy")
    return text(policy, "placementType") or PICK_ALL


class EvictionRequest(NamedTuple):
    """Names of a placement without a namespace, and of the cluster that it is to leave."""

    placement: str
    cluster: str


def decode_request(eviction: Body) -> EvictionRequest:
    """Return what an eviction asks for; `""` for a name that is not there.

    Source: kubefleet@e160c1c apis/placement/v1beta1/eviction_types.go `PlacementEvictionSpec`.
    """
    spec = mapping(eviction, "spec")
    return EvictionRequest(text(spec, "placementName"), text(spec, "clusterName"))


def encode_request(request: EvictionRequest) -> Body:
    """Return the spec of an eviction."""
    return {"placementName": request.placement, "clusterName": request.cluster}

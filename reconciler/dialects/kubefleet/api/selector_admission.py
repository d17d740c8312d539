"""What KubeFleet's webhook and CEL rules refuse in the selectors of a placement."""

from collections.abc import Iterator, Mapping

from reconciler.dialects.kubefleet.api.names import NAMESPACE_ACCESSIBLE, WITH_SELECTORS
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping_or_none, text
from reconciler.model.known_kinds import Kind
from reconciler.model.message_text import shown
from reconciler.model.selectors import decode_label_selector, refusal_of

NAMESPACE = ("", "v1", "Namespace")


def refuse_selectors(spec: Body, known: Mapping[Kind, bool]) -> Iterator[Violation]:
    """Resources are cluster-scoped, or stand in the one namespace whose resources are chosen.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validatePlacement`.
    """
    selectors = bodies(spec, "resourceSelectors")
    chosen = any(map(_chooses, selectors))
    for position, selector in enumerate(selectors):
        at = f"/spec/resourceSelectors/{position}"
        group, version, kind = _kind_in(selector)
        if not group and version != "v1":
            yield Violation(
                f"{at}/version",
                "placement-selector-version",
                f"the version of the core group must be v1, {shown(version)} is not",
                "v1",
            )
        labels = mapping_or_none(selector, "labelSelector")
        if labels is not None and refusal_of(decode_label_selector(labels)):
            refusal = refusal_of(decode_label_selector(labels))
            yield Violation(f"{at}/labelSelector", "placement-selector-labels", refusal)
        if known.get((group, kind)) is True and not chosen:
            yield Violation(
                f"{at}/kind",
                "placement-selector-scope",
                f"a {kind} is namespaced, so its namespace must be selected",
                f"a selector of its Namespace with selectionScope {WITH_SELECTORS}",
            )


def refuse_names_beside_labels(spec: Body) -> Iterator[Violation]:
    """A selector names a resource, or selects by labels.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `ResourceSelectors`, its CEL rule.
    """
    for position, selector in enumerate(bodies(spec, "resourceSelectors")):
        labels = mapping_or_none(selector, "labelSelector")
        if labels is not None and text(selector, "name"):
            yield Violation(
                f"/spec/resourceSelectors/{position}/labelSelector",
                "placement-selector-exclusive",
                "`labelSelector` must not stand beside `name`",
                "one of the two",
            )


def refuse_reporting(spec: Body) -> Iterator[Violation]:
    """A status that is shown in a namespace needs a selector of that one and no other.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `ClusterResourcePlacement`, a CEL rule on its spec.
    """
    selectors = bodies(spec, "resourceSelectors")
    named = [selector for selector in selectors if text(selector, "kind") == "Namespace"]
    if text(spec, "statusReportingScope") == NAMESPACE_ACCESSIBLE and len(named) != 1:
        yield Violation(
            "/spec/statusReportingScope",
            "placement-reporting-scope",
            f"{NAMESPACE_ACCESSIBLE} must go with exactly one selector of a Namespace",
            "one selector of kind Namespace, or ClusterScopeOnly",
        )


def refuse_namespaces(spec: Body) -> Iterator[Violation]:
    """Where others choose among the resources of a namespace, it is named, and the only one.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `PlacementSpec`, its CEL rules.
    """
    selectors = bodies(spec, "resourceSelectors")
    at = [position for position, one in enumerate(selectors) if _kind_in(one) == NAMESPACE]
    chosen = [position for position in at if _chooses(selectors[position])]
    for position in at[1:] if chosen else ():
        yield Violation(
            f"/spec/resourceSelectors/{position}",
            "placement-namespace-single",
            f"a selector with {WITH_SELECTORS} must be the only one of a Namespace",
            "one selector of a Namespace, and selectors of resources in it",
        )
    for position in chosen:
        if not text(selectors[position], "name") or "labelSelector" in selectors[position]:
            yield Violation(
                f"/spec/resourceSelectors/{position}",
                "placement-namespace-name",
                f"a selector with {WITH_SELECTORS} must have a `name` and no `labelSelector`",
                "the name of one namespace",
            )


def _kind_in(selector: Body) -> tuple[str, str, str]:
    """Return group, version and kind of a selector."""
    return text(selector, "group"), text(selector, "version"), text(selector, "kind")


def _chooses(selector: Body) -> bool:
    """Return whether other selectors choose among the resources of this namespace."""
    scope = text(selector, "selectionScope")
    return _kind_in(selector) == NAMESPACE and scope == WITH_SELECTORS

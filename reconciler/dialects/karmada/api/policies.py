"""Policies and workloads as claims see them, and how closely a selector names a workload."""

from collections.abc import Container, Mapping
from enum import IntEnum
from typing import NamedTuple

from reconciler.dialects.karmada.api.defaults import admitted
from reconciler.dialects.karmada.api.groups import POLICY_GROUP
from reconciler.dialects.karmada.api.placement import Placement, decode_placement
from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec, decode_policy_fields
from reconciler.manifests.admission import digest
from reconciler.manifests.suspension import is_suspended
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, number, strings, text
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import LabelSelector, labels_of, matches
from reconciler.model.selectors import decode_label_selector
from reconciler.model.world import Manifest

GROUP = POLICY_GROUP
NAMESPACED = "PropagationPolicy"
CLUSTER_WIDE = "ClusterPropagationPolicy"
CLAIMED_BY = "resourcetemplate.karmada.io/claimed-by"


class Implicit(IntEnum):
    """How closely a selector names a workload; a closer match wins.

    Source: karmada@f8fdd02 pkg/util/selector.go `ResourceSelectorPriority`.
    """

    NO_MATCH = 0
    ALL = 1
    LABELS = 2
    NAME = 3


class ResourceSelector(NamedTuple):
    """What a policy selects. Empty fields select anything."""

    api_version: str
    kind: str
    namespace: str
    name: str
    labels: LabelSelector | None


class Policy(NamedTuple):
    """A policy as far as claims go.

    Attributes:
        preempts: Whether it may take workloads over from others.
        waits_for: The override policies that it depends on and that are not there.
        spec: As the webhook leaves it.
        copied: What a binding takes from that as it is.
        placement: The same as schedulers read it, once for all that the policy claims.
        priority_class: The PriorityClass that it names, `None` if it asks for no priority.
    """

    key: ObjectKey
    selectors: tuple[ResourceSelector, ...]
    priority: int
    deleting: bool
    preempts: bool
    waits_for: tuple[str, ...]
    lazy: bool
    suspended: bool
    spec: Body
    copied: BindingSpec
    placement: Placement | None
    priority_class: str | None


class Template(NamedTuple):
    """A workload to be placed, as far as policies ask."""

    key: ObjectKey
    api_version: str
    labels: Mapping[str, str]
    body: Body

    @property
    def claimed_elsewhere(self) -> bool:
        """Whether another controller owns it, so that no policy may claim it."""
        return bool(self.labels.get(CLAIMED_BY))

    @property
    def digest(self) -> str:
        """Digest of all that makes it another workload: everything but its status.

        Source: karmada@f8fdd02 pkg/util/eventfilter/eventfilter.go `SpecificationChanged`.
        """
        return digest({name: value for name, value in self.body.items() if name != "status"})

    @property
    def suspended(self) -> bool:
        """Whether a person suspended its scheduling."""
        return is_suspended(self.body)


def implicit_priority(policy: Policy, template: Template) -> Implicit:
    """Return how closely the best selector of a policy names a workload."""
    return max(
        (closeness(selector, template) for selector in policy.selectors),
        default=Implicit.NO_MATCH,
    )


def closeness(selector: ResourceSelector, template: Template) -> Implicit:
    """Judge one selector; a name makes its label selector irrelevant."""
    if (selector.api_version, selector.kind) != (template.api_version, template.key.kind):
        return Implicit.NO_MATCH
    if selector.namespace and selector.namespace != template.key.namespace:
        return Implicit.NO_MATCH
    if selector.name:
        return Implicit.NAME if selector.name == template.key.name else Implicit.NO_MATCH
    if selector.labels is None:
        return Implicit.ALL
    return Implicit.LABELS if matches(selector.labels, template.labels) else Implicit.NO_MATCH


def decode_policy(manifest: Manifest, known: Container[ObjectKey]) -> Policy:
    """Decode one policy that the schema and admission accepted.

    Args:
        manifest: The policy.
        known: All objects of the repository, among them the override policies.
    """
    spec = mapping(manifest.body, "spec")
    left = admitted(manifest.key, spec)
    copied = decode_policy_fields(left)
    overrides = zip(strings(spec, "dependentOverrides"), overrides_of(manifest), strict=True)
    return Policy(
        key=manifest.key,
        selectors=tuple(
            decode_selector(item, manifest.key) for item in bodies(spec, "resourceSelectors")
        ),
        priority=number(spec, "priority"),
        deleting=bool(text(mapping(manifest.body, "metadata"), "deletionTimestamp")),
        preempts=text(spec, "preemption") == "Always",
        waits_for=tuple(name for name, override in overrides if override not in known),
        lazy=text(spec, "activationPreference") == "Lazy",
        suspended=is_suspended(manifest.body),
        spec=left,
        copied=copied,
        placement=None if copied.placement is None else decode_placement(copied.placement),
        priority_class=priority_class_of(left),
    )


def priority_class_of(spec: Body) -> str | None:
    """Return the PriorityClass that the spec of a policy names, `None` if it asks for none."""
    priority = mapping_or_none(spec, "schedulePriority")
    return None if priority is None else text(priority, "priorityClassName")


def overrides_of(manifest: Manifest) -> tuple[ObjectKey, ...]:
    """Return the override policies that a policy depends on, as listed."""
    namespace = manifest.key.namespace
    kind = "OverridePolicy" if namespace else "ClusterOverridePolicy"
    names = strings(mapping(manifest.body, "spec"), "dependentOverrides")
    return tuple(ObjectKey(GROUP, kind, namespace, name) for name in names)


def decode_selector(body: Body, policy: ObjectKey) -> ResourceSelector:
    """Decode one resource selector.

    A PropagationPolicy selects in its own namespace where the selector names none.

    Source: karmada@f8fdd02 pkg/webhook/propagationpolicy/mutating.go `Handle`.
    """
    selector = mapping_or_none(body, "labelSelector")
    return ResourceSelector(
        api_version=text(body, "apiVersion"),
        kind=text(body, "kind"),
        namespace=text(body, "namespace") or policy.namespace,
        name=text(body, "name"),
        labels=None if selector is None else decode_label_selector(selector),
    )


def template_of(manifest: Manifest) -> Template:
    """Return a manifest as policies see it; labels that are no strings are passed over."""
    return Template(
        key=manifest.key,
        api_version=str(manifest.body["apiVersion"]),
        labels=labels_of(manifest.body),
        body=manifest.body,
    )

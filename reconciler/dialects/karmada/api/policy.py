"""Policies and workloads as claims see them, with the defaults of the API server filled in.

`admitted` applies the defaults of the CRD and of the mutating webhook before any rule reads a
policy. `closeness` then ranks how precisely a selector names a workload.
"""

from collections.abc import Container, Mapping
from enum import IntEnum
from typing import NamedTuple

from reconciler.dialects.karmada.api.binding_spec import BindingSpec, decode_policy_fields
from reconciler.dialects.karmada.api.names import POLICY_GROUP
from reconciler.dialects.karmada.api.placement import Placement, decode_placement
from reconciler.manifests.admission import digest, is_suspended, without_ours
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, number, strings, text
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import LabelSelector, decode_label_selector, labels_of, matches
from reconciler.model.world import Manifest

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
        body = without_ours(self.body)
        return digest({name: value for name, value in body.items() if name != "status"})

    @property
    def older_digest(self) -> str:
        """The digest by rules before 4, in which the annotations for us counted, too."""
        return digest({name: value for name, value in self.body.items() if name != "status"})

    def is_at(self, recorded: str) -> bool:
        """Return whether a recorded digest is of this workload."""
        return recorded in (self.digest, self.older_digest)

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
    return tuple(ObjectKey(POLICY_GROUP, kind, namespace, name) for name in names)


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


GRACE_PERIOD_SECONDS = (
    600  # karmada@f8fdd02 pkg/util/helper/policy.go `SetDefaultGracePeriodSeconds`
)
APPLICATION_TOLERATION_SECONDS = 300  # karmada@f8fdd02 CRD default of tolerationSeconds

DEFAULT_SCHEDULER = "default-scheduler"

WRITTEN = frozenset(
    {
        *("affinityName", "aliasLabelName", "apiVersion", "groupByLabelKey", "jsonPath", "key"),
        *("kind", "operator", "priorityClassName", "priorityClassSource"),
    }
)
"""Texts that Go writes though they are empty: their `json` tags lack `omitempty`."""

ZEROS: Mapping[str, object] = {"maxGroups": 0, "propagateDeps": False}
"""Fields that Go leaves out where they have this value."""

SERVICE_IMPORT = ("multicluster.x-k8s.io/v1alpha1", "ServiceImport")


def with_defaults(spec: Body) -> Body:
    """Return a policy's spec with the defaults of its CRD; a default needs its parent to be there.

    Source: karmada@f8fdd02 pkg/apis/policy/v1alpha1/propagation_types.go, the
    `+kubebuilder:default` markers.
    """
    filled: dict[str, object] = {
        "priority": 0,
        "preemption": "Never",
        "schedulerName": DEFAULT_SCHEDULER,
        "conflictResolution": "Abort",
        **_present(spec),
    }
    placement = mapping_or_none(spec, "placement")
    replicas = mapping_or_none(placement, "replicaScheduling") if placement is not None else None
    if placement is not None and replicas is not None:
        scheduling = {"replicaSchedulingType": "Divided", **_present(replicas)}
        filled["placement"] = {**placement, "replicaScheduling": scheduling}
    failover = mapping_or_none(spec, "failover")
    if failover is not None:
        filled["failover"] = _failover_with_defaults(failover)
    return filled


def _failover_with_defaults(failover: Body) -> Body:
    """Fill the failover behaviours that are there."""
    filled = dict(_present(failover))
    cluster = mapping_or_none(failover, "cluster")
    if cluster is not None:
        filled["cluster"] = {"purgeMode": "Gracefully", **_present(cluster)}
    application = mapping_or_none(failover, "application")
    if application is not None:
        conditions = {
            "tolerationSeconds": APPLICATION_TOLERATION_SECONDS,
            **_present(mapping(application, "decisionConditions")),
        }
        filled["application"] = {
            "purgeMode": "Gracefully",
            **_present(application),
            "decisionConditions": conditions,
        }
    return filled


def admitted(policy: ObjectKey, spec: Body) -> Body:
    """Return a policy's spec as it is stored: the API server fills it in before and after."""
    return with_defaults(mutated(policy, with_defaults(spec)))


def mutated(policy: ObjectKey, spec: Body) -> Body:
    """Return a policy's spec as the mutating webhook leaves it.

    Source: karmada@f8fdd02 pkg/webhook/propagationpolicy/mutating.go `Handle`, and
    pkg/util/helper/policy.go.
    """
    changed = dict(spec)
    selectors = [dict(selector) for selector in bodies(spec, "resourceSelectors")]
    if policy.namespace:
        for selector in selectors:
            if not text(selector, "namespace"):
                selector["namespace"] = policy.namespace
    changed["resourceSelectors"] = selectors
    if any((one.get("apiVersion"), one.get("kind")) == SERVICE_IMPORT for one in selectors):
        changed["propagateDeps"] = True
    placement = mapping_or_none(spec, "placement")
    if placement is not None:
        changed["placement"] = _mutated_placement(placement)
    failover = mapping_or_none(spec, "failover")
    if failover is not None:
        changed["failover"] = _mutated_failover(failover)
    return _without_empty(changed)


def _mutated_failover(failover: Body) -> Body:
    """Default the wait for a graceful purge, and the path of what is preserved."""
    changed = {
        name: _with_paths(one) if isinstance(one, Mapping) else one
        for name, one in failover.items()
    }
    application = mapping_or_none(changed, "application")
    if application is None or text(application, "purgeMode") != "Gracefully":
        return changed
    if application.get("gracePeriodSeconds") is None:
        changed["application"] = {**application, "gracePeriodSeconds": GRACE_PERIOD_SECONDS}
    return changed


def _with_paths(behaviour: Body) -> Body:
    """Return a behaviour whose rules of preservation have a path: Go writes an empty one."""
    preservation = mapping_or_none(behaviour, "statePreservation")
    if preservation is None:
        return behaviour
    rules = [{"jsonPath": "", **rule} for rule in bodies(preservation, "rules")]
    return {**behaviour, "statePreservation": {**preservation, "rules": rules}}


def _mutated_placement(placement: Body) -> Body:
    """Default spread constraints and the division preference."""
    changed = dict(placement)
    if placement.get("spreadConstraints") is not None:
        changed["spreadConstraints"] = [
            _mutated_spread(constraint) for constraint in bodies(placement, "spreadConstraints")
        ]
    if placement.get("clusterTolerations") is not None:
        changed["clusterTolerations"] = [
            {name: one for name, one in toleration.items() if one != ""}
            for toleration in bodies(placement, "clusterTolerations")
        ]
    scheduling = mapping_or_none(placement, "replicaScheduling")
    if scheduling is not None and text(scheduling, "replicaSchedulingType") == "Divided":
        preference = text(scheduling, "replicaDivisionPreference") or "Weighted"
        changed["replicaScheduling"] = {**scheduling, "replicaDivisionPreference": preference}
    return changed


def _without_empty(body: Body) -> Body:
    """Leave out what is empty: the webhook writes a policy anew, as Go does.

    The applied placement lacks it, too, so one that kept it would count as changed forever.
    """
    fields: dict[str, object] = {}
    for name, value in body.items():
        if isinstance(value, str):  # most are, so they come first
            if value or name in WRITTEN:
                fields[name] = value
        elif isinstance(value, list | tuple):
            if value:
                fields[name] = [_without_empty(v) if isinstance(v, Mapping) else v for v in value]
        elif type(value) is dict or isinstance(value, Mapping):  # the first is faster
            if value or name != "matchLabels":  # all else is behind a pointer, which Go keeps
                fields[name] = _without_empty(value)
        elif not _is_zero(name, value):
            fields[name] = value
    return fields


def _is_zero(name: str, value: object) -> bool:
    """Return whether a number or flag is its zero value, and not behind a pointer."""
    return name in ZEROS and value == ZEROS[name]


def _mutated_spread(constraint: Body) -> Body:
    """Default one spread constraint: by cluster, and at least one group."""
    changed = dict(constraint)
    if not text(constraint, "spreadByField") and not text(constraint, "spreadByLabel"):
        changed = {**_present(constraint), "spreadByField": "cluster"}
    if number(constraint, "minGroups") == 0:
        changed["minGroups"] = 1
    return changed


def _present(body: Body) -> Mapping[str, object]:
    """Return a body without its nulls, which count as absent."""
    return {key: value for key, value in body.items() if value is not None}

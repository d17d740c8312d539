"""What Karmada's API server and mutating webhook fill into a policy before anyone reads it."""

from collections.abc import Mapping

from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, number, text
from reconciler.model.identity import ObjectKey

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
    kept: dict[str, object] = {}
    for name, value in body.items():
        if isinstance(value, str):  # most are, so they come first
            if value or name in WRITTEN:
                kept[name] = value
        elif isinstance(value, list | tuple):
            if value:
                kept[name] = [_without_empty(v) if isinstance(v, Mapping) else v for v in value]
        elif type(value) is dict or isinstance(value, Mapping):  # the first is faster
            if value or name != "matchLabels":  # all else is behind a pointer, which Go keeps
                kept[name] = _without_empty(value)
        elif not _is_zero(name, value):
            kept[name] = value
    return kept


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

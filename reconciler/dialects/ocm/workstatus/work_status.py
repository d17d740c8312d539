"""The status of a ManifestWork as its agent reports it, given the resources of the cluster.

Source: ocm@00f84c3 pkg/work/spoke/controllers/statuscontroller/availablestatus_controller.go,
pkg/work/spoke/objectreader and conditions `AggregateManifestConditions`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import defaulted_spec
from reconciler.dialects.ocm.workstatus.condition_rules import AGGREGATED, aggregate, evaluate_rules
from reconciler.dialects.ocm.workstatus.status_feedback import read_feedback
from reconciler.errors import UserError
from reconciler.manifests.secrets import HIDDEN_IN_CONDITIONS, without_secrets
from reconciler.model.body import Body
from reconciler.model.conditions import Condition, set_condition
from reconciler.model.fields import bodies, mapping, number, strings, text

FINALIZER = "cluster.open-cluster-management.io/manifest-work-cleanup"
SYNCED = "StatusFeedbackSynced"

Lookup = Callable[[Body], Body | UserError | None]
"""From a resourceMeta to the resource, `None` if there is none, or why it cannot be read."""


def status_of_work(work: Body, lookup: Lookup, *, raw: bool, at: str) -> Body:
    """Return the status of a ManifestWork after one look at its resources.

    Args:
        work: With the status so far.
        lookup: Finds resources in the cluster.
        raw: Whether feedback may be JSON.
        at: Text of the present moment.
    """
    status, metadata = mapping(work, "status"), mapping(work, "metadata")
    conditions = list(bodies(status, "conditions"))
    applied = any(text(one, "type") == "Applied" for one in conditions)
    if FINALIZER not in strings(metadata, "finalizers") or not applied:
        return status
    generation = number(metadata, "generation")
    resources = dict(mapping(status, "resourceStatus"))
    listed = bodies(resources, "manifests")
    configs = bodies(defaulted_spec(mapping(work, "spec")), "manifestConfigs")
    manifests = [_manifest(one, configs, lookup, generation, raw=raw, at=at) for one in listed]
    found = [*aggregate(manifests, frozenset({"Applied", "Available"}))]
    types = {one.type for one in found}
    conditions = [
        one
        for one in conditions
        if text(one, "reason") != AGGREGATED
        or text(one, "type") in types
        or number(one, "observedGeneration") == generation
    ]
    for condition in (_available(manifests), *found):
        observed = Condition(
            condition.type, condition.status, condition.reason, condition.message, generation
        )
        conditions = set_condition(conditions, observed, at=at)
    if manifests:
        resources["manifests"] = manifests
    else:
        resources.pop("manifests", None)
    return {**status, "conditions": conditions, "resourceStatus": resources}


def _manifest(
    manifest: Body,
    configs: Sequence[Body],
    lookup: Lookup,
    generation: int,
    *,
    raw: bool,
    at: str,
) -> Body:
    """Return the status of one manifest."""
    meta = mapping(manifest, "resourceMeta")
    complete = all(text(meta, name) for name in ("resource", "version", "name"))
    found = lookup(meta) if complete else None
    conditions = list(bodies(manifest, "conditions"))
    conditions = _set(conditions, _existence(found, complete=complete), at=at)
    if not isinstance(found, Mapping):
        return {**manifest, "conditions": conditions}
    rules = _rules(configs, meta, "feedbackRules")
    values, conditions = _fed_back(manifest, rules, found, conditions, raw=raw, at=at)
    conditions = [
        one
        for one in conditions
        if not text(one, "reason").startswith("ConditionRule")
        or number(one, "observedGeneration") == generation
    ]
    for condition in evaluate_rules(_rules(configs, meta, "conditionRules"), found, generation):
        conditions = set_condition(conditions, condition, at=at)
    feedback = {"values": values} if values else {}
    return {**manifest, "conditions": conditions, "statusFeedback": feedback}


def _existence(found: Body | UserError | None, *, complete: bool) -> Condition:
    if not complete:
        why = "Resource meta is incomplete"
        return Condition("Available", "Unknown", "IncompleteResourceMeta", why)
    if isinstance(found, UserError):
        why = f"Failed to fetch resource: {found.message}"
        return Condition("Available", "Unknown", "FetchingResourceFailed", why)
    if found is None:
        return Condition("Available", "False", "ResourceNotAvailable", "Resource is not available")
    return Condition("Available", "True", "ResourceAvailable", "Resource is available")


def _fed_back(
    manifest: Body,
    rules: Sequence[Body],
    resource: Body,
    conditions: list[Body],
    *,
    raw: bool,
    at: str,
) -> tuple[list[Body], list[Body]]:
    """Return the values that are reported, and the conditions with that of reporting."""
    # Unlike upstream: what a Secret holds is no feedback.
    read = read_feedback(rules, without_secrets(resource, HIDDEN_IN_CONDITIONS), raw=raw)
    known = list(bodies(mapping(manifest, "statusFeedback"), "values"))
    values = list(read.values)
    if values != known:
        conditions = [one for one in conditions if text(one, "type") != SYNCED]
    if not rules:
        told = Condition(SYNCED, "True", "NoStatusFeedbackSynced", "")
    elif read.errors:
        shown = read.errors[0] if len(read.errors) == 1 else f"[{', '.join(read.errors)}]"
        why = f"Sync status feedback failed with error {shown}"
        told = Condition(SYNCED, "False", "StatusFeedbackSyncFailed", why)
    else:
        told = Condition(SYNCED, "True", "StatusFeedbackSynced", "")
    return values, _set(conditions, told, at=at)


def _set(conditions: Sequence[Body], condition: Condition, *, at: str) -> list[Body]:
    """Return the conditions with one set that is of no generation."""
    undated = (
        {name: one for name, one in present.items() if name != "observedGeneration"}
        if present.get("type") == condition.type
        else present
        for present in conditions
    )
    return set_condition([*undated], condition, at=at)


def _rules(configs: Sequence[Body], meta: Body, field: str) -> Sequence[Body]:
    """Return the rules of the first entry for a resource that has any.

    Source: ocm@00f84c3 pkg/work/helper/helpers.go `FindManifestConfiguration`.
    """
    fitting = (bodies(one, field) for one in configs if _fits(one, meta))
    return next((found for found in fitting if found), ())


def _fits(config: Body, meta: Body) -> bool:
    wanted = mapping(config, "resourceIdentifier")
    same = all(text(wanted, name) == text(meta, name) for name in ("group", "resource"))
    return same and all(
        fnmatchcase(text(meta, name), text(wanted, name).replace("[", "[[]").replace("?", "[?]"))
        for name in ("namespace", "name")
    )


def _available(manifests: Sequence[Body]) -> Condition:
    """Return the condition that tells whether all resources are there."""
    statuses = [*_statuses(manifests)]
    every = len(manifests)
    if (missing := statuses.count("False")) > 0:
        told = f"{missing} of {every} resources are not available"
        return Condition("Available", "False", "ResourcesNotAvailable", told)
    unknown = statuses.count("Unknown")
    if unknown:
        told = f"{unknown} of {every} resources have unknown status"
        return Condition("Available", "Unknown", "ResourcesStatusUnknown", told)
    if "True" not in statuses:
        told = "cannot get any available resource "
        return Condition("Available", "Unknown", "ResourcesStatusUnknown", told)
    return Condition("Available", "True", "ResourcesAvailable", "All resources are available")


def _statuses(manifests: Sequence[Body]) -> Iterator[str]:
    for manifest in manifests:
        for one in bodies(manifest, "conditions"):
            if text(one, "type") == "Available":
                yield text(one, "status")

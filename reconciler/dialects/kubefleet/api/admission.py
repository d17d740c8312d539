"""What KubeFleet's webhooks and CEL rules refuse in a single document, said in a sentence each.

Policies, selectors and strategies of placements, MemberClusters, staged update runs and their
strategies have rules here; `kubefleet_admissions` has them by kind.

A ResourcePlacement has no webhook, so only what its CRD refuses is refused here. What the webhook
of a ClusterResourcePlacement would refuse is found out when it is scheduled.

Source: kubefleet@e160c1c pkg/webhook/webhook.go `buildFleetValidatingWebhooks`, which names no
webhook of a ResourcePlacement.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from reconciler.dialects.kubefleet.api.names import (
    CLUSTER,
    NAMESPACE_ACCESSIBLE,
    PLACEMENT_GROUP,
    RESOURCE_PROPERTY_PREFIX,
    WITH_SELECTORS,
)
from reconciler.dialects.kubefleet.api.override_admission import refuse_budget, refuse_override
from reconciler.dialects.kubefleet.api.placement import (
    PICK_ALL,
    PICK_FIXED,
    PICK_N,
    PREFERRED,
    REQUIRED,
    mutated,
    with_defaults,
)
from reconciler.dialects.kubefleet.api.updates import INITIALIZE, RUN, STOP
from reconciler.errors import Misconfigured, UserError
from reconciler.manifests.schemas.violations import Admission, UpdateAdmission, Violation
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, number_or_none, strings, text
from reconciler.model.kinds import Kind, KnownKinds
from reconciler.model.labels import decode_label_selector, is_label_key, is_label_value, refusal_of
from reconciler.model.quantity import Quantity, parse_quantity
from reconciler.model.text import LONGEST_LABEL, is_subdomain, shown

OPERATORS = ("Gt", "Ge", "Eq", "Ne", "Lt", "Le")
CAPACITIES = ("allocatable", "available", "total")


def refuse_affinity(affinity: Body, at: str, *, picks_all: bool) -> Iterator[Violation]:
    """Yield what is wrong with required and preferred terms.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validateClusterAffinity`.
    """
    terms = bodies(mapping(affinity, REQUIRED), "clusterSelectorTerms")
    for position, term in enumerate(terms):
        yield from _required(term, f"{at}/{REQUIRED}/clusterSelectorTerms/{position}")
    preferred = bodies(affinity, PREFERRED)
    if picks_all and preferred:
        yield Violation(
            f"{at}/{PREFERRED}",
            "placement-preferred-ignored",
            "preferred terms must not be given where `placementType` is PickAll",
            "required terms, or PickN",
        )
        return
    for position, item in enumerate(preferred):
        term = mapping(item, "preference")
        yield from _preferred(term, f"{at}/{PREFERRED}/{position}/preference")


def _required(term: Body, at: str) -> Iterator[Violation]:
    yield from _labels(term, at)
    if mapping_or_none(term, "propertySorter") is not None:
        yield Violation(
            f"{at}/propertySorter",
            "placement-required-sorter",
            "`propertySorter` must not be given in a required term",
            "propertySelector, or a preferred term",
        )
    expressions = bodies(mapping(term, "propertySelector"), "matchExpressions")
    where = f"{at}/propertySelector/matchExpressions"
    for position, expression in enumerate(expressions):
        yield from _property(text(expression, "name"), f"{where}/{position}/name")
        yield from _comparison(expression, f"{where}/{position}")
    for name in dict.fromkeys(text(item, "name") for item in expressions):
        same = [item for item in expressions if text(item, "name") == name]
        if _is_contradiction(same):
            yield Violation(
                where,
                "placement-property-consistent",
                f"the expressions on {shown(name)} must leave a value",
                "expressions that can hold together",
            )


def _preferred(term: Body, at: str) -> Iterator[Violation]:
    yield from _labels(term, at)
    if mapping_or_none(term, "propertySelector") is not None:
        yield Violation(
            f"{at}/propertySelector",
            "placement-preferred-selector",
            "`propertySelector` must not be given in a preferred term",
            "propertySorter, or a required term",
        )
    sorter = mapping_or_none(term, "propertySorter")
    if sorter is not None:
        yield from _property(text(sorter, "name"), f"{at}/propertySorter/name")


def _labels(term: Body, at: str) -> Iterator[Violation]:
    labels = mapping_or_none(term, "labelSelector")
    refusal = "" if labels is None else refusal_of(decode_label_selector(labels))
    if refusal:
        yield Violation(f"{at}/labelSelector", "placement-labels", refusal)


def _property(name: str, at: str) -> Iterator[Violation]:
    """Names of properties are qualified; those of resources name a capacity and a resource.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validateName`.
    """
    if name.startswith(RESOURCE_PROPERTY_PREFIX):
        capacity, dash, _ = name.removeprefix(RESOURCE_PROPERTY_PREFIX).partition("-")
        if not dash or capacity not in CAPACITIES or not is_label_key(name):
            yield Violation(
                at,
                "placement-property-resource",
                f"{shown(name)} must name a capacity and a resource",
                f"{RESOURCE_PROPERTY_PREFIX}<{'|'.join(CAPACITIES)}>-<resource>",
            )
        return
    prefix, *segments = name.split("/")
    head = is_label_key(prefix) or (bool(segments) and is_subdomain(prefix))
    if not head or not all(map(is_label_key, segments)):
        yield Violation(
            at,
            "placement-property-name",
            f"{shown(name)} must be the name of a property",
            "segments of letters, digits, '-', '_' and '.', separated by '/'",
        )


def _comparison(expression: Body, at: str) -> Iterator[Violation]:
    """Compare with exactly one quantity.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validateOperatorAndValues`.
    """
    operator, values = text(expression, "operator"), strings(expression, "values")
    if operator not in OPERATORS:
        yield Violation(
            f"{at}/operator",
            "placement-property-operator",
            f"the operator {shown(operator)} must be one of {', '.join(OPERATORS)}",
            ", ".join(OPERATORS),
        )
    if len(values) != 1:
        yield Violation(
            f"{at}/values",
            "placement-property-values",
            f"there are {len(values)} values, there must be exactly one",
            "one quantity",
        )
    for position, value in enumerate(values):
        if _quantity(value) is None:
            yield Violation(
                f"{at}/values/{position}",
                "placement-property-quantity",
                f"{shown(value)} must be a quantity",
                "a number with a suffix as Kubernetes has it, such as 4, 500m or 2Gi",
            )


def _quantity(value: str) -> Quantity | None:
    try:
        return parse_quantity(value)
    except ValueError:
        return None


def _is_contradiction(expressions: Iterable[Body]) -> bool:
    """Return whether expressions on one property exclude every value.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validateRequirementsConsistency`.
    """
    bounds: dict[str, list[Quantity]] = {operator: [] for operator in OPERATORS}
    for expression in expressions:
        operator, values = text(expression, "operator"), strings(expression, "values")
        amount = _quantity(values[0]) if len(values) == 1 else None
        if operator in bounds and amount is not None:
            bounds[operator].append(amount)
    exact = bounds["Eq"]
    if exact:
        only = exact[0]
        return (
            any(other != only for other in exact)
            or only in bounds["Ne"]
            or any(only <= other for other in bounds["Gt"])
            or any(only < other for other in bounds["Ge"])
            or any(only >= other for other in bounds["Lt"])
            or any(only > other for other in bounds["Le"])
        )
    strict = [(low, high) for low in bounds["Gt"] for high in (*bounds["Lt"], *bounds["Le"])]
    strict += [(low, high) for low in bounds["Ge"] for high in bounds["Lt"]]
    return any(low >= high for low, high in strict) or any(
        low > high for low in bounds["Ge"] for high in bounds["Le"]
    )


def refuse_tolerations(tolerations: tuple[Body, ...], at: str) -> Iterator[Violation]:
    """Yield what is wrong with tolerations.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validateTolerations`.
    """
    seen = set()
    for position, toleration in enumerate(tolerations):
        where = f"{at}/{position}"
        key, value, effect = (text(toleration, name) for name in ("key", "value", "effect"))
        operator = text(toleration, "operator") or "Equal"
        yield from refuse_toleration(toleration, where)
        if key and not is_label_key(key):
            message = f"{shown(key)} must be a label key"
            yield Violation(f"{where}/key", "placement-toleration-key", message, "a label key")
        if operator == "Equal" and not is_label_value(value):
            message = f"{shown(value)} must be a label value"
            yield Violation(
                f"{where}/value", "placement-toleration-value", message, "a label value"
            )
        if (key, operator, value, effect) in seen:
            message = "a toleration must be written once"
            yield Violation(where, "placement-toleration-unique", message, "each toleration once")
        seen.add((key, operator, value, effect))


def refuse_toleration(toleration: Body, where: str) -> Iterator[Violation]:
    """Key and value go with the operator.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `Tolerations`, its CEL rules.
    """
    operator = text(toleration, "operator") or "Equal"
    if operator == "Equal" and not text(toleration, "key"):
        message = "`key` must be given where `operator` is Equal"
        yield Violation(where, "placement-toleration-key", message, "a key, or Exists")
    if operator == "Exists" and text(toleration, "value"):
        message = "`value` must be absent where `operator` is Exists"
        yield Violation(f"{where}/value", "placement-toleration-value", message, "no value")


_ONLY_IN: Mapping[str, tuple[str, ...]] = {
    "clusterNames": (PICK_FIXED,),
    "numberOfClusters": (PICK_N,),
    "affinity": (PICK_ALL, PICK_N),
    "topologySpreadConstraints": (PICK_N,),
    "tolerations": (PICK_ALL, PICK_N),
}
"""Fields of a policy, and the placement types that they may stand beside."""


def refuse_fields_of_others(policy: Body) -> Iterator[Violation]:
    """Each placement type has its fields.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `PlacementPolicy`, its CEL rules.
    """
    kind = text(policy, "placementType")
    for field, types in _ONLY_IN.items():
        if kind not in types and field in policy:
            yield Violation(
                f"/spec/policy/{field}",
                "placement-policy-field",
                f"`{field}` must not be given where `placementType` is {kind}",
                f"{' or '.join(types)}, or no {field}",
            )
    if kind == PICK_N and number_or_none(policy, "numberOfClusters") is None:
        yield Violation(
            "/spec/policy",
            "placement-number",
            "`numberOfClusters` must be given where `placementType` is PickN",
            "0 or more",
        )


NAMESPACE = ("", "v1", "Namespace")


def refuse_selectors(spec: Body, known_kinds: Mapping[Kind, bool]) -> Iterator[Violation]:
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
        if known_kinds.get((group, kind)) is True and not chosen:
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


def refuse_strategy(strategy: Body) -> Iterator[Violation]:
    """Yield what is wrong with a strategy; its limits and options go with their type.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validateRolloutStrategy`.
    """
    if text(strategy, "type") == "External" and "rollingUpdate" in strategy:
        yield Violation(
            "/spec/strategy/rollingUpdate",
            "placement-strategy-external",
            "`rollingUpdate` must not stand beside `type: External`",
            "one of the two",
        )
    yield from _rolling(mapping(strategy, "rollingUpdate"))
    yield from _apply(mapping(strategy, "applyStrategy"))
    yield from refuse_report(strategy)


def _rolling(rolling: Body) -> Iterator[Violation]:
    """Limits are numbers from 0 on, or percentages.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validateRollingUpdateConfig`.
    """
    for field in ("maxUnavailable", "maxSurge", "unavailablePeriodSeconds"):
        value = rolling.get(field)
        if isinstance(value, int) and value < 0:
            yield Violation(
                f"/spec/strategy/rollingUpdate/{field}",
                "placement-strategy-negative",
                f"`{field}` must be greater than or equal to 0",
                "0 or more",
            )
        if isinstance(value, str) and not value.endswith("%"):
            yield Violation(
                f"/spec/strategy/rollingUpdate/{field}",
                "placement-strategy-share",
                f"`{field}` must be a number, or text that ends with %",
                f"{value} without quotes, or {shown(f'{value}%')}",
            )


def _apply(apply: Body) -> Iterator[Violation]:
    """Options of server-side apply go with that type."""
    server_side = mapping_or_none(apply, "serverSideApplyConfig")
    if server_side is not None and text(apply, "type") != "ServerSideApply":
        yield Violation(
            "/spec/strategy/applyStrategy/serverSideApplyConfig",
            "placement-strategy-apply",
            "`serverSideApplyConfig` must go with `type: ServerSideApply`",
            "type: ServerSideApply, or no serverSideApplyConfig",
        )


def refuse_report(strategy: Body) -> Iterator[Violation]:
    """What is mirrored has a destination.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `ReportBackStrategy`, its CEL rule, which fails where the field is missing.
    """
    report = mapping(strategy, "reportBackStrategy")
    if text(report, "type") == "Mirror" and not text(report, "destination"):
        yield Violation(
            "/spec/strategy/reportBackStrategy",
            "placement-report-destination",
            "`destination` must be given where `type` is Mirror",
            "OriginalResource or WorkAPI",
        )


POLICY = "/spec/policy"


def refuse_namespaced_placement(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a ResourcePlacement that its schema accepts."""
    spec = with_defaults(mapping(body, "spec"))
    policy = mapping(spec, "policy")
    return (
        *_missing(spec),
        *refuse_names_beside_labels(spec),
        *refuse_namespaces(spec),
        *(refuse_fields_of_others(policy) if "policy" in spec else ()),
        *_tolerations(policy),
        *refuse_report(mapping(spec, "strategy")),
    )


def _tolerations(policy: Body) -> Iterator[Violation]:
    for position, toleration in enumerate(bodies(policy, "tolerations")):
        yield from refuse_toleration(toleration, f"{POLICY}/tolerations/{position}")


def _missing(spec: Body) -> Iterator[Violation]:
    """Yield the fields that a webhook would give a zero value, if there were one.

    Source: kubefleet@e160c1c config/crd/bases, resourceplacements: `required` of lists' items.
    """
    policy = mapping(spec, "policy")
    affinity = mapping(mapping(policy, "affinity"), "clusterAffinity")
    for at, items, fields in (
        ("/spec/resourceSelectors", bodies(spec, "resourceSelectors"), ("group",)),
        (
            f"{POLICY}/topologySpreadConstraints",
            bodies(policy, "topologySpreadConstraints"),
            ("topologyKey",),
        ),
        (
            f"{POLICY}/affinity/clusterAffinity/{PREFERRED}",
            bodies(affinity, PREFERRED),
            ("weight", "preference"),
        ),
    ):
        for position, element in enumerate(items):
            for field in fields:
                if field not in element:
                    yield Violation(
                        f"{at}/{position}", "schema-required", f"`{field}` must be given"
                    )


def refuse_member(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a cluster: its name, taints, and values that cannot be read.

    Source: kubefleet@e160c1c pkg/utils/validator/membercluster.go `ValidateMemberCluster`.
    """
    # Late, since checking any other kind needs nothing of the fleet.
    from reconciler.dialects.kubefleet.api.member import decode_member  # noqa: PLC0415

    try:
        decode_member(body)
    except (UserError, ValueError) as error:
        return (Violation("", "cluster-unreadable", f"a value {error}"),)
    return (
        *_member_name(text(mapping(body, "metadata"), "name")),
        *_taints(bodies(mapping(body, "spec"), "taints")),
    )


def _member_name(name: str) -> Iterator[Violation]:
    """Bindings carry the name in a label.

    Source: kubefleet@e160c1c apis/cluster/v1beta1/membercluster_types.go `MemberCluster`, its CEL
    rule.
    """
    if len(name) > LONGEST_LABEL:
        yield Violation(
            "/metadata/name",
            "cluster-name",
            f"the name has {len(name)} characters, it must have at most {LONGEST_LABEL}",
            f"at most {LONGEST_LABEL} characters",
        )


def _taints(taints: tuple[Body, ...]) -> Iterator[Violation]:
    """Taints are of label keys and values, each key, value and effect once."""
    seen = set()
    for position, taint in enumerate(taints):
        at = f"/spec/taints/{position}"
        key, value, effect = (text(taint, name) for name in ("key", "value", "effect"))
        if not is_label_key(key):
            yield Violation(
                f"{at}/key", "cluster-taint-key", f"{shown(key)} must be a label key", "a label key"
            )
        if not is_label_value(value):
            message = f"{shown(value)} must be a label value"
            yield Violation(f"{at}/value", "cluster-taint-value", message, "a label value")
        if (key, value, effect) in seen:
            yield Violation(
                at,
                "cluster-taint-unique",
                f"the taint {shown(key)} with {shown(value)} and {effect} must be written once",
                "one taint for each key, value and effect",
            )
        seen.add((key, value, effect))


IMPOSSIBLE = frozenset({(INITIALIZE, STOP), (RUN, INITIALIZE), (STOP, INITIALIZE)})
LONGEST_OLD_NAME = 127  # apis/placement/v1alpha1/stagedupdate_types.go


def refuse_run(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a run that its schema accepts: its name may be too long.

    Source: kubefleet@e160c1c apis/placement/v1beta1/stageupdate_types.go `ClusterStagedUpdateRun`,
    its CEL rule.
    """
    name = text(mapping(body, "metadata"), "name")
    old = text(body, "apiVersion").endswith("/v1alpha1")
    longest = LONGEST_OLD_NAME if old else LONGEST_LABEL
    if len(name) <= longest:
        return ()
    message = f"the name has {len(name)} characters, it must have at most {longest}"
    expected = f"at most {longest} characters"
    return (Violation("/metadata/name", "stage-run-name", message, expected),)


def refuse_stages(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with the stages of a strategy that its schema accepts.

    Source: kubefleet@e160c1c apis/placement/v1beta1/stageupdate_types.go `StageConfig`, its CEL
    rules.
    """
    stages = bodies(mapping(body, "spec"), "stages")
    return tuple(one for position, stage in enumerate(stages) for one in _stage(stage, position))


def _stage(stage: Body, position: int) -> Iterator[Violation]:
    at = f"/spec/stages/{position}"
    most = stage.get("maxConcurrency")
    if isinstance(most, int | float) and most < 1:
        message = "`maxConcurrency` must be greater than or equal to 1"
        yield Violation(f"{at}/maxConcurrency", "stage-concurrency", message, "1 or more, or 25%")
    for name, may_wait in (("beforeStageTasks", False), ("afterStageTasks", True)):
        for place, task in enumerate(bodies(stage, name)):
            yield from _task(task, f"{at}/{name}/{place}", may_wait=may_wait)


def _task(task: Body, at: str, *, may_wait: bool) -> Iterator[Violation]:
    """A wait has its time and comes after a stage, an approval takes the time that it takes."""
    waits, timed = text(task, "type") == "TimedWait", task.get("waitTime") is not None
    if waits and not may_wait:
        message = "a stage must not begin with a wait"
        yield Violation(f"{at}/type", "stage-task", message, "Approval, or a wait after a stage")
    elif waits and not timed:
        message = "`waitTime` must be given where `type` is TimedWait"
        yield Violation(at, "stage-task", message, "waitTime: 15m")
    elif timed and not waits:
        message = "`waitTime` must not be given where `type` is Approval"
        yield Violation(f"{at}/waitTime", "stage-task", message, "no waitTime, or TimedWait")


def refuse_old_edit(before: Body, after: Body) -> None:
    """Compare the spec of a run in `v1alpha1` with the one before: nothing of it may change.

    Raises:
        Misconfigured: It is another one.

    Source: kubefleet@e160c1c apis/placement/v1alpha1/stagedupdate_types.go
    `ClusterStagedUpdateRun`, the CEL rule of its spec.
    """
    if before != after:
        raise Misconfigured("`spec` must stay what it was", field="/spec")


def refuse_transition(before: Body, after: Body) -> None:
    """Compare the spec of a run with the one before.

    A run goes from Initialize to Run, and between Run and Stop. An index may be added later or
    taken away, but not be another one.

    Raises:
        Misconfigured: The state cannot follow, or another field is not what it was.

    Source: kubefleet@e160c1c apis/placement/v1beta1/stageupdate_types.go `UpdateRunSpec`, its CEL
    rules.
    """
    states = tuple(text(spec, "state") or INITIALIZE for spec in (before, after))
    if states in IMPOSSIBLE:
        raise Misconfigured(f"`state` must not go from {states[0]} to {states[1]}", field="/spec")
    for name in ("placementName", "stagedRolloutStrategyName", "resourceSnapshotIndex"):
        given = before.get(name), after.get(name)
        if None not in given and given[0] != given[1]:
            raise Misconfigured(f"`{name}` must stay what it was", field=f"/spec/{name}")


def _refused(judge: Callable[[Body, Body], None], before: Body, after: Body) -> list[Violation]:
    """Return what a rule that compares two specs says of an edit."""
    try:
        judge(mapping(before, "spec"), mapping(after, "spec"))
    except Misconfigured as error:
        expected = "what it was, or an object of another name"
        return [Violation(error.field, "update-immutable", error.message, expected)]
    return []


def refuse_run_update(before: Body, after: Body) -> tuple[Violation, ...]:
    """Return what is wrong with an edit of a run, by the rules of the version it is written in."""
    old = text(after, "apiVersion").endswith("/v1alpha1")
    return tuple(_refused(refuse_old_edit if old else refuse_transition, before, after))


def refuse_request_update(before: Body, after: Body) -> tuple[Violation, ...]:
    """Return what is wrong with an edit of an approval: its spec must stay.

    Source: kubefleet@e160c1c apis/placement/v1beta1/stageupdate_types.go `ClusterApprovalRequest`,
    the CEL rule of its spec.
    """
    return tuple(_refused(refuse_old_edit, before, after))


RUN_UPDATES: Mapping[Kind, UpdateAdmission] = {
    (PLACEMENT_GROUP, "ClusterStagedUpdateRun"): refuse_run_update,
    (PLACEMENT_GROUP, "StagedUpdateRun"): refuse_run_update,
    (PLACEMENT_GROUP, "ClusterApprovalRequest"): refuse_request_update,
    (PLACEMENT_GROUP, "ApprovalRequest"): refuse_request_update,
}
"""What is refused of an edit, by kind."""


def refuse_placement(scopes: Mapping[Kind, bool], body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a placement that its schema accepts.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validatePlacement`, and the CEL
    rules of apis/placement/v1beta1/clusterresourceplacement_types.go.
    """
    spec = mutated(mapping(body, "spec"))
    return (
        *_placement_name(body),
        *refuse_selectors(spec, scopes),
        *refuse_names_beside_labels(spec),
        *refuse_reporting(spec),
        *refuse_namespaces(spec),
        *_policy(mapping(spec, "policy")),
        *refuse_strategy(mapping(spec, "strategy")),
    )


def _placement_name(body: Body) -> Iterator[Violation]:
    """Snapshots and bindings carry the name in labels."""
    name = text(mapping(body, "metadata"), "name")
    if len(name) > LONGEST_LABEL:
        yield Violation(
            "/metadata/name",
            "placement-name",
            f"the name has {len(name)} characters, it must have at most {LONGEST_LABEL}",
            f"at most {LONGEST_LABEL} characters",
        )


def _policy(policy: Body) -> Iterator[Violation]:
    """Each placement type has its fields.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validatePlacementPolicy`.
    """
    at = "/spec/policy"
    kind = text(policy, "placementType")
    yield from refuse_fields_of_others(policy)
    if kind == PICK_FIXED:
        yield from _cluster_names(strings(policy, "clusterNames"), f"{at}/clusterNames")
        return
    affinity = mapping(mapping(policy, "affinity"), "clusterAffinity")
    yield from refuse_affinity(affinity, f"{at}/affinity/clusterAffinity", picks_all=kind != PICK_N)
    yield from refuse_tolerations(bodies(policy, "tolerations"), f"{at}/tolerations")


def _cluster_names(names: tuple[str, ...], at: str) -> Iterator[Violation]:
    """PickFixed names clusters, each once."""
    for position, name in enumerate(names):
        if not is_subdomain(name) or len(name) > LONGEST_LABEL:
            yield Violation(
                f"{at}/{position}",
                "placement-names-valid",
                f"{shown(name)} must be the name of a cluster",
                "lower-case letters, digits, '-' and '.', at most 63 characters",
            )
        if name in names[:position]:
            yield Violation(
                f"{at}/{position}",
                "placement-names-unique",
                f"the cluster {shown(name)} must be named once",
                "each cluster once",
            )


_JUDGED: Mapping[str, Admission] = {
    "ClusterResourceOverride": refuse_override,
    "ClusterResourcePlacementDisruptionBudget": refuse_budget,
    "ClusterStagedUpdateRun": refuse_run,
    "ClusterStagedUpdateStrategy": refuse_stages,
    "ResourceOverride": refuse_override,
    "StagedUpdateRun": refuse_run,
    "StagedUpdateStrategy": refuse_stages,
}
"""What is refused of overrides, and of kinds that control nothing here."""


def kubefleet_admissions(known_kinds: KnownKinds) -> Mapping[Kind, Admission]:
    """Return what is refused, by kind; a selector may be of any kind that is known."""
    return {
        CLUSTER: refuse_member,
        (PLACEMENT_GROUP, "ClusterResourcePlacement"): partial(
            refuse_placement, known_kinds.scopes
        ),
        (PLACEMENT_GROUP, "ResourcePlacement"): refuse_namespaced_placement,
        **{(PLACEMENT_GROUP, kind): refuse for kind, refuse in _JUDGED.items()},
    }

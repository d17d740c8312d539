"""What Karmada's admission refuses of policies, taint policies and workloads, each in one sentence.

A policy is judged first by itself: affinities, spread, tolerations, suspension, failover and label
keys. An edit is then judged against the policy before it. A ClusterTaintPolicy has its taints
judged. A workload is refused if its replicas are no number, as an API server would do: a typo there
must not take anything away from clusters.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from reconciler.dialects.karmada.api.cluster_admission import refuse_cluster_metadata, refuse_spec
from reconciler.dialects.karmada.api.names import CLUSTER, POLICY_GROUP
from reconciler.dialects.karmada.api.override_admission import (
    refuse_field_selector,
    refuse_override_policy,
    refuse_selector_namespaces,
)
from reconciler.dialects.karmada.api.placement import WEIGHT_POINTER, dynamic_weight, score_in
from reconciler.dialects.karmada.api.policy import DEFAULT_SCHEDULER, admitted
from reconciler.dialects.karmada.api.quota import refuse_quota
from reconciler.dialects.karmada.api.workload import MOST_REPLICAS
from reconciler.errors import UserError
from reconciler.manifests.schemas.violations import UpdateAdmission, Violation
from reconciler.manifests.text.raw import quoted
from reconciler.model.body import Body
from reconciler.model.fields import (
    bodies,
    flag_or_none,
    mapping,
    mapping_or_none,
    number,
    strings,
    text,
)
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.labels import is_label_key
from reconciler.model.settings import CONFIGURATION_PATH, SCORES_EXTEND
from reconciler.model.text import shown


def refuse_failover(spec: Body) -> Iterator[Violation]:
    """Yield what is wrong with the failover of a policy whose defaults are filled in.

    Source: karmada@f8fdd02 pkg/util/validation/validation.go `ValidateFailover`,
    `ValidateApplicationFailover`.
    """
    failover = mapping(spec, "failover")
    application = mapping_or_none(failover, "application")
    if application is not None:
        yield from _dependencies(spec)
        yield from _toleration_seconds(application)
        yield from _grace_period(application)
    for name in ("application", "cluster"):
        yield from _aliases(mapping(failover, name), f"/spec/failover/{name}")


def _dependencies(spec: Body) -> Iterator[Violation]:
    """Failing over an application needs what it depends on to follow."""
    if flag_or_none(spec, "propagateDeps") is not True:
        yield Violation(
            "/spec/propagateDeps",
            "policy-failover-dependencies",
            "`propagateDeps` must be true where `failover.application` is set",
            "true",
        )


def _toleration_seconds(application: Body) -> Iterator[Violation]:
    """An application cannot have been unhealthy for less than no time."""
    if number(mapping(application, "decisionConditions"), "tolerationSeconds") < 0:
        yield Violation(
            "/spec/failover/application/decisionConditions/tolerationSeconds",
            "policy-toleration-seconds",
            "`tolerationSeconds` must be greater than or equal to 0",
            "0 or more",
        )


def _grace_period(application: Body) -> Iterator[Violation]:
    """Only a graceful purge waits, and it waits for some time.

    An empty `purgeMode` becomes Gracefully after the default of the time was filled in.
    """
    where = "/spec/failover/application/gracePeriodSeconds"
    graceful = text(application, "purgeMode") == "Gracefully"
    if application.get("gracePeriodSeconds") is None:
        if graceful:
            yield Violation(
                where,
                "policy-grace-period",
                "`gracePeriodSeconds` must be given where `purgeMode` is empty",
                "1 or more, or purgeMode: Gracefully",
            )
        return
    if not graceful:
        yield Violation(
            where,
            "policy-grace-period",
            "`gracePeriodSeconds` must go with `purgeMode: Gracefully`",
            "purgeMode: Gracefully, or no gracePeriodSeconds",
        )
    elif number(application, "gracePeriodSeconds") <= 0:
        yield Violation(
            where, "policy-grace-period", "`gracePeriodSeconds` must be greater than 0", "1 or more"
        )


def _aliases(behaviour: Body, at: str) -> Iterator[Violation]:
    """What is preserved is carried by labels."""
    rules = bodies(mapping(behaviour, "statePreservation"), "rules")
    for position, rule in enumerate(rules):
        where = f"{at}/statePreservation/rules/{position}/aliasLabelName"
        yield from refuse_label_key(text(rule, "aliasLabelName"), where)


def refuse_label_key(key: str, at: str) -> Iterator[Violation]:
    """Yield a violation unless a text can be the key of a label.

    Source: karmada@f8fdd02 vendor/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go
    `ValidateLabelName`.
    """
    if not is_label_key(key):
        yield Violation(
            at,
            "policy-label-key",
            f"the label key {shown(key)} must be one that labels can have",
            "an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' or '.'",
        )


def refuse_workload_affinity(placement: Body) -> Iterator[Violation]:
    """Yield what is wrong with the labels that workloads are grouped by.

    Source: karmada@f8fdd02 pkg/util/validation/validation.go `ValidateWorkloadAffinity`.
    """
    at = "/spec/placement/workloadAffinity"
    affinity = mapping(placement, "workloadAffinity")
    terms = {name: mapping_or_none(affinity, name) for name in ("affinity", "antiAffinity")}
    keys = [text(term, "groupByLabelKey") for term in terms.values() if term is not None]
    for name, term in terms.items():
        if term is not None:
            key = text(term, "groupByLabelKey")
            yield from refuse_label_key(key, f"{at}/{name}/groupByLabelKey")
    if len(keys) == len(terms) and keys[0] and keys[0] == keys[1]:
        yield Violation(
            at,
            "policy-workload-affinity",
            "`affinity` and `antiAffinity` must group by different label keys",
            "two keys",
        )


def refuse_policy_update(before: Body, after: Body) -> tuple[Violation, ...]:
    """Return what is wrong with an edit of a policy: it must stay with its scheduler.

    Unlike upstream: the permanent id is not compared. It follows from the identity here, so that no
    edit changes it, and a label that a file has in its place means nothing.

    Args:
        before: The policy in force.
        after: The same one, as its file has it now.

    Source: karmada@f8fdd02 pkg/webhook/propagationpolicy/validating.go and
    pkg/webhook/clusterpropagationpolicy/validating.go `Handle`, and the CRD's default.
    """
    names = [_scheduler(body) for body in (before, after)]
    if names[0] == names[1]:
        return ()
    return (
        Violation(
            "/spec/schedulerName",
            "policy-immutable",
            f"`schedulerName` must stay {shown(names[0])} while the policy exists",
            "what it was, or a policy of another name",
        ),
    )


def _scheduler(body: Body) -> str:
    """Return the name as an API server stores it."""
    return text(mapping(body, "spec"), "schedulerName") or DEFAULT_SCHEDULER


KARMADA_UPDATES: Mapping[Kind, UpdateAdmission] = {
    (POLICY_GROUP, "ClusterPropagationPolicy"): refuse_policy_update,
    (POLICY_GROUP, "PropagationPolicy"): refuse_policy_update,
}
"""What each webhook refuses of an edit, by kind."""


def refuse_taint_policy(body: Body, *, no_execute: bool = False) -> tuple[Violation, ...]:
    """Return what is wrong with the taints of a policy that its schema accepts.

    Effects, keys, operators and selectors are not looked at.

    Args:
        body: The policy.
        no_execute: Whether policies may evict, as `--allow-no-execute-taint-policy` says.

    Source: karmada@f8fdd02 pkg/webhook/clustertaintpolicy/validating.go `Handle`.
    """
    return tuple(_taints(bodies(mapping(body, "spec"), "taints"), no_execute=no_execute))


def _taints(taints: tuple[Body, ...], *, no_execute: bool) -> Iterator[Violation]:
    seen: set[tuple[str, str]] = set()
    for position, taint in enumerate(taints):
        at = f"/spec/taints/{position}"
        pair = text(taint, "key"), text(taint, "effect")
        if pair[1] == "NoExecute" and not no_execute:
            yield Violation(
                f"{at}/effect",
                "taint-policy-effect",
                "a ClusterTaintPolicy must not add NoExecute, which would evict at once",
                "NoSchedule, or the taint in the Cluster itself",
            )
        if pair in seen:
            yield Violation(
                at,
                "taint-policy-unique",
                f"the taint {shown(pair[0])} must be given once for each effect",
                "one taint for each key and effect",
            )
        seen.add(pair)


def refuse_policy(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a policy that its schema accepts.

    It is judged with its defaults, and as the mutating webhook leaves it: without empty lists, and
    with the fields that follow from others.

    Source: karmada@f8fdd02 pkg/util/validation/validation.go `ValidatePropagationSpec`.
    """
    metadata = mapping(body, "metadata")
    key = ObjectKey(
        POLICY_GROUP,
        text(body, "kind"),
        text(metadata, "namespace"),
        text(metadata, "name"),
    )
    spec = admitted(key, mapping(body, "spec"))
    placement = mapping(spec, "placement")
    return (
        *_affinities(placement, "/spec/placement"),
        *_overflow(placement, "/spec/placement"),
        *_weight(placement),
        *_spread(placement, "/spec/placement/spreadConstraints"),
        *_tolerations(placement, "/spec/placement/clusterTolerations"),
        *refuse_workload_affinity(placement),
        *refuse_failover(spec),
        *refuse_selector_namespaces(body, spec),
        *_preemption(spec),
        *_suspension(spec),
    )


def _affinities(placement: Body, at: str) -> Iterator[Violation]:
    """One way to name clusters, names unique and usable as label keys, known fields only."""
    single, groups = mapping_or_none(placement, "clusterAffinity"), "clusterAffinities"
    terms = bodies(placement, groups)
    if single is not None and placement.get(groups) is not None:
        yield Violation(
            f"{at}/{groups}",
            "policy-affinity-exclusive",
            "`clusterAffinities` must not stand beside `clusterAffinity`",
            "one of the two",
        )
    names = [text(term, "affinityName") for term in terms]
    for position, name in enumerate(names):
        if not is_label_key(name):
            yield Violation(
                f"{at}/{groups}/{position}/affinityName",
                "policy-affinity-name",
                f"the affinity name {shown(name)} must be a label key",
                "letters, digits, '-', '_' and '.', beginning and ending with a letter or digit",
            )
        if name in names[:position]:
            yield Violation(
                f"{at}/{groups}/{position}/affinityName",
                "policy-affinity-unique",
                f"the affinity name {shown(name)} must be used once",
                "a name of its own for each group",
            )
    if single is not None:
        yield from refuse_field_selector(single, f"{at}/clusterAffinity")
    for position, term in enumerate(terms):
        yield from refuse_field_selector(term, f"{at}/{groups}/{position}")


def _overflow(placement: Body, at: str) -> Iterator[Violation]:
    """Overflow needs a primary group, and a division that knows how much fits."""
    scheduling = mapping(placement, "replicaScheduling")
    aggregated = text(scheduling, "replicaDivisionPreference") == "Aggregated"
    weight = dynamic_weight(placement)
    dynamic = bool(weight) and score_in(weight) is None
    for position, term in enumerate(bodies(placement, "clusterAffinities")):
        if not bodies(term, "overflowAffinities"):
            continue
        where = f"{at}/clusterAffinities/{position}/overflowAffinities"
        if not (aggregated or dynamic):
            yield Violation(
                where,
                "policy-overflow-division",
                "`overflowAffinities` must go with dynamic weight or Aggregated division",
                "replicaDivisionPreference: Aggregated, or dynamicWeight: AvailableReplicas",
            )
        named = any(strings(term, name) for name in ("clusterNames", "exclude"))
        selectors = (mapping_or_none(term, name) for name in ("labelSelector", "fieldSelector"))
        if not named and all(one is None for one in selectors):
            yield Violation(
                where,
                "policy-overflow-primary",
                "`overflowAffinities` must follow a group that names clusters itself",
                "clusterNames or labelSelector beside it",
            )
        yield from _overflow_names(term, where)


def _overflow_names(term: Body, at: str) -> Iterator[Violation]:
    """Names are unique within a group and what it overflows into, and usable as label keys.

    Source: karmada@f8fdd02 pkg/util/validation/validation.go `ValidateOverflowAffinities`.
    """
    names = [text(term, "affinityName")]
    for position, group in enumerate(bodies(term, "overflowAffinities")):
        where, name = f"{at}/{position}", text(group, "affinityName")
        if not is_label_key(name):
            yield Violation(
                f"{where}/affinityName",
                "policy-affinity-name",
                f"the affinity name {shown(name)} must be a label key",
                "letters, digits, '-', '_' and '.', beginning and ending with a letter or digit",
            )
        if name in names:
            yield Violation(
                f"{where}/affinityName",
                "policy-overflow-unique",
                f"the affinity name {shown(name)} must be used once in its group",
                "a name that neither the group nor another overflow of it has",
            )
        names.append(name)
        yield from refuse_field_selector(group, where)


def _weight(placement: Body) -> Iterator[Violation]:
    """Yield that a weight by a score is refused as upstream's schema does, unless it is allowed."""
    weight = dynamic_weight(placement)
    if score_in(weight) is not None:
        field = WEIGHT_POINTER.removeprefix("/").replace("/", ".")
        yield Violation(
            WEIGHT_POINTER,
            "schema-enum",
            f"{field} must be one of its known values, {quoted(weight)} is none.",
            f"AvailableReplicas, or {SCORES_EXTEND}: true in {CONFIGURATION_PATH}.",
            unless=SCORES_EXTEND,
        )


def _spread(placement: Body, at: str) -> Iterator[Violation]:
    """Spread constraints: one a field, bounds in order, and clusters among the fields."""
    constraints = bodies(placement, "spreadConstraints")
    fields = [text(constraint, "spreadByField") for constraint in constraints]
    for position, constraint in enumerate(constraints):
        low, high = number(constraint, "minGroups"), number(constraint, "maxGroups")
        for name, value in (("minGroups", low), ("maxGroups", high)):
            if value < 0:
                yield Violation(
                    f"{at}/{position}/{name}",
                    "policy-spread-negative",
                    f"`{name}` must be greater than or equal to 0",
                    "0 or more",
                )
        if 0 < high < low:
            yield Violation(
                f"{at}/{position}/maxGroups",
                "policy-spread-bounds",
                "`maxGroups` must be greater than or equal to `minGroups`",
                f"{low} or more",
            )
        if fields[position] and text(constraint, "spreadByLabel"):
            yield Violation(
                f"{at}/{position}/spreadByLabel",
                "policy-spread-exclusive",
                "`spreadByLabel` must not stand beside `spreadByField`",
                "one of the two",
            )
        if fields[position] and fields[position] in fields[:position]:
            yield Violation(
                f"{at}/{position}/spreadByField",
                "policy-spread-unique",
                f"the field {fields[position]} must be constrained once",
                "one constraint for each field",
            )
    if any(fields) and "cluster" not in fields:
        yield Violation(
            at,
            "policy-spread-cluster",
            "a spread constraint by field must come with one by cluster",
            "another constraint with spreadByField: cluster",
        )


def _tolerations(placement: Body, at: str) -> Iterator[Violation]:
    """Tolerations compare texts; they know no order. An unknown operator tolerates nothing."""
    for position, toleration in enumerate(bodies(placement, "clusterTolerations")):
        operator = text(toleration, "operator")
        if operator in ("Lt", "Gt"):
            yield Violation(
                f"{at}/{position}/operator",
                "policy-toleration-operator",
                f"the operator {shown(operator)} must be Equal or Exists",
                "Equal, Exists",
            )


def _preemption(spec: Body) -> Iterator[Violation]:
    """Preempting by anything but names would take too much."""
    if text(spec, "preemption") != "Always":
        return
    for position, selector in enumerate(bodies(spec, "resourceSelectors")):
        if not text(selector, "name"):
            yield Violation(
                f"/spec/resourceSelectors/{position}/name",
                "policy-preemption-name",
                "`name` must be given where `preemption` is Always",
                "the name of one workload",
            )


def _suspension(spec: Body) -> Iterator[Violation]:
    """Dispatching is suspended everywhere or on some clusters."""
    suspension = mapping(spec, "suspension")
    some = mapping(suspension, "dispatchingOnClusters").get("clusterNames")
    if flag_or_none(suspension, "dispatching") and some:
        yield Violation(
            "/spec/suspension/dispatchingOnClusters",
            "policy-suspension-exclusive",
            "`dispatchingOnClusters` must not stand beside `dispatching: true`",
            "one of the two",
        )


def refuse_cluster(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a cluster that its schema accepts.

    Amounts and moments that cannot be read come first, since the rules ask for them.
    """
    # Late, since checking any other kind needs nothing of the fleet.
    from reconciler.dialects.karmada.api.cluster import decode_cluster  # noqa: PLC0415

    try:
        decode_cluster(body)
    except UserError as error:
        where = f" in `{error.field}`" if error.field else ""
        return (Violation("", "cluster-unreadable", f"a value{where} {error.message}"),)
    return (*refuse_cluster_metadata(body), *refuse_spec(body))


KARMADA_ADMISSIONS: Mapping[tuple[str, str], Callable[[Body], tuple[Violation, ...]]] = {
    CLUSTER: refuse_cluster,
    (POLICY_GROUP, "ClusterOverridePolicy"): refuse_override_policy,
    (POLICY_GROUP, "ClusterPropagationPolicy"): refuse_policy,
    (POLICY_GROUP, "ClusterTaintPolicy"): refuse_taint_policy,
    (POLICY_GROUP, "FederatedResourceQuota"): refuse_quota,
    (POLICY_GROUP, "OverridePolicy"): refuse_override_policy,
    (POLICY_GROUP, "PropagationPolicy"): refuse_policy,
}
"""What each webhook refuses, by (group, kind)."""


COUNTS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("apps", "Deployment"): ("replicas",),
    ("apps", "ReplicaSet"): ("replicas",),
    ("apps", "StatefulSet"): ("replicas",),
    ("batch", "Job"): ("parallelism", "completions"),
}
"""(group, kind) to the fields of its spec that are numbers of pods."""


def refuse_counts(fields: tuple[str, ...], body: Body) -> tuple[Violation, ...]:
    """Return which fields of a workload's spec are no numbers of pods.

    Nothing else of a workload is judged: its content is its member cluster's to judge.
    """
    spec = body.get("spec")
    found = spec if isinstance(spec, Mapping) else {}
    return tuple(
        Violation(
            f"/spec/{field}",
            "workload-replicas",
            f"`{field}` must be a whole number of pods, from 0 to {MOST_REPLICAS}",
            _remedy(found.get(field)),
        )
        for field in fields
        if not _is_count(found.get(field))
    )


def _remedy(value: object) -> str:
    """Return what to write instead of a value that is no number of pods.

    >>> _remedy(-1), _remedy(1.5), _remedy("3")
    ('0 or more', 'a whole number', 'a number without quotes')
    """
    match value:
        case int() if not isinstance(value, bool):
            return "0 or more" if value < 0 else f"{MOST_REPLICAS} or less"
        case float():
            return "a whole number"
        case _:
            return "a number without quotes"


def _is_count(value: object) -> bool:
    """Return whether a value is a number of pods, or is left out."""
    if value is None:
        return True
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_REPLICAS


WORKLOAD_ADMISSIONS: Mapping[tuple[str, str], Callable[[Body], tuple[Violation, ...]]] = {
    kind: partial(refuse_counts, fields) for kind, fields in COUNTS.items()
}
"""By (group, kind)."""

"""What Karmada's validating webhooks refuse, said in one sentence each."""

from collections.abc import Callable, Iterator, Mapping

from reconciler.dialects.karmada.api.cluster_admission import refuse_spec
from reconciler.dialects.karmada.api.cluster_metadata import refuse_cluster_metadata
from reconciler.dialects.karmada.api.defaults import admitted
from reconciler.dialects.karmada.api.failover_admission import (
    refuse_failover,
    refuse_workload_affinity,
)
from reconciler.dialects.karmada.api.groups import CLUSTER, POLICY_GROUP
from reconciler.dialects.karmada.api.override_admission import refuse_override_policy
from reconciler.dialects.karmada.api.placement import WEIGHT_POINTER, dynamic_weight, score_in
from reconciler.dialects.karmada.api.quota.admission import refuse_quota
from reconciler.dialects.karmada.api.selector_admission import (
    refuse_field_selector,
    refuse_selector_namespaces,
)
from reconciler.dialects.karmada.api.taint_policy_admission import refuse_taint_policy
from reconciler.errors import UserError
from reconciler.manifests.schemas.violations import Violation
from reconciler.manifests.text.unreadable import quoted
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
from reconciler.model.labels import is_label_key
from reconciler.model.message_text import shown
from reconciler.model.settings import CONFIGURATION_PATH, SCORES_EXTEND


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
    from reconciler.dialects.karmada.api.clusters import decode_cluster  # noqa: PLC0415

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

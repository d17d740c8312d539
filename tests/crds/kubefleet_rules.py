"""The functions of ours that answer the CEL rules of KubeFleet's CRDs."""

from collections.abc import Callable, Iterable, Sequence

from reconciler.dialects.kubefleet.api.admission import (
    refuse_fields_of_others,
    refuse_member,
    refuse_names_beside_labels,
    refuse_namespaces,
    refuse_old_edit,
    refuse_reporting,
    refuse_run,
    refuse_stages,
    refuse_strategy,
    refuse_tolerations,
    refuse_transition,
)
from reconciler.dialects.kubefleet.api.override_admission import (
    refuse_budget,
    refuse_override,
)
from reconciler.dialects.kubefleet.api.placement import Placement, decode_placement, mutated
from reconciler.dialects.kubefleet.drift_repair import (
    refuse_change,
    refuse_departure,
    with_kept_fields,
)
from reconciler.errors import Misconfigured
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, text
from tests.crds.rules import FLEET, Answer, Refuses, finds, misconfigures

PLACEMENTS = f"{FLEET} *ResourcePlacement"
OF_CLUSTER = f"{FLEET} ClusterResourcePlacement"
OF_NAMESPACE = f"{FLEET} ResourcePlacement"
NAMESPACES = "x.kind == 'Namespace' && x.group == \"\" && x.version == 'v1'"
CHOSEN = (
    f"{NAMESPACES} && has(x.selectionScope) && x.selectionScope == 'NamespaceWithResourceSelectors'"
)
COUNT = "size(self.resourceSelectors.filter(x, {}))"
NAMED = f"{CHOSEN} && has(x.name) && size(x.name) > 0 && !has(x.labelSelector)"
ACCESSIBLE = (
    "!(self.statusReportingScope == 'NamespaceAccessible' && "
    "size(self.resourceSelectors.filter(x, x.kind == 'Namespace')) != 1)"
)
PICK_FIXED = (
    "self.placementType != 'PickFixed' || (!has(self.affinity) && !has(self.numberOfClusters) && "
    "!has(self.topologySpreadConstraints) && !has(self.tolerations))"
)
PICK_ALL = (
    "self.placementType != 'PickAll' || (!has(self.clusterNames) && "
    "!has(self.numberOfClusters) && !has(self.topologySpreadConstraints))"
)
PICK_N = "self.placementType != 'PickN' || (!has(self.clusterNames) && has(self.numberOfClusters))"
MIRROR = "(self == null) || (self.type == 'Mirror' ? size(self.destination) != 0 : true)"
POLICY_STAYS = "!(has(oldSelf.policy) && !has(self.policy))"
SCOPE_STAYS = (
    "!has(oldSelf.statusReportingScope) || "
    "self.statusReportingScope == oldSelf.statusReportingScope"
)


def _spec(body: Body) -> Body:
    return mapping(body, "spec")


def _namespaces(body: Body) -> Iterable[Violation]:
    return refuse_namespaces(_spec(body))


def _policy(body: Body) -> Iterable[Violation]:
    policy = mapping(_spec(body), "policy")
    return refuse_fields_of_others(policy) if policy else ()


def _tolerations(body: Body) -> Iterable[Violation]:
    return refuse_tolerations(bodies(mapping(_spec(body), "policy"), "tolerations"), "")


def _keyless(body: Body) -> Iterable[Violation]:
    """Yield what is wrong with tolerations as such; a key may be none of a label, too."""
    return (one for one in _tolerations(body) if not one.pointer.endswith("/key"))


def _strategy(body: Body) -> Iterable[Violation]:
    return refuse_strategy(mapping(_spec(body), "strategy"))


def _decoded(body: Body) -> Placement:
    return decode_placement(body, text(mapping(body, "metadata"), "namespace"))


def _change(before: Body, after: Body) -> None:
    known = _decoded(before)
    refuse_change(with_kept_fields({}, known), known.policy, _decoded(after))


def _departure(before: Body, after: Body) -> None:
    refuse_departure(with_kept_fields({}, _decoded(before)), _decoded(after))


def _leaves_default_scope(before: Body, after: Body) -> bool:
    field = "statusReportingScope"
    return _spec(before).get(field) == "ClusterScopeOnly" != _spec(after).get(field)


KUBEFLEET: Sequence[Answer] = (
    Answer(
        "cluster.kubernetes-fleet.io/* MemberCluster",
        "",
        ("size(self.metadata.name) < 64",),
        "kubefleet.api.admission.refuse_member",
        finds(refuse_member, "cluster-name"),
    ),
    Answer(
        PLACEMENTS,
        "spec.resourceSelectors",
        ("self.all(x, !(has(x.name) && size(x.name) > 0 && has(x.labelSelector)))",),
        "kubefleet.api.admission.refuse_names_beside_labels",
        finds(lambda body: refuse_names_beside_labels(_spec(body)), "placement-selector-exclusive"),
    ),
    Answer(
        OF_CLUSTER,
        "spec",
        (ACCESSIBLE,),
        "kubefleet.api.admission.refuse_reporting",
        finds(lambda body: refuse_reporting(_spec(body)), "placement-reporting-scope"),
    ),
    Answer(
        PLACEMENTS,
        "spec",
        (
            f"{COUNT.format(CHOSEN)} <= 1",
            f"{COUNT.format(CHOSEN)} == 0 || ({COUNT.format(NAMED)} == 1)",
            f"{COUNT.format(CHOSEN)} == 0 || {COUNT.format(NAMESPACES)} == 1",
        ),
        "kubefleet.api.admission.refuse_namespaces",
        finds(_namespaces, "placement-namespace-single", "placement-namespace-name"),
    ),
    Answer(
        PLACEMENTS,
        "spec.policy",
        (PICK_FIXED, PICK_ALL, PICK_N),
        "kubefleet.api.admission.refuse_fields_of_others",
        finds(_policy, "placement-policy-field", "placement-number"),
    ),
    Answer(
        PLACEMENTS,
        "spec.policy.tolerations",
        ("self.all(x, x.operator != 'Exists' || !has(x.value) || size(x.value) == 0)",),
        "kubefleet.api.admission.refuse_tolerations",
        finds(_tolerations, "placement-toleration-value"),
    ),
    Answer(
        PLACEMENTS,
        "spec.policy.tolerations",
        ("self.all(x, (has(x.key) && size(x.key) > 0) || x.operator == 'Exists')",),
        "kubefleet.api.admission.refuse_tolerations",
        finds(_keyless, "placement-toleration-key"),
    ),
    Answer(
        PLACEMENTS,
        "spec.strategy.reportBackStrategy",
        (MIRROR,),
        "kubefleet.api.admission.refuse_strategy",
        finds(_strategy, "placement-report-destination"),
    ),
    Answer(
        OF_CLUSTER,
        "spec",
        (POLICY_STAYS,),
        "kubefleet.api.placement.mutated",
        lambda _before, after: "policy" not in mutated(_spec(after)),
    ),
    Answer(
        OF_NAMESPACE,
        "spec",
        (POLICY_STAYS,),
        "kubefleet.drift_repair.refuse_departure",
        misconfigures(_departure, "spec", "policy"),
    ),
    Answer(
        PLACEMENTS,
        "spec.policy",
        ("!(self.placementType != oldSelf.placementType)",),
        "kubefleet.drift_repair.refuse_change",
        misconfigures(_change, "spec", "policy", "placementType"),
    ),
    Answer(
        PLACEMENTS,
        "spec.strategy.type",
        ("!(self != 'External' && oldSelf == 'External')",),
        "kubefleet.drift_repair.refuse_departure",
        misconfigures(_departure, "spec", "strategy", "type"),
    ),
    Answer(
        OF_CLUSTER,
        "spec",
        (SCOPE_STAYS,),
        "kubefleet.drift_repair.refuse_departure",
        misconfigures(_departure, "spec", "statusReportingScope"),
        _leaves_default_scope,
        "A default is not kept in the status file, so it may be left.",
    ),
)


BUDGETS = f"{FLEET} *DisruptionBudget"
EVICTIONS = f"{FLEET} *Eviction"
OVERRIDES = f"{FLEET} *ResourceOverride"
REQUESTS = f"{FLEET} *ApprovalRequest"
RUNS = f"{FLEET} *StagedUpdateRun"
STRATEGIES = f"{FLEET} *StagedUpdateStrategy"

SHARE = "type(self) == string ? self.matches('^(100|[0-9]{1,2})%$') : self >= 0"
SAME_PLACEMENT = (
    "(has(oldSelf.placement) && has(self.placement) && oldSelf.placement == self.placement) || "
    "(!has(oldSelf.placement) && !has(self.placement))"
)
NO_TIME = "!self.exists(e, e.type == 'Approval' && has(e.waitTime))"
NO_WAIT = "!self.exists(e, e.type == 'TimedWait')"
WAIT_HAS_TIME = "!self.exists(e, e.type == 'TimedWait' && !has(e.waitTime))"
STAYS = "self == oldSelf"


def _below(check: Callable[[Body], Iterable[Violation]], field: str, rule: str) -> Refuses:
    """Return whether a function finds a violation of a rule of ours in a field, or in its items."""
    return lambda _before, after: any(
        one.rule == rule and field in one.pointer.split("/") for one in check(after)
    )


def _edit(check: Callable[[Body, Body], None], *path: str) -> Refuses:
    """Return whether a function of two specs refuses an edit of one field."""
    return misconfigures(
        lambda before, after: check(mapping(before, "spec"), mapping(after, "spec")), *path
    )


def refuse_other_placement(before: Body, after: Body) -> None:
    """Compare the placement of an override with the one it was made for.

    Args:
        before: The spec as it was.
        after: The spec as it is to be.

    Raises:
        Misconfigured: It is for another placement, or for all, or no longer for all.

    Source: kubefleet@e160c1c apis/placement/v1beta1/override_types.go, the CEL rules of
    `ClusterResourceOverrideSpec` and `ResourceOverrideSpec`.
    """
    one, other = (mapping_or_none(spec, "placement") for spec in (before, after))
    filled = [None if found is None else _named(found) for found in (one, other)]
    if filled[0] != filled[1]:
        raise Misconfigured("`placement` must stay what it was", field="/spec")


def _named(placement: Body) -> tuple[str, str]:
    return text(placement, "name"), text(placement, "scope") or "Cluster"


def refuse_other_eviction(before: Body, after: Body) -> None:
    """Compare the spec of an eviction with the one that it was made with.

    Raises:
        Misconfigured: It is of another placement, or for another cluster.

    Source: kubefleet@e160c1c apis/placement/v1beta1/eviction_types.go `PlacementEvictionSpec`, its
    CEL rules.
    """
    for name in ("placementName", "clusterName"):
        if text(before, name) != text(after, name):
            raise Misconfigured(f"`{name}` must stay what it was", field=f"/spec/{name}")


def _moves(before: str, after: str) -> str:
    """Return the expression that forbids a state after another."""
    return f"!(has(oldSelf.state) && oldSelf.state == '{before}' && self.state == '{after}')"


JUDGED: Sequence[Answer] = (
    Answer(
        OVERRIDES,
        "",
        ("!has(self.spec.placement) || self.spec.placement.scope != 'Namespaced'",),
        "kubefleet.api.override_admission.refuse_override",
        finds(refuse_override, "override-scope"),
    ),
    Answer(
        OVERRIDES,
        "spec",
        (SAME_PLACEMENT,),
        "tests.crds.kubefleet_rules.refuse_other_placement",
        _edit(refuse_other_placement, "spec"),
    ),
    Answer(
        BUDGETS,
        "spec",
        ("!(has(self.maxUnavailable) && has(self.minAvailable))",),
        "kubefleet.api.override_admission.refuse_budget",
        finds(refuse_budget, "budget-exclusive"),
    ),
    *(
        Answer(
            BUDGETS,
            f"spec.{name}",
            (SHARE,),
            "kubefleet.api.override_admission.refuse_budget",
            _below(refuse_budget, name, "budget-limit"),
        )
        for name in ("maxUnavailable", "minAvailable")
    ),
    *(
        Answer(
            EVICTIONS,
            f"spec.{name}",
            (STAYS,),
            "tests.crds.kubefleet_rules.refuse_other_eviction",
            _edit(refuse_other_eviction, "spec", name),
        )
        for name in ("placementName", "clusterName")
    ),
    Answer(
        REQUESTS,
        "spec",
        (STAYS,),
        "kubefleet.api.admission.refuse_old_edit",
        _edit(refuse_old_edit, "spec"),
    ),
    Answer(
        RUNS,
        "",
        ("size(self.metadata.name) < 64", "size(self.metadata.name) < 128"),
        "kubefleet.api.admission.refuse_run",
        finds(refuse_run, "stage-run-name"),
    ),
    Answer(
        RUNS,
        "spec",
        (_moves("Initialize", "Stop"), _moves("Run", "Initialize"), _moves("Stop", "Initialize")),
        "kubefleet.api.admission.refuse_transition",
        _edit(refuse_transition, "spec"),
    ),
    *(
        Answer(
            RUNS,
            f"spec.{name}",
            (STAYS,),
            "kubefleet.api.admission.refuse_transition",
            _edit(refuse_transition, "spec", name),
        )
        for name in ("placementName", "stagedRolloutStrategyName", "resourceSnapshotIndex")
    ),
    Answer(
        RUNS,
        "spec",
        (STAYS,),
        "kubefleet.api.admission.refuse_old_edit",
        _edit(refuse_old_edit, "spec"),
    ),
    *(
        Answer(
            STRATEGIES,
            f"spec.stages[].{name}",
            expressions,
            "kubefleet.api.admission.refuse_stages",
            _below(refuse_stages, name, rule),
        )
        for name, rule, expressions in (
            ("beforeStageTasks", "stage-task", (NO_TIME, NO_WAIT)),
            ("afterStageTasks", "stage-task", (NO_TIME, WAIT_HAS_TIME)),
            (
                "maxConcurrency",
                "stage-concurrency",
                ("self == null || type(self) != int || self >= 1",),
            ),
        )
    ),
)


GROUP = "placement.kubernetes-fleet.io"


def judged(kind: str, spec: Body, *, version: str = "v1beta1", name: str = "web") -> Body:
    """An object of a kind."""
    metadata = {"name": name}
    return {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": metadata, "spec": spec}


def override_filled(spec: Body) -> Body:
    """The spec of an override with the default that a rule looks at."""
    placement = mapping_or_none(spec, "placement")
    if placement is None:
        return spec
    return {**spec, "placement": {"scope": "Cluster", **placement}}


def run_filled(spec: Body) -> Body:
    """The spec of a run with the default that a rule looks at."""
    return {"state": "Initialize", **spec}

"""What KubeFleet's validating webhooks and CEL rules refuse, said in one sentence each."""

from collections.abc import Iterator, Mapping
from functools import partial

from reconciler.dialects.kubefleet.api.policy import PICK_ALL, PICK_FIXED, PICK_N
from reconciler.dialects.kubefleet.api.policy_admission import refuse_affinity, refuse_tolerations
from reconciler.errors import UserError
from reconciler.manifests.names import LONGEST_LABEL, is_subdomain, shown
from reconciler.manifests.violations import Admission, Violation
from reconciler.model.fields import (
    bodies,
    mapping,
    mapping_or_none,
    number_or_none,
    strings,
    text,
)
from reconciler.model.known_kinds import Kind, KnownKinds
from reconciler.model.labels import is_label_key, is_label_value
from reconciler.model.selectors import decode_label_selector, refusal_of
from reconciler.model.world import Body

NAMESPACE = ("", "v1", "Namespace")
WITH_SELECTORS = "NamespaceWithResourceSelectors"
NAMESPACE_ACCESSIBLE = "NamespaceAccessible"

_ONLY_IN: Mapping[str, tuple[str, ...]] = {
    "clusterNames": (PICK_FIXED,),
    "numberOfClusters": (PICK_N,),
    "affinity": (PICK_ALL, PICK_N),
    "topologySpreadConstraints": (PICK_N,),
    "tolerations": (PICK_ALL, PICK_N),
}
"""Fields of a policy, and the placement types that they may stand beside."""


def refuse_placement(scopes: Mapping[Kind, bool], body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a placement that its schema accepts.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validatePlacement`, and the CEL
    rules of apis/placement/v1beta1/clusterresourceplacement_types.go.
    """
    spec = mapping(body, "spec")
    policy = mapping_or_none(spec, "policy")
    return (
        *_name(body),
        *_selectors(spec, scopes),
        *(() if policy is None else _policy(policy)),
        *_strategy(mapping(spec, "strategy")),
    )


def _name(body: Body) -> Iterator[Violation]:
    """Snapshots and bindings carry the name in labels."""
    name = text(mapping(body, "metadata"), "name")
    if len(name) > LONGEST_LABEL:
        yield Violation(
            "/metadata/name",
            "placement-name",
            f"the name has {len(name)} characters, it must have at most {LONGEST_LABEL}",
            f"at most {LONGEST_LABEL} characters",
        )


def _selectors(spec: Body, known: Mapping[Kind, bool]) -> Iterator[Violation]:
    """Resources are cluster-scoped, or stand in the one namespace whose resources are chosen."""
    selectors = bodies(spec, "resourceSelectors")
    kinds = [(text(s, "group"), text(s, "version"), text(s, "kind")) for s in selectors]
    scopes = [text(selector, "selectionScope") for selector in selectors]
    chosen = any(k == NAMESPACE and s == WITH_SELECTORS for k, s in zip(kinds, scopes, strict=True))
    for position, selector in enumerate(selectors):
        at = f"/spec/resourceSelectors/{position}"
        labels = mapping_or_none(selector, "labelSelector")
        if labels is not None and text(selector, "name"):
            yield Violation(
                f"{at}/labelSelector",
                "placement-selector-exclusive",
                "`labelSelector` must not stand beside `name`",
                "one of the two",
            )
        if labels is not None and refusal_of(decode_label_selector(labels)):
            refusal = refusal_of(decode_label_selector(labels))
            yield Violation(f"{at}/labelSelector", "placement-selector-labels", refusal)
        group, _, kind = kinds[position]
        if known.get((group, kind)) is True and not chosen:
            yield Violation(
                f"{at}/kind",
                "placement-selector-scope",
                f"a {kind} is namespaced, so its namespace must be selected",
                f"a selector of its Namespace with selectionScope {WITH_SELECTORS}",
            )
    if text(spec, "statusReportingScope") == NAMESPACE_ACCESSIBLE and kinds.count(NAMESPACE) != 1:
        yield Violation(
            "/spec/statusReportingScope",
            "placement-reporting-scope",
            f"{NAMESPACE_ACCESSIBLE} must go with exactly one selector of a Namespace",
            "one selector of kind Namespace, or ClusterScopeOnly",
        )


def _policy(policy: Body) -> Iterator[Violation]:
    """Each placement type has its fields.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validatePlacementPolicy`.
    """
    at = "/spec/policy"
    kind = text(policy, "placementType") or PICK_ALL
    for field, types in _ONLY_IN.items():
        value = policy.get(field)
        if kind not in types and value is not None and value != []:
            yield Violation(
                f"{at}/{field}",
                "placement-policy-field",
                f"`{field}` must not be given where `placementType` is {kind}",
                f"{' or '.join(types)}, or no {field}",
            )
    if kind == PICK_FIXED:
        yield from _cluster_names(strings(policy, "clusterNames"), f"{at}/clusterNames")
        return
    if kind == PICK_N and number_or_none(policy, "numberOfClusters") is None:
        yield Violation(
            at,
            "placement-number",
            "`numberOfClusters` must be given where `placementType` is PickN",
            "0 or more",
        )
    affinity = mapping(mapping(policy, "affinity"), "clusterAffinity")
    yield from refuse_affinity(affinity, f"{at}/affinity/clusterAffinity", picks_all=kind != PICK_N)
    yield from refuse_tolerations(bodies(policy, "tolerations"), f"{at}/tolerations")


def _cluster_names(names: tuple[str, ...], at: str) -> Iterator[Violation]:
    """PickFixed names clusters, each once."""
    if not names:
        yield Violation(
            at if names else "/spec/policy",
            "placement-names-empty",
            "`clusterNames` must be given where `placementType` is PickFixed",
            "the name of a cluster at least",
        )
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


def _strategy(strategy: Body) -> Iterator[Violation]:
    """Limits of a rolling update and options of an apply strategy go with their type.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validateRolloutStrategy`.
    """
    if text(strategy, "type") == "External" and mapping_or_none(strategy, "rollingUpdate"):
        yield Violation(
            "/spec/strategy/rollingUpdate",
            "placement-strategy-external",
            "`rollingUpdate` must not stand beside `type: External`",
            "one of the two",
        )
    rolling = mapping(strategy, "rollingUpdate")
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
    apply = mapping(strategy, "applyStrategy")
    server_side = mapping_or_none(apply, "serverSideApplyConfig")
    if server_side is not None and text(apply, "type") != "ServerSideApply":
        yield Violation(
            "/spec/strategy/applyStrategy/serverSideApplyConfig",
            "placement-strategy-apply",
            "`serverSideApplyConfig` must go with `type: ServerSideApply`",
            "type: ServerSideApply, or no serverSideApplyConfig",
        )


def refuse_member(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a cluster: its name, taints, and values that cannot be read.

    Source: kubefleet@e160c1c pkg/utils/validator/membercluster.go `ValidateMemberCluster`.
    """
    # Late, since checking any other kind needs nothing of the fleet.
    from reconciler.dialects.kubefleet.api.clusters import decode_member  # noqa: PLC0415

    try:
        decode_member(body)
    except (UserError, ValueError) as error:
        return (Violation("", "cluster-unreadable", f"a value {error}"),)
    return tuple(_taints(bodies(mapping(body, "spec"), "taints")))


def _taints(taints: tuple[Body, ...]) -> Iterator[Violation]:
    """Taints are of label keys and values, each key and effect once."""
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
        if (key, effect) in seen:
            yield Violation(
                at,
                "cluster-taint-unique",
                f"the taint {shown(key)} with {effect} must be written once",
                "one taint for each key and effect",
            )
        seen.add((key, effect))


def kubefleet_admissions(known: KnownKinds) -> Mapping[Kind, Admission]:
    """Return what is refused, by kind; a selector may be of any kind that is known."""
    return {
        ("cluster.kubernetes-fleet.io", "MemberCluster"): refuse_member,
        ("placement.kubernetes-fleet.io", "ClusterResourcePlacement"): partial(
            refuse_placement, known.scopes
        ),
    }

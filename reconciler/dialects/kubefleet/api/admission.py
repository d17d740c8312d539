"""What KubeFleet's validating webhooks and CEL rules refuse, said in one sentence each."""

from collections.abc import Iterator, Mapping
from functools import partial

from reconciler.dialects.kubefleet.api.defaults import mutated
from reconciler.dialects.kubefleet.api.disruption_admission import refuse_budget
from reconciler.dialects.kubefleet.api.groups import CLUSTER, PLACEMENT_GROUP
from reconciler.dialects.kubefleet.api.member_admission import refuse_member
from reconciler.dialects.kubefleet.api.namespaced_admission import refuse_namespaced_placement
from reconciler.dialects.kubefleet.api.override_admission import refuse_override
from reconciler.dialects.kubefleet.api.policy import PICK_FIXED, PICK_N
from reconciler.dialects.kubefleet.api.policy_admission import (
    refuse_affinity,
    refuse_fields_of_others,
    refuse_tolerations,
)
from reconciler.dialects.kubefleet.api.selector_admission import (
    refuse_names_beside_labels,
    refuse_namespaces,
    refuse_reporting,
    refuse_selectors,
)
from reconciler.dialects.kubefleet.api.strategy_admission import refuse_strategy
from reconciler.dialects.kubefleet.api.updates.update_admission import refuse_run, refuse_stages
from reconciler.manifests.names import LONGEST_LABEL, is_subdomain
from reconciler.manifests.schemas.violations import Admission, Violation
from reconciler.model.body import Body
from reconciler.model.fields import (
    bodies,
    mapping,
    strings,
    text,
)
from reconciler.model.known_kinds import Kind, KnownKinds
from reconciler.model.message_text import shown


def refuse_placement(scopes: Mapping[Kind, bool], body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a placement that its schema accepts.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validatePlacement`, and the CEL
    rules of apis/placement/v1beta1/clusterresourceplacement_types.go.
    """
    spec = mutated(mapping(body, "spec"))
    return (
        *_name(body),
        *refuse_selectors(spec, scopes),
        *refuse_names_beside_labels(spec),
        *refuse_reporting(spec),
        *refuse_namespaces(spec),
        *_policy(mapping(spec, "policy")),
        *refuse_strategy(mapping(spec, "strategy")),
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


def kubefleet_admissions(known: KnownKinds) -> Mapping[Kind, Admission]:
    """Return what is refused, by kind; a selector may be of any kind that is known."""
    return {
        CLUSTER: refuse_member,
        (PLACEMENT_GROUP, "ClusterResourcePlacement"): partial(refuse_placement, known.scopes),
        (PLACEMENT_GROUP, "ResourcePlacement"): refuse_namespaced_placement,
        **{(PLACEMENT_GROUP, kind): refuse for kind, refuse in _JUDGED.items()},
    }

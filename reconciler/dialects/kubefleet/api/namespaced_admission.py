"""What KubeFleet refuses of a ResourcePlacement: what its CRD refuses, for it has no webhook.

What the webhook of a ClusterResourcePlacement would refuse is found out when it is scheduled.

Source: kubefleet@e160c1c pkg/webhook/webhook.go `buildFleetValidatingWebhooks`, which names no
webhook of it.
"""

from collections.abc import Iterator

from reconciler.dialects.kubefleet.api.defaults import with_defaults
from reconciler.dialects.kubefleet.api.policy import PREFERRED
from reconciler.dialects.kubefleet.api.policy_admission import (
    refuse_fields_of_others,
    refuse_toleration,
)
from reconciler.dialects.kubefleet.api.selector_admission import (
    refuse_names_beside_labels,
    refuse_namespaces,
)
from reconciler.dialects.kubefleet.api.strategy_admission import refuse_report
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping

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
    for position, item in enumerate(bodies(policy, "tolerations")):
        yield from refuse_toleration(item, f"{POLICY}/tolerations/{position}")


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
        for position, item in enumerate(items):
            for field in fields:
                if field not in item:
                    yield Violation(
                        f"{at}/{position}", "schema-required", f"`{field}` must be given"
                    )

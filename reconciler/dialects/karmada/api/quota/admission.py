"""What Karmada's validating webhook refuses in a FederatedResourceQuota."""

from collections.abc import Iterator, Mapping

from reconciler.dialects.karmada.api.cluster_admission import MAX_NAME
from reconciler.manifests.names import LONGEST_LABEL, is_label
from reconciler.manifests.schemas.violations import Violation, pointer_of
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.labels import is_label_key
from reconciler.model.message_text import shown
from reconciler.model.quantity import NANOS, Quantity, parse_quantity
from reconciler.schedule.capacity.pod_requests import is_extended

COUNTED = frozenset(
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    }
)
"""Source: karmada@f8fdd02 pkg/util/lifted/corev1helpers.go `integerResources`."""
MEASURED = frozenset({"cpu", "memory", "ephemeral-storage", "requests.storage"})
STANDARD = (
    COUNTED
    | MEASURED
    | {f"{side}.{name}" for side in ("limits", "requests") for name in MEASURED if "." not in name}
)
"""Source: karmada@f8fdd02 pkg/util/lifted/corev1helpers.go `standardQuotaResources`."""
SIDES = ("limits.", "requests.")
HUGE_PAGES = ("hugepages-", "requests.hugepages-")


def refuse_quota(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a quota that its schema accepts.

    Its status is not looked at: a pass writes it.

    Source: karmada@f8fdd02 pkg/webhook/federatedresourcequota/validating.go
    `validateFederatedResourceQuota`.
    """
    spec = mapping(body, "spec")
    overall, assignments = mapping(spec, "overall"), bodies(spec, "staticAssignments")
    at = "/spec/staticAssignments"
    return (
        *_name(text(mapping(body, "metadata"), "name")),
        *_resources(overall, "/spec/overall"),
        *(one for n, part in enumerate(assignments) for one in _assignment(part, f"{at}/{n}")),
        *_sums(overall, assignments),
        *(
            one
            for n, part in enumerate(assignments)
            for one in _unlimited(mapping(part, "hard"), overall, f"{at}/{n}/hard")
        ),
    )


def _name(name: str) -> Iterator[Violation]:
    """The name is the value of a label on what clusters get."""
    if len(name) > LONGEST_LABEL:
        yield Violation(
            "/metadata/name",
            "quota-name",
            f"the name {shown(name)} must fit into a label",
            f"at most {LONGEST_LABEL} characters",
        )


def _assignment(body: Body, at: str) -> Iterator[Violation]:
    name = text(body, "clusterName")
    if not is_label(name) or len(name) > MAX_NAME:
        yield Violation(
            f"{at}/clusterName",
            "quota-cluster",
            f"the name {shown(name)} must be one that a cluster can have",
            f"lower-case letters, digits and '-', at most {MAX_NAME} characters",
        )
    yield from _resources(mapping(body, "hard"), f"{at}/hard")


def _resources(amounts: Body, at: str) -> Iterator[Violation]:
    """Each resource is one that a quota can limit, and each amount one that there can be.

    Source: karmada@f8fdd02 pkg/util/lifted/validateresourcequota.go
    `ValidateResourceQuotaResourceName`, `ValidateResourceQuantityValue`.
    """
    for name, amount in sorted(_amounts(amounts).items()):
        where = f"{at}{pointer_of([name])}"
        if not _is_limitable(name):
            yield Violation(
                where,
                "quota-resource",
                f"the resource {shown(name)} must be one that a quota can limit",
                "cpu, memory, requests.storage, pods, or a name with a domain",
            )
        if amount < 0 or (_is_counted(name) and amount % NANOS):
            kind = "a whole number" if _is_counted(name) else "an amount"
            yield Violation(
                where,
                "quota-amount",
                f"the limit of {shown(name)} must be {kind}, and not negative",
                "10" if _is_counted(name) else "10, 500m or 2Gi",
            )


def _sums(overall: Body, assignments: tuple[Body, ...]) -> Iterator[Violation]:
    """What single clusters may use together stays within what all may.

    Source: karmada@f8fdd02 pkg/webhook/federatedresourcequota/validating.go
    `validateOverallAndAssignments`.
    """
    parts = [_amounts(mapping(one, "hard")) for one in assignments]
    for name, limit in sorted(_amounts(overall).items()):
        if limit < sum(part.get(name, 0) for part in parts):
            yield Violation(
                f"/spec/overall{pointer_of([name])}",
                "quota-assigned",
                f"the limit of {shown(name)} must be as much as `staticAssignments` give together",
                "a greater limit, or smaller assignments",
            )


def _unlimited(hard: Body, overall: Body, at: str) -> Iterator[Violation]:
    for name in sorted(hard):
        if name not in overall:
            yield Violation(
                f"{at}{pointer_of([name])}",
                "quota-assigned",
                f"the resource {shown(name)} must have a limit in `overall`, too",
                f"{shown(name)} in /spec/overall, or not here",
            )


def _amounts(body: Body) -> Mapping[str, Quantity]:
    return {name: parse_quantity(str(amount)) for name, amount in body.items()}


def is_enforced(name: str) -> bool:
    """Return whether a limit is ever compared with what workloads ask for.

    What one replica asks for is what its containers request, under the names that they have there:
    no limit of containers, no count of objects, and nothing under a name that begins `requests.`.

    Source: karmada@f8fdd02 pkg/webhook/resourcebinding/validating.go `calculateResourceUsage`.
    """
    return name not in COUNTED and not name.startswith(SIDES)


def _is_limitable(name: str) -> bool:
    if "/" in name:
        return is_label_key(name)
    return name in STANDARD or (name.startswith(HUGE_PAGES) and is_label_key(name))


def _is_counted(name: str) -> bool:
    """Return whether only whole numbers of a resource make sense.

    Source: karmada@f8fdd02 pkg/util/lifted/corev1helpers.go `IsIntegerResourceName`,
    `IsExtendedResourceName`.
    """
    if name in COUNTED:
        return True
    return is_extended(name) and is_label_key(f"requests.{name}")

"""What OCM's API server and webhooks refuse beyond the schemas, each in one sentence.

Source, for manifests in ManifestWorks: ocm@00f84c3 pkg/work/webhook/common/validator.go.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from reconciler.dialects.ocm.api.cluster import decode_cluster, decode_set, decode_set_binding
from reconciler.dialects.ocm.api.placement import (
    CLUSTER,
    CLUSTER_GROUP,
    WORK_GROUP,
    decode_placement,
)
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    REPLICA_SET,
    WORK,
    decode_replica_set,
)
from reconciler.dialects.ocm.rollout import decode_strategy
from reconciler.dialects.scores import decode_report
from reconciler.errors import UserError
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import at, bodies, mapping, text
from reconciler.model.labels import MAX_NAME
from reconciler.model.text import shown

MANIFEST_LIMIT = 500 * 1024  # bytes as JSON, of all together
TEMPLATE = "/spec/manifestWorkTemplate"


def refuse_work(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a ManifestWork that its schema accepts.

    One without a spec is a report of what became of it.
    """
    if "spec" not in body:
        return ()
    return tuple(_template(mapping(body, "spec"), "/spec"))


def refuse_replica_set(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a ManifestWorkReplicaSet that its schema accepts."""
    try:
        for reference in decode_replica_set(body).references:
            decode_strategy(reference.strategy)
    except UserError as error:
        where = f" in `{error.field}`" if error.field else ""
        message = f"a value{where} cannot be read: {error.message}"
        return (Violation("/spec/placementRefs", "replica-set-unreadable", message),)
    return tuple(_template(at(body, "spec", "manifestWorkTemplate"), TEMPLATE))


def _template(template: Body, pointer: str) -> Iterator[Violation]:
    manifests = bodies(mapping(template, "workload"), "manifests")
    where = f"{pointer}/workload/manifests"
    if not manifests:
        message = "`manifests` must not be empty"
        yield Violation(where, "replica-set-manifests", message, "one manifest or more")
    size = sum(len(json.dumps(one, separators=(",", ":"))) for one in manifests)
    if size > MANIFEST_LIMIT:
        message = f"`manifests` must have at most {MANIFEST_LIMIT} bytes together, not {size}"
        expected = "several sets, each with some of them"
        yield Violation(where, "replica-set-manifests", message, expected)
    yield from _manifests(manifests, where)
    for position, config in enumerate(bodies(template, "manifestConfigs")):
        for number, rule in enumerate(bodies(config, "conditionRules")):
            if text(rule, "type") == "CEL" and not text(rule, "condition"):
                below = f"manifestConfigs/{position}/conditionRules/{number}"
                message = "`condition` must say which condition the expressions are about"
                expected = "the type of a condition, such as Progressing"
                yield Violation(f"{pointer}/{below}", "replica-set-condition", message, expected)


def _manifests(manifests: Sequence[Body], where: str) -> Iterator[Violation]:
    """Yield the manifests without an identity, and those with that of one before."""
    seen: dict[tuple[str, ...], int] = {}
    for position, manifest in enumerate(manifests):
        identity = _identity_of(manifest)
        if identity is None:
            message = "a manifest must have a kind and a name, and no `generateName`"
            expected = "apiVersion, kind and metadata.name"
            yield Violation(f"{where}/{position}", "replica-set-manifest-name", message, expected)
            continue
        first = seen.setdefault(identity, position)
        if first != position:
            message = f"{identity[1]} {shown(identity[-1])} stands at {first} already"
            expected = "each object once"
            yield Violation(f"{where}/{position}", "replica-set-manifest-unique", message, expected)


def _identity_of(manifest: Body) -> tuple[str, str, str, str] | None:
    """Return version, kind, namespace and name of a manifest, `None` if it has no identity."""
    try:
        metadata = mapping(manifest, "metadata")
        kind, name = text(manifest, "kind"), text(metadata, "name")
        version, namespace = text(manifest, "apiVersion"), text(metadata, "namespace")
    except UserError:  # one of them is no text
        return None
    named = kind and name and not metadata.get("generateName")
    return (version, kind, namespace, name) if named else None


Refuse = Callable[[Body], tuple[Violation, ...]]


def refuse_placement(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a placement that its schema accepts.

    Source: ours; upstream crashes on a negative number, and loses the decisions of a name that
    cannot be a label.
    """
    unreadable = _refuse_unreadable(decode_placement, "placement", body)
    if unreadable:
        return unreadable
    placement = decode_placement(body)
    violations = []
    if (placement.number_of_clusters or 0) < 0:
        violations.append(
            Violation(
                "/spec/numberOfClusters",
                "placement-number",
                "`numberOfClusters` must be greater than or equal to 0",
                "0 or more, or no number for all clusters that fit",
            )
        )
    if len(placement.name) > MAX_NAME:
        violations.append(
            Violation(
                "/metadata/name",
                "placement-name",
                f"`name` must have at most {MAX_NAME} characters, as decisions are labelled by it",
                f"at most {MAX_NAME} characters",
            )
        )
    return tuple(violations)


def refuse_binding(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a set binding: it must be named like its set.

    Source: ocm@00f84c3 vendor/open-cluster-management.io/api/cluster/v1beta2
    `ManagedClusterSetBinding`: the name must match the set's.
    """
    unreadable = _refuse_unreadable(decode_set_binding, "binding", body)
    if unreadable:
        return unreadable
    binding = decode_set_binding(body)
    if binding.name == binding.cluster_set:
        return ()
    return (
        Violation(
            "/metadata/name",
            "set-binding-name",
            f"`name` must be that of the set that it binds, {binding.cluster_set}",
            binding.cluster_set,
        ),
    )


def _refuse_unreadable(
    decode: Callable[[Body], object], what: str, body: Body
) -> tuple[Violation, ...]:
    """Refuse what cannot be decoded."""
    try:
        decode(body)
    except UserError as error:
        where = f" in `{error.field}`" if error.field else ""
        message = f"a value{where} {error.message}"
        return (Violation("", f"{what}-unreadable", message),)
    return ()


OCM_ADMISSIONS: Mapping[tuple[str, str], Refuse] = {
    (CLUSTER_GROUP, "AddOnPlacementScore"): partial(_refuse_unreadable, decode_report, "score"),
    CLUSTER: partial(_refuse_unreadable, decode_cluster, "cluster"),
    (CLUSTER_GROUP, "ManagedClusterSet"): partial(_refuse_unreadable, decode_set, "set"),
    (CLUSTER_GROUP, "ManagedClusterSetBinding"): refuse_binding,
    (CLUSTER_GROUP, "Placement"): refuse_placement,
    (WORK_GROUP, WORK): refuse_work,
    (WORK_GROUP, REPLICA_SET): refuse_replica_set,
}
"""What is refused, by (group, kind)."""

"""What OCM's API server and webhooks refuse of manifests in ManifestWorks beyond the schemas.

Source: ocm@00f84c3 pkg/work/webhook/common/validator.go.
"""

import json
from collections.abc import Iterator, Sequence

from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import decode_replica_set
from reconciler.dialects.ocm.rollout.strategy import decode_strategy
from reconciler.errors import UserError
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.message_text import shown

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
    for position, one in enumerate(manifests):
        identity = _identity_of(one)
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

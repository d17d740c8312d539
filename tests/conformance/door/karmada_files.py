"""Karmada's part of a vector as files: clusters, a policy, a workload, and the last binding."""

from decimal import Decimal
from itertools import count

from reconciler.model.fields import number
from reconciler.model.identity import ObjectKey, uid_of
from tests.builders import Body
from tests.conformance.door.door import LeftOut, field, items

CLAIM = {
    "propagationpolicy.karmada.io/namespace": "default",
    "propagationpolicy.karmada.io/name": "p",
}
ID = "propagationpolicy.karmada.io/permanent-id"
POLICY = ObjectKey("policy.karmada.io", "PropagationPolicy", "default", "p")
READY = {
    "type": "Ready",
    "status": "True",
    "reason": "ClusterReady",
    "message": "cluster is healthy and ready to accept workloads",
    "lastTransitionTime": "2026-01-01T00:00:00Z",
}
FNV_BASIS, FNV_PRIME, WORD = 0x811C9DC5, 0x01000193, 0xFFFFFFFF
MILLI = 1000
SUFFIXES = {"": Decimal(1), "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3")}
SUFFIXES |= {name: Decimal(1000) ** power for power, name in enumerate("kMGTPE", 1)}
SUFFIXES |= {f"{name}i": Decimal(1024) ** power for power, name in enumerate("KMGTPE", 1)}


def cluster_of(cluster: Body) -> Body:
    """A cluster as people write it: what reports anything is ready, its controller would say.

    `zone` goes: no stored cluster has it, and the scheduler does not read it.

    Raises:
        LeftOut: Its smallest nodes have a least amount, which is stored as 0.
    """
    models = sorted(items(cluster, "spec", "resourceModels"), key=lambda one: number(one, "grade"))
    if any(str(one["min"]) != "0" for model in models[:1] for one in items(model, "ranges")):
        raise LeftOut("defaulted-cluster")
    status = field(cluster, "status")
    conditions = items(cluster, "status", "conditions")
    ready = [item for item in conditions if item.get("type") == "Ready"]
    full = [{**READY, **item} for item in conditions]
    more = [] if ready else [READY]
    spec = {name: value for name, value in field(cluster, "spec").items() if name != "zone"}
    return {**cluster, "spec": spec, "status": {**status, "conditions": [*full, *more]}}


def policy_of(binding: Body, **spec: object) -> Body:
    """The policy that claims every workload, with a binding's placement."""
    resource = field(binding, "spec", "resource")
    named = {key: resource[key] for key in ("apiVersion", "kind")}
    copied = {
        key: value
        for key, value in field(binding, "spec").items()
        if key in ("failover", "schedulerName", "suspension", "placement")
    }
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": POLICY.name, "namespace": POLICY.namespace},
        "spec": {"resourceSelectors": [named], **copied, **spec},
    }


def workload_of(binding: Body) -> Body:
    """The workload of a binding, by a name that breaks ties as the uid of the vector does.

    Raises:
        LeftOut: No workload asks for what the binding asks for.
    """
    spec, resource = field(binding, "spec"), field(binding, "spec", "resource")
    if field(binding, "metadata").get("deletionTimestamp"):
        raise LeftOut("deleting-binding")
    if "components" in spec:
        raise LeftOut("components")
    body: dict[str, object] = {key: resource[key] for key in ("apiVersion", "kind")}
    body["metadata"] = {"name": _name(resource), "namespace": resource["namespace"]}
    if body["kind"] != "Deployment":
        return body
    container: dict[str, object] = {"name": "main", "image": "example.org/main"}
    pod: dict[str, object] = {"containers": [container]}
    if "replicaRequirements" in spec:
        needs = field(spec, "replicaRequirements")
        if field(needs, "resourceRequest") or not spec.get("replicas"):
            container["resources"] = {"requests": _requests(needs)}
    body["spec"] = {"replicas": spec.get("replicas", 0), "template": {"spec": pod}}
    return body


def _requests(needs: Body) -> Body:
    requests = field(needs, "resourceRequest")
    for name, amount in requests.items():
        units = _units(str(amount)) * (MILLI if name == "cpu" else 1)
        if not units or units % 1:
            raise LeftOut("fractional-request")
    return requests


def _units(amount: str) -> Decimal:
    """The number that a quantity is, read without the product."""
    suffix = amount.lstrip("0123456789.+-")
    if suffix in SUFFIXES:
        return Decimal(amount.removesuffix(suffix)) * SUFFIXES[suffix]
    return Decimal(amount)


def _name(resource: Body) -> str:
    """The first name whose uid breaks ties in the direction of a vector's uid."""
    uid, name = str(resource.get("uid", "")), str(resource["name"])
    group = str(resource["apiVersion"]).rpartition("/")[0]
    names = (f"{name}-{number}" if number else name for number in count())
    keys = (ObjectKey(group, str(resource["kind"]), str(resource["namespace"]), n) for n in names)
    return next(key.name for key in keys if _is_odd(uid_of(key)) == _is_odd(uid))


def _is_odd(uid: str) -> bool:
    """Whether ties go to the greater name: FNV-1a of the uid is odd."""
    value = FNV_BASIS
    for byte in uid.encode():
        value = (value ^ byte) * FNV_PRIME & WORD
    return bool(uid) and value % 2 == 1


def claim_of(template: Body) -> Body:
    """What upstream notes of a claim on a template, which stands on the binding here."""
    metadata = field(template, "metadata")
    found: dict[str, Body] = {}
    for part in ("annotations", "labels"):
        noted = field(metadata, part)
        found[part] = {name: noted[name] for name in noted if "policy.karmada.io/" in name}
    return found


def last_binding(binding: Body, workload: Body, *, claim: Body | None = None) -> Body:
    """The binding as the last pass left it: the vector's, under the workload's name.

    `claim` are the annotations and labels of the policy that it belongs to, if not the only one.
    """
    claim = {"annotations": CLAIM, "labels": {ID: uid_of(POLICY)}} if claim is None else claim
    metadata, spec = field(binding, "metadata"), field(binding, "spec")
    plain = str(field(workload, "metadata")["name"]).replace(":", ".")
    name = f"{plain}-{workload['kind']}".lower()
    resource = {**field(spec, "resource"), "name": field(workload, "metadata")["name"]}
    return {
        **binding,
        "metadata": {
            **metadata,
            "name": name,
            "annotations": {**field(metadata, "annotations"), **field(claim, "annotations")},
            "labels": field(claim, "labels"),
        },
        "spec": {**spec, "resource": resource},
    }

"""Karmada's part of a vector as files: clusters, a policy, a workload, and the last binding."""

from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.quantity import parse_quantity
from tests.builders import Body
from tests.conformance.front_door import LeftOut, field, items

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
NATIVE = ("cpu", "memory", "ephemeral-storage")
FNV_BASIS, FNV_PRIME, WORD = 0x811C9DC5, 0x01000193, 0xFFFFFFFF
MOST_NAMES = 64
NANOS, NANOS_PER_MILLI = 10**9, 10**6


def cluster_of(cluster: Body) -> Body:
    """A cluster as people write it: what reports anything is ready, its controller would say."""
    status = field(cluster, "status")
    conditions = items(cluster, "status", "conditions")
    ready = [item for item in conditions if item.get("type") == "Ready"]
    if any(item.get("status") != "True" for item in ready):
        keys = {taint.get("key") for taint in items(cluster, "spec", "taints")}
        if not keys & {"cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable"}:
            raise LeftOut("a cluster that is not ready, which its controller taints")
    full = [{**READY, **item} for item in conditions]
    more = [] if ready else [READY]
    return {**cluster, "status": {**status, "conditions": [*full, *more]}}


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
        raise LeftOut("a binding that is being deleted, which no file says")
    if "components" in spec:
        raise LeftOut("a workload of components, which no interpreter here reads")
    body: dict[str, object] = {key: resource[key] for key in ("apiVersion", "kind")}
    body["metadata"] = {"name": _name(resource), "namespace": resource["namespace"]}
    if body["kind"] != "Deployment":
        if "replicas" in spec or "replicaRequirements" in spec:
            raise LeftOut("replicas of a kind that has none")
        return body
    container: dict[str, object] = {"name": "main", "image": "example.org/main"}
    pod: dict[str, object] = {"containers": [container]}
    if "replicaRequirements" in spec:
        needs = field(spec, "replicaRequirements")
        if needs.keys() - {"resourceRequest"}:
            raise LeftOut("requirements beside requests")
        if field(needs, "resourceRequest") or not spec.get("replicas"):
            container["resources"] = {"requests": _requests(needs)}
    body["spec"] = {"replicas": spec.get("replicas", 0), "template": {"spec": pod}}
    return body


def _requests(needs: Body) -> Body:
    requests = field(needs, "resourceRequest")
    if not requests:
        raise LeftOut("requirements that ask for nothing, which no workload has")
    for name, amount in requests.items():
        nanos = parse_quantity(str(amount))
        if not nanos or nanos % (NANOS_PER_MILLI if name == "cpu" else NANOS):
            raise LeftOut("a request of zero or of a fraction, which no workload keeps")
        if name not in NATIVE and "/" not in name:
            raise LeftOut("a request for a resource that no workload keeps")
    return requests


def _name(resource: Body) -> str:
    """The first name whose uid breaks ties in the direction of a vector's uid."""
    uid, name = str(resource.get("uid", "")), str(resource["name"])
    group = str(resource["apiVersion"]).rpartition("/")[0]
    for number in range(MOST_NAMES):
        tried = f"{name}-{number}" if number else name
        key = ObjectKey(group, str(resource["kind"]), str(resource["namespace"]), tried)
        if _is_odd(uid_of(key)) == _is_odd(uid):
            return tried
    raise LeftOut("a uid that ties depend on")


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

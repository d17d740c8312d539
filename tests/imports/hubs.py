"""Live control planes, as kubectl prints them: objects with everything that a server makes.

Their decisions are sound, and not what a scheduler would choose that knows nothing of them.
"""

from collections.abc import Iterator, Mapping, Sequence

from reconciler.core.dialects import KINDS
from reconciler.imports.export import LiveObject
from reconciler.manifests.identity import namespace_for
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey, group_of

THEN = "2026-01-05T08:00:00Z"
CLUSTERS = 10


def live(api_version: str, kind: str, name: str, **parts: object) -> dict[str, object]:
    """Return an object with the fields that a server makes."""
    namespace = parts.pop("namespace", None)
    metadata = parts.pop("metadata", {})
    assert isinstance(metadata, Mapping)
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            **({"namespace": namespace} if namespace else {}),
            "uid": f"00000000-0000-4000-8000-{abs(hash((kind, name))) % 10**12:012d}",
            "resourceVersion": "48151623",
            "generation": 3,
            "creationTimestamp": THEN,
            "managedFields": [{"manager": "kubectl", "operation": "Update", "time": THEN}],
            **metadata,
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                **metadata.get("annotations", {}),
            },
        },
        **parts,
    }


def condition(type_: str, **fields: object) -> Body:
    """Return a condition that holds."""
    return {
        "type": type_,
        "status": "True",
        "reason": "AsItShould",
        "message": "all is well",
        "lastTransitionTime": THEN,
        **fields,
    }


def objects(bodies: Sequence[Body]) -> tuple[LiveObject, ...]:
    """Return bodies as the objects of an export."""
    return tuple(LiveObject(key_of(body), body) for body in bodies)


def key_of(body: Body) -> ObjectKey:
    """Return the key of an object."""
    metadata = body["metadata"]
    assert isinstance(metadata, Mapping)
    group, kind = group_of(str(body["apiVersion"])), str(body["kind"])
    namespace = namespace_for(group, kind, metadata.get("namespace", ""), KINDS.scopes)
    return ObjectKey(group, kind, namespace, metadata["name"])


def workload(name: str, replicas: int, **metadata: object) -> Body:
    """Return a Deployment as a control plane has it."""
    container = {"name": "main", "image": "example/web:1", "imagePullPolicy": "Always"}
    return live(
        "apps/v1",
        "Deployment",
        name,
        namespace="default",
        metadata=metadata,
        spec={
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"creationTimestamp": None, "labels": {"app": name}},
                "spec": {"containers": [container]},
            },
        },
        status={"replicas": 0},
    )


def cluster_names() -> Iterator[str]:
    """Yield the names of the clusters."""
    return (f"member{number}" for number in range(1, CLUSTERS + 1))

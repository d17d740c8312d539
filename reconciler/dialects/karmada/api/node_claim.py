"""The nodes that one replica insists on: required affinity, selector, tolerations.

It stands in the binding, which its schema judges when it is read again. So what is not as
Kubernetes would have it is left out: it is the member cluster's to judge.
"""

from collections.abc import Iterator

from reconciler.model.body import Body
from reconciler.model.content import mapping_of, mappings_of

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
MATCHES = ("matchExpressions", "matchFields")
INT64 = 2**63


def node_claim_of(pod: Body) -> dict[str, object]:
    """Return the node claim of a pod spec, an empty one if any node will do.

    Source: karmada@f8fdd02 pkg/util/helper/binding.go `NewNodeClaim`.
    """
    claim: dict[str, object] = {}
    affinity = mapping_of(mapping_of(pod.get("affinity")).get("nodeAffinity"))
    terms = mapping_of(affinity.get(REQUIRED)).get("nodeSelectorTerms")
    if isinstance(terms, list):
        claim["hardNodeAffinity"] = {
            "nodeSelectorTerms": [_term(item) for item in mappings_of(terms)]
        }
    selector = mapping_of(pod.get("nodeSelector"))
    wanted = {label: value for label, value in selector.items() if isinstance(value, str)}
    if wanted:
        claim["nodeSelector"] = wanted
    tolerations = [dict(_toleration(item)) for item in mappings_of(pod.get("tolerations"))]
    if tolerations:
        claim["tolerations"] = tolerations
    return claim


def _term(body: Body) -> Body:
    """Return one term of a node affinity."""
    return {
        name: [
            found for item in mappings_of(body[name]) if (found := _requirement(item)) is not None
        ]
        for name in body
        if name in MATCHES and isinstance(body[name], list)
    }


def _requirement(body: Body) -> Body | None:
    """Return one expression, `None` if it cannot be judged."""
    if not isinstance(body.get("key"), str) or not isinstance(body.get("operator"), str):
        return None
    found: dict[str, object] = {}
    for name, value in body.items():
        if name in ("key", "operator"):
            found[name] = value
        elif name == "values" and isinstance(value, list):
            found[name] = [item for item in value if isinstance(item, str)]
    return found


def _toleration(body: Body) -> Iterator[tuple[str, object]]:
    """Yield the fields of a toleration."""
    for name, value in body.items():
        if name == "tolerationSeconds":
            whole = isinstance(value, int) and not isinstance(value, bool)
            if whole and isinstance(value, int) and -INT64 <= value < INT64:
                yield name, value
        elif name in ("key", "operator", "value", "effect") and isinstance(value, str):
            yield name, value

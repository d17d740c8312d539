"""Karmada's names, settings and JSON, which the rest of the dialect shares.

These are the API groups of Karmada and of others that its rules ask for, kinds that several files
name, the namespace that each cluster has for its Works, and Karmada's section of the configuration:
failover, preemption, quotas, empty clusters. JSON is written as Go writes it, and faults in it are
reported in Go's words.
"""

import json
from collections.abc import Mapping

from reconciler.model.fields import mapping, text
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass
from reconciler.model.settings import Settings

CLUSTER_GROUP = "cluster.karmada.io"
POLICY_GROUP = "policy.karmada.io"
WORK_GROUP = "work.karmada.io"
CONFIG_GROUP = "config.karmada.io"
MULTICLUSTER_GROUP = "multicluster.x-k8s.io"
SCHEDULING_GROUP = "scheduling.k8s.io"

CLUSTER: Kind = (CLUSTER_GROUP, "Cluster")
INGRESS = ("networking.k8s.io/v1", "Ingress")


EXECUTION = "karmada-es-"


def execution_namespace(cluster: str) -> str:
    """Return the namespace of the Works of a cluster.

    Source: karmada@f8fdd02 pkg/util/names/names.go `GenerateExecutionSpaceName`.
    """
    return EXECUTION + cluster


DEFAULT_TOLERATION_SECONDS = 300  # Kubernetes' default for not-ready and unreachable nodes
EVICTION_TIMEOUT_SECONDS = 600  # karmada@f8fdd02 --graceful-eviction-timeout
STATE_PRESERVATION = "karmada.failover.statePreservation"
"""Where the configuration switches that on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failover:
    """How workloads leave failing clusters.

    Attributes:
        enabled: Whether NoExecute taints evict at all.
        default_toleration_seconds: How long the not-ready and unreachable taints are tolerated
            where a placement names neither; `None` means no such default.
        eviction_timeout_seconds: How long a graceful eviction waits for the new copies.
        purge_mode: How the copy on the old cluster goes where the policy does not say.
        state_preservation: Whether a workload takes along what its policy preserves of its status;
            upstream's feature gate StatefulFailoverInjection.
        keep_without_replacement: Whether a copy stays for which no other one finds a place.
    """

    enabled: bool = True
    default_toleration_seconds: int | None = DEFAULT_TOLERATION_SECONDS
    eviction_timeout_seconds: int = EVICTION_TIMEOUT_SECONDS
    purge_mode: str = "Gracefully"
    state_preservation: bool = False
    keep_without_replacement: bool = False


def decode_failover(settings: Settings) -> Failover:
    """Return the failover settings, with defaults for what is absent."""
    failover = mapping(settings.options.get("karmada", {}), "failover")
    toleration = failover.get("defaultTolerationSeconds", DEFAULT_TOLERATION_SECONDS)
    timeout = failover.get("gracefulEvictionTimeoutSeconds")
    return Failover(
        enabled=failover.get("enabled") is not False,
        default_toleration_seconds=toleration if isinstance(toleration, int) else None,
        eviction_timeout_seconds=timeout if isinstance(timeout, int) else EVICTION_TIMEOUT_SECONDS,
        purge_mode=text(failover, "purgeMode") or "Gracefully",
        state_preservation=failover.get("statePreservation") is True,
        keep_without_replacement=failover.get("keepWithoutReplacement") is True,
    )


def may_preempt(settings: Settings) -> bool:
    """Return whether policies with `preemption: Always` take workloads over, by default not."""
    return settings.options.get("karmada", {}).get("preemption") is True


UNSCHEDULABLE_AFTER_SECONDS = 300  # the proposal's default


def unschedulable_after(settings: Settings) -> int | None:
    """Return for how many seconds a replica must be unschedulable to count as such.

    `None` where no rebalancer may ask that what runs is kept, as by default.
    """
    if settings.options.get("karmada", {}).get("preserveAvailableReplicas") is not True:
        return None
    feedback = settings.options.get("feedback", {})
    seconds = feedback.get("unschedulableAfterSeconds", UNSCHEDULABLE_AFTER_SECONDS)
    return seconds if isinstance(seconds, int) else UNSCHEDULABLE_AFTER_SECONDS


def enforces_quotas(settings: Settings) -> bool:
    """Return whether a decision that exceeds a quota is refused, by default not.

    Source: karmada@f8fdd02 pkg/features/features.go `FederatedQuotaEnforcement`, off by default.
    """
    return settings.options.get("karmada", {}).get("federatedQuotaEnforcement") is True


def propagates_empty(settings: Settings) -> bool:
    """Return whether selected clusters that get no replica are in the result, by default not.

    Source: karmada@f8fdd02 cmd/scheduler/app/options `--enable-empty-workload-propagation`.
    """
    return settings.options.get("karmada", {}).get("emptyWorkloadPropagation") is True


_LITERALS = {"t": "true", "f": "false", "n": "null"}
_KEY = "looking for beginning of object key string"
_PLACES = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name enclosed in double quotes": _KEY,
    "Illegal trailing comma before end of object": _KEY,
    "Expecting ':' delimiter": "after object key",
    "Extra data": "after top-level value",
}
_END = "unexpected end of JSON input"
_ESCAPES = {"&": "\\u0026", "<": "\\u003c", ">": "\\u003e"}
_ESCAPES |= {"\u2028": "\\u2028", "\u2029": "\\u2029"}


def go_json(value: object) -> str:
    r"""Return a value as Go marshals it: compact, fields in their order, some signs escaped.

    Source: Go src/encoding/json/encode.go `Marshal`.

    >>> go_json({"a": "<b>"})
    '{"a":"\\u003cb\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def explain_json_error(text: str, error: json.JSONDecodeError) -> str:
    """Return the message of Go's `json.Unmarshal` for the first fault in a text.

    Source: Go src/encoding/json/scanner.go `SyntaxError`.

    >>> explain_json_error("x", json.JSONDecodeError("Expecting value", "x", 0))
    "invalid character 'x' looking for beginning of value"
    """
    position = error.pos
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    if position >= len(text) or error.msg.startswith("Unterminated string"):
        return _END
    character, place = text[position], _PLACES.get(error.msg)
    if error.msg == "Expecting ',' delimiter":
        opened = text[:position].count("[") > text[:position].count("]")
        place = "after array element" if opened else "after object key:value pair"
    if error.msg == "Expecting value" and character in _LITERALS:
        return _explain_literal(text[position:], _LITERALS[character])
    return f"invalid character '{character}' {place}" if place else error.msg


def _explain_literal(text: str, literal: str) -> str:
    for actual, expected in zip(text, literal, strict=False):
        if actual != expected:
            return f"invalid character '{actual}' in literal {literal} (expecting '{expected}')"
    return _END


_PLACES_BY = (
    ("spec", "placement"),
    ("spec", "resourceSelectors"),
    ("spec", "priority"),
    ("spec", "preemption"),
)
PLACES_BY: Mapping[Kind, tuple[tuple[str, ...], ...]] = {
    CLUSTER: (
        ("metadata", "labels"),
        ("spec", "provider"),
        ("spec", "region"),
        ("spec", "zone"),
        ("spec", "zones"),
    ),
    (POLICY_GROUP, "ClusterPropagationPolicy"): _PLACES_BY,
    (POLICY_GROUP, "PropagationPolicy"): _PLACES_BY,
}
"""Kind to the fields by which people say where something goes, and by which clusters are chosen."""

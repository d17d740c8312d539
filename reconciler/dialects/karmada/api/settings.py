"""Karmada's section of the configuration: failover, preemption, quotas, empty clusters."""

from dataclasses import dataclass

from reconciler.model.fields import mapping, text
from reconciler.model.settings import Settings

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
    """

    enabled: bool = True
    default_toleration_seconds: int | None = DEFAULT_TOLERATION_SECONDS
    eviction_timeout_seconds: int = EVICTION_TIMEOUT_SECONDS
    purge_mode: str = "Gracefully"
    state_preservation: bool = False


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
    )


def may_preempt(settings: Settings) -> bool:
    """Return whether policies with `preemption: Always` take workloads over, by default not."""
    return settings.options.get("karmada", {}).get("preemption") is True


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

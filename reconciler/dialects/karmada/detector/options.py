"""What the configuration says about how workloads come to their bindings."""

from dataclasses import dataclass

from reconciler.dialects.karmada.api.custom_kinds import (
    BUILT_IN,
    CustomKinds,
    decode_custom_kinds,
)
from reconciler.dialects.karmada.api.settings import may_preempt
from reconciler.dialects.karmada.detector.propagation import (
    BY_DEFAULT,
    Propagation,
    decode_propagation,
)
from reconciler.model.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorOptions:
    """Options of the detector.

    Attributes:
        propagation: Which workloads a policy may claim at all.
        custom_kinds: Where custom kinds keep their replicas.
        preempting: Whether policies may take workloads over.
    """

    propagation: Propagation = BY_DEFAULT
    custom_kinds: CustomKinds = BUILT_IN
    preempting: bool = False


def decode_detector_options(settings: Settings) -> DetectorOptions:
    """Return the options, with defaults for what is absent.

    Raises:
        Misconfigured: See `decode_propagation`.
    """
    return DetectorOptions(
        propagation=decode_propagation(settings),
        custom_kinds=decode_custom_kinds(settings),
        preempting=may_preempt(settings),
    )

"""What a rebalancer refers to, and what it finds there."""

from dataclasses import dataclass
from datetime import datetime

from reconciler.model.identity import ObjectKey


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """A workload as a rebalancer names it; ordered as observedWorkloads is sorted.

    Source: karmada@f8fdd02 pkg/controllers/workloadrebalancer/workloadrebalancer_controller.go
    `buildWorkloadRebalancerStatus`: the string of apiVersion, kind, namespace and name.
    """

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def order(self) -> str:
        """The text by which upstream sorts."""
        return f"{self.api_version} {self.kind} {self.namespace} {self.name}"


@dataclass(frozen=True, slots=True)
class Target:
    """The placement object behind a reference.

    Attributes:
        key: Whom to trigger.
        triggered_at: The trigger that it carries already, `None` if none.
        waiting: Whether it cannot be triggered now, since it is faulty, held or suspended.
    """

    key: ObjectKey
    triggered_at: datetime | None = None
    waiting: bool = False

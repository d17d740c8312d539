"""What is used of a quota of one API, as the last pass left it."""

from dataclasses import dataclass

from reconciler.model.identity import ObjectKey
from reconciler.model.quantity import Quantity, canonical_like


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedResource:
    """One resource that a quota limits; `written` is its limit as a text.

    Amounts are told in the format of the limit.
    """

    name: str
    used: Quantity
    limit: Quantity
    written: str

    @property
    def free(self) -> Quantity:
        """What is left, never below 0."""
        return Quantity(max(0, self.limit - self.used))

    def told(self, amount: Quantity) -> str:
        """Return an amount as people write it."""
        return canonical_like(amount, self.written)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaUsage:
    """One quota.

    Attributes:
        key: Of its manifest.
        refuses: Whether a decision that exceeds it is refused.
        resources: What it limits, by name.
    """

    key: ObjectKey
    refuses: bool
    resources: tuple[LimitedResource, ...]

"""What every dialect asks of a cluster: taints, tolerations that fit them, and status conditions.

Conditions are a list keyed by type, whose moment moves only with its status.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.identity import ClusterName
from reconciler.model.records import dataclass
from reconciler.model.text import shown

TAINTS = 4096  # ours: distinct taints that are remembered


class TaintEffect(StrEnum):
    """What a taint does: the effects of Karmada and KubeFleet, then those of OCM."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"
    NO_SELECT = "NoSelect"
    PREFER_NO_SELECT = "PreferNoSelect"
    NO_SELECT_IF_NEW = "NoSelectIfNew"


def effect_of(text: str) -> TaintEffect:
    """Return the effect that a text names.

    Raises:
        ValueError: It names none.
    """
    try:
        return TaintEffect(text)
    except ValueError:
        effects = ", ".join(TaintEffect)
        raise ValueError(f"{shown(text)} is no effect of a taint, which are {effects}") from None


@dataclass(frozen=True, slots=True)
class Taint:
    """A mark on a cluster. `time_added` is aware UTC; `None` when the file gives none."""

    key: str
    value: str
    effect: TaintEffect
    time_added: datetime | None = None

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"

    def __hash__(self) -> int:
        # The texts alone, since clusters are grouped by taints: an effect hashes in Python's code.
        return hash((self.key, self.value))


@lru_cache(maxsize=TAINTS)
def shared_taint(key: str, value: str, effect: str, added: str = "") -> Taint:
    """Return the one taint of these texts, so that clusters that carry the same are grouped fast.

    `added` is its moment in ISO format with its zone, `""` for none.
    """
    moment = datetime.fromisoformat(added) if added else None
    return Taint(key, value, TaintEffect(effect), moment)


@dataclass(frozen=True, slots=True)
class Toleration:
    """What a workload puts up with, as written: `""` where the file names nothing.

    `toleration_seconds` of `None` means for ever.
    """

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class UntoleratedTaint:
    """The reason against a cluster: its first taint that no toleration fits."""

    taint: Taint

    def __str__(self) -> str:
        return f"cluster(s) had untolerated taint {{{self.taint}}}"


def decode_toleration(body: Body) -> Toleration:
    """Return a toleration as a manifest has it; the three APIs spell it alike."""
    return Toleration(
        key=fields.text(body, "key"),
        operator=fields.text(body, "operator"),
        value=fields.text(body, "value"),
        effect=fields.text(body, "effect"),
        toleration_seconds=fields.number_or_none(body, "tolerationSeconds"),
    )


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether the toleration fits the taint; its seconds are another question.

    An empty effect or key fits any. With an empty key and operator Equal only values are compared.

    Source: karmada@f8fdd02 vendor/k8s.io/api/core/v1/toleration.go `ToleratesTaint`.

    >>> tolerates(Toleration(operator="Exists"), Taint("a", "b", TaintEffect.NO_EXECUTE))
    True
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """What every dialect asks of a cluster. All else is in the view that the dialect decodes."""

    name: ClusterName
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    deleting: bool = False


class Condition(NamedTuple):
    """A statement about an object. `observed_generation` of `None` leaves the field out."""

    type: str
    status: str
    reason: str
    message: str
    observed_generation: int | None = None


def set_condition(conditions: Sequence[Body], condition: Condition, *, at: str) -> list[Body]:
    """Return the conditions with one of them set; the others and their order stay.

    Args:
        conditions: The present conditions, as they stand in the manifest.
        condition: What now holds.
        at: Text of the present moment, a `Stamp` where it alone must not cause a write. It becomes
            the lastTransitionTime if the status is new or differs from the present one.

    Source: karmada@f8fdd02 vendor/k8s.io/apimachinery/pkg/api/meta/conditions.go
    `SetStatusCondition`.
    """
    fresh: dict[str, object] = {
        "type": condition.type,
        "status": condition.status,
        "lastTransitionTime": at,
        "reason": condition.reason,
        "message": condition.message,
    }
    if condition.observed_generation is not None:
        fresh["observedGeneration"] = condition.observed_generation
    result = list(conditions)
    for position, present in enumerate(result):
        if present.get("type") != condition.type:
            continue
        if present.get("status") == condition.status and present.get("lastTransitionTime"):
            fresh["lastTransitionTime"] = present["lastTransitionTime"]
        result[position] = {**present, **fresh}
        return result
    return [*result, fresh]

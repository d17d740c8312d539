"""A rollout strategy, decoded with the defaults of the CRD and of upstream's handler."""

import math
import re
from dataclasses import dataclass
from enum import StrEnum

from reconciler.errors import UserError
from reconciler.manifests.durations import decode_duration
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping_or_none, number, text

DEFAULT: Body = {"type": "All", "all": {}}
MAX_INT32 = 2**31 - 1
_FLOAT = re.compile(r"[+-]?(\d+(_\d+)*\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITE = {"inf", "infinity", "nan"}


class RolloutType(StrEnum):
    """Which clusters go first."""

    ALL = "All"
    PROGRESSIVE = "Progressive"
    PER_GROUP = "ProgressivePerGroup"


BLOCKS = {
    RolloutType.ALL: "all",
    RolloutType.PROGRESSIVE: "progressive",
    RolloutType.PER_GROUP: "progressivePerGroup",
}


@dataclass(frozen=True, slots=True)
class GroupReference:
    """Decision groups by their name, or the one with an index where the name is empty."""

    name: str = ""
    index: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRollout:
    """A rollout strategy; sizes are counts, or percentages as text.

    Attributes:
        type: Which clusters go first.
        mandatory: Groups that must have succeeded before any other begins.
        max_concurrency: How many clusters at a time, `None` for all.
        max_failures: How many may fail, `None` for none.
        min_success_nanoseconds: How long a cluster must have succeeded.
        progress_deadline: How long a cluster may take, as text; `""` for ever.
    """

    type: RolloutType = RolloutType.ALL
    mandatory: tuple[GroupReference, ...] = ()
    max_concurrency: int | str | None = None
    max_failures: int | str | None = None
    min_success_nanoseconds: int = 0
    progress_deadline: str = ""


def decode_strategy(body: Body | None) -> PlacementRollout:
    """Return the strategy of a reference to a placement; without any all clusters go at once.

    Raises:
        UserError: It is of no known type, or a field cannot be read.
    """
    written = DEFAULT if body is None else body
    named = text(written, "type") if "type" in written else RolloutType.ALL.value
    if named not in {one.value for one in RolloutType}:
        raise UserError(f"incorrect rollout strategy type {named}")
    kind = RolloutType(named)
    block = mapping_or_none(written, BLOCKS[kind])
    if block is None:
        return PlacementRollout(type=kind)
    soak = block.get("minSuccessTime", "0")
    groups = bodies(block, "mandatoryDecisionGroups") if kind is not RolloutType.ALL else ()
    deadline = block.get("progressDeadline", "None")
    return PlacementRollout(
        type=kind,
        mandatory=tuple(
            GroupReference(text(one, "groupName"), number(one, "groupIndex")) for one in groups
        ),
        max_concurrency=_size(block, "maxConcurrency") if kind is RolloutType.PROGRESSIVE else None,
        max_failures=_size(block, "maxFailures"),
        min_success_nanoseconds=decode_duration(soak),
        progress_deadline=text({"progressDeadline": deadline}, "progressDeadline"),
    )


def _size(block: Body, field: str) -> int | str | None:
    value = block.get(field)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > MAX_INT32:
        raise UserError("must be a number of clusters, or a percentage such as 20%", field=field)
    return value


def rollout_size(written: int | str | None, total: int, default: int) -> int:
    """Return how many clusters a size stands for; one out of range counts as the default.

    Raises:
        UserError: It is text, and no percentage; the message is upstream's.

    Source: ocm@00f84c3 sdk-go pkg/apis/cluster/v1alpha1/rollout.go `calculateRolloutSize`.

    >>> rollout_size("7%", 100, 100), rollout_size(10, 5, 0)
    (8, 0)
    """
    if written is None:
        return default
    size = float(written) if isinstance(written, int) else math.nan
    if isinstance(written, str):
        if not written.endswith("%"):
            why = "is an invalid maximum threshold value: string is not a percentage"
            raise UserError(f"'{written}' {why}")
        size = _parse_float(written[:-1]) / 100 * total
    if not math.isfinite(size):
        return default
    whole = math.ceil(size)
    return whole if 0 < whole <= total else default


def _parse_float(written: str) -> float:
    if _FLOAT.fullmatch(written) or written.lower().lstrip("+-") in _INFINITE:
        return float(written)
    raise UserError(f'strconv.ParseFloat: parsing "{written}": invalid syntax')

"""The columns of a table of manifests: what each shows of a row, and pieces that APIs share.

Those that upstream's CRD prints (`additionalPrinterColumns`) come first and in its order; what
scheduling adds stands before AGE.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from reconciler.manifests.json_path import find_path
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.health import ASSUMED
from reconciler.model.kinds import Kind
from reconciler.model.moments import parse_moment
from reconciler.model.records import dataclass

NONE = "<none>"


@dataclass(frozen=True, slots=True)
class Row:
    """An object to be shown: its body with status, the file it stands in, and the moment.

    What is asked of the whole repository is told where it is asked for: `coming` is what passes
    will do with it first, `delivered` and `healthy` are of how many of its clusters that is so,
    `suspended` by what it is suspended.
    """

    body: Body
    path: str
    now: datetime
    coming: str = NONE
    delivered: str = NONE
    healthy: str = NONE
    suspended: str = NONE


Column = tuple[str, Callable[[Row], str]]
"""The title, and what is shown of a row."""

Columns = tuple[Sequence[Column], Sequence[Column]]
"""The columns that are always shown, and those that are shown beside them if asked for."""

ColumnTable = Mapping[Kind, Columns]


def spec_of(row: Row) -> Body:
    """Return the spec of an object, an empty one if there is none."""
    return mapping(row.body, "spec")


def status_of(row: Row) -> Body:
    """Return the status of an object, an empty one if there is none."""
    return mapping(row.body, "status")


def printed(path: str) -> Callable[[Row], str]:
    """Return what shows the values at a JSONPath, as a printer column of a CRD does."""

    def show(row: Row) -> str:
        return ", ".join(filter(None, map(_shown, find_path(row.body, path)))) or NONE

    return show


def printed_age(path: str) -> Callable[[Row], str]:
    """Return what shows how long ago the moment at a JSONPath was."""

    def show(row: Row) -> str:
        return ago("".join(map(_shown, find_path(row.body, path)[:1])), row.now)

    return show


def condition(kind: str, field: str = "status") -> Callable[[Row], str]:
    """Return what shows a field of a condition."""
    return printed(f'.status.conditions[?(@.type=="{kind}")].{field}')


def or_assumed(kind: str) -> Callable[[Row], str]:
    """Return what shows the status of a condition, and that it is only assumed to be true."""
    status, reason = condition(kind), condition(kind, "reason")
    return lambda row: ASSUMED if ASSUMED in reason(row) else status(row)


def if_reported(show: Callable[[Row], str]) -> Callable[[Row], str]:
    """Return what shows `Declared` for a cluster without any status: it counts as fine."""
    return lambda row: show(row) if status_of(row) else "Declared"


def _shown(value: object) -> str:
    """Return a value as kubectl prints it: no quotes around text, mappings and lists as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def label(key: str) -> Callable[[Row], str]:
    """Return what shows a label."""

    def show(row: Row) -> str:
        return text(mapping(mapping(row.body, "metadata"), "labels"), key) or NONE

    return show


def taints(row: Row) -> str:
    """Return the taints of a cluster, in file order."""
    return (
        ", ".join(
            f"{text(taint, 'key')}:{text(taint, 'effect')}"
            for taint in bodies(spec_of(row), "taints")
        )
        or NONE
    )


def age(row: Row) -> str:
    """Return how long ago an object was first seen."""
    return ago(text(mapping(row.body, "metadata"), "creationTimestamp"), row.now)


def ago(moment: str, now: datetime) -> str:
    """Return how long ago a moment was, in kubectl's manner; `<none>` if there is none."""
    if not moment:
        return NONE
    try:
        return duration(now - parse_moment(moment))
    except ValueError:
        return NONE


def duration(span: timedelta) -> str:
    """Return a span as kubectl does: two units while the first one is small.

    Source: kubernetes/apimachinery pkg/util/duration/duration.go `HumanDuration`.

    >>> [duration(timedelta(seconds=number)) for number in (90, 185, 600, 27000, 180000, 9 ** 9)]
    ['90s', '3m5s', '10m', '7h30m', '2d2h', '12y']
    """
    seconds = max(int(span.total_seconds()), 0)
    for limit, size, unit, two_below, smaller, small in _UNITS:
        if seconds < limit:
            rest = seconds % size // smaller if seconds < two_below else 0
            return f"{seconds // size}{unit}" + (f"{rest}{small}" if rest else "")
    return f"{seconds // _YEAR}y"


_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY
_UNITS = (
    (2 * _MINUTE, 1, "s", 0, 1, ""),
    (3 * _HOUR, _MINUTE, "m", 10 * _MINUTE, 1, "s"),
    (2 * _DAY, _HOUR, "h", 8 * _HOUR, _MINUTE, "m"),
    (2 * _YEAR, _DAY, "d", 8 * _DAY, _HOUR, "h"),
    (8 * _YEAR, _YEAR, "y", 8 * _YEAR, _DAY, "d"),
)
"""Below how many seconds which unit is used, and up to where which smaller one beside it."""

FILE: Column = ("FILE", lambda row: row.path)
"""The file that an object stands in."""

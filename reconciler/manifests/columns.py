"""The columns of a table of manifests: what each shows of a row, and pieces that APIs share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.model.fields import bodies, mapping, text
from reconciler.model.known_kinds import Kind
from reconciler.model.moments import parse_moment
from reconciler.model.world import Body

NONE = "<none>"


@dataclass(frozen=True, slots=True)
class Row:
    """An object to be shown: its body with status, the file it stands in, and the moment."""

    body: Body
    path: str
    now: datetime


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


def condition(kind: str, field: str) -> Callable[[Row], str]:
    """Return what shows a field of a condition."""

    def show(row: Row) -> str:
        for found in bodies(status_of(row), "conditions"):
            if found.get("type") == kind:
                return text(found, field) or NONE
        return NONE

    return show


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
    """Return a span in its largest fitting unit.

    >>> duration(timedelta(seconds=90)), duration(timedelta(minutes=9)), duration(timedelta(days=3))
    ('90s', '9m', '3d')
    """
    seconds = max(int(span.total_seconds()), 0)
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "m"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{seconds // size}{unit}"
    return f"{seconds // 86400}d"


FILE: Column = ("FILE", lambda row: row.path)
"""The file that an object stands in."""

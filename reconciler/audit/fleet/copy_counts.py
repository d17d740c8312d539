"""How many copies there are in clusters and in which state, in words and for machines.

Only copies that may have changed are counted again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Annotated, NamedTuple, TypedDict

from reconciler.audit.fleet.copies import CopiesOf, CopyFiles, DeliveredCopy
from reconciler.audit.fleet.usage import clusters_down
from reconciler.core.asked import affected_since
from reconciler.core.dialects import DIALECTS, PLACED
from reconciler.dialects.contract import DependsOnOthers
from reconciler.dialects.view import CopyStatus, Report
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import dataclass
from reconciler.model.settings import settings_in
from reconciler.model.world import World
from reconciler.staging.staged_delivery import given_otherwise


class CopyCounts(NamedTuple):
    """How many copies there are that stay, and how many of them are how.

    `unjudged` are those of kinds without any notion of health, that are reported; `at_risk` those
    on clusters that are down, of which nothing bad is known.
    """

    healthy: int
    unhealthy: int
    unjudged: int
    assumed: int
    silent: int
    at_risk: int = 0

    @property
    def copies(self) -> int:
        """How many there are."""
        return sum(self)

    def changed(self, before: "CopyCounts", now: "CopyCounts") -> "CopyCounts":
        """Return these, where some of them were counted before and are counted again."""
        each = zip(self, before, now, strict=True)
        return CopyCounts(*(every - then + later for every, then, later in each))


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedWorld:
    """A world whose copies were counted; time alone brings no other count.

    Attributes:
        world: All there is.
        counts: Of its copies.
        at: The moment from which on they are so many, aware UTC.
    """

    world: World
    counts: CopyCounts
    at: datetime


def count_copies(world: World, now: datetime, counted: CountedWorld | None = None) -> CopyCounts:
    """Return how many copies there are, whether delivered or not, as they are by now.

    Args:
        world: That is asked about.
        now: Moment of the question, aware UTC.
        counted: Another one of the same repository, if one was counted; it only saves work.
    """
    if counted is not None and now >= counted.at and _down_in(counted.world) == _down_in(world):
        affected = affected_since(counted.world, world)
        if not isinstance(affected, DependsOnOthers):
            # Of what a staged run changes nothing is assumed.
            affected |= given_otherwise(counted.world, world)
            before = _counted(counted.world, now, affected)
            return counted.counts.changed(before, _counted(world, now, affected))
    return _counted(world, now, world.outputs)


def _down_in(world: World) -> list[frozenset[ClusterName]]:
    """Return the clusters that are down, API by API: all that is on them is at risk."""
    groups = [dialect.cluster[0] for dialect in DIALECTS]
    return [frozenset(clusters_down(world, (group,))[group]) for group in groups]


def is_final(world: World, counts: CopyCounts) -> bool:
    """Return whether time alone brings no other count: nothing is left to be assumed."""
    return not counts.silent or settings_in(world).assume_after_seconds is None


def _counted(world: World, now: datetime, keys: Iterable[ObjectKey]) -> CopyCounts:
    """Count the copies of those objects that are decisions, but for copies that are left."""
    asked = CopiesOf(world, now)
    reports = Counter(
        one.report
        for key in keys
        if key[:2] in PLACED and key in world.outputs
        for one in asked.statuses(key)
        if not one.leaving
    )
    return CopyCounts(
        healthy=reports[Report.HEALTHY],
        unhealthy=reports[Report.UNHEALTHY],
        unjudged=reports[Report.REPORTED],
        assumed=reports[Report.ASSUMED],
        silent=reports[Report.NONE],
        at_risk=reports[Report.AT_RISK],
    )


NO_TRANSPORT = "Nothing is delivered: the configuration names no transport (`spec.delivery`)."
REPORTS = {
    Report.NONE: "no report yet",
    Report.AT_RISK: "at risk: the cluster is not ready",
    Report.ASSUMED: "no report, assumed healthy",
    Report.REPORTED: "reported",
    Report.UNHEALTHY: "unhealthy",
    Report.HEALTHY: "healthy",
}


def copy_lines(copy: DeliveredCopy) -> Iterator[tuple[str, str]]:
    """Yield what is known of a copy: a title and what there is to say, transports first.

    Where nothing is delivered, only for what it waits.
    """
    for files in copy.files:
        yield files.transport, files_text(files)
    if copy.files:
        yield "report", report_text(copy.status)
    if copy.status.waits_for:
        yield "waits for", copy.status.waits_for


def files_text(files: CopyFiles) -> str:
    """Return where the files of a copy are, and what is not as the decision asks for."""
    return "; ".join((_where(files), *files.notes))


def _where(files: CopyFiles) -> str:
    if not files.paths:
        return f"not delivered: {files.why}" if files.why else "not delivered yet"
    where = files.paths[0]
    if len(files.paths) > 1:
        where = f"{len(files.paths)} files in {_above(files.paths)}"
    if files.is_current:
        return where
    return f"{where}, as it was: {files.why}" if files.why else f"{where}, kept as it was"


def report_text(status: CopyStatus) -> str:
    """Return what a cluster says of a copy."""
    more = f" ({status.note})" if status.note else ""
    return f"{REPORTS[status.report]}{more}"


class FilesJson(TypedDict):
    """What a transport has of a copy."""

    transport: Annotated[str, "Its name."]
    paths: Annotated[list[str], "The files that are there; of another branch as `BRANCH:PATH`."]
    current: Annotated[bool, "Whether they are what the decision asks for."]
    problem: Annotated[
        str,
        'Why they are not, or why there are none; `""` where the copy says for what it waits.',
    ]
    notCarried: Annotated[list[str], "What is asked of the copy and the transport does not carry."]


class CopyJson(TypedDict):
    """What one cluster has of a decision."""

    cluster: Annotated[str, "Its name."]
    replicas: Annotated[int, "That it is to have, 0 where there are none to count."]
    leaving: Annotated[
        bool,
        "Whether the object leaves that cluster, which keeps its copy for now.",
    ]
    delivered: Annotated[
        bool,
        "Whether every transport has what the decision asks for, and there is one.",
    ]
    files: Annotated[list[FilesJson], "What each transport has."]
    report: Annotated[
        str,
        "`none`, `at-risk` (its cluster is not ready), `assumed` (healthy, without a report), "
        "`reported` (its kind has no notion of health), `unhealthy`, `healthy`.",
    ]
    note: Annotated[str, 'How many are ready, why it counts as unhealthy, `""` for nothing.']
    waitsFor: Annotated[
        str,
        'What has to happen before the cluster gets what is new, or is left; `""` for nothing.',
    ]


def copy_json(copy: DeliveredCopy) -> CopyJson:
    """Return a copy for machines."""
    status = copy.status
    return {
        "cluster": str(status.cluster),
        "replicas": status.replicas,
        "leaving": status.leaving,
        "delivered": copy.is_delivered,
        "files": [
            {
                "transport": one.transport,
                "paths": list(one.paths),
                "current": one.is_current,
                "problem": one.why,
                "notCarried": list(one.notes),
            }
            for one in copy.files
        ],
        "report": str(status.report),
        "note": status.note,
        "waitsFor": status.waits_for,
    }


def _above(paths: Sequence[str]) -> str:
    """Return the folder that files are in.

    >>> _above(["a/b/c", "a/d"])
    'a'
    """
    parts = [path.split("/")[:-1] for path in paths]
    shared = []
    for names in zip(*parts, strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return "/".join(shared)

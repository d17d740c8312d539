"""What clusters report of themselves: a status that lies over what people wrote.

A file of people says what a cluster is meant to be, a report in `feedback/<cluster>/` how it is:
kind, name and `status` of the cluster, and of scores in the namespace of its name. Every reader
finds the cluster with the status of its report.

Absence is not health. A cluster without any status is declared ready, so one that was reported
once is never declared again by the loss of its report: `ClusterReport`, the record that passes keep
of each such cluster, says what was judged last, and that stays in force, as a fault, until the
report is back or the file of the cluster asks to be taken at its word. A score alone may go: an
add-on that was removed reports no more.

One network that dies may look like many clusters that die. Where the unreachable ones, those that
passes took for that before included, are more than a share of three or more clusters
(`safety.maxUnreachablePercent`), the others of them keep what was judged last until they are
reachable again, or `safety.allow` lets exactly them through. What counts is the state, whoever
reported it, in however many commits.

The record is renewed where the verdict on a cluster changes, and beside any other change; amounts
alone never make a commit.

Source: ours; a control plane keeps the last status in its own store.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from operator import itemgetter

from reconciler.core.dialects import DIALECTS
from reconciler.core.record import API_VERSION, CLUSTER_REPORT
from reconciler.core.safety import FEWEST_OF_ALL, NAMED
from reconciler.manifests.admission import digest
from reconciler.manifests.paths import FEEDBACK
from reconciler.model.body import Body
from reconciler.model.fields import at, mappings_of
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.kinds import KnownKinds
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import AnswerCache, branched
from reconciler.model.settings import CONFIGURATION_PATH, settings_in
from reconciler.model.text import enumerated
from reconciler.model.world import Fault, Manifest, ReportedStatus, World
from reconciler.projection.project import READINESS

IGNORE_REPORTS = "reconciler.dev/ignore-reports"
"""Annotation by which the file of a cluster counts as it is written, whatever is reported."""

REPORT_GONE = "cluster-report-gone"
UNREACHABLE_BRAKED = "unreachable-braked"


def _record_key(cluster: str) -> ObjectKey:
    """Return the key of the record of a cluster."""
    return ObjectKey(*CLUSTER_REPORT, "", cluster)


def with_reports(world: World) -> World:
    """Return a world in which reports lie over what people wrote, with what is wrong with them.

    Args:
        world: Its inputs are as people wrote them, its outputs have the records.
    """
    reported = dict(sorted(_reported(world), key=itemgetter(0)))
    if not reported:
        return world
    lost = [_lost(one) for one in reported.values() if one.held]
    reported, braked = _brake(world, reported)
    cache = world.projections.reported
    came = {
        key: cache.recall(key, (one.written, one.report.body), partial(_laid_over, key, one))
        for key, one in reported.items()
    }
    cache.forget()
    return replace(
        world,
        inputs=branched(world.inputs, came),
        reported=reported,
        faults=tuple(sorted((*world.faults, *filter(None, (*lost, braked))))),
        kinds=world.kinds.next(),
    )


def without_reports(world: World) -> World:
    """Return a world as people wrote it, given one in which reports lie over that."""
    if not world.reported:
        return world
    there = {key: one.written for key, one in world.reported.items() if one.written is not None}
    return replace(
        world,
        inputs=branched(world.inputs, there, world.reported.keys() - there.keys()),
        reported={},
        faults=tuple(
            fault for fault in world.faults if fault.rule not in (REPORT_GONE, UNREACHABLE_BRAKED)
        ),
        kinds=world.kinds.next(),
    )


def written_of(world: World, key: ObjectKey) -> Manifest | None:
    """Return an object as people wrote it, `None` if they did not."""
    reported = world.reported.get(key)
    return world.inputs.get(key) if reported is None else reported.written


def _reported(world: World) -> Iterator[tuple[ObjectKey, ReportedStatus]]:
    """Yield each object that has a report which counts, or had one that is held."""
    listed = world.feedback_kinds.of(world.feedback)
    reports = {one.key: one for kind in world.known.overlaid for one in listed.get(kind, ())}
    held = {
        one.key: one
        for record in world.outputs_of_kind(CLUSTER_REPORT)
        for one in _held(world, record, reports)
    }
    for key, report in {**held, **reports}.items():
        own = key._replace(reporter="")
        written = world.inputs.get(own)
        if written is None and not own.namespace:
            continue  # nobody says that there is such a cluster
        if written is None or not _ignores_reports(written.body):
            yield own, ReportedStatus(written, report, key not in reports)


def _held(world: World, record: Manifest, reports: Collection[ObjectKey]) -> Iterator[Manifest]:
    """Yield what a record has of a cluster whose own report is gone."""
    recorded = dict(_reports_in(record.body, world.known))
    of_cluster = [key for key in recorded if not key.namespace]
    lost = [key for key in of_cluster if key not in reports]
    if any(_is_held(world, key) for key in lost):
        for key, body in recorded.items():
            if key in lost or key.namespace:
                yield Manifest(key, record.origin, body)


def _is_held(world: World, key: ObjectKey) -> bool:
    written = world.inputs.get(key._replace(reporter=""))
    return written is not None and not _ignores_reports(written.body)


def _ignores_reports(body: Body) -> bool:
    """Return whether the file of a cluster counts as it is written."""
    return at(body, "metadata", "annotations").get(IGNORE_REPORTS) == "true"


def _laid_over(key: ObjectKey, one: ReportedStatus) -> Manifest:
    """Return what people wrote with the status of a report; the report where they wrote nothing."""
    if one.written is None:
        return Manifest(key, one.report.origin, one.report.body)
    return Manifest(key, one.written.origin, _with_status(one.written.body, one.report.body))


def _with_status(written: Body, report: Body) -> Body:
    """Return a document with the status of another; nothing reported is no health, either."""
    status = at(report, "status") or {"conditions": []}
    return {**written, "status": status}


def _lost(one: ReportedStatus) -> Fault | None:
    """Return what is told where the report of a cluster is gone, `None` of what goes with it."""
    if one.written is None or one.written.key.namespace:
        return None
    key = one.written.key
    return Fault(
        path=one.written.origin.path,
        line=one.written.origin.line,
        column=0,
        field="",
        rule=REPORT_GONE,
        message=(
            f"{FEEDBACK}/{key.name}/ has no report of {key.plain} any more, so the one that was "
            "judged last stays in force"
        ),
        expected=(
            f'the report; or the annotation {IGNORE_REPORTS}: "true" on {key.plain}, to take '
            "its file at its word"
        ),
        subject=str(key),
    )


def _brake(
    world: World, reported: dict[ObjectKey, ReportedStatus]
) -> tuple[dict[ObjectKey, ReportedStatus], Fault | None]:
    """Return reports without those that are held back, and what is told of these."""
    safety = settings_in(world).safety
    fresh: dict[ObjectKey, Manifest | None] = {}
    unreachable: set[str] = set()
    for key, report in reported.items():
        if key.namespace or _is_reachable(key, report.report.body):
            continue
        unreachable.add(key.name)
        judged = _judged(world, report.report.key)
        if judged is None or _is_reachable(key, judged.body):
            fresh[key] = judged
    names = sorted({key.name for key in fresh})
    kinds = {dialect.cluster for dialect in DIALECTS}
    every = {key.name for key in world.inputs if key[:2] in kinds} if names else set()
    limit = len(every) * safety.max_unreachable_percent
    if len(every) < FEWEST_OF_ALL or len(unreachable) * 100 <= limit:
        return reported, None
    allowed = digest(names)
    if allowed in safety.allow:
        return reported, None
    kept = {key: report for key, report in reported.items() if key not in fresh}
    kept |= {
        key: replace(reported[key], report=judged, held=True)
        for key, judged in fresh.items()
        if judged is not None
    }
    fault = Fault.of_file(
        CONFIGURATION_PATH,
        field="/spec/safety/allow",
        rule=UNREACHABLE_BRAKED,
        message=(
            f"{len(unreachable)} of {len(every)} clusters are reported unreachable, so those that "
            f"were not before count as they did: {enumerated(names, NAMED)}"
        ),
        expected=(
            f"reports that they are reachable; or `allow: {allowed}` below `spec.safety` in "
            f"{CONFIGURATION_PATH} to take exactly these for unreachable"
        ),
        allow=allowed,
    )
    return dict(sorted(kept.items(), key=itemgetter(0))), fault


def _is_reachable(key: ObjectKey, report: Body) -> bool:
    """Return whether a cluster is well by its report, in the words of its API."""
    language = next(one.clusters() for one in DIALECTS if one.cluster == key[:2])
    rows = () if language is None else language.rows
    said = next((row.read(report) for row in rows if row.fact is READINESS), None)
    return said is not None and said.status == "True"


def _judged(world: World, key: ObjectKey) -> Manifest | None:
    """Return what the record has of a report, `None` if nothing.

    Args:
        world: As the last pass left it, or a pass finds it.
        key: That names the reporter.
    """
    record = world.outputs.get(_record_key(key.reporter))
    body = None if record is None else dict(_reports_in(record.body, world.known)).get(key)
    return None if record is None or body is None else Manifest(key, record.origin, body)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportsBefore:
    """What is known of the last pass about clusters that are reported.

    Attributes:
        world: As it is now.
        differing: The keys of documents that were otherwise, or not there, at the last pass.
        then: Those of them that were there.
    """

    world: World
    differing: Collection[ObjectKey]
    then: Mapping[ObjectKey, Manifest]

    def subjects(self) -> frozenset[ObjectKey]:
        """Return the differing objects; a report differs for the object that it is of."""
        return frozenset(key._replace(reporter="") for key in self.differing)

    def find(self, key: ObjectKey) -> Manifest | None:
        """Return an object as it was read at the last pass, `None` if it was not there."""
        written = self._written(key)
        if key[:2] not in self.world.known.overlaid:
            return written
        if written is None and not key.namespace:
            return None
        if written is not None and _ignores_reports(written.body):
            return written
        report = self._report(key._replace(reporter=key.namespace or key.name))
        if report is None:
            return written
        return _laid_over(key, ReportedStatus(written, report))

    def _written(self, key: ObjectKey) -> Manifest | None:
        if key in self.differing:
            return self.then.get(key)
        return written_of(self.world, key)

    def _report(self, key: ObjectKey) -> Manifest | None:
        there = self.then if key in self.differing else self.world.feedback
        report, judged = there.get(key), _judged(self.world, key)
        if report is None or key.namespace:
            return report or judged
        is_braked = judged is None or _is_reachable(key, judged.body)
        return judged if is_braked and not _is_reachable(key, report.body) else report


def _reports_in(record: Body, known: KnownKinds) -> Iterator[tuple[ObjectKey, Body]]:
    """Yield what a record has, by keys that name the reporter."""
    reporter = str(at(record, "metadata").get("name"))
    for body in mappings_of(at(record, "status").get("reported")):
        metadata = at(body, "metadata")
        group, kind = group_of(str(body.get("apiVersion"))), str(body.get("kind"))
        if (group, kind) in known.overlaid:
            named = str(metadata.get("namespace", "")), str(metadata.get("name"))
            yield ObjectKey(group, kind, *named, reporter), body


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRecords:
    """The records that a pass leaves, as far as they differ from those that it found.

    `renewed` are those in which no verdict is another one: they are written with anything else.
    """

    written: Mapping[ObjectKey, Body] = field(default_factory=dict)
    renewed: Mapping[ObjectKey, Body] = field(default_factory=dict)
    gone: frozenset[ObjectKey] = frozenset()


Drawn = tuple[Body, bool]
"""A record, and whether its verdict is another one than that of the present one."""


def report_records(world: World, known: AnswerCache[ObjectKey, Drawn]) -> ReportRecords:
    """Return how the records of reported clusters are to differ.

    Args:
        world: That was judged.
        known: What was drawn for earlier worlds; the answer never depends on it.
    """
    by_key: dict[ObjectKey, list[Manifest]] = defaultdict(list)
    for report in world.reported.values():
        by_key[_record_key(report.report.key.reporter)].append(report.report)
    written: dict[ObjectKey, Body] = {}
    renewed: dict[ObjectKey, Body] = {}
    kept: set[ObjectKey] = set()
    for key, reports in by_key.items():
        if all(report.key.namespace for report in reports):
            continue  # what reports no cluster has nothing that would be held
        kept.add(key)
        output = world.outputs.get(key)
        present = None if output is None else output.body
        drawn_from = (present, *(report.body for report in reports))
        body, differs = known.recall(key, drawn_from, partial(_drawn, key, reports, present))
        if body is not present:
            (written if differs else renewed)[key] = body
    gone = {report.key for report in world.outputs_of_kind(CLUSTER_REPORT)} - kept
    return ReportRecords(written=written, renewed=renewed, gone=frozenset(gone))


def _drawn(key: ObjectKey, reports: Iterable[Manifest], present: Body | None) -> Drawn:
    body: Body = {
        "apiVersion": API_VERSION,
        "kind": CLUSTER_REPORT[1],
        "metadata": {"name": key.name},
        "status": {
            "reported": [_recorded(one) for one in sorted(reports, key=lambda one: one.key)]
        },
    }
    if present is not None and body == present:
        return present, False
    return body, present is None or _verdict(body) != _verdict(present)


def _recorded(report: Manifest) -> Body:
    key = report.key
    scope = {"namespace": key.namespace} if key.namespace else {}
    return {
        "apiVersion": report.body["apiVersion"],
        "kind": key.kind,
        "metadata": {"name": key.name, **scope},
        "status": _with_status({}, report.body)["status"],
    }


def _verdict(record: Body) -> list[object]:
    """Return what a record says but for amounts, moments and texts: who is there, and how."""
    reported = mappings_of(at(record, "status").get("reported"))
    return [(one.get("kind"), one.get("metadata"), _conditions(one)) for one in reported]


def _conditions(report: Body) -> list[tuple[object, object]]:
    listed = mappings_of(at(report, "status").get("conditions"))
    return sorted((str(one.get("type")), str(one.get("status"))) for one in listed)

"""One run of a staged delivery in a pass: how far a change of content goes, and what it waits for.

Every pass looks at all of it anew: which content objects have, on which clusters they are, what
clusters report and what people order. Clusters of a stage are given the new version a few at a
time, and the next ones once they report that it runs. Not healthy is not failed: any rolling update
is unhealthy for a while. A cluster fails where it reports that it could not apply its copy, that
this makes no progress any more, or still no health at its deadline. Silence fails nothing and
passes nothing: at the deadline it stops the run.

A change in the middle of a run is the next run, before which each cluster has what it has by then.
A cluster that is new to an object gets the version of its stage: the old one while that has not
begun.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from reconciler.manifests.admission import admit
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import at, mapping, mappings_of, text
from reconciler.model.health import Health
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.kinds import CopyReport
from reconciler.model.labels import matches
from reconciler.model.moments import add, format_moment, span
from reconciler.model.records import dataclass, replace
from reconciler.model.text import enumerated, shown
from reconciler.model.world import Manifest
from reconciler.staging.staged_delivery import (
    AFTER,
    BEFORE,
    CONTENT,
    ClusterProgress,
    ContentRun,
    ContentVersion,
    OrderedAction,
    RunOrder,
    RunState,
    StagedDelivery,
    StagedObject,
    StagedRecord,
    StageProgress,
    content_digest,
)
from reconciler.staging.strategy import TIMED_WAIT, Stage, StageTask, asks_approval

NAMED = 3  # clusters that are named in a sentence
MICROSECOND = 1000  # in nanoseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentObject:
    """An object as it is: the version of its file, and the clusters that it is placed on."""

    version: ContentVersion
    clusters: frozenset[ClusterName]


class OrderRefusal(NamedTuple):
    """Why an order has no effect, and what would have one."""

    why: str
    expected: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenDelivery:
    """A staged delivery as a person gives it.

    Attributes:
        asked: What the manifest asks for.
        generation: Of that.
        uid: What no other staged delivery has, were it of the same name.
        stages: Of its strategy, none where that is missing.
    """

    asked: StagedDelivery
    generation: int
    uid: str
    stages: Sequence[Stage]

    @classmethod
    def admitted(
        cls,
        manifest: Manifest,
        asked: StagedDelivery,
        record: Manifest | None,
        stages: Sequence[Stage],
        now: datetime,
    ) -> tuple["GivenDelivery", Body]:
        """Return it as a pass admits it, with the metadata of its status file.

        An order is about what it was given for, and makes no other generation of it.
        """
        own = None if record is None else mapping(record.body, "metadata")
        spec = mapping(manifest.body, "spec")
        lasting = {name: value for name, value in spec.items() if name != "orders"}
        admitted, metadata = admit(manifest.key, lasting, own, now)
        # The uid alone would be that of another one of this name, before or after it.
        uid = f"{text(metadata, 'uid')} {text(metadata, 'creationTimestamp')}"
        generation = admitted.generation
        return cls(asked=asked, generation=generation, uid=uid, stages=stages), metadata

    def obeyed(
        self, run: ContentRun | None, now: datetime
    ) -> tuple[ContentRun | None, tuple[Violation, ...]]:
        """Return a run with what people order, and the orders that have no effect."""
        refused = list[Violation]()
        heeded, vain = ([], []) if run is None else (list(run.heeded), list(run.vain))
        came = list[str]()
        for position, order in enumerate(self.asked.orders):
            if run is None or order.run != run.id:
                if run is None or not _is_past(order.run, run, self.uid):
                    refused.append(_in_vain(position, _of_no_run(order, run)))
                continue
            if order.text in heeded:
                heeded.remove(order.text)
                continue
            refusal = self.refusal_of(order, run)
            if order.text in vain:
                vain.remove(order.text)
                why = f"the run {run.id} {IN_VAIN[order.action]} when it came"
                refusal = refusal or OrderRefusal(why, "no such order; it may be given anew then")
            if refusal is None:
                run = replace(_obey(order, run, now), heeded=(*run.heeded, order.text))
                continue
            refused.append(_in_vain(position, refusal))
            if order.action in IN_VAIN:
                came.append(order.text)
        run = None if run is None else replace(run, vain=tuple(came))
        return run, tuple(refused)

    def refusal_of(self, order: RunOrder, run: ContentRun) -> OrderRefusal | None:
        """Return why an order of a run would have no effect, `None` if it has one.

        Args:
            order: That is not carried out yet.
            run: As it is.
        """
        if order.generation != self.generation:
            why = f"it is about generation {order.generation}, the present one is {self.generation}"
            return OrderRefusal(why, f"generation {self.generation}, if the order still applies")
        if run.is_over:
            why = f"the run {run.id} is over: {run.state}"
            return OrderRefusal(why, "no such order; the next change of content begins another run")
        stopped = run.state is RunState.STOPPED
        if order.action is OrderedAction.RESUME and not stopped:
            return OrderRefusal(f"the run {run.id} is not stopped", "no such order until it is")
        if order.action is OrderedAction.STOP and stopped:
            why = f"the run {run.id} is stopped already: {run.reason}"
            return OrderRefusal(why, "Resume or Rollback, or no order")
        if order.action is not OrderedAction.APPROVE or order.task in self.approvals(order.stage):
            return None
        return self._refused_approval(order)

    def _refused_approval(self, order: RunOrder) -> OrderRefusal:
        """Return that no stage asks for an approval, and which ones are asked for."""
        names = [one.name for one in self.stages]
        asked = [f"{task} of stage {name}" for name in names for task in self.approvals(name)]
        expected = f"an approval that a stage asks for: {', '.join(asked)}"
        if not asked:
            expected = "no such order: no stage asks for approval"
        if order.stage not in names:
            why = f"there is no stage {shown(order.stage)}; only: {', '.join(names) or 'none'}"
            return OrderRefusal(why, expected)
        when = "before" if order.task == BEFORE else "after"
        return OrderRefusal(f"stage {shown(order.stage)} asks for no approval {when} it", expected)

    def approvals(self, name: str) -> tuple[str, ...]:
        """Return the tasks of a stage that a person has to approve, as orders name them."""
        tasks = ((task, s) for s in self.stages if s.name == name for task in (BEFORE, AFTER))
        return tuple(
            task for task, s in tasks if asks_approval(s.before if task == BEFORE else s.after)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingView:
    """What a staged delivery is decided from, beside its record.

    Attributes:
        given: What a person asks for.
        staged: The objects that it selects.
        left: Those of its record that it does not stage any more.
        why_left: Why it does not, a clause.
        labels: Labels of every cluster.
        reports: Returns what a cluster says of its copy of an object, or of each part that has one
            of its own; `None` where it says nothing.
        is_readable: Returns whether the file of a version can be read.
        now: Aware UTC.
    """

    given: GivenDelivery
    staged: Mapping[ObjectKey, PresentObject]
    left: Mapping[ObjectKey, PresentObject]
    why_left: str
    labels: Mapping[ClusterName, Mapping[str, str]]
    reports: Callable[[ObjectKey, ClusterName], Sequence[CopyReport | None]]
    is_readable: Callable[[ContentVersion], bool]
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingProgress:
    """What a pass makes of a record.

    Attributes:
        record: The record that follows.
        refused: Orders that have no effect.
        ahead: What time alone changes next, `None` if nothing.
    """

    record: StagedRecord
    refused: tuple[Violation, ...] = ()
    ahead: "Expected | None" = None


class Expected(NamedTuple):
    """A moment at which time alone changes something: why a run waits until then, what follows."""

    until: datetime
    reason: str
    then: str


def advance(record: StagedRecord, view: StagingView) -> StagingProgress:
    """Return how far a staged delivery is at this moment, once nothing more comes of it."""
    while True:
        found = _advanced(record, view)
        if found.record == record:
            return found
        record = found.record


def _advanced(record: StagedRecord, view: StagingView) -> StagingProgress:
    lost = _lost(record, view)
    record = _followed(record, view)
    run, refused = view.given.obeyed(record.run, view.now)
    if run is not None and not any(one.before for one in record.objects.values()):
        run = run if run.state is RunState.FINISHED else _over(run, view.now)
    record = replace(record, run=run)
    if run is None or run.state is not RunState.UPDATING:
        return StagingProgress(record=record, refused=refused)
    step = _RunStep(record, run, view, lost)
    return StagingProgress(record=step.take(), refused=refused, ahead=step.ahead)


def _lost(record: StagedRecord, view: StagingView) -> Mapping[ClusterName, Sequence[ObjectKey]]:
    """Return which staged objects are not on a cluster any more, by the clusters they left."""
    lost: dict[ClusterName, list[ObjectKey]] = {}
    for key in sorted(view.staged.keys() & record.objects.keys()):
        for name in sorted(record.objects[key].before.keys() - view.staged[key].clusters):
            lost.setdefault(name, []).append(key)
    return lost


def _followed(record: StagedRecord, view: StagingView) -> StagedRecord:
    """Return the record of the objects as they are now; a change of content begins a run."""
    known = {key: record.objects[key] for key in view.staged if key in record.objects}
    changed = any(
        one.left or not one.version.is_like(view.staged[key].version) for key, one in known.items()
    )
    if changed:
        objects = {key: _changed(record, key, one) for key, one in sorted(view.staged.items())}
        run = _next_run(record.run, objects, view)
    else:
        run = record.run
        objects = {
            key: StagedObject(version=one.version)
            if key not in known
            else _kept(record, key, one, view)
            for key, one in sorted(view.staged.items())
        }
    objects |= outlasting(record, view.left)
    return StagedRecord(run=run, objects={key: objects[key] for key in sorted(objects)})


def _changed(record: StagedRecord, key: ObjectKey, present: PresentObject) -> StagedObject:
    """Return an object at the beginning of a run: its clusters have what they have."""
    known = record.objects.get(key)
    if known is None:
        return StagedObject(version=present.version)
    version = _version_of(known, present)
    had = {name: record.version_on(key, name) for name in sorted(present.clusters)}
    return _object(version, had, present.clusters)


def _version_of(known: StagedObject, present: PresentObject) -> ContentVersion:
    """Return the version of an object: as it was first seen, where it is the same."""
    if not known.version.is_like(present.version):
        return present.version
    return known.version._replace(overrides=present.version.overrides)


def _object(
    version: ContentVersion,
    had: Mapping[ClusterName, ContentVersion],
    clusters: frozenset[ClusterName],
    *,
    left: bool = False,
) -> StagedObject:
    """Return an object whose clusters have these versions, where they are not the one of now."""
    before = {name: one for name, one in had.items() if not one.is_like(version)}
    if not before:
        return StagedObject(version=version)
    others = clusters - before.keys()
    return StagedObject(version=version, before=before, others=others, left=left)


def _next_run(
    last: ContentRun | None, objects: Mapping[ObjectKey, StagedObject], view: StagingView
) -> ContentRun | None:
    """Return the run that a change begins; none where no cluster has anything else by now."""
    if not any(one.before for one in objects.values()):
        over = last is None or last.is_over
        return last if over else _over(last, view.now)
    number = 1 if last is None else last.number + 1
    run_id = _run_id(number, view.given.uid)
    return ContentRun(number=number, id=run_id, state=RunState.UPDATING, started_at=view.now)


def _run_id(number: int, uid: str) -> str:
    return f"{number}-{content_digest([uid, number])[:8]}"


def _over(run: ContentRun | None, now: datetime) -> ContentRun | None:
    if run is None:
        return None
    return replace(run, state=RunState.FINISHED, ended_at=now, reason="")


def _kept(
    record: StagedRecord, key: ObjectKey, present: PresentObject, view: StagingView
) -> StagedObject:
    """Return an object whose content is what it was, on the clusters that it is on by now."""
    known, run = record.objects[key], record.run
    version = _version_of(known, present)
    if not known.before:
        return StagedObject(version=version)
    before = {name: one for name, one in known.before.items() if name in present.clusters}
    for name in sorted(present.clusters - known.before.keys() - known.others):
        if run is not None and (old := _of_its_stage(known, run, name, view)):
            before[name] = old
    if not before:
        return StagedObject(version=version)
    others = present.clusters - before.keys()
    return StagedObject(version=version, before=before, others=others)


def _of_its_stage(
    known: StagedObject, run: ContentRun, cluster: ClusterName, view: StagingView
) -> ContentVersion | None:
    """Return what a cluster gets that is new to an object, `None` for the version of now."""
    stage = _stage_of(cluster, view)
    begun = {one.name for one in run.stages if one.started_at is not None}
    if stage in begun and run.state is not RunState.ROLLED_BACK:
        return None
    mates = (name for name in sorted(known.before) if _stage_of(name, view) == stage)
    return known.before[next(mates, min(known.before))]


def outlasting(
    record: StagedRecord, left: Mapping[ObjectKey, PresentObject]
) -> dict[ObjectKey, StagedObject]:
    """Return the objects that nobody stages any more, while their clusters have other versions.

    Args:
        record: What was recorded of them.
        left: They as they are; those whose content changed go on as if never staged.
    """
    objects: dict[ObjectKey, StagedObject] = {}
    for key in sorted(left.keys() & record.objects.keys()):
        present, version = left[key], record.objects[key].version
        if version.is_like(present.version):
            had = {name: record.version_on(key, name) for name in sorted(present.clusters)}
            found = _object(version, had, present.clusters, left=True)
            objects |= {key: found} if found.before else {}
    return objects


def taken_over(record: StagedRecord, key: ObjectKey) -> StagedObject:
    """Return an object as another staged delivery takes it over, with what its clusters have."""
    known = record.objects[key]
    clusters = known.others | known.before.keys()
    had = {name: record.version_on(key, name) for name in sorted(clusters)}
    return _object(known.version, had, clusters, left=True)


IN_VAIN = {OrderedAction.RESUME: "was not stopped", OrderedAction.STOP: "was stopped already"}
"""Orders that must not wait for their moment: by then they would mean what nobody has seen."""


def _in_vain(position: int, refusal: OrderRefusal) -> Violation:
    message = f"this order has no effect: {refusal.why}"
    return Violation(f"/spec/orders/{position}", "staged-order", message, refusal.expected)


def _of_no_run(order: RunOrder, run: ContentRun | None) -> OrderRefusal:
    present = "no such order: there is no run yet" if run is None else f"the present run, {run.id}"
    return OrderRefusal(f"there is no run {shown(order.run)}", present)


def _is_past(run_id: str, run: ContentRun, uid: str) -> bool:
    """Return whether a run of this id came before, so that its orders are history."""
    number = run_id.partition("-")[0]
    if not number.isdecimal() or len(number) > len(str(run.number)):
        return False
    return int(number) < run.number and run_id == _run_id(int(number), uid)


def _obey(order: RunOrder, run: ContentRun, now: datetime) -> ContentRun:
    match order.action:
        case OrderedAction.APPROVE:
            stage = _progress_in(run, order.stage)
            return _with_stage(run, replace(stage, approved=stage.approved | {order.task}))
        case OrderedAction.STOP:
            return replace(run, state=RunState.STOPPED, reason="an order stops it")
        case OrderedAction.ROLLBACK:
            return replace(
                run, state=RunState.ROLLED_BACK, ended_at=now, reason="an order rolls it back"
            )
        case OrderedAction.RESUME:
            return replace(
                run,
                state=RunState.UPDATING,
                reason="",
                stages=tuple(_pardoned(one, now) for one in run.stages),
            )


def _pardoned(stage: StageProgress, now: datetime) -> StageProgress:
    """Return a stage that goes on: what failed stays, what is silent has as much time again."""
    clusters = tuple(
        one._replace(started_at=now) if one.ended_at is None else one for one in stage.clusters
    )
    failed = sum(bool(one.failure) for one in clusters)
    return replace(stage, clusters=clusters, pardoned=failed)


def _progress_in(run: ContentRun, name: str) -> StageProgress:
    return next((one for one in run.stages if one.name == name), StageProgress(name=name))


def _with_stage(run: ContentRun, stage: StageProgress) -> ContentRun:
    names = [one.name for one in run.stages]
    if stage.name not in names:
        return replace(run, stages=(*run.stages, stage))
    stages = (stage if one.name == stage.name else one for one in run.stages)
    return replace(run, stages=tuple(stages))


def _stage_of(cluster: ClusterName, view: StagingView) -> str | None:
    """Return the stage of a cluster, the first of those that select it; `None` if none does."""
    labels = view.labels.get(cluster)
    if labels is None:
        return None
    chosen = (
        stage.name
        for stage in view.given.stages
        if stage.selector is not None and matches(stage.selector, labels)
    )
    return next(chosen, None)


class _RunStep:
    """The step that a run takes in a pass; what is ahead is known once it is taken."""

    def __init__(
        self,
        record: StagedRecord,
        run: ContentRun,
        view: StagingView,
        lost: Mapping[ClusterName, Sequence[ObjectKey]],
    ) -> None:
        """Begin with a run that is under way, and with what clusters have lost since."""
        self.record, self.run, self.view, self.lost = record, run, view, lost
        self.changing = {
            key: one for key, one in record.objects.items() if one.before and not one.left
        }
        self.ahead: Expected | None = None

    def take(self) -> StagedRecord:
        """Return the record after it."""
        if not self.changing:
            why, now = self.view.why_left, self.view.now
            run = replace(self.run, state=RunState.LEFT, ended_at=now, reason=why)
            return replace(self.record, run=run)
        versions = {one for found in self.changing.values() for one in found.before.values()}
        unread = (one for one in versions if not self.view.is_readable(one))
        lost = sorted(unread, key=lambda one: one.order)
        if lost:
            self._wait(f"{lost[0].path} of blob {lost[0].blob}, which cannot be read")
            return replace(self.record, run=self.run)
        pending = sorted({name for one in self.changing.values() for name in one.before})
        by_stage: dict[str | None, list[ClusterName]] = {}
        for name in pending:
            by_stage.setdefault(_stage_of(name, self.view), []).append(name)
        under_way = {one.name for one in self.run.stages if one.started_at and not one.ended_at}
        over = all(
            self._passes(stage, by_stage.get(stage.name, ()))
            for stage in (*self._removed(under_way), *self.view.given.stages)
            if stage.name in by_stage or stage.name in under_way
        )
        self._plan(by_stage)
        if over and self.run.outside:
            over = self._wait(f"{enumerated(self.run.outside, NAMED)} in no stage of the strategy")
        if not over:
            return replace(self.record, run=self.run)
        objects = {
            key: StagedObject(version=one.version) if key in self.changing else one
            for key, one in self.record.objects.items()
        }
        return StagedRecord(run=_over(self.run, self.view.now), objects=objects)

    def _removed(self, under_way: Collection[str]) -> Iterator[Stage]:
        """Yield the stages that have begun and are not in the strategy any more."""
        named = {stage.name for stage in self.view.given.stages}
        for name in (one.name for one in self.run.stages if one.name in under_way):
            if name not in named:
                yield Stage(
                    name=name,
                    selector=None,
                    sorting_label=None,
                    concurrency=None,
                    before=(),
                    after=(),
                )

    def _plan(self, by_stage: Mapping[str | None, Sequence[ClusterName]]) -> None:
        """Note which clusters are to come, stage by stage, and which are in none."""
        given = self.run.given
        to_come = {
            stage: tuple(name for name in names if name not in given)
            for stage, names in by_stage.items()
        }
        named = [stage.name for stage in self.view.given.stages]
        gone = [one.name for one in self.run.stages if one.name not in named]
        found = (
            replace(_progress_in(self.run, name), waiting=to_come.get(name, ()))
            for name in (*named, *gone)
        )
        stages = tuple(one for one in found if one != StageProgress(name=one.name))
        self.run = replace(self.run, stages=stages, outside=to_come.get(None, ()))

    def _passes(self, stage: Stage, clusters: Sequence[ClusterName]) -> bool:
        """Take a stage as far as it goes, and return whether it is over."""
        progress = _progress_in(self.run, stage.name)
        waits = [name for name in clusters if name not in self.run.given]
        if progress.ended_at is not None and not waits:
            return True
        if progress.started_at is None:
            if asks_approval(stage.before) and BEFORE not in progress.approved:
                return self._wait(f"approval before stage {stage.name}")
            progress = replace(progress, started_at=self.view.now)
        progress = self._update(stage, progress, waits)
        self.run = _with_stage(self.run, progress)
        busy = [one.name for one in progress.clusters if one.ended_at is None]
        failed = [one for one in progress.clusters if one.failure]
        if len(failed) - progress.pardoned >= self.view.given.asked.failure_threshold:
            reasons = "; ".join(f"{one.name}: {one.failure}" for one in failed[:NAMED])
            count = f"{len(failed)} cluster{'' if len(failed) == 1 else 's'}"
            return self._stop(f"stage {stage.name} failed on {count}: {reasons}")
        silent = [one.name for one in progress.clusters if self._is_silent(one)]
        if silent:
            heard = f"stage {stage.name} hears nothing of {enumerated(silent, NAMED)}"
            return self._stop(f"{heard}{self._unmarked(silent)}")
        if busy:
            awaited = f"{enumerated(busy, NAMED)} in stage {stage.name}"
            return self._wait(f"{awaited}{self._unmarked(busy)}")
        return self._ends(stage, progress)

    def _update(
        self, stage: Stage, progress: StageProgress, waits: Sequence[ClusterName]
    ) -> StageProgress:
        """Return a stage with what its clusters report, and the next ones of them begun."""
        clusters = [self._judged(one) for one in progress.clusters]
        threshold = self.view.given.asked.failure_threshold + progress.pardoned
        if sum(bool(one.failure) for one in clusters) < threshold:
            busy = sum(one.ended_at is None for one in clusters)
            free = _most(stage, len(clusters) + len(waits)) - busy
            ordered = sorted(waits, key=lambda one: self._rank(stage, one))
            clusters.extend(map(self._begun, ordered[: max(free, 0)]))
        return replace(progress, clusters=tuple(clusters))

    def _rank(self, stage: Stage, cluster: ClusterName) -> tuple[int, ClusterName]:
        """Return the place of a cluster in its stage; one without a number comes first."""
        written = self.view.labels[cluster].get(stage.sorting_label or "", "")
        number = written.removeprefix("-")
        return (int(written) if number.isascii() and number.isdigit() else 0), cluster

    def _begun(self, cluster: ClusterName) -> ClusterProgress:
        bad = any(one.health is Health.UNHEALTHY for one in self._heard(cluster))
        begun = ClusterProgress(cluster, self.view.now, was_unhealthy=bad)
        self._expect_report(begun)
        return begun

    def _heard(self, cluster: ClusterName) -> Iterator[CopyReport]:
        """Yield what a cluster says of the objects that a run changes there."""
        for key in self._on(cluster):
            yield from (one for one in self.view.reports(key, cluster) if one is not None)

    def _on(self, cluster: ClusterName) -> list[ObjectKey]:
        """Return the objects that a run changes on a cluster."""
        return [key for key, one in self.changing.items() if cluster in one.before]

    def _judged(self, one: ClusterProgress) -> ClusterProgress:
        """Return a cluster with what it reports of the new version.

        One that an object has left before that will never report: the version may be the reason.
        """
        if one.ended_at is not None:
            return one
        if lost := self.lost.get(one.name):
            names = enumerated([f"{key.namespace}/{key.name}".strip("/") for key in lost], NAMED)
            failure = f"{names} left it before it reported that the new version runs"
            return one._replace(ended_at=self.view.now, failure=failure)
        objects = self._on(one.name)
        states = [self._state(key, one) for key in objects]
        failure = next((state for state in states if state not in (*WAITING, RUNS)), "")
        deadline, now = self._deadline(one), self.view.now
        if not failure and UNHEALTHY in states and now >= deadline:
            failure = f"still not healthy after {self.view.given.asked.deadline_seconds} seconds"
        if failure or all(state == RUNS for state in states):
            return one._replace(ended_at=now, failure=failure)
        if now < deadline:
            self._expect_report(one)
        return one

    def _state(self, key: ObjectKey, one: ClusterProgress) -> str:
        """Return that the new version of an object runs or does not yet, or why it has failed."""
        mark = self.changing[key].version.mark
        states = [self._copy_state(copy, mark, one) for copy in self.view.reports(key, one.name)]
        failures = (state for state in states if state not in (*WAITING, RUNS))
        waits = (state for state in (UNHEALTHY, SILENT) if state in states)
        return next(failures, next(waits, RUNS))

    @staticmethod
    def _copy_state(report: CopyReport | None, mark: str, one: ClusterProgress) -> str:
        """Return the same of one copy."""
        if report is None or _told_version(report) != mark:
            return SILENT
        why = _failure(report)
        if why and not one.was_unhealthy:
            return why
        if report.health is Health.UNHEALTHY and not one.was_unhealthy:
            return UNHEALTHY
        return SILENT if report.lacks_health else RUNS

    def _unmarked(self, clusters: Sequence[ClusterName]) -> str:
        """Return which clusters are reported by somebody who leaves versions out, `""` if none."""
        found = [
            name
            for name in clusters
            if any(_told_version(one) is None for one in self._heard(name))
        ]
        return f" (reports of {enumerated(found, NAMED)} bear no version)" if found else ""

    def _is_silent(self, one: ClusterProgress) -> bool:
        return one.ended_at is None and self.view.now >= self._deadline(one)

    def _deadline(self, one: ClusterProgress) -> datetime:
        return add(one.started_at, span(seconds=self.view.given.asked.deadline_seconds))

    def _ends(self, stage: Stage, progress: StageProgress) -> bool:
        """Return whether everything is over that comes after the last cluster of a stage."""
        since = progress.updated_at or self.view.now
        progress = replace(progress, updated_at=since)
        self.run = _with_stage(self.run, progress)
        for moment in (_elapses_at(task, since) for task in stage.after if task.type == TIMED_WAIT):
            if moment > self.view.now:
                reason = f"the run {self.run.id} waits after stage {stage.name}"
                self._expect(moment, reason, "it goes on")
                return self._wait(f"stage {stage.name} until {format_moment(moment)}")
        if asks_approval(stage.after) and AFTER not in progress.approved:
            return self._wait(f"approval after stage {stage.name}")
        ended = progress.ended_at or self.view.now
        self.run = _with_stage(self.run, replace(progress, ended_at=ended))
        return True

    def _wait(self, what: str) -> bool:
        self.run = replace(self.run, reason=f"waits for {what}")
        return False

    def _stop(self, why: str) -> bool:
        self.run, self.ahead = replace(self.run, state=RunState.STOPPED, reason=why), None
        return False

    def _expect_report(self, one: ClusterProgress) -> None:
        reason = f"the run {self.run.id} waits for {one.name}"
        self._expect(self._deadline(one), reason, f"it stops unless {one.name} has succeeded")

    def _expect(self, moment: datetime, reason: str, then: str) -> None:
        expected = Expected(moment, reason, then)
        self.ahead = expected if self.ahead is None else min(self.ahead, expected)


RUNS, SILENT, UNHEALTHY = "runs", "silent", "unhealthy"
"""What a cluster says of the new version; anything else is why it has failed."""
WAITING = (SILENT, UNHEALTHY)


def _told_version(report: CopyReport) -> object:
    return at(report.body, "metadata", "annotations").get(CONTENT)


def _failure(report: CopyReport) -> str:
    """Return why a cluster's copy has failed for good, `""` if it has not."""
    if not report.applied:
        return report.message or "it is not applied"
    return next(_failures(report.body), "")


FAILURES = (("Progressing", "False"), ("ReplicaFailure", "True"), ("Failed", "True"))
"""Conditions of Deployments and Jobs by which they say that they do not go on."""


def _failures(body: Body) -> Iterator[str]:
    for condition in mappings_of(at(body, "status").get("conditions")):
        if (condition.get("type"), condition.get("status")) in FAILURES:
            reason = condition.get("reason")
            yield reason if isinstance(reason, str) and reason else str(condition.get("type"))


def _elapses_at(task: StageTask, since: datetime) -> datetime:
    return add(since, span(microseconds=-(-(task.wait or 0) // MICROSECOND)))


def _most(stage: Stage, total: int) -> int:
    """Return how many clusters of a stage are updated at once, at least one."""
    most = stage.concurrency
    if isinstance(most, str):
        percent = most.removesuffix("%")
        most = int(percent) * total // 100 if percent.isascii() and percent.isdigit() else 1
    return max(1, 1 if most is None else most)

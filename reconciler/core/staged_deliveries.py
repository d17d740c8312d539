"""Staged deliveries in a pass: what they select, what that is now, and how far their runs are.

Like what is published this follows the decisions, once the brakes have spoken, and moves none of
them: where an object is, and with how many replicas, is decided before. Delivery reads the records
that this leaves, and gives each cluster the version that they say.

An object has one staged delivery: the one that has it already, or the first by name. What another
one left in the middle, as after a rename, stays held until its content changes. An API whose
decisions have stages of their own says so, and is left alone.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

from reconciler.core.dialects import DIALECTS, STAGED, STRATEGIES, find_strategy
from reconciler.core.rounds import Additions, world_after
from reconciler.dialects.inventory import CopyReports, CopyTable
from reconciler.dialects.object_pass import Failed, attempt, place_of, traces_of
from reconciler.dialects.renderer import PlacedContent, Renderer, Renderers
from reconciler.manifests.schemas.violations import Violation
from reconciler.manifests.text.positions import Spot, locate_all
from reconciler.model.body import Body, keep_present
from reconciler.model.decision import Wait
from reconciler.model.fields import mapping
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.kinds import CopyReport, Kind
from reconciler.model.labels import labels_of
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import AnswerCache
from reconciler.model.settings import Settings
from reconciler.model.text import enumerated, short_id
from reconciler.model.world import Fault, Manifest, World
from reconciler.staging.content_run import (
    GivenDelivery,
    PresentObject,
    StagingView,
    advance,
    outlasting,
    taken_over,
)
from reconciler.staging.staged_delivery import (
    API_VERSION,
    STAGED_DELIVERY,
    ContentVersion,
    OverrideVersion,
    RunState,
    StagedChange,
    StagedDelivery,
    StagedRecord,
    StagedVersions,
    content_digest,
    decode_staged_delivery,
    encode_staged_record,
    left_to_others,
    readable_staged_record,
    staged_versions,
    staging_owners,
)
from reconciler.staging.strategy import Stage, decode_stages, missing_strategy

NAMED = 3  # objects and clusters that are named in a fault
NEXT_RUN = "the next change of content, which begins another run"


@dataclass(slots=True, eq=False)
class StagingMemory:
    """What earlier passes found out; no answer depends on it.

    Attributes:
        selected: What a staged delivery selects, kind by kind.
        contents: The digest of what is content of an object.
        copies: The reports of the world that was asked about last.
    """

    selected: AnswerCache[tuple[ObjectKey, Kind], tuple[ObjectKey, ...]] = field(
        default_factory=AnswerCache
    )
    contents: AnswerCache[ObjectKey, str] = field(default_factory=AnswerCache)
    copies: CopyTable = field(default_factory=CopyTable)

    def forget(self) -> None:
        """Drop what is of no use any more."""
        self.selected.forget()
        self.contents.forget()


def stage(
    after: World,
    settings: Settings,
    renderers: Mapping[str, Renderers],
    now: datetime,
    memory: StagingMemory,
) -> Additions:
    """Return how far all staged deliveries are.

    Args:
        after: The world as the pass leaves it, but for this.
        settings: Of the repository.
        renderers: What says of each API which content its decisions put where.
        now: Moment of the pass.
        memory: What earlier passes found out.
    """
    manifests = after.of_kind(*STAGED_DELIVERY)
    records = after.outputs_of_kind(STAGED_DELIVERY)
    if not manifests and not records:
        return Additions(world=after)
    rendered = [one.of(after, settings) for _, one in sorted(renderers.items())]
    copies, labels = memory.copies.follow(after), _labels_in(after)
    staging = _Staging(after, rendered, copies, labels, now, memory)
    staging.select(manifests)
    staging.take_over(staged_versions(records))
    for manifest in manifests:
        staging.put(manifest)
    for record in records:
        if record.key not in after.inputs:
            staging.leave(record)
    memory.forget()
    world = world_after(after, staging.written, staging.gone, ())
    return Additions(
        world=world,
        written=staging.written,
        gone=frozenset(staging.gone),
        faults=tuple(staging.faults),
        traces=traces_of(staging.failed),
        waits=tuple(staging.waits),
    )


@dataclass(slots=True, eq=False)
class _Staging:
    """What one pass makes of staged deliveries, so far."""

    world: World
    renderers: Sequence[Renderer]
    copies: CopyReports
    labels: Mapping[ClusterName, Mapping[str, str]]
    now: datetime
    memory: StagingMemory
    written: dict[ObjectKey, Body] = field(default_factory=dict)
    gone: set[ObjectKey] = field(default_factory=set)
    faults: list[Fault] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    _asked: dict[ObjectKey, StagedDelivery] = field(default_factory=dict)
    _selected: dict[ObjectKey, tuple[ObjectKey, ...]] = field(default_factory=dict)
    _records: dict[ObjectKey, StagedRecord] = field(default_factory=dict)
    _contents: dict[ObjectKey, tuple[PlacedContent, ...]] = field(default_factory=dict)
    _owners: dict[ObjectKey, ObjectKey] = field(default_factory=dict)
    _held: set[ObjectKey] = field(default_factory=set)

    def select(self, manifests: Iterable[Manifest]) -> None:
        """Find out what each staged delivery selects, and what it has staged so far."""
        for manifest in manifests:
            found = attempt(partial(self._chosen, manifest), partial(place_of, manifest))
            output = self.world.outputs.get(manifest.key)
            if isinstance(found, Failed):
                self._fail(found)
                continue
            self._asked[manifest.key], self._selected[manifest.key] = found
            self._records[manifest.key] = (
                StagedRecord() if output is None else readable_staged_record(output.body)
            )

    def take_over(self, versions: StagedVersions) -> None:
        """Give objects that another one had to their owners, once their content changes.

        Until then they are held, so that nothing is released by a new name.
        """
        known = dict(self._records)
        self._owners = staging_owners(self._selected, known)
        for key, owner in self._owners.items():
            holder = versions.get(key)
            if holder is None or holder == known[owner]:
                continue
            if outlasting(holder, self._left(holder, [key])):
                self._held.add(key)
            else:
                objects = {**self._records[owner].objects, key: taken_over(holder, key)}
                self._records[owner] = replace(self._records[owner], objects=objects)

    def put(self, manifest: Manifest) -> None:
        """Take one staged delivery as far as it goes; one that fails keeps its record."""
        if manifest.key in self._selected:
            found = attempt(partial(self._advance, manifest), partial(place_of, manifest))
            if isinstance(found, Failed):
                self._fail(found)

    def leave(self, output: Manifest) -> None:
        """Keep of a record that nobody wants what its clusters have, while they differ."""
        record = readable_staged_record(output.body)
        objects = outlasting(record, self._left(record, record.objects))
        if not objects:
            self.gone.add(output.key)
            return
        why = f"the {STAGED_DELIVERY[1]} {output.key.name} was deleted"
        run = None if record.run is None else record.run.abandoned(why)
        left = StagedRecord(run=run, objects=objects)
        self._write(output.key, {**output.body, "status": encode_staged_record(left)})
        # Its own file is gone; that of an object is where people can do something about it.
        place = self.world.inputs[min(objects)]
        self.faults.append(_held(place, output.key, left, why, self._ends(objects)))

    def _why_left(self, left: Collection[ObjectKey]) -> str:
        """Return why objects are not staged any more by one that began to."""
        by_itself = [key for key in left if self._rolled_out(key) is not None]
        told = sorted(by_itself or left)
        what = "rolled out by itself now" if by_itself else "not selected any more"
        named = enumerated((one.plain for one in told), NAMED)
        return f"{named} {'is' if len(told) == 1 else 'are'} {what}"

    def _ends(self, left: Collection[ObjectKey]) -> str:
        """Return what ends it that objects are left as they are."""
        if any(self._rolled_out(key) is not None for key in left):
            return "the next change of content, which is rolled out by itself"
        if all(key in self._owners for key in left):
            return NEXT_RUN
        return "the next change of content, which reaches all clusters at once"

    def _fail(self, failed: Failed) -> None:
        self.failed.append(failed)
        self.faults.append(failed.fault)

    def _write(self, key: ObjectKey, body: Body) -> None:
        present = self.world.outputs.get(key)
        kept = keep_present(body, None if present is None else present.body)
        if present is None or kept is not present.body:
            self.written[key] = kept

    def _chosen(self, manifest: Manifest) -> tuple[StagedDelivery, tuple[ObjectKey, ...]]:
        """Return what is asked, and what that selects of what people wrote but for the APIs."""
        asked = decode_staged_delivery(manifest.body)
        selector = asked.selector
        world, found = self.world, list[ObjectKey]()
        for kind, manifests in world.kinds.of(world.inputs).items():
            if not selector.may_select(kind, world.known.groups, STAGED):
                continue
            found += self.memory.selected.recall(
                (manifest.key, kind),
                (manifest.body, manifests),
                lambda listed=manifests: tuple(one.key for one in listed if selector.selects(one)),  # type: ignore[misc]  # bound now
            )
        return asked, tuple(found)

    def _advance(self, manifest: Manifest) -> None:
        key, asked, record = manifest.key, self._asked[manifest.key], self._records[manifest.key]
        given, metadata = GivenDelivery.admitted(
            manifest,
            asked,
            self.world.outputs.get(key),
            self._stages(manifest, asked),
            self.now,
        )
        overrides = asked.on_change is StagedChange.OVERRIDES
        staged = self._present(self._own(manifest), overrides=overrides)
        left = self._left(record, record.objects.keys() - staged.keys())
        view = StagingView(
            given=given,
            staged=staged,
            left=left,
            why_left=self._why_left(left),
            labels=self.labels,
            reports=self._reports,
            is_readable=self._is_readable,
            now=self.now,
        )
        progress = advance(record, view)
        body = {
            "apiVersion": API_VERSION,
            "kind": key.kind,
            "metadata": metadata,
            "status": encode_staged_record(progress.record),
        }
        self._write(key, body)
        if progress.ahead is not None:
            until, reason, then = progress.ahead
            subject = f"{key.kind} {key.name}"
            self.waits.append(Wait(until, key, subject, reason, then))
        self._tell(manifest, progress.record, progress.refused)

    def _own(self, manifest: Manifest) -> Iterator[ObjectKey]:
        """Yield what a staged delivery selects and may stage; the rest is a fault of it."""
        selected = self._selected[manifest.key]
        taken, refused = left_to_others(manifest.key, selected, self._owners, self._rolled_out)
        for one in refused:
            self._fault(manifest, one.rule, one.message, one.expected, one.pointer)
        yield from sorted(set(selected) - taken - self._held)

    def _rolled_out(self, key: ObjectKey) -> ObjectKey | None:
        """Return the decision that rolls an object out by itself, `None` if none does."""
        found = (one.rolled_out_by for one in self._placed_by(key))
        return next((one for one in found if one is not None), None)

    def _placed_by(self, key: ObjectKey) -> tuple[PlacedContent, ...]:
        """Return an object as each API has it that places it."""
        if key not in self._contents:
            found = (renderer.content(key) for renderer in self.renderers)
            self._contents[key] = tuple(one for one in found if one is not None)
        return self._contents[key]

    def _present(
        self, keys: Iterable[ObjectKey], *, overrides: bool
    ) -> dict[ObjectKey, PresentObject]:
        """Return those of some objects that an API would stage, as they are."""
        found = ((key, self._content(key, overrides=overrides)) for key in keys)
        return {key: one for key, one in found if one is not None}

    def _content(self, key: ObjectKey, *, overrides: bool) -> PresentObject | None:
        manifest = self.world.inputs.get(key)
        content = None if manifest is None else self._placed(key)
        if manifest is None or content is None:
            return None
        digest = self.memory.contents.recall(
            key, (manifest.body, content.replicas), lambda: content_digest(content.content())
        )
        staged = tuple(map(self._override, content.overrides())) if overrides else None
        path, revision = manifest.origin.path, self.world.revision
        version = ContentVersion(path, self.world.blobs.get(path, ""), digest, revision, staged)
        return PresentObject(version=version, clusters=content.clusters)

    def _override(self, manifest: Manifest) -> OverrideVersion:
        key, path, body = manifest.key, manifest.origin.path, manifest.body
        digest = self.memory.contents.recall(
            key, (body,), lambda: content_digest(mapping(body, "spec"))
        )
        return OverrideVersion(key, path, self.world.blobs.get(path, ""), digest)

    def _left(
        self, record: StagedRecord, keys: Iterable[ObjectKey]
    ) -> dict[ObjectKey, PresentObject]:
        """Return some recorded objects as they are, with overrides where they had any.

        The ones that are like those of the record end nothing, so that they are compared.
        """
        found: dict[ObjectKey, PresentObject] = {}
        for key in keys:
            overrides = record.objects[key].version.overrides is not None
            found |= self._present([key], overrides=overrides)
        return found

    def _placed(self, key: ObjectKey) -> PlacedContent | None:
        """Return the content of an object, and where it is, by the API that stages it.

        One that is rolled out by itself since is what it was all the same, and may be held.
        """
        found = self._placed_by(key)
        return next((one for one in found if one.rolled_out_by is None), next(iter(found), None))

    def _reports(self, key: ObjectKey, cluster: ClusterName) -> Sequence[CopyReport | None]:
        """Return what a cluster says of its copy of an object, or of each part of it."""
        content = self._placed(key)
        if content is None or content.copies is None:
            return (self.copies.of(key, cluster),)
        return content.copies(self.copies.of, cluster)

    def _stages(self, manifest: Manifest, asked: StagedDelivery) -> tuple[Stage, ...]:
        strategy = find_strategy(self.world, asked.strategy)
        if strategy is None:
            names = {one.key.name for kind in STRATEGIES for one in self.world.of_kind(*kind)}
            one = missing_strategy(asked.strategy, names, STRATEGIES)
            self._fault(manifest, one.rule, one.message, one.expected, one.pointer)
            return ()
        return decode_stages(mapping(strategy.body, "spec"))

    def _is_readable(self, version: ContentVersion) -> bool:
        """Return whether the files of a version can be read: as they are now, or as found."""
        return all(
            self.world.blobs.get(path) == blob or blob in self.world.past
            for path, blob in version.files
        )

    def _tell(self, manifest: Manifest, record: StagedRecord, refused: Iterable[Violation]) -> None:
        """Tell what a person must do about a run, or might have forgotten."""
        run = record.run
        for one in refused:
            self._fault(manifest, one.rule, one.message, one.expected, one.pointer)
        if run is not None and run.state is RunState.STOPPED:
            message = f"the run {run.id} is stopped: {run.reason}"
            expected = "an order that resumes it or rolls it back, or another change of content"
            self._fault(manifest, "staged-stopped", message, expected)
        strategy = self._asked[manifest.key].strategy
        if run is not None and run.waits_outside and find_strategy(self.world, strategy):
            named = enumerated(run.outside, NAMED)
            message = f"the run {run.id} waits for {named} in no stage of {strategy}"
            expected = "a strategy with a stage that selects every cluster of it"
            self._fault(manifest, "staged-strategy", message, expected, "/spec/strategy")
        if run is not None and run.state is RunState.ROLLED_BACK:
            since = "" if run.ended_at is None else f" since {format_moment(run.ended_at)}"
            why = f"the run {run.id} is rolled back{since}"
            self.faults.append(_held(manifest, manifest.key, record, why, NEXT_RUN))
        elif any(one.left for one in record.objects.values()):
            left = {key: one for key, one in record.objects.items() if one.left}
            kept, why = StagedRecord(objects=left), self._why_left(left)
            self.faults.append(_held(manifest, manifest.key, kept, why, self._ends(left)))

    def _fault(
        self, manifest: Manifest, rule: str, message: str, expected: str, pointer: str = ""
    ) -> None:
        fault = Fault.of_manifest(
            manifest, rule=rule, message=message, field=pointer, expected=expected
        )
        self.faults.append(_at_field(self.world, manifest, fault) if pointer else fault)


def _at_field(world: World, manifest: Manifest, fault: Fault) -> Fault:
    """Return a fault at the line of its field, as `validate` has it.

    It stays where the document begins if that cannot be told: of an edit that is tried out there is
    no text, and of a file that is faulty an earlier version counts.
    """
    path = manifest.origin.path
    faulty = {*(one.path for one in world.held), *(one.path for one in world.faults)}
    if path not in world.texts or path in faulty:
        return fault
    spot = Spot(manifest.origin.index, fault.field)
    line, column = locate_all(world.texts[path], [spot])[spot]
    return replace(fault, line=line, column=column)


def _labels_in(world: World) -> Mapping[ClusterName, Mapping[str, str]]:
    """Return the labels of every cluster; of one that several APIs have, those of the first."""
    found: dict[ClusterName, Mapping[str, str]] = {}
    for dialect in DIALECTS:
        for one in world.of_kind(*dialect.cluster):
            found.setdefault(ClusterName(one.key.name), labels_of(one.body))
    return found


def _held(place: Manifest, key: ObjectKey, record: StagedRecord, why: str, ends: str) -> Fault:
    """Return that objects are held at an earlier version, which their files do not say."""
    held = [
        f"{name.plain} as of {short_id(version.revision)}"
        for name, one in sorted(record.objects.items())
        for version in sorted(set(one.before.values()), key=lambda one: one.order)
    ]
    return Fault.of_manifest(
        place,
        rule="staged-held",
        message=f"{why}: clusters keep {enumerated(held, NAMED)}",
        expected=ends,
        subject=str(key),
    )

"""What an import makes of the files of a repository: each object, and what becomes of it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from reconciler.core.dialects import CLUSTERS
from reconciler.core.inputs.document_rules import Rules
from reconciler.core.inputs.input_files import InputFiles, inputs_in
from reconciler.dialects.importer import AgentReport, ImportedKind
from reconciler.imports.agent_reports import reporter_of, why_left_out
from reconciler.imports.counted_fields import counted_fields, report_of
from reconciler.imports.export import LiveObject
from reconciler.imports.files import new_path, report_path, why_unfit, with_files, written
from reconciler.imports.importers import (
    SERVER_MADE,
    agent_report_of,
    importer_of,
    why_secret,
    why_skipped,
)
from reconciler.imports.propagated import with_needs
from reconciler.imports.tolerance import steady, with_moments_of
from reconciler.imports.wanted import Wanted
from reconciler.manifests.edits.document_edit import update_document
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.health import has_health
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import Settings, settings_in
from reconciler.model.world import Manifest, World

CONDITIONS = "conditions"


class Became(StrEnum):
    """What became of an object; `failed` and `gone` are for a person to look at."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    FAILED = "failed"
    GONE = "gone"


GOING = "it is being deleted"
KEPT = (Became.CREATED, Became.UPDATED, Became.UNCHANGED)
"""What is in the repository afterwards."""
PLAIN = AgentReport(counted=report_of, about=lambda _: ())
"""What a cluster says of its own workloads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedObject:
    """One object, its file, `""` if it has none, and why it has none."""

    key: ObjectKey
    became: Became
    path: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPlan:
    """What is to be written, and the world that follows from it.

    Attributes:
        files: Root-relative path to content; nothing in it is as it was.
        objects: Sorted by key.
        world: With these files.
    """

    files: Mapping[str, bytes]
    objects: tuple[ImportedObject, ...]
    world: World


def plan_import(
    world: World,
    content: Callable[[str], bytes],
    live: Sequence[LiveObject],
    wanted: Wanted,
    rules: Rules,
) -> ImportPlan:
    """Return the files of an export, and what becomes of each of its objects.

    Args:
        world: The repository as it is.
        content: Returns what a file holds.
        live: The export; of two objects of one key the last counts.
        wanted: What a person wants of it.
        rules: What files are held against.
    """
    last = {one.key: one for one in live}.values()
    work = _Import(
        world=world,
        content=content,
        wanted=with_needs(wanted, last, world.known),
        rules=rules,
        settings=settings_in(world),
        covers=inputs_in(world),
        taken=set(world.blobs),
    )
    for one in last:
        work.take(one)
    work.take_reports(one for one in last if agent_report_of(one.key) is not None)
    work.objects += gone_from(world, live, wanted)
    return ImportPlan(
        files=work.files,
        objects=tuple(sorted(work.objects, key=lambda one: one.key)),
        world=with_files(world, work.files, rules),
    )


def gone_from(world: World, live: Iterable[LiveObject], wanted: Wanted) -> Iterator[ImportedObject]:
    """Yield what has a file and is no longer there; nothing is removed for a person.

    Of a member cluster these are its reports, of a control plane its own kinds, and what its agents
    report.
    """
    there = {one.key for one in live}
    files = (*world.feedback.items(), *(() if wanted.cluster else world.inputs.items()))
    for key, manifest in files:
        importer = importer_of(key)
        ours = importer is not None and (
            (key.group, key.kind) in (importer.reports if key.reporter else importer.kinds)
        )
        is_asked = key.reporter == wanted.cluster if wanted.cluster else ours
        is_listed = is_asked and (key.group, key.kind) in wanted.listed
        if is_listed and key._replace(reporter="") not in there:
            path = manifest.origin.path
            why = f"it is no longer there; if that is meant, remove it from {path}"
            yield ImportedObject(key=key, became=Became.GONE, path=path, why=why)


@dataclass(slots=True, kw_only=True)
class _Import:
    """An import so far."""

    world: World
    content: Callable[[str], bytes]
    wanted: Wanted
    rules: Rules
    settings: Settings
    covers: InputFiles
    taken: set[str]
    files: dict[str, bytes] = field(default_factory=dict)
    objects: list[ImportedObject] = field(default_factory=list)

    def take(self, one: LiveObject) -> None:
        """Decide on one object, but for what agents report."""
        key, body = one.key, one.body
        if agent_report_of(key) is not None:
            return
        importer = importer_of(key)
        kind = None if importer is None else importer.kinds.get((key.group, key.kind))
        if kind is None and self.wanted.cluster:
            self._report(key, body)
            return
        is_live = importer is not None and (key.group, key.kind) in importer.live
        if kind is None and is_live and self.wanted.adopt:
            return  # state is no file of people; see adoption.py
        known = self.world.known
        why = why_skipped(one, self.wanted, known) if kind is None else why_secret(body)
        if why:
            self._add(key, Became.SKIPPED, why=why)
            return
        if _is_going(key, body):
            self._leave_going(key)
            return
        self._write(key, kind, lambda known: self._counted(kind, body, known))

    def _leave_going(self, key: ObjectKey) -> None:
        """Leave out what is being deleted: nothing would ever end that here."""
        present = self.world.inputs.get(key)
        if present is None:
            self._add(key, Became.SKIPPED, why=GOING)
            return
        path = present.origin.path
        why = f"{GOING}; if that is meant, remove it from {path}"
        self._add(key, Became.GONE, path=path, why=why)

    def _counted(
        self, kind: ImportedKind | None, body: Body, known: Body | None
    ) -> tuple[Body, Body]:
        """Return what counts of the file, and of the live object."""
        made = SERVER_MADE
        fresh = counted_fields(body, kind, made)
        if kind is not None and CONDITIONS in kind.status and "status" not in fresh:
            fresh = {**fresh, "status": {CONDITIONS: []}}  # without any it would be declared ready
        if known is None:
            return {}, fresh
        before = counted_fields(known, kind, made)
        if kind is None:
            return before, fresh
        if "spec" not in before and not fresh.get("spec"):
            fresh = {name: fresh[name] for name in fresh if name != "spec"}
        fresh = {**fresh, "apiVersion": before["apiVersion"]}  # the version that a person chose
        if not self.settings.heartbeats:
            fresh = with_moments_of(before, fresh, kind.heartbeats)
        return before, steady(fresh, before, kind.measured, self.wanted.tolerance_percent)

    def take_reports(self, reports: Iterable[LiveObject]) -> None:
        """Decide on what agents report, once it is known what is there."""
        written = (one.key for one in self.objects if one.became in KEPT)
        there = {*self.world.inputs, *written}
        for one in reports:
            report = agent_report_of(one.key)
            reporter = reporter_of(one.key, self.world.known)
            if report is not None and not self._left_out(one, report, reporter, there):
                reported = one.key._replace(reporter=reporter)
                self._write(reported, None, partial(_both, report, one.body))

    def _left_out(
        self, one: LiveObject, report: AgentReport, reporter: str, there: Collection[ObjectKey]
    ) -> bool:
        why = why_left_out(one.body, report, reporter, self.wanted.cluster, there)
        if why:
            self._add(one.key, Became.SKIPPED, why=why)
        return bool(why)

    def _report(self, key: ObjectKey, body: Body) -> None:
        """Take what a cluster reports of a workload."""
        if key.group in self.world.known.groups:
            self._add(key, Became.SKIPPED, why="a cluster reports workloads only")
        elif key not in self.world.inputs:
            self._add(key, Became.SKIPPED, why="it is no workload of the repository")
        elif not body.get("status") and not has_health(body):
            self._add(key, Became.SKIPPED, why="it has no status to report")
        else:
            reported = key._replace(reporter=self.wanted.cluster)
            self._write(reported, None, partial(_both, PLAIN, body))

    def _write(
        self,
        key: ObjectKey,
        kind: ImportedKind | None,
        counted: Callable[[Body | None], tuple[Body, Body]],
    ) -> None:
        """Write an object into the file that it has, or into one of its own."""
        present = (self.world.feedback if key.reporter else self.world.inputs).get(key)
        if present is not None:
            self._update(key, present, *counted(present.body))
            return
        path = report_path(key.reporter, key) if key.reporter else new_path(key, kind, self.taken)
        if path in self.taken:
            why = f"{path} is there, and holds something else; mend or move it first"
            self._add(key, Became.FAILED, why=why)
        elif not self.covers(path):
            why = f"{path} would not be read: include and exclude leave it out, or it is ours"
            self._add(key, Became.FAILED, why=why)
        else:
            self._put(key, Became.CREATED, path, written(counted(None)[1]))

    def _update(self, key: ObjectKey, present: Manifest, before: Body, after: Body) -> None:
        """Bring the file of an object up to date."""
        path = present.origin.path
        if before == after:
            self._add(key, Became.UNCHANGED, path=path)
            return
        data = self.files.get(path) or self.content(path)
        place = (present.origin.index, present.origin.pointer)
        try:
            edited = update_document(data, path, place, before, after)
        except ValueError as error:
            self._add(key, Became.FAILED, path=path, why=f"{error}; edit it by hand")
            return
        self._put(key, Became.UPDATED, path, edited)

    def _put(self, key: ObjectKey, became: Became, path: str, data: bytes) -> None:
        """Keep a file, unless no pass would take it."""
        why = why_unfit(path, data, self.rules)
        if why:
            self._add(key, Became.FAILED, why=why)
            return
        self.files[path] = data
        self.taken.add(path)
        self._add(key, became, path=path)

    def _add(self, key: ObjectKey, became: Became, *, path: str = "", why: str = "") -> None:
        self.objects.append(ImportedObject(key=key, became=became, path=path, why=why))


def _both(report: AgentReport, body: Body, known: Body | None) -> tuple[Body, Body]:
    """Return what counts of a file, nothing if there is none, and of the live object."""
    fresh = report.counted(body)
    if known is None:
        return {}, fresh
    before = report.counted(known)
    return before, with_moments_of(before, fresh, report.heartbeats)


def _is_going(key: ObjectKey, body: Body) -> bool:
    """Return whether an object is being deleted; that of a cluster is its state, and is kept."""
    going = mapping(body, "metadata").get("deletionTimestamp")
    return going is not None and (key.group, key.kind) not in CLUSTERS


def decisions_among(live: Iterable[LiveObject]) -> dict[ObjectKey, Body]:
    """Return the live objects of the APIs, from which state is adopted."""
    return {one.key: one.body for one in live if importer_of(one.key) is not None}

"""What an import makes of the files of a repository: each object, and what becomes of it.

Some objects are for clusters, others are the control plane's own; the Works and ManifestWorks of a
hub are what its agents report. A new object gets a path, and the plan has the world with files that
are not committed yet. Where live decisions are about an object that is not in the repository, the
plan says why.
"""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial

from reconciler.core.cluster_reports import with_reports, without_reports, written_of
from reconciler.core.dialects import CLUSTERS
from reconciler.core.inputs.index import InputFiles, inputs_in, key_of, misplaced_fault
from reconciler.core.inputs.validation import FileValidation, Rules, validate_file
from reconciler.dialects.importer import AgentReport, ImportedKind, Propagated
from reconciler.imports.export import LiveObject
from reconciler.imports.importers import (
    IMPORTERS,
    NAMESPACE,
    PLAIN_SECRET,
    SECRET,
    SERVER_MADE,
    Wanted,
    agent_report_of,
    counted_fields,
    imported_kind,
    importer_of,
    report_of,
    steady,
    why_noise,
    why_secret,
    why_skipped,
    why_unwanted,
    with_moments_of,
)
from reconciler.manifests.edits.documents import update_document
from reconciler.manifests.identity import SYSTEM_NAMESPACE
from reconciler.manifests.paths import FEEDBACK, blob_id, file_stem
from reconciler.manifests.text.emitter import encode
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.health import has_health
from reconciler.model.identity import ObjectKey, Origin
from reconciler.model.kinds import KnownKinds
from reconciler.model.records import dataclass, field, replace
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
    last = {document.key: document for document in live}.values()
    work = _Import(
        world=world,
        content=content,
        wanted=with_needs(wanted, last, world.known),
        rules=rules,
        settings=settings_in(world),
        covers=inputs_in(world),
        taken=set(world.blobs),
    )
    for document in last:
        work.take(document)
    work.take_reports(document for document in last if agent_report_of(document.key) is not None)
    work.objects += gone_from(world, live, wanted)
    return ImportPlan(
        files=work.files,
        objects=tuple(sorted(work.objects, key=lambda document: document.key)),
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
        kept = agent_report_of(key) if key.reporter else imported_kind(key)
        ours = kept is not None
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
        kind = imported_kind(key)
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
        if kind is not None and self._reports_itself(key):
            reported = key._replace(reporter=self.wanted.cluster)
            self._write(reported, kind, lambda known: self._counted_report(kind, body, known))
            return
        self._write(key, kind, lambda known: self._counted(kind, body, known))

    def _reports_itself(self, key: ObjectKey) -> bool:
        """Return whether an object is what a member cluster says of itself, in a report."""
        own = key.name if not key.namespace else key.namespace
        is_own = own == self.wanted.cluster and key[:2] in self.world.known.overlaid
        return is_own and not self.wanted.in_place

    def _counted_report(
        self, kind: ImportedKind, body: Body, known: Body | None
    ) -> tuple[Body, Body]:
        """Return what counts of the report that there is, and of the live object."""
        before, fresh = self._counted(kind, body, known)
        return before and status_report(before), status_report(fresh)

    def _leave_going(self, key: ObjectKey) -> None:
        """Leave out what is being deleted: nothing would ever end that here."""
        present = written_of(self.world, key)
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
        present = self.world.feedback.get(key) if key.reporter else written_of(self.world, key)
        if present is not None:
            self._update(key, present, *counted(present.body))
            return
        if not key.reporter:
            path = new_path(key, kind, self.taken)
        elif kind is None:
            path = report_path(key.reporter, key)
        else:
            path = status_path(key, self.taken)
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


NOT_EXPORTED = "the export has none of that name"


@dataclass(frozen=True, slots=True)
class Absence:
    """Asked for what is lacking: `became` has what an import made of each object of an export."""

    became: Mapping[ObjectKey, ImportedObject]
    wanted: Wanted

    def why(self, key: ObjectKey) -> str:
        """Return why an object is not in the repository.

        Of a control plane it may never have been asked for: Secrets are not, nor is what nobody
        wants.
        """
        became = self.became.get(key)
        if became is not None and became.became in (Became.SKIPPED, Became.FAILED):
            return became.why
        if importer_of(key) is not None:
            return NOT_EXPORTED
        return (
            why_noise(key, self.wanted.reserved)
            or (PLAIN_SECRET if key[:2] == SECRET else "")
            or why_unwanted(key, self.wanted)
            or NOT_EXPORTED
        )


NOTHING_WANTED = Absence({}, Wanted())
"""Of an import that took no workload."""


def reporter_of(key: ObjectKey, known: KnownKinds) -> str:
    """Return the cluster whose agent reports an object, as its namespace has it; `""` if of none.

    Raises:
        KeyError: Agents report no such kind.
    """
    before, after = known.reported[key.group, key.kind].split("{}")
    named = key.namespace.startswith(before) and key.namespace.endswith(after)
    return key.namespace.removeprefix(before).removesuffix(after) if named else ""


def why_left_out(
    body: Body, report: AgentReport, reporter: str, cluster: str, there: Collection[ObjectKey]
) -> str:
    """Return why an agent's report becomes no file, `""` if it does.

    Args:
        body: The Work or ManifestWork.
        report: How its kind is kept.
        reporter: Of which cluster it is, `""` if of none.
        cluster: The member cluster that the export is of, `""` for a control plane.
        there: The objects of the repository, those of this import among them.
    """
    if not reporter:
        return "its namespace names no cluster"
    if cluster and cluster != reporter:
        return f"it is of the cluster {reporter}"
    if not mapping(body, "status") and not report.tells_without_status(body):
        return "it has no status to report"
    if not any(key in there for key in report.about(body)):
        return "it is of nothing in the repository"
    return ""


def propagated_in(live: Mapping[ObjectKey, Body]) -> Propagated:
    """Return what the live objects of all APIs name to be taken to clusters."""
    resources = [importer.propagated(live) for importer in IMPORTERS.values()]
    return Propagated(
        kinds=frozenset().union(*(one.kinds for one in resources)),
        objects=frozenset().union(*(one.objects for one in resources)),
    )


def reserved_in(live: Iterable[ObjectKey]) -> frozenset[str]:
    """Return the namespaces of an export that are a control plane's own.

    Those of Kubernetes are, and those of the APIs that the export has objects of: a name that one
    API reserves may be anybody's on the hub of another.
    """
    keys = tuple(live)
    groups = {key.group for key in keys}
    there = [
        importer
        for importer in IMPORTERS.values()
        if any(importer_of(ObjectKey(group, "", "", "")) is importer for group in groups)
    ]
    names = {key.name if key[:2] == NAMESPACE else key.namespace for key in keys} - {""}
    return frozenset(
        name
        for name in names
        if name.startswith(SYSTEM_NAMESPACE)
        or any(importer.is_reserved(name) for importer in there)
    )


def with_needs(wanted: Wanted, live: Iterable[LiveObject], known: KnownKinds) -> Wanted:
    """Return what is wanted with the namespaces of the workloads that become files.

    Where only some types are wanted, namespaces are wanted if they are among these.
    """
    propagated = wanted.propagated
    if propagated is None or wanted.cluster:
        return wanted
    taken = {
        one.key.namespace
        for one in live
        if one.key.namespace
        and importer_of(one.key) is None
        and not why_skipped(one, wanted, known)
    }
    namespaces = {ObjectKey(*NAMESPACE, "", name) for name in taken}
    return replace(wanted, propagated=replace(propagated, objects=propagated.objects | namespaces))


WORKLOADS = "workloads"


def new_path(key: ObjectKey, kind: ImportedKind | None, taken: Container[str]) -> str:
    """Return the file of an object that has none; two of one name are told apart by their kinds.

    Args:
        key: Whose.
        kind: How its kind is kept, `None` for workloads, whose files always name their kind.
        taken: Paths that other objects have.
    """
    folder = WORKLOADS if kind is None else kind.folder
    scope = f"{folder}/{key.namespace}" if key.namespace else folder
    stem = file_stem(key.name.replace(":", "."))
    if kind is not None and f"{scope}/{stem}.yaml" not in taken:
        return f"{scope}/{stem}.yaml"
    return f"{scope}/{stem}-{key.kind.lower()}.yaml"


def report_path(cluster: str, key: ObjectKey) -> str:
    """Return the file in which a cluster reports of a workload."""
    scope = f"{FEEDBACK}/{cluster}/{key.namespace}" if key.namespace else f"{FEEDBACK}/{cluster}"
    return f"{scope}/{file_stem(key.name.replace(':', '.'))}-{key.kind.lower()}.yaml"


SCORES = "scores"


def status_path(key: ObjectKey, taken: Container[str]) -> str:
    """Return the file in which a cluster reports itself, or a score.

    Args:
        key: Whose status it is, and the cluster that reports it.
        taken: Paths that other objects have: a cluster of several APIs has a file for each.
    """
    folder = f"{FEEDBACK}/{key.reporter}"
    if key.namespace:
        return f"{folder}/{SCORES}/{file_stem(key.name)}.yaml"
    path = f"{folder}/cluster.yaml"
    return path if path not in taken else f"{folder}/{key.kind.lower()}.yaml"


def status_report(body: Body) -> Body:
    """Return who an object is, and its status."""
    metadata = mapping(body, "metadata")
    named = {name: metadata[name] for name in ("name", "namespace") if name in metadata}
    report = {name: body[name] for name in ("apiVersion", "kind")}
    return {**report, "metadata": named, "status": mapping(body, "status")}


def why_unfit(path: str, data: bytes, rules: Rules) -> str:
    """Return why a pass would not take a file as it is to be written, `""` if it would."""
    inspection = validate_file(path, "", data, rules)
    if inspection.broken:
        fault = inspection.broken[0].fault
        return f"{fault.field}: {fault.message}" if fault.field else fault.message
    for document in () if rules.status_only else inspection.documents:
        fault_there = misplaced_fault(path, document, rules.known)
        if fault_there is not None:
            return fault_there.message
    return ""


def with_files(world: World, files: Mapping[str, bytes], rules: Rules) -> World:
    """Return a world in which some files of people hold something else."""
    if not files:
        return world
    world = without_reports(world)
    inputs = {
        k: manifest for k, manifest in world.inputs.items() if manifest.origin.path not in files
    }
    feedback = {
        k: manifest for k, manifest in world.feedback.items() if manifest.origin.path not in files
    }
    blobs = dict(world.blobs)
    for path, data in files.items():
        blobs[path] = blob_id(data, like=world.revision)
        for manifest in _manifests(validate_file(path, blobs[path], data, rules), world):
            (feedback if manifest.key.reporter else inputs)[manifest.key] = manifest
    laid = replace(
        world,
        inputs={key: inputs[key] for key in sorted(inputs)},
        feedback={key: feedback[key] for key in sorted(feedback)},
        blobs=blobs,
        kinds=world.kinds.next(),
        feedback_kinds=world.feedback_kinds.next(),
    )
    return with_reports(laid)


def _manifests(file: FileValidation, world: World) -> Iterable[Manifest]:
    for document in file.documents:
        key = key_of(file.path, document, world.known.scopes)
        yield Manifest(key, Origin(file.path, document.index, document.pointer), document.body)


def written(body: Mapping[str, object]) -> bytes:
    """Return the content of a file that holds one object."""
    return encode(body).encode()

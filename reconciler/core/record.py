"""What a pass leaves behind for the next: `reconciler.yaml` and `faults.yaml` of the outputs.

The version of the format, of the configuration and of these records, goes up when a release could
misread what an older one wrote, or the reverse.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime

from reconciler.manifests.paths import FAULTS, RECORD
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, number, strings_or_none, text
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import ApiKind, Kind, Writer
from reconciler.model.moments import add, parse_moment, stamp
from reconciler.model.records import dataclass
from reconciler.model.text import shown
from reconciler.model.world import Fault, HeldFile, Manifest, World

DUPLICATE = "identity-duplicate"
CLUSTER_REPORT: Kind = ("reconciler.dev", "ClusterReport")
CLUSTER_REPORT_KIND = ApiKind(group=CLUSTER_REPORT[0], kind=CLUSTER_REPORT[1], writer=Writer.OURS)
"""What clusters reported of themselves; see `core/cluster_reports.py`."""
MOST_FAULT_CHARACTERS = 400_000  # ours: a file of manifests has at most 1 MiB
FAULT_CHARACTERS = 120  # names of fields, line ends and margins of one fault


@dataclass(frozen=True, slots=True)
class LastPass:
    """The last pass that committed.

    Attributes:
        revision: Full hex id of its input commit.
        reported_at: Full hex id of the commit of another branch with the reports, `""` for none.
        at: Its moment.
        written_twice: Path to the objects, as `str(ObjectKey)`, that stood there and elsewhere, so
            that neither was in force.
        held: The files whose earlier versions were in force.
        kept: The documents by whose earlier versions placements were kept; where one was not there
            before, its blob is `""`.
    """

    revision: str
    at: datetime
    written_twice: Mapping[str, frozenset[str]]
    held: tuple[HeldFile, ...]
    reported_at: str = ""
    kept: tuple[HeldFile, ...] = ()


def last_pass(outputs: Mapping[ObjectKey, Manifest]) -> LastPass | None:
    """Return what the last committing pass recorded, `None` before the first one."""
    record = outputs.get(RECORD)
    if record is None:
        return None
    status = mapping(record.body, "status")
    report = outputs.get(FAULTS)
    body: Body = report.body if report is not None else {}
    twice: dict[str, set[str]] = defaultdict(set)
    for entry in bodies(body, "faults"):
        if entry["rule"] == DUPLICATE:
            twice[str(entry["path"])].add(str(entry.get("object", "")))
    return LastPass(
        revision=str(status["inputRevision"]),
        at=parse_moment(str(status["lastPassAt"])),
        written_twice={path: frozenset(objects) for path, objects in twice.items()},
        held=tuple(_decode_held(entry) for entry in bodies(body, "held")),
        reported_at=text(status, "feedbackRevision"),
        kept=tuple(_decode_held(entry) for entry in bodies(body, "kept")),
    )


def next_moment(world: World, clock: datetime) -> datetime:
    """Return the moment after the last pass, that of a clock before the first one."""
    last = last_pass(world.outputs)
    return clock if last is None else add(last.at)


def record_body(world: World, now: datetime, version: str) -> Body:
    """Return the body of `reconciler.yaml`: when, from what, and by which version."""
    status: Body = {
        "formatVersion": FORMAT_VERSION,
        "lastPassAt": stamp(now),
        "inputRevision": world.revision,
    }
    if world.reported_at:
        status = {**status, "feedbackRevision": world.reported_at}
    return {
        "apiVersion": API_VERSION,
        "kind": RECORD.kind,
        "metadata": {"name": RECORD.name},
        "status": {**status, "version": version},
    }


def faults_body(
    faults: Iterable[Fault], held: Iterable[HeldFile], kept: Collection[HeldFile] = ()
) -> Body:
    """Return the body of `faults.yaml`: what to edit, and what is in force until then.

    `kept` are the documents by whose earlier versions placements are kept.

    The next pass reads it with the limits of every file, so faults beyond a size are only counted;
    those that tell which objects are written twice all stay.
    """
    every = tuple(faults)
    entries = tuple(_told(every))
    omitted = {"omitted": len(every) - len(entries)} if len(entries) < len(every) else {}
    return {
        "apiVersion": API_VERSION,
        "kind": FAULTS.kind,
        "metadata": {"name": FAULTS.name},
        "faults": [_encode_fault(fault) for fault in entries],
        **omitted,
        "held": [_encode_held(entry) for entry in held],
        **({"kept": [_encode_held(entry) for entry in kept]} if kept else {}),
    }


def _told(faults: Iterable[Fault]) -> Iterator[Fault]:
    """Yield the faults that are recorded one by one."""
    size = 0
    for fault in faults:
        size += FAULT_CHARACTERS + sum(map(len, (fault.path, fault.field, fault.subject)))
        size += len(fault.message) + len(fault.expected)
        if size <= MOST_FAULT_CHARACTERS or fault.rule == DUPLICATE:
            yield fault


def recorded_faults(outputs: Mapping[ObjectKey, Manifest]) -> tuple[Fault, ...]:
    """Return the faults that the last committing pass recorded."""
    report = outputs.get(FAULTS)
    return () if report is None else tuple(map(_decode_fault, bodies(report.body, "faults")))


def _decode_fault(body: Body) -> Fault:
    """Return a fault as `_encode_fault` wrote it."""
    return Fault(
        path=text(body, "path"),
        line=number(body, "line"),
        column=number(body, "column"),
        field=text(body, "field"),
        rule=text(body, "rule"),
        message=text(body, "message"),
        expected=text(body, "expected"),
        subject=text(body, "object"),
        allow=text(body, "allow"),
    )


def _encode_fault(fault: Fault) -> Body:
    """Return a fault as a person reads it; what does not apply is left out."""
    body: dict[str, object] = {"path": fault.path}
    if fault.line:
        body |= {"line": fault.line, "column": fault.column}
    if fault.field:
        body["field"] = fault.field
    if fault.subject:
        body["object"] = fault.subject
    body |= {"rule": fault.rule, "message": fault.message}
    if fault.expected:
        body["expected"] = fault.expected
    if fault.allow:
        body["allow"] = fault.allow
    return body


def _encode_held(entry: HeldFile) -> Body:
    """Return a held file: where its last good version is, and the objects that it holds."""
    body: dict[str, object] = {"path": entry.path} if entry.path else {}
    body |= {"blob": entry.blob} if entry.blob else {}
    body |= {"objects": [_encode_key(key) for key in entry.keys]}
    return {**body, "beside": list(entry.beside)} if entry.beside else body


def _encode_key(key: ObjectKey) -> Body:
    """Return a key; the reporter only where there is one."""
    body = {"group": key.group, "kind": key.kind, "namespace": key.namespace, "name": key.name}
    return {**body, "reporter": key.reporter} if key.reporter else body


def _decode_held(body: Body) -> HeldFile:
    """Read back what `_encode_held` wrote."""
    keys = tuple(
        ObjectKey(
            str(entry["group"]),
            str(entry["kind"]),
            str(entry["namespace"]),
            str(entry["name"]),
            str(entry.get("reporter", "")),
        )
        for entry in bodies(body, "objects")
    )
    return HeldFile(
        text(body, "path"), text(body, "blob"), keys, strings_or_none(body, "beside") or ()
    )


FORMAT_VERSION = 2
API_VERSION = "reconciler.dev/v1alpha1"


def newer_format(body: Body) -> str:
    """Return what in a document of ours is newer than what is known here, `""` if nothing is.

    The document was not validated. Without a number it is of the first version, or older. A person
    may have mistyped the version of the API of the configuration, which is a fault like others.
    """
    api_version = str(body.get("apiVersion"))
    if not api_version.startswith(f"{RECORD.group}/"):
        return ""
    if body.get("kind") == RECORD.kind and api_version != API_VERSION:
        return f"apiVersion {shown(api_version)}, and this release knows {API_VERSION}"
    status = body.get("status")
    for part in (body, status if isinstance(status, Mapping) else {}):
        number = part.get("formatVersion")
        if isinstance(number, int) and number > FORMAT_VERSION:
            return f"formatVersion {number}, and this release knows {FORMAT_VERSION}"
    return ""

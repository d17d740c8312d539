"""One file: its documents, each identified, validated and admitted, or the reason why not.

The schema of a kind comes first, then its admission. The answer depends on the file alone, so it is
remembered by path and blob id. What the configuration may allow is kept beside the document, and
judged where the configuration is known.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from reconciler.dialects.object_pass import Failed, FaultPlace, attempt, traces_of
from reconciler.manifests.identity import Identity, Unidentified, identify, refuse_metadata
from reconciler.manifests.paths import is_escaped, is_feedback, plain_name, unprintable_in
from reconciler.manifests.schemas.schema import Judged, Schemas
from reconciler.manifests.schemas.violations import Admission, Violation
from reconciler.manifests.text.canonical import read_canonical
from reconciler.manifests.text.positions import BrokenItem, Item, Place, Spot, locate_all, unfold
from reconciler.manifests.text.raw import LFS_POINTER, MAX_BYTES, Oversized, quoted
from reconciler.manifests.text.reader import Document, Reading, read
from reconciler.model.body import Body, Held, read_body
from reconciler.model.fields import at, mappings_of
from reconciler.model.kinds import Kind, KnownKinds
from reconciler.model.records import dataclass, replace
from reconciler.model.settings import CONFIGURATION_PATH
from reconciler.model.world import Fault, Trace

ALIAS = "yaml-alias"


@dataclass(frozen=True, slots=True)
class Rules:
    """What documents are held against: schemas, admission by (group, kind), and the known kinds.

    `status_only` is for outputs: they are read as we write them, if they are so, and may lack their
    `spec`, as those beside what people write do.
    """

    schemas: Schemas
    admissions: Mapping[Kind, Admission]
    known: KnownKinds
    status_only: bool = False


def judged_document(path: str, document: Document, identity: Identity, rules: Rules) -> Judged:
    """Ask the schema first, then admission; of a workload what we read of it.

    Of a report of a cluster only the status counts, so there need be nothing else. What it says of
    its health must be an answer; people's files are judged as upstream judges them.
    """
    body = document.body
    if document.aliases and identity.group in rules.known.groups:
        return Judged(body, (_alias(identity),))
    admission = rules.admissions.get((identity.group, identity.kind))
    if not rules.schemas.covers(identity.api_version, identity.kind):
        versions = rules.schemas.versions_of(identity.group, identity.kind)
        if versions:
            return Judged(body, (_unread_version(identity, versions),))
        return Judged(body, refuse_metadata(body) + (admission(body) if admission else ()))
    kind = (identity.group, identity.kind)
    report = is_feedback(path) and kind in rules.known.overlaid
    beside = report or (rules.status_only and kind not in rules.known.owned)
    judged = rules.schemas.judge(body, optional="spec" if beside else "")
    if report and not judged.violations:
        return Judged(judged.body, tuple(_odd_conditions(judged.body)))
    if judged.violations or admission is None:
        return judged
    return Judged(judged.body, admission(judged.body))


CONDITION_STATUSES = ("True", "False", "Unknown")


def _odd_conditions(report: Body) -> Iterator[Violation]:
    """Yield the conditions that say neither yes nor no, nor that it is unknown."""
    for position, condition in enumerate(mappings_of(at(report, "status").get("conditions"))):
        if condition.get("status") not in CONDITION_STATUSES:
            yield Violation(
                f"/status/conditions/{position}/status",
                "schema-enum",
                f"`status` of the condition {quoted(str(condition.get('type', '')))} must be True, "
                f"False or Unknown, {quoted(str(condition.get('status', '')))} is none of them.",
                'Write "True", "False" or "Unknown", in quotes.',
            )


def _alias(identity: Identity) -> Violation:
    """Return that an alias stands where none is read."""
    return Violation(
        "",
        ALIAS,
        f"an alias stands in a {identity.kind}, aliases are read in workloads only",
        "the value itself, written out",
    )


def _unread_version(identity: Identity, versions: Iterable[str]) -> Violation:
    """Return that a kind is not read in the version that is written."""
    known = ", ".join(versions)
    return Violation(
        "/apiVersion",
        "schema-version",
        f"`apiVersion` is {identity.api_version}, {identity.kind} is read as {known}",
        known,
    )


MARKS = (b"apiVersion", "apiVersion".encode("utf-16-be").lstrip(b"\0"))  # UTF-16 of either order


class UnlessAllowed(NamedTuple):
    """A fault of a document that is none with a setting of the configuration."""

    setting: str
    fault: Fault


@dataclass(frozen=True, slots=True)
class ValidDocument:
    """A document that may take effect.

    `line` and `column` are where it begins, from 1; `pointer` leads to it if it stands in a List.
    `held` is its body, or what that is decoded from once somebody reads it. `unless` is what is
    wrong with it unless the configuration allows that.
    """

    identity: Identity
    index: int
    line: int
    held: Held
    column: int = 1
    pointer: str = ""
    unless: tuple[UnlessAllowed, ...] = ()

    def refused_under(self, allowed: Container[str]) -> tuple[Fault, ...]:
        """Return what is wrong with it under a configuration that allows some settings."""
        return tuple(one.fault for one in self.unless if one.setting not in allowed)

    @property
    def body(self) -> Body:
        """What the document says."""
        return read_body(self.held)


@dataclass(frozen=True, slots=True)
class FaultyDocument:
    """A document that may not. `identity` is `None` where it cannot be told whose it is."""

    fault: Fault
    identity: Identity | None


@dataclass(frozen=True, slots=True)
class FileValidation:
    """What one file holds.

    `ignored` counts documents that are no manifests: of another program, or of none. `canonical`
    is true of an output that is to the letter what `encode` writes of its body; then `data` is not
    kept, since the body says it all. `traces` are
    those of unforeseen exceptions. `identified` is true if a document was read to its end and is a
    manifest, though a wrong one.
    """

    path: str
    blob: str
    documents: tuple[ValidDocument, ...]
    broken: tuple[FaultyDocument, ...]
    ignored: int
    data: bytes
    canonical: bool = False
    traces: tuple[Trace, ...] = ()
    identified: bool = False

    @property
    def kinds(self) -> frozenset[Kind]:
        """The kinds of its valid documents."""
        return frozenset((one.identity.group, one.identity.kind) for one in self.documents)

    @property
    def looks_ours(self) -> bool:
        """Whether the file has a manifest, or mentions what every manifest has, readable or not.

        So does one in UTF-16. A pointer of Git LFS may stand for a manifest if it is named as YAML;
        JSON that is kept there is data of another project.
        """
        pointer = self.data.startswith(LFS_POINTER) and not self.path.endswith(".json")
        if self.path == CONFIGURATION_PATH:
            return True  # whatever became of it
        return self.identified or pointer or any(mark in self.data for mark in MARKS)


def validate_file(path: str, blob: str, data: bytes | Oversized, rules: Rules) -> FileValidation:
    """Read one file and hold each of its documents against the rules.

    What stops the reader is a fault of the file, what stops a rule one of the document.
    """
    if isinstance(data, Oversized):
        return _oversized(path, blob, data.size_bytes)
    inspected = attempt(partial(_inspected, path, blob, data, rules), partial(FaultPlace, path, ""))
    if not isinstance(inspected, Failed):
        return _misnamed(inspected) if is_escaped(path) else inspected
    broken = (FaultyDocument(inspected.fault, None),)
    return FileValidation(path, blob, (), broken, 0, data, traces=traces_of((inspected,)))


def _misnamed(file: FileValidation) -> FileValidation:
    """Return a file of a name that cannot be printed: none of its documents may take effect.

    People would not tell it from another file, and tools that list files leave parts of it out.
    """
    faults = (
        Fault(
            path=file.path,
            line=document.line,
            column=document.column,
            field=document.pointer,
            rule="file-name",
            message=(
                f"the path of the file holds {unprintable_in(file.path)}, which cannot be seen, so "
                f"{described(document.identity)} does not take effect; what was in force stays"
            ),
            expected=f"a path of printable characters, such as {plain_name(file.path)}",
            subject=described(document.identity),
        )
        for document in file.documents
    )
    broken = map(FaultyDocument, faults, (one.identity for one in file.documents))
    identified = file.identified or bool(file.documents)
    return replace(file, documents=(), broken=(*file.broken, *broken), identified=identified)


def _inspected(path: str, blob: str, data: bytes, rules: Rules) -> FileValidation:
    """Read one file and hold each of its documents against the rules."""
    ours = rules.status_only and not path.endswith(".json")
    own = read_canonical(data) if ours else None
    reading = read(data, path) if own is None else Reading((Document(0, 1, own),))
    documents: list[ValidDocument] = []
    objections: list[_Objection] = []
    stopped: list[_Stopped] = []
    ignored = reading.passed + sum(1 for located in reading.faults if located.foreign)
    for unfolded in unfold(reading.documents, data, rules.known):
        for verdict in _verdicts(path, unfolded, rules):
            match verdict:
                case None:
                    ignored += 1
                case ValidDocument():
                    documents.append(verdict)
                case _Allowable():
                    documents.append(verdict.document_in(path, data))
                case _Objection():
                    objections.append(verdict)
                case _Stopped():
                    stopped.append(verdict)
    places = locate_all(data, [one.spot for one in objections]) if objections else {}
    canonical = own is not None and any(document.body is own for document in documents)
    return FileValidation(
        path,
        blob,
        tuple(documents),
        (
            *(FaultyDocument(one.fault, None) for one in reading.faults if not one.foreign),
            *(one.broken() for one in stopped),
            *(one.broken(path, places) for one in objections),
        ),
        ignored,
        b"" if canonical else data,
        canonical=canonical,
        traces=traces_of(one.failed for one in stopped),
        identified=bool(objections),
    )


def _verdicts(path: str, item: Item, rules: Rules) -> Iterator["_Verdict"]:
    """Yield what is to be said of one document; `None` if it is not for us."""
    if isinstance(item, BrokenItem):
        yield _Objection(item.document, None, item.reason)
        return
    identity = identify(item.body, rules.known, is_item=item.pointer != "")
    if identity is None:
        yield None
    elif isinstance(identity, Unidentified):
        yield _Objection(item, None, identity)
    else:
        judge = partial(judged_document, path, item, identity, rules)
        judged = attempt(judge, partial(FaultPlace, path, described(identity)))
        if isinstance(judged, Failed):
            yield _Stopped(item, identity, judged)
        elif not judged.violations:
            yield _valid(item, identity, judged.body)
        else:
            yield from _refused(item, identity, judged)


def _refused(document: Document, identity: Identity, judged: Judged) -> Iterator["_Verdict"]:
    """Yield what is wrong whatever the configuration says, or else what it may allow."""
    objections = [
        _Objection(document, identity, one) for one in judged.violations if not one.unless
    ]
    yield from objections
    if not objections:
        yield _Allowable(_valid(document, identity, judged.body), document, judged.violations)


def _valid(document: Document, identity: Identity, body: Body) -> ValidDocument:
    """Return a document that nothing is wrong with."""
    return ValidDocument(
        identity, document.index, document.line, body, document.column, document.pointer
    )


@dataclass(frozen=True, slots=True)
class _Allowable:
    """A document with which something is wrong unless the configuration allows that."""

    valid: ValidDocument
    document: Document
    violations: tuple[Violation, ...]

    def document_in(self, path: str, data: bytes) -> ValidDocument:
        """Return the document of a file with its faults at their places there."""
        objections = [
            _Objection(self.document, self.valid.identity, one) for one in self.violations
        ]
        places = locate_all(data, [one.spot for one in objections])
        faults = (one.broken(path, places).fault for one in objections)
        settings = (one.unless for one in self.violations)
        return replace(self.valid, unless=tuple(map(UnlessAllowed, settings, faults)))


@dataclass(frozen=True, slots=True)
class _Stopped:
    """A document at which a mistake of ours stopped the rules."""

    document: Document
    identity: Identity
    failed: Failed

    def broken(self) -> FaultyDocument:
        """Return it as a fault at its place in the file."""
        at = self.document
        fault = replace(self.failed.fault, line=at.line, column=at.column, field=at.pointer)
        return FaultyDocument(fault, self.identity)


@dataclass(frozen=True, slots=True)
class _Objection:
    """What is wrong with one document; `identity` is `None` where it cannot be told whose it is."""

    document: Document
    identity: Identity | None
    reason: Violation | Unidentified

    @property
    def spot(self) -> Spot:
        """What is pointed at: the value in the wrong, or the key that must not be."""
        unknown = self.reason.rule == "schema-unknown-field"
        return Spot(self.document.index, self.pointer, unknown)

    @property
    def pointer(self) -> str:
        """JSON pointer from the root of the document, through its List if it stands in one."""
        return f"{self.document.pointer}{self.reason.pointer}"

    def broken(self, path: str, places: Mapping[Spot, Place]) -> FaultyDocument:
        """Return it as a fault at its place in the file."""
        aliases = self.document.aliases if self.reason.rule == ALIAS else ()
        line, column = aliases[0] if aliases else places[self.spot]
        fault = Fault(
            path=path,
            line=line,
            column=column,
            field=self.pointer,
            rule=self.reason.rule,
            message=self.reason.message,
            expected=self.reason.expected,
            subject="" if self.identity is None else described(self.identity),
        )
        return FaultyDocument(fault, self.identity)


_Verdict = ValidDocument | _Allowable | _Objection | _Stopped | None


def _oversized(path: str, blob: str, size_bytes: int) -> FileValidation:
    """Return the inspection of a file that is too large to be read."""
    fault = Fault(
        path=path,
        line=0,
        column=0,
        field="",
        rule="yaml-size",
        message=f"the file has {size_bytes} bytes, it must have at most {MAX_BYTES}",
        expected="several smaller files",
    )
    return FileValidation(path, blob, (), (FaultyDocument(fault, None),), 0, b"apiVersion")


def described(identity: Identity) -> str:
    """Return the object as people call it: `Kind namespace/name`.

    >>> described(Identity("apps/v1", "Deployment", "default", "web"))
    'Deployment default/web'
    """
    scope = f"{identity.namespace}/" if identity.namespace else ""
    return f"{identity.kind} {scope}{identity.name}"

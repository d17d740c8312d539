"""All that `reconcile` may look at: what people wrote, and what the last pass wrote.

Some of what stands below the output root may be left as it is, until a person restores or removes
it.
"""

import dataclasses
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import attrgetter

from reconciler.model.body import Body, Held, read_body
from reconciler.model.identity import OUTPUT_ROOT, ObjectKey, Origin
from reconciler.model.kinds import Kind, KnownKinds
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import AnswerCache, differing_keys
from reconciler.model.text import bounded


@dataclass(frozen=True, slots=True)
class Frozen:
    """Places where nothing is written and nothing deleted.

    Attributes:
        paths: Files that cannot be read.
        blocks: What has taken a place of ours and is no plain file or folder as it must be: links,
            submodules, a file instead of a folder and the reverse. Nothing below them is ours.

    >>> frozen = Frozen(frozenset({"status/a.yaml"}), frozenset({"status/b"}))
    >>> "status/a.yaml" in frozen, "status/b/c.yaml" in frozen, "status/bc.yaml" in frozen
    (True, True, False)
    """

    paths: frozenset[str] = frozenset()
    blocks: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.paths or self.blocks)

    def __contains__(self, path: str) -> bool:
        return path in self.paths or any(is_at_or_below(path, block) for block in self.blocks)

    def may_hold(self, stem: str) -> bool:
        """Return whether a path that begins with a stem may be frozen by what blocks the way."""
        return any(is_at_or_below(stem, block) or block.startswith(stem) for block in self.blocks)


def is_at_or_below(path: str, folder: str) -> bool:
    """Return whether a path is a folder, or leads below it."""
    return path == folder or path.startswith(f"{folder}/")


FEW = 16  # one in so many is put in its place; of more all are sorted

RULES = 4
"""By which rules a pass decides and writes.

The number goes up where a release would write something else from the same world at the same
moment. A commit names it, so that `verify` never takes what other rules wrote for tampering.
"""


@dataclass(frozen=True, slots=True)
class Manifest:
    """One validated document. `body` is read-only by convention and by test.

    `held` is that body, or what it is decoded from once somebody reads it.
    """

    key: ObjectKey
    origin: Origin
    held: Held

    @property
    def body(self) -> Body:
        """What the document says."""
        held = self.held
        return held if type(held) is dict else read_body(held)  # the first is faster


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Fault:
    """A `UserError` as data: what a person must edit.

    `path` is root-relative, `line` and `column` count from 1 and are 0 where nothing can be
    pointed at. `field` is a JSON pointer, `""` for a whole document. `rule` is a stable id.
    `expected` says what would be valid. `subject` is the object's key as text, `""` if unknown.
    Both sentences have at most a kilobyte. `allow` is the digest that lets go what is held back,
    `""` where nothing is.
    """

    path: str
    line: int
    column: int
    field: str
    rule: str
    message: str
    expected: str = ""
    subject: str = ""
    allow: str = ""

    @classmethod
    def of_file(
        cls,
        path: str,
        *,
        rule: str,
        message: str,
        field: str = "",
        expected: str = "",
        subject: str = "",
        allow: str = "",
    ) -> "Fault":
        """Return a fault of which no line is known."""
        return cls(path, 0, 0, field, rule, message, expected, subject, allow)

    @classmethod
    def of_manifest(
        cls,
        manifest: Manifest,
        *,
        rule: str,
        message: str,
        field: str = "",
        expected: str = "",
        subject: str = "",
    ) -> "Fault":
        """Return a fault at the line where a document begins, of its own object or of another."""
        origin = manifest.origin
        column, pointer = 1 if origin.line else 0, f"{origin.pointer}{field}"
        about = subject or str(manifest.key)
        return cls(origin.path, origin.line, column, pointer, rule, message, expected, about)

    def __post_init__(self) -> None:
        """Bound what is said: no message holds an object."""
        for name in ("message", "expected"):
            said = getattr(self, name)
            if (short := bounded(said)) is not said:
                object.__setattr__(self, name, short)


@dataclass(frozen=True, slots=True, order=True)
class Trace:
    """Where an unforeseen exception came from; `fault` is what it was made to."""

    fault: Fault
    text: str


@dataclass(frozen=True, slots=True, order=True)
class HeldFile:
    """A faulty file whose last good documents stay in force.

    `blob` is the full hex id of the git blob that holds them, `keys` are the objects taken from
    it, sorted. `beside` is empty while the file is there; if it vanished, these are the files that
    cannot be understood and may hold what it held.
    """

    path: str
    blob: str
    keys: tuple[ObjectKey, ...]
    beside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FormerVersion:
    """A document by which people place, as it was before an edit.

    `blob` is the full hex id of the git blob that has it, at `path`; both are `""`, and `manifest`
    is `None`, where the document was not there. `is_kept` says that the last pass kept placements
    by it.
    """

    path: str
    blob: str
    manifest: Manifest | None
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class FormerOutputs:
    """The outputs of an object as they were at an earlier commit, from which it is to go on.

    `about` is what people wrote, `owner` the output that decisions about it bear, `commit` the full
    hex id of the commit.
    """

    about: ObjectKey
    owner: ObjectKey
    commit: str
    outputs: tuple[Manifest, ...]


@dataclass(slots=True)
class Kinds:
    """Manifests by group and kind, sorted by key; drawn anew when another mapping is asked of.

    What is drawn anew is told from what was drawn before, kind by kind.
    """

    _source: Mapping[ObjectKey, Manifest] = field(default_factory=dict)
    _found: Mapping[Kind, tuple[Manifest, ...]] = field(default_factory=dict)

    def of(self, manifests: Mapping[ObjectKey, Manifest]) -> Mapping[Kind, tuple[Manifest, ...]]:
        """Return the manifests of an unchanging mapping, by group and kind, sorted."""
        if self._source is not manifests:
            listed: dict[Kind, list[ObjectKey]] = {}
            for key in differing_keys(manifests, self._source):
                listed.setdefault(key[:2], []).append(key)
            by_kind = dict(self._found)
            for kind, keys in listed.items():
                by_kind[kind] = _replaced(by_kind.get(kind, ()), keys, manifests)
            self._found = {kind: by_kind[kind] for kind in sorted(by_kind) if by_kind[kind]}
            self._source = manifests
        return self._found

    def next(self) -> "Kinds":
        """Return the index for a following world."""
        return Kinds(self._source, self._found)


def _replaced(
    before: tuple[Manifest, ...], keys: Collection[ObjectKey], now: Mapping[ObjectKey, Manifest]
) -> tuple[Manifest, ...]:
    """Return the manifests of one kind, sorted, given where they differ from those before."""
    if len(keys) * FEW > len(before):
        by_key = {manifest.key: manifest for manifest in before if manifest.key in now}
        by_key |= {key: now[key] for key in keys if key in now}
        return tuple(by_key[key] for key in sorted(by_key))
    listed = list(before)
    for key in keys:
        at = bisect_left(listed, key, key=attrgetter("key"))
        end = at + (at < len(listed) and listed[at].key == key)
        listed[at:end] = [now[key]] if key in now else []
    return tuple(listed)


@dataclass(frozen=True, slots=True)
class ProjectedFleet:
    """Clusters of other APIs as one API has them, sorted, and what is wrong with the others."""

    manifests: tuple[Manifest, ...] = ()
    faults: tuple[Fault, ...] = ()


@dataclass(slots=True, eq=False)
class Projections:
    """What was projected so far: each cluster by the kind that it was to be of, and all of one.

    `reported` has the clusters with the status of their reports, `members` what all neutral
    profiles of one cluster say.
    """

    reported: AnswerCache[ObjectKey, Manifest] = field(default_factory=AnswerCache)
    clusters: AnswerCache[tuple[Kind, ObjectKey], Manifest] = field(default_factory=AnswerCache)
    fleets: AnswerCache[Kind, ProjectedFleet] = field(default_factory=AnswerCache)
    members: AnswerCache[ObjectKey, Manifest] = field(default_factory=AnswerCache)


@dataclass(frozen=True, slots=True)
class ReportedStatus:
    """A status that a cluster reports, of itself or of a score.

    Attributes:
        written: What people wrote of the object, `None` for nothing.
        report: The report; where it is gone, what the record has of it.
        held: Whether it is gone.
    """

    written: Manifest | None
    report: Manifest
    held: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What people wrote at one commit, and what the last pass wrote.

    Attributes:
        revision: Full hex commit id of the inputs.
        reported_at: Full hex id of the commit of another branch that has the reports of clusters,
            `""` where they are in the one of the inputs, or nowhere.
        apart: Whether the outputs are on a branch of their own, so that nothing is deleted of what
            people wrote.
        known: Kinds of the APIs that are read here.
        inputs: What people wrote, valid documents only. Where a document is faulty now and an
            earlier commit held a valid version, `inputs` has that one and `held` says so. The
            status of a cluster is that of its report.
        reported: Those of the inputs whose status is a report's, sorted.
        projected: Kinds of clusters of which an API reads those of the other APIs instead, as it
            would have them, sorted.
        feedback: What member clusters report, of their copies and of themselves, by keys that name
            the reporter.
        outputs: What earlier passes wrote below `output_root`.
        present: Path to git blob id of every manifest file below `output_root`, readable or not.
        delivered: Path to git blob id of every manifest file that delivery put there, or has to
            reckon with.
        obstacles: What stands in, at or above the folders of delivery and is no manifest file:
            other files, links, folders that are named like files.
        frozen: What stands below `output_root` and cannot be read; it is left as it is.
        inexact: Those of them that are not to the letter as a body is written, with the key of the
            output that they hold, `None` if they hold none.
        past: Blob id to the documents of earlier versions of input files, from which clusters still
            have objects.
        blobs: Path to git blob id of the input files, of a held file that of its last good version.
        texts: Text of those input files from which a pass may have to remove a document, or of
            whose fields it tells the lines.
        faults: What is wrong with the inputs and outputs, sorted.
        traces: Of the unforeseen exceptions among the faults.
        held: The faulty files whose last good documents are in force, sorted.
        output_root: Root-relative POSIX folder that the daemon owns.
        edited: The input files that differ from those of the last pass that committed, as far as
            that is known, and the kinds of what they hold, `None` for one that is gone. No decision
            looks at it; what is told of its causes does.
        earlier: Of those objects on which decisions depend beside workloads, policies and who asks,
            the ones that differ from the last pass, as they were in force then, `None` for one that
            was not. No decision looks at it, either.
        former: Of the documents by which people place, those that place otherwise than at the last
            pass, as they were then; where that pass kept placements against an edit, as they were
            before that edit.
        restoring: The objects that go back to where an earlier pass had them, sorted: what asks for
            it differs from the last pass.
        kinds: Index of the inputs, filled when first asked.
        output_kinds: Index of the outputs, filled when first asked.
        feedback_kinds: Index of the reports, filled when first asked.
        projections: What was projected, for the worlds that follow.
    """

    revision: str
    known: KnownKinds = field(repr=False)
    inputs: Mapping[ObjectKey, Manifest]
    outputs: Mapping[ObjectKey, Manifest]
    projected: Mapping[Kind, tuple[Manifest, ...]] = field(default_factory=dict)
    feedback: Mapping[ObjectKey, Manifest] = field(default_factory=dict)
    reported: Mapping[ObjectKey, ReportedStatus] = field(default_factory=dict)
    present: Mapping[str, str] = field(default_factory=dict)
    delivered: Mapping[str, str] = field(default_factory=dict)
    obstacles: frozenset[str] = frozenset()
    frozen: Frozen = field(default_factory=Frozen)
    inexact: Mapping[str, ObjectKey | None] = field(default_factory=dict)
    past: Mapping[str, tuple[Manifest, ...]] = field(default_factory=dict)
    blobs: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, bytes] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    traces: tuple[Trace, ...] = ()
    held: tuple[HeldFile, ...] = ()
    output_root: str = OUTPUT_ROOT
    reported_at: str = ""
    apart: bool = False
    edited: Mapping[str, frozenset[Kind] | None] = field(default_factory=dict, compare=False)
    earlier: Mapping[ObjectKey, Manifest | None] = field(default_factory=dict, compare=False)
    former: Mapping[ObjectKey, FormerVersion] = field(default_factory=dict)
    restoring: tuple[FormerOutputs, ...] = ()
    kinds: Kinds = field(default_factory=Kinds, repr=False, compare=False)
    output_kinds: Kinds = field(default_factory=Kinds, repr=False, compare=False)
    feedback_kinds: Kinds = field(default_factory=Kinds, repr=False, compare=False)
    projections: Projections = field(default_factory=Projections, repr=False, compare=False)

    @property
    def is_complete(self) -> bool:
        """Whether it is known of every document whose it is.

        If it is not, the object that a reference misses may be the one that cannot be read, and a
        list of consequences would only hide the cause. What is held back until it is allowed is
        known well.
        """
        return all(fault.subject or fault.allow for fault in self.faults)

    @property
    def in_doubt(self) -> frozenset[str]:
        """The objects that are not as they stand in their files, or are faulty: keys as text."""
        held = {str(key) for entry in self.held for key in entry.keys}
        return frozenset(held | {fault.subject for fault in self.faults})

    def of_kind(self, group: str, kind: str) -> tuple[Manifest, ...]:
        """Return what a pass reads of one kind, sorted by key: inputs, or projected clusters."""
        clusters = self.projected.get((group, kind))
        return self.written_of_kind(group, kind) if clusters is None else clusters

    def written_of_kind(self, group: str, kind: str) -> tuple[Manifest, ...]:
        """Return what people wrote of one kind, sorted by key."""
        return self.kinds.of(self.inputs).get((group, kind), ())

    def find(self, key: ObjectKey) -> Manifest | None:
        """Return what a pass reads of an object, `None` if it is not there."""
        clusters = self.projected.get(key[:2])
        if clusters is None:
            return self.inputs.get(key)
        at = bisect_left(clusters, key, key=attrgetter("key"))
        return clusters[at] if at < len(clusters) and clusters[at].key == key else None

    def by_kind(self) -> Iterator[tuple[Kind, tuple[Manifest, ...]]]:
        """Yield each kind with its inputs, then each with its outputs, sorted by key."""
        yield from self.kinds.of(self.inputs).items()
        yield from self.output_kinds.of(self.outputs).items()

    def earlier_of(self, kinds: Collection[Kind]) -> Mapping[ObjectKey, Manifest | None]:
        """Return those of some kinds that differ from the last pass, as they were, sorted."""
        entries = (one for one in self.earlier.items() if one[0][:2] in kinds)
        return dict(sorted(entries, key=lambda one: one[0]))

    def outputs_of(self, kinds: Iterable[Kind]) -> Iterator[Manifest]:
        """Yield the outputs of some kinds, sorted by key where the kinds are."""
        return (manifest for kind in kinds for manifest in self.outputs_of_kind(kind))

    def outputs_of_kind(self, kind: Kind) -> tuple[Manifest, ...]:
        """Return the outputs of a kind, sorted; the very same tuple while none of them changes."""
        return self.output_kinds.of(self.outputs).get(kind, ())

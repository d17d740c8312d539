"""What delivery remembers from pass to pass: which files there should be, and whose they are.

No answer depends on it. It holds no text: only paths, and the git blob ids of what stands there.
For each decision it has the files that clusters get, where each transport puts them.

It also counts what clusters are given without what it needs: kinds without definitions, and
Namespaces. A cluster may have both from elsewhere. Where it has not, Flux applies nothing of its
folder.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from reconciler.delivery.carriage import Carriage, carry, not_carried
from reconciler.delivery.refusals import Renamed
from reconciler.delivery.settings import Destination, Folder
from reconciler.delivery.transports import TRANSPORTS
from reconciler.dialects.reads import ReadIndex
from reconciler.dialects.renderer import Instruction, Reach, Rendered, Renderers, Wraps
from reconciler.errors import UserError
from reconciler.manifests.identity import CRD, KUBERNETES, is_built_in
from reconciler.manifests.paths import blob_id
from reconciler.manifests.text.emitter import Known, encode_alike
from reconciler.model.body import Body
from reconciler.model.fields import at
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import AnswerCache
from reconciler.model.settings import Settings
from reconciler.model.text import enumerated
from reconciler.model.world import Fault, World

NAMESPACE: Kind = ("", "Namespace")
ByName = tuple[tuple[str, tuple[ClusterName, ...]], ...]
"""Clusters by the name of a Namespace; a tuple, since there is one of each decision."""


@dataclass(frozen=True, slots=True)
class CustomObjects:
    """What one decision puts onto clusters.

    Attributes:
        used: Kinds that Kubernetes does not ship.
        defined: CustomResourceDefinitions.
        namespaces: Namespaces in which it puts something, each with the clusters.
        brought: Namespaces that it puts onto clusters, each with these.
    """

    used: frozenset[tuple[Kind, ClusterName]] = frozenset()
    defined: frozenset[tuple[ObjectKey, ClusterName]] = frozenset()
    namespaces: ByName = ()
    brought: ByName = ()


def custom_objects(rendered: Rendered) -> CustomObjects:
    """Return what a decision puts onto clusters beside what every cluster knows."""
    used, defined = set(), set()
    inside: defaultdict[str, dict[ClusterName, None]] = defaultdict(dict)
    brought: defaultdict[str, dict[ClusterName, None]] = defaultdict(dict)
    for work in rendered.works:
        for key in work.manifests:
            kind = (key.group, key.kind)
            if key.namespace:
                inside[key.namespace][work.cluster] = None
            elif kind == NAMESPACE:
                brought[key.name][work.cluster] = None
            if kind == CRD:
                defined.add((key, work.cluster))
            elif kind not in KUBERNETES:
                used.add((kind, work.cluster))
    return CustomObjects(frozenset(used), frozenset(defined), _by_name(inside), _by_name(brought))


def _by_name(found: Mapping[str, Iterable[ClusterName]]) -> ByName:
    return tuple((name, tuple(clusters)) for name, clusters in found.items())


@dataclass(slots=True, eq=False)
class DefinitionTable:
    """How many decisions bring a kind, a definition or a Namespace; it is changed in place."""

    _used: dict[Kind, Counter[ClusterName]] = field(default_factory=dict)
    _defined: dict[ObjectKey, Counter[ClusterName]] = field(default_factory=dict)
    _inside: dict[str, Counter[ClusterName]] = field(default_factory=dict)
    _brought: dict[str, Counter[ClusterName]] = field(default_factory=dict)
    _touched: set[str] = field(default_factory=set)
    _lacking: dict[str, tuple[ClusterName, ...]] = field(default_factory=dict)

    def put(self, before: CustomObjects, after: CustomObjects) -> None:
        """Replace what one decision brings."""
        for step, custom in ((-1, before), (1, after)):
            for kind, cluster in custom.used:
                self._used.setdefault(kind, Counter())[cluster] += step
            for key, cluster in custom.defined:
                self._defined.setdefault(key, Counter())[cluster] += step
            for table, listed in (
                (self._inside, custom.namespaces),
                (self._brought, custom.brought),
            ):
                for name, clusters in listed:
                    self._touched.add(name)
                    counter = table.setdefault(name, Counter())
                    for cluster in clusters:
                        counter[cluster] += step

    def without_namespace(self) -> Iterator[str]:
        """Yield each Namespace that does not go to each cluster that gets something in it."""
        for name in self._touched:
            inside, brought = self._inside.get(name), self._brought.get(name)
            there = {one for one, count in (brought or {}).items() if count}
            gets = {one for one, count in (inside or {}).items() if count}
            self._lacking[name] = tuple(sorted(gets - there))
        self._touched.clear()
        for name, lacking in sorted(self._lacking.items()):
            if lacking and not is_built_in(ObjectKey(*NAMESPACE, "", name)):
                yield (
                    f"objects in the Namespace {name} go to {enumerated(lacking, NAMED)}, where "
                    "nothing brings it, so that they only come to clusters that have it"
                )

    def missing(self, world: World) -> Iterator[str]:
        """Yield each kind that is defined in the repository, and not in each cluster that gets it.

        Of a kind whose definition is not in the repository nothing is said: whatever brings it to
        the clusters, delivery does not.
        """
        for definition in world.of_kind(*CRD):
            spec = at(definition.body, "spec")
            kind = str(spec.get("group", "")), str(at(spec, "names").get("kind", ""))
            there = +self._defined.get(definition.key, Counter())
            lacking = sorted((+self._used.get(kind, Counter())).keys() - there.keys())
            if lacking:
                yield (
                    f"objects of kind {kind[1]} go to {enumerated(lacking, NAMED)}, where the "
                    f"CustomResourceDefinition {definition.key.name} does not go"
                )


NOT_RENDERED = "delivery-not-rendered"
LARGEST = 1_572_864
"""Bytes of an object, as JSON, that etcd takes by default.

Source: etcd server/embed/config.go `DefaultMaxRequestBytes`.
"""
NAMED = 3  # clusters that are named in a fault


class FileOwner(NamedTuple):
    """A decision, and the API that it is of."""

    dialect: str
    key: ObjectKey


@dataclass(frozen=True, slots=True)
class OwnedFiles:
    """The files of one decision.

    Attributes:
        blobs: Path to the git blob id of what should stand there.
        renamed: The files whose objects overrides gave another identity, with the path at which an
            object of that identity would stand by itself.
        kept: Files and folders in which what is there stays.
        leaving: Path to the blob id of what stands there where nothing stands yet.
        known: Files and folders in which only what is there is written anew.
        outliving: The transports whose files stay once the decision is gone.
        not_carried: What is asked of which objects and a transport does not carry.
        faults: Why clusters get nothing new.
        warnings: What a person should know.
        custom: What it brings beside what every cluster knows.
    """

    blobs: Mapping[str, str]
    renamed: Mapping[str, str]
    kept: frozenset[str]
    leaving: Mapping[str, str]
    known: frozenset[str]
    outliving: frozenset[str]
    not_carried: tuple["NotCarried", ...]
    faults: tuple[Fault, ...]
    warnings: tuple[str, ...]
    custom: CustomObjects


class NotCarried(NamedTuple):
    """What is asked of an object, and the transport that does not carry it."""

    instruction: Instruction
    transport: str
    source: ObjectKey


def carriages_of(
    rendered: Rendered, destinations: Iterable[Destination]
) -> dict[Destination, Carriage]:
    """Return what each transport delivers of a decision."""
    return {
        one: carry(rendered, one.transport, apart=TRANSPORTS[one.transport].kustomized)
        for one in destinations
    }


def texts_of(
    owner: FileOwner, rendered: Rendered, destinations: Iterable[Destination], wraps: Wraps
) -> dict[str, str]:
    """Return the files of a decision: path to text.

    Raises:
        UserError: One of them cannot be written, or no API server takes it.
    """
    alike: Known = {}  # many clusters get what is alike
    return {
        path: _text(path, content, alike)
        for destination, carriage in carriages_of(rendered, destinations).items()
        for path, content in TRANSPORTS[destination.transport].files(
            owner.key, carriage.rendered, destination, wraps
        )
    }


def leaving_texts(
    owner: FileOwner, rendered: Rendered, destinations: Iterable[Destination], wraps: Wraps
) -> dict[str, str]:
    """Return the files of what leaves clusters; none of them where one cannot be written."""
    leaving = Rendered(path=rendered.path, works=rendered.leaving)
    try:
        return texts_of(owner, leaving, destinations, wraps)
    except UserError:
        return {}


def owned_files(
    owner: FileOwner,
    rendered: Rendered,
    renamed: Renamed,
    texts: Mapping[str, str],
    leaving: Mapping[str, str],
    reach: Reach,
    destinations: Iterable[Destination],
    *,
    like: str,
) -> OwnedFiles:
    """Return what is remembered of a decision's files, their texts left out.

    Args:
        owner: The decision.
        rendered: What clusters get.
        renamed: What of it overrides gave another identity.
        texts: The files of it.
        leaving: Those of what leaves clusters.
        reach: What of it may be where.
        destinations: Where to.
        like: A git id, whose format blob ids have.
    """
    stays = rendered.kept.union(failure.cluster for failure in rendered.failed)
    carriages = carriages_of(rendered, destinations)
    held = ((destination, carriage.stays) for destination, carriage in carriages.items())
    known = ((destination, carriage.known) for destination, carriage in carriages.items())
    return OwnedFiles(
        blobs={path: blob_id(text.encode(), like=like) for path, text in texts.items()},
        renamed={
            path: place
            for path, place in _renamed(owner.key, renamed, destinations)
            if path in texts
        },
        kept=frozenset(places(owner.key, reach, stays, destinations)).union(
            *(places(owner.key, found, found, [one]) for one, found in held)
        ),
        known=frozenset[str]().union(
            *(places(owner.key, found, found, [one]) for one, found in known)
        ),
        outliving=frozenset(
            one.transport for one, carriage in carriages.items() if carriage.outlives
        ),
        not_carried=tuple(
            NotCarried(instruction, destination.transport, source)
            for destination, carriage in carriages.items()
            for instruction in not_carried(carriage, destination.transport)
            for source in sorted(carriage.asked[instruction])
        ),
        leaving={path: blob_id(text.encode(), like=like) for path, text in leaving.items()},
        faults=tuple(_faults(owner, rendered)),
        warnings=rendered.warnings,
        custom=custom_objects(rendered),
    )


def places(
    owner: ObjectKey,
    reach: Reach,
    clusters: Iterable[ClusterName],
    destinations: Iterable[Destination],
) -> Iterator[str]:
    """Yield the files, or folders of files, that a decision may have for some clusters."""
    for destination in destinations:
        for cluster in clusters:
            sources = reach.get(cluster, ())
            yield from TRANSPORTS[destination.transport].places(
                owner, cluster, sources, destination
            )


def _renamed(
    owner: ObjectKey, renamed: Renamed, destinations: Iterable[Destination]
) -> Iterator[tuple[str, str]]:
    """Yield each file of a renamed object, and where one of its identity stands by itself."""
    for destination in destinations:
        transport = TRANSPORTS[destination.transport]
        for (cluster, source), key in renamed.items() if transport.kustomized else ():
            path, place = transport.places(owner, cluster, (source, key), destination)
            yield path, place


def is_in(path: str, found: frozenset[str]) -> bool:
    """Return whether a file is one of some files, or in one of some folders.

    >>> is_in("a/b/c.yaml", frozenset({"a/b"}))
    True
    """
    return any(place in found for place in at_and_above(path))


def at_and_above(path: str) -> Iterator[str]:
    """Yield a path, and the folders that it leads through, the nearest first.

    >>> list(at_and_above("a/b/c.yaml"))
    ['a/b/c.yaml', 'a/b', 'a']
    """
    while path:
        yield path
        path = path.rpartition("/")[0]


def _text(path: str, content: Body | Sequence[Body], known: Known) -> str:
    """Return what a file holds.

    Raises:
        UserError: It cannot be written, or no API server takes it.
    """
    if not isinstance(content, Mapping):
        return f"{json.dumps(content, indent=2, ensure_ascii=False)}\n"
    try:
        text = encode_alike(content, known)
    except ValueError as error:
        raise UserError(f"{path} cannot be written: {error}") from None
    if len(text) * 2 > LARGEST:  # quotes and braces do not double a document
        size = len(
            json.dumps(content, separators=(",", ":"), ensure_ascii=False, default=dict).encode()
        )
        if size > LARGEST:
            raise UserError(f"{path} has {size} bytes, more than the {LARGEST} that etcd takes")
    return text


def _faults(owner: FileOwner, rendered: Rendered) -> Iterator[Fault]:
    """Yield a fault for each reason, with the clusters that it concerns."""
    reasons: dict[str, list[str]] = {}
    for failure in rendered.failed:
        reasons.setdefault(failure.message, []).append(failure.cluster)
    for reason, clusters in reasons.items():
        yield Fault.of_file(
            rendered.path,
            rule=NOT_RENDERED,
            message=f"{owner.key.plain} is not delivered to {enumerated(clusters, NAMED)}: "
            f"{reason}",
            expected="what is there of it stays until it can be rendered",
            subject=str(owner.key),
        )


NO_CUSTOM = CustomObjects()


@dataclass(slots=True, eq=False)
class DeliveryMemory:
    """The files of each decision, and for each file the decisions that claim it.

    Attributes:
        renderers: What renders, by the name of its API.
        wraps: How objects of one API carry what any decides.
        owned: The files of each decision.
        reads: By API what each decision asked when it was rendered.
        fleet: The clusters of all APIs.
        kustomized: The folders that have a kustomization.yaml whether or not files are in them.
        kustomized_for: The destinations and clusters that these are of.
        claims: The decisions that claim a file, sorted; the first one has it.
        shared: The files that several claim.
        leaving: The decisions that leave a file where it stands and write it where none does,
            sorted; the first one has it.
        merged: Those of them in which all have one object, with the blob id of that.
        renamed: The files whose objects overrides gave another identity, by where an object of that
            identity would stand by itself.
        world: As it was rendered last, `None` before.
        settings: Under which.
        present: Path to blob id of the files that stood there then.
        left: Those of them that nobody claims, but for what kustomize reads.
        lacking: Files that should stand there and do not, or not as they are.
        stirred: Folders whose kustomization.yaml may not be as it should be.
        folders: The files of each cluster's folder, as they stood there.
        kustomizations: The files that stood there and that kustomize reads.
        keeping: Decisions that leave files where they are.
        unread: Decisions that cannot be read.
        known: Decisions that are written only where their files are.
        outliving: Decisions whose files stay once they are gone.
        telling: Decisions of which something is to be told.
        definitions: Custom kinds that clusters get.
    """

    renderers: Mapping[str, Renderers]
    wraps: Wraps
    owned: dict[FileOwner, OwnedFiles] = field(default_factory=dict)
    reads: defaultdict[str, ReadIndex[FileOwner]] = field(
        default_factory=lambda: defaultdict(ReadIndex)
    )
    fleet: AnswerCache[None, frozenset[ClusterName]] = field(default_factory=AnswerCache)
    kustomized: frozenset[Folder] = frozenset()
    kustomized_for: tuple[Collection[Destination], frozenset[ClusterName]] | None = None
    claims: dict[str, tuple[FileOwner, ...]] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    leaving: dict[str, tuple[FileOwner, ...]] = field(default_factory=dict)
    merged: dict[str, str] = field(default_factory=dict)
    renamed: dict[str, frozenset[str]] = field(default_factory=dict)
    world: World | None = None
    settings: Settings | None = None
    present: Mapping[str, str] = field(default_factory=dict)
    left: set[str] = field(default_factory=set)
    lacking: set[str] = field(default_factory=set)
    stirred: set[Folder] = field(default_factory=set)
    folders: dict[Folder, set[str]] = field(default_factory=lambda: defaultdict(set))
    kustomizations: set[str] = field(default_factory=set)
    keeping: set[FileOwner] = field(default_factory=set)
    unread: set[FileOwner] = field(default_factory=set)
    known: set[FileOwner] = field(default_factory=set)
    outliving: set[FileOwner] = field(default_factory=set)
    telling: set[FileOwner] = field(default_factory=set)
    definitions: DefinitionTable = field(default_factory=DefinitionTable)

    def forget_files(self) -> None:
        """Forget which files stood there, since it is another question whose they are."""
        self.present, self.kustomized_for = {}, None
        for table in (self.left, self.lacking, self.stirred, self.folders, self.kustomizations):
            table.clear()

    def put(self, owner: FileOwner, files: OwnedFiles | None) -> set[str]:
        """Replace the files of a decision, and return the paths that it has or had."""
        before = self.owned.pop(owner, None)
        old = frozenset[str]() if before is None else before.blobs.keys()
        new = frozenset[str]() if files is None else files.blobs.keys()
        self.definitions.put(
            NO_CUSTOM if before is None else before.custom,
            NO_CUSTOM if files is None else files.custom,
        )
        for table in (self.keeping, self.known, self.outliving, self.telling):
            table.discard(owner)
        if files is not None:
            self.owned[owner] = files
            for table, concerned in (
                (self.keeping, files.kept),
                (self.known, files.known),
                (self.outliving, files.outliving),
                (self.telling, files.faults or files.warnings or files.not_carried),
            ):
                if concerned:
                    table.add(owner)
        self._rename({} if before is None else before.renamed, frozenset.difference)
        self._rename({} if files is None else files.renamed, frozenset.union)
        past = frozenset[str]() if before is None else before.leaving.keys()
        now = frozenset[str]() if files is None else files.leaving.keys()
        for path in past | now:
            owners = {*self.leaving.pop(path, ())} - {owner} | ({owner} if path in now else set())
            if owners:
                self.leaving[path] = tuple(sorted(owners))
        for path in old - new:
            self._claimed(path, [other for other in self.claims[path] if other != owner])
        alone = (owner,)  # one for all files, since nearly all are claimed once
        for path in new - old:
            others = self.claims.setdefault(path, alone)
            if others is not alone:
                self._claimed(path, sorted((*others, owner)))
        return {*old, *new, *past, *now}

    def _rename(
        self,
        renamed: Mapping[str, str],
        change: Callable[[frozenset[str], frozenset[str]], frozenset[str]],
    ) -> None:
        """Add renamed files, or take them away."""
        for path, place in renamed.items():
            paths = change(self.renamed.pop(place, frozenset()), frozenset({path}))
            if paths:
                self.renamed[place] = paths

    def identity_of(self, path: str) -> str:
        """Return where the object of a claimed file would stand by itself."""
        return self.owned[self.claims[path][0]].renamed.get(path, path)

    def _claimed(self, path: str, owners: Iterable[FileOwner]) -> None:
        claims = tuple(owners)
        if claims:
            self.claims[path] = claims
        else:
            del self.claims[path]
        (self.shared.add if len(claims) > 1 else self.shared.discard)(path)

    def is_contested(self, path: str) -> bool:
        """Return whether several decisions put something different into a file."""
        if path not in self.shared:
            return False
        first, *others = (self.owned[owner].blobs[path] for owner in self.claims[path])
        return any(one != first for one in others)

    def compare(self, paths: Collection[str]) -> None:
        """Find out which of some files nobody claims, and which are not as they should be."""
        self.left.difference_update(paths)
        self.lacking.difference_update(paths)
        for path in paths:
            wanted, there = self.blob(path), self.present.get(path)
            if wanted is None and there is not None:
                self.left.add(path)
            elif wanted != there or (there is None and path in self.leaving):
                self.lacking.add(path)

    def writer(self, path: str) -> FileOwner:
        """Return the decision that writes a file."""
        return (self.claims.get(path) or self.leaving[path])[0]

    def blob(self, path: str) -> str | None:
        """Return the blob id that should stand at a path, `None` if nothing should."""
        if path in self.merged:
            return self.merged[path]
        claims = self.claims.get(path)
        return self.owned[claims[0]].blobs[path] if claims else None

"""The stage of delivery in a pass: which files of clusters are written, and which go.

Beside the files it returns what is wrong with decisions, and what is worth knowing of them. Two
decisions may want the same file: what both put there is delivered once if it is the same object.
Each API adds labels and annotations of its own to what it brings. Where nothing else differs, and
none of these names has two values, the file has those of both; a decision that leaves takes its own
away.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from reconciler.delivery.carriage import NOT_CARRIED, TABLE
from reconciler.delivery.kustomization import is_kustomization, kustomize, kustomized_folder
from reconciler.delivery.memory import (
    DeliveryMemory,
    FileOwner,
    OwnedFiles,
    is_in,
    leaving_texts,
    owned_files,
    texts_of,
)
from reconciler.delivery.pruning import (
    DeliveryHolds,
    Leftovers,
    OutlivingFiles,
    PassMoves,
    Pruning,
    explained_by,
    holds_of,
    outliving_files,
    prune,
    reach_of,
    taken_by_known,
)
from reconciler.delivery.refusals import without_refused
from reconciler.delivery.settings import (
    DeliverySettings,
    Destination,
    Outliving,
    by_folder,
    decode_delivery,
    delivery_body,
    destinations_in,
    misplaced,
    outliving_in,
    recorded,
)
from reconciler.delivery.transports import DECISIONS, moved_path
from reconciler.dialects.object_pass import Failed, FaultPlace, attempt
from reconciler.dialects.reads import Question
from reconciler.dialects.renderer import (
    Affected,
    Instruction,
    NotRendered,
    Reach,
    Rendered,
    Renderer,
)
from reconciler.errors import UserError
from reconciler.manifests.paths import DELIVERY, blob_id
from reconciler.manifests.text.emitter import encode
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.fields import at
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import differing_keys
from reconciler.model.settings import Settings
from reconciler.model.text import enumerated
from reconciler.model.world import Fault, Trace, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What delivery wants: files to write and to delete, its record, and what is to be told.

    `record` is `None` where nothing is delivered anywhere.
    """

    written: Mapping[str, str] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()
    record: Body | None = None
    faults: tuple[Fault, ...] = ()
    traces: tuple[Trace, ...] = ()
    warnings: tuple[str, ...] = ()


ANYTHING: Question = ("anything",)
"""What a decision asks that could not be rendered for a reason that nobody foresaw."""


def deliver(world: World, after: World, settings: Settings, memory: DeliveryMemory) -> Delivered:
    """Return what changes in the files of clusters.

    Args:
        world: As the pass found it; which files there are.
        after: As the pass leaves it; what should be where.
        settings: Of the repository.
        memory: What earlier passes found out.
    """
    configured = decode_delivery(settings).on("")
    earlier = recorded(world.outputs)
    if not configured.destinations and not earlier:
        return Delivered()
    fault = misplaced(configured.destinations, world.output_root)
    if fault is not None:
        return Delivered(record=delivery_body(earlier) if earlier else None, faults=(fault,))
    written = world.outputs.get(DELIVERY)
    outliving = outliving_in(None if written is None else written.body)
    return _stage(world, after, settings, configured, earlier, outliving, memory).run()


def deliver_to(
    branch: str,
    world: World,
    after: World,
    settings: Settings,
    record: Body | None,
    memory: DeliveryMemory,
) -> Delivered:
    """Return what changes on another branch, which follows the one that is served.

    A transport that is switched off leaves its files there as they are.

    Args:
        branch: Its name.
        world: That was delivered there last, with the files that are there now.
        after: The world that is to be delivered.
        settings: Of the repository.
        record: What `delivery.yaml` on that branch says, `None` if it has none.
        memory: What earlier deliveries to this branch found out.
    """
    configured = decode_delivery(settings).on(branch)
    fault = misplaced(configured.destinations, DELIVERY.name)
    if fault is not None:
        return Delivered(faults=(fault,))
    destinations = () if record is None else destinations_in(record)
    earlier = tuple(replace(destination, branch=branch) for destination in destinations)
    outliving = outliving_in(record)
    return _stage(world, after, settings, configured, earlier, outliving, memory).run()


def _stage(
    world: World,
    after: World,
    settings: Settings,
    configured: DeliverySettings,
    earlier: tuple[Destination, ...],
    outliving: Outliving,
    memory: DeliveryMemory,
) -> "_Stage":
    return _Stage(
        world=world,
        after=after,
        settings=settings,
        configured=configured,
        earlier=earlier,
        outliving=outliving,
        memory=memory,
        renderers={name: one.of(after, settings) for name, one in sorted(memory.renderers.items())},
    )


@dataclass(slots=True, eq=False, kw_only=True)
class _Stage:
    """One run; `texts` are those of files that are to be written, by the decision and the path."""

    world: World
    after: World
    settings: Settings
    configured: DeliverySettings
    earlier: tuple[Destination, ...]
    outliving: Outliving
    memory: DeliveryMemory
    renderers: Mapping[str, Renderer]
    texts: dict[FileOwner, dict[str, str]] = field(default_factory=dict)
    traces: list[Trace] = field(default_factory=list)

    def run(self) -> Delivered:
        """Render what changed, compare with the files, and hold back what must not go."""
        memory = self.memory
        stale = self._stale()
        paths = self._follow()
        for owner in stale:
            paths |= memory.put(owner, self._render(owner))
        self._merge(paths)
        memory.compare(paths)
        fleet = self._fleet()
        holds = holds_of(memory, self.configured, fleet, self.world.obstacles)
        pruning, outliving = self._prune(holds)
        waiting = pruning.waiting
        only_there = frozenset(place for one in memory.known for place in memory.owned[one].known)
        written = {
            path: self._text(path)
            for path in holds.without(sorted(memory.lacking))
            if not any(destination.holds(path) for destination in waiting)
            and (path in memory.present or not is_in(path, only_there))
        }
        written |= {path: text for path, text in outliving.marked.items() if path in pruning.held}
        gone = set(pruning.gone)
        kustomize(memory, self.configured, fleet, written, gone, waiting, self._blob)
        memory.world, memory.settings = self.after, self.settings
        gone = set(holds.without(gone))
        outliving_now = Outliving(
            tuple(sorted(owner.key for owner in memory.outliving)),
            tuple(sorted(file for path, file in outliving.stay.items() if path in pruning.held)),
        )
        # Where delivery ends, what cannot be rendered concerns nobody any more.
        own = faults_of(memory) if self.configured.destinations else ()
        return Delivered(
            written={path: written[path] for path in holds.without(written)},
            gone=frozenset(gone),
            record=self._record(waiting | holds.destinations, gone, outliving_now),
            faults=(*own, *holds.faults, *pruning.faults),
            traces=tuple(self.traces),
            warnings=tuple(warnings_of(memory, self.after, self.configured.destinations)),
        )

    def _follow(self) -> set[str]:
        """Take note of the files that are others than before, and return them.

        Those that kustomize reads are no decision's, and are left out.
        """
        memory, present = self.memory, self.world.delivered
        moved = set(differing_keys(present, memory.present))
        own = {
            path: kustomized_folder(path, self.configured)
            for path in moved
            if is_kustomization(path)
        }
        own = {path: folder for path, folder in own.items() if folder is not None}
        moved -= own.keys()
        for folder, paths in by_folder(moved, self.configured.destinations).items():
            files = memory.folders[folder]
            files.difference_update(paths)
            files.update(path for path in paths if path in present)
            memory.stirred.add(folder)
        memory.stirred.update(folder for folder in own.values() if folder is not None)
        memory.kustomizations.difference_update(own)
        memory.kustomizations.update(path for path in own if path in present)
        memory.present = present
        return moved

    def _stale(self) -> list[FileOwner]:
        """Return the decisions that may have other files than before, sorted."""
        memory = self.memory
        if memory.world is None or memory.settings != self.settings:
            memory.forget_files()
            owners = set(memory.owned)
            for name, renderer in self.renderers.items():
                owners |= {FileOwner(name, key) for key in renderer.owners()}
            return sorted(owners)
        stale: set[FileOwner] = set()
        for name, renderers in memory.renderers.items():
            affected = renderers.affected(memory.world, self.after)
            if affected is None:
                stale |= {owner for owner in memory.owned if owner.dialect == name}
                affected = Affected(set(self.renderers[name].owners()))
            stale |= {FileOwner(name, key) for key in affected.own}
            for question in {*affected.questions, ANYTHING} if affected.questions else ():
                stale |= memory.reads[name].asking(question)
        return sorted(stale)

    def _render(self, owner: FileOwner) -> OwnedFiles | None:
        """Return the files of a decision; whatever stops it is a fault of that decision."""
        renderer, destinations = self.renderers[owner.dialect], self.configured.destinations
        place = FaultPlace(owner.key.name, str(owner.key))
        found = attempt(partial(renderer.render, owner.key), lambda: place)
        self.memory.unread.discard(owner)
        if isinstance(found, Failed):
            self.traces.append(Trace(found.fault, found.trace))
            failed = tuple(NotRendered(name, found.message) for name in self._may_be(owner))
            found = Rendered(path=found.fault.path, failed=failed, reads=frozenset({ANYTHING}))
        if found is None:
            self.memory.reads[owner.dialect].drop(owner)
            return None
        self.memory.reads[owner.dialect].put(owner, found.reads)
        rendered, renamed = without_refused(found, self.configured, self.world.known)
        gone, _ = without_refused(
            Rendered(path=found.path, works=found.leaving), self.configured, self.world.known
        )
        rendered = replace(rendered, leaving=gone.works)
        leaving = leaving_texts(owner, rendered, destinations, self.memory.wraps)
        try:
            texts = texts_of(owner, rendered, destinations, self.memory.wraps)
        except UserError as error:
            failed = tuple(NotRendered(name, error.message) for name in self._may_be(owner))
            rendered, renamed, texts = Rendered(path=rendered.path, failed=failed), {}, {}
        reach = self._may_be(owner) if rendered.failed or rendered.kept else {}
        files = owned_files(
            owner, rendered, renamed, texts, leaving, reach, destinations, like=self.world.revision
        )
        present = self.world.delivered
        alone, claims = (owner,), self.memory.claims
        self.texts[owner] = {path: leaving[path] for path in leaving if path not in present} | {
            path: texts[path]
            for path, blob in files.blobs.items()
            if present.get(path) != blob or claims.get(path, alone) != alone
        }
        return files

    def _may_be(self, owner: FileOwner) -> Reach:
        """Return what of a decision may be where; it is remembered if that cannot be read."""
        reach = reach_of(self.renderers[owner.dialect], owner.key)
        if reach is None:
            self.memory.unread.add(owner)
        return reach or {}

    def _merge(self, paths: Iterable[str]) -> None:
        """Find out in which of some files several decisions have one object."""
        memory = self.memory
        for path in paths:
            memory.merged.pop(path, None)
            text = self._merged(path) if memory.is_contested(path) else None
            if text is not None:
                memory.merged[path] = self._blob(text)

    def _merged(self, path: str) -> str | None:
        """Return what several decisions put into a file together, `None` if they differ."""
        owners = self.memory.claims[path]
        return merged_text(path, [self._text_of(owner, path) for owner in owners])

    def _text(self, path: str) -> str:
        """Return what should stand in a file."""
        merged = self._merged(path) if path in self.memory.merged else None
        return self._text_of(self.memory.writer(path), path) if merged is None else merged

    def _text_of(self, owner: FileOwner, path: str) -> str:
        if path not in self.texts.get(owner, ()):
            self._render(owner)
        return self.texts[owner][path]

    def _prune(self, holds: DeliveryHolds) -> tuple[Pruning, OutlivingFiles]:
        """Return which of the files that nobody claims go, and which stay for their objects."""
        memory = self.memory
        left = frozenset(holds.without(memory.left)) - self._kept()
        replaced = {
            destination: frozenset(
                path
                for path in holds.without(memory.lacking & memory.present.keys())
                if destination.holds(path)
            )
            for destination in self.configured.destinations
            if destination not in self.earlier
        }
        if not left and not any(replaced.values()):
            return Pruning(), OutlivingFiles()
        moves = self._moves()
        outliving = outliving_files(left, moves, self.outliving, memory.wraps)
        explained = explained_by(moves)
        leftovers = Leftovers(
            left=left,
            configured=self.configured.destinations,
            recorded=self.earlier,
            sizes={folder: len(files) for folder, files in memory.folders.items()},
            replaced=replaced,
            is_explained=lambda path: (
                path in outliving.released or moved_path(path) in memory.claims or explained(path)
            ),
            doubtful=bool(self.world.frozen or memory.unread),
            outliving=outliving.stay,
        )
        return prune(leftovers, self.settings.safety), outliving

    def _kept(self) -> frozenset[str]:
        """Return which of the files that nobody claims stay, for a decision keeps what it had."""
        memory = self.memory
        stays = frozenset(place for owner in memory.keeping for place in memory.owned[owner].kept)
        whole = stays.intersection(folder.path for folder in memory.folders) if stays else stays
        is_taken = taken_by_known(self._moves()) if whole else None
        return frozenset(
            path
            for path in memory.left
            if is_in(path, stays - whole)
            or (is_taken is not None and is_in(path, whole) and not is_taken(path))
        )

    def _moves(self) -> PassMoves:
        renderers = self.memory.renderers.items()
        return PassMoves(
            before=self.world,
            after=self.after,
            then={name: renderer.of(self.world, self.settings) for name, renderer in renderers},
            now=self.renderers,
            affected={name: one.affected(self.world, self.after) for name, one in renderers},
            destinations=self.configured.destinations,
        )

    def _fleet(self) -> frozenset[ClusterName]:
        """Return the clusters of all APIs, the very same ones while they stay."""
        names = tuple(renderer.clusters() for renderer in self.renderers.values())
        fleet = self.memory.fleet.recall(None, names, lambda: frozenset(chain.from_iterable(names)))
        self.memory.fleet.forget()
        return fleet

    def _blob(self, text: str) -> str:
        return blob_id(text.encode(), like=self.world.revision)

    def _record(
        self, waiting: frozenset[Destination], gone: set[str], outliving: Outliving
    ) -> Body | None:
        """Return the record: where is delivered to, and where files of before still are.

        Where nothing was ever delivered, and nothing is now, nothing is ours.
        """
        waiting -= frozenset(self.earlier)
        left = set(self.earlier) - set(self.configured.destinations)
        stay = [path for path in self.memory.present if path not in gone] if left else []
        remaining = {destination for destination in left if any(map(destination.holds, stay))}
        now = {*self.configured.destinations, *remaining} - waiting
        return delivery_body(now, outliving) if now else None


CONFLICT = "delivery-conflict"
NAMED = 3  # objects that are named in a sentence


def faults_of(memory: DeliveryMemory) -> Iterator[Fault]:
    """Yield what is wrong with decisions, and what two of them want at one path."""
    for owner in sorted(memory.telling):
        yield from memory.owned[owner].faults
    for path in sorted(memory.shared - memory.merged.keys()):
        first, *others = memory.claims[path]
        for other in others:
            if memory.owned[other].blobs[path] != memory.owned[first].blobs[path]:
                yield _conflict(path, first.key, other.key)


def warnings_of(
    memory: DeliveryMemory, world: World, destinations: Iterable[Destination]
) -> Iterator[str]:
    """Yield what a person should know of single decisions, and of all of them together."""
    for owner in sorted(memory.telling):
        yield from memory.owned[owner].warnings
    yield from _not_carried(memory)
    if any(destination.transport != DECISIONS.name for destination in destinations):
        yield from memory.definitions.missing(world)
        yield from memory.definitions.without_namespace()


def _not_carried(memory: DeliveryMemory) -> Iterator[str]:
    """Yield what is asked and not carried: a sentence an instruction and transport."""
    objects: defaultdict[tuple[Instruction, str], set[ObjectKey]] = defaultdict(set)
    for owner in memory.telling:
        for asked in memory.owned[owner].not_carried:
            objects[asked.instruction, asked.transport].add(asked.source)
    for (instruction, transport), sources in sorted(objects.items()):
        what = enumerated(map(str, sorted(sources)), NAMED)
        yield f"{not_carried_text(instruction, transport)} ({NOT_CARRIED}): {what}"


def not_carried_text(instruction: Instruction, transport: str) -> str:
    """Return that a transport does not carry what is asked, and what happens instead."""
    return f"`{instruction}` is not carried by {transport}: {TABLE[instruction][transport].by}"


def _conflict(path: str, first: ObjectKey, other: ObjectKey) -> Fault:
    return Fault.of_file(
        path,
        rule=CONFLICT,
        message=f"{first} and {other} put different objects there; that of {first} stands",
        expected="one decision for each object on a cluster",
        subject=str(other),
    )


SETS = ("labels", "annotations")


def merged_text(path: str, texts: Sequence[str]) -> str | None:
    """Return what stands in a file of several decisions, `None` if they put other objects there.

    Args:
        path: Of the file.
        texts: What each puts there, in the order of the decisions.
    """
    if not path.endswith(".yaml"):
        return None
    bodies = [read(text.encode(), path).documents[0].body for text in texts]
    merged = bodies[0]
    for other in bodies[1:]:
        joint = _merged(merged, other)
        if joint is None:
            return None
        merged = joint
    return encode(merged)


def _merged(one: Body, other: Body) -> Body | None:
    if _bare(one) != _bare(other):
        return None
    metadata = dict(at(one, "metadata"))
    for name in SETS:
        mine, theirs = at(one, "metadata", name), at(other, "metadata", name)
        if any(mine[key] != theirs[key] for key in mine.keys() & theirs.keys()):
            return None
        if mine or theirs:
            metadata[name] = {**mine, **theirs}
    return {**one, "metadata": metadata}


def _bare(body: Body) -> Body:
    """Return an object without what each API adds to it."""
    metadata = {name: value for name, value in at(body, "metadata").items() if name not in SETS}
    return {**body, "metadata": metadata}

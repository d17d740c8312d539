"""What each placement selects, asked again only where something changed that it could select."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from reconciler.dialects import object_reads
from reconciler.dialects.followed_index import Followed, FollowedIndex
from reconciler.dialects.kubefleet.api.names import NAMESPACE
from reconciler.dialects.kubefleet.snapshots.resource_selection import (
    SelectedResources,
    kind_of,
    labels_of_selector,
    may_match,
    select_resources,
)
from reconciler.dialects.object_reads import RecordedMapping
from reconciler.dialects.read_index import Question
from reconciler.dialects.read_table import ReadTable
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind, KnownKinds
from reconciler.model.labels import LabelSelector
from reconciler.model.world import Manifest, World

SERVICE = ("", "Service")
ENDPOINTS = ("", "Endpoints")


@dataclass(frozen=True, slots=True)
class PlacementQuestion:
    """A placement as far as its selection goes; `body` is its document."""

    key: ObjectKey
    body: Body
    selectors: tuple[Body, ...]


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the document of a placement selects."""

    body: Body
    selection: SelectedResources


class SelectableDocuments:
    """The documents of a world as selectors ask for them; each question is recorded.

    Attributes:
        reads: What was asked.
        inputs: Documents by key.
        blobs: Path to git blob id.
        known: Scopes of kinds.
    """

    def __init__(self, world: World, content: FollowedIndex[str, Manifest]) -> None:
        """Look into a world, of which `content` has the documents by namespace."""
        self.reads = set[Question]()
        self.inputs = RecordedMapping(
            world.inputs, lambda key: object_reads.named(key[:2], key.name), self.reads
        )
        self.blobs = RecordedMapping(world.blobs, object_reads.in_file, self.reads)
        self.known = world.known
        self._of_kind, self._content = world.of_kind, content

    def of_kind(self, kind: Kind, name: str, labels: LabelSelector | None) -> Iterable[Manifest]:
        """Return the documents of a kind, among them all that have the name, or the labels."""
        self.reads.update(object_reads.selected(kind, name, labels))
        return self._of_kind(*kind)

    def within(self, namespace: str) -> Iterable[Manifest]:
        """Return the documents of a namespace."""
        self.reads.add(object_reads.within(namespace))
        return self._content.found(namespace).values()


def _by_namespace() -> FollowedIndex[str, Manifest]:
    """Return an index of documents by namespace."""
    return FollowedIndex(lambda key, _: (key.namespace,))


@dataclass(slots=True, eq=False)
class SelectionTable:
    """The selections of one repository, in the round that looked last.

    Attributes:
        drawn: How many selections were drawn so far.
    """

    drawn: int = 0
    _table: ReadTable[_Answer] = field(default_factory=ReadTable)
    _inputs: Followed[ObjectKey, Manifest] = field(default_factory=Followed)
    _blobs: Followed[str, str] = field(default_factory=Followed)
    _content: FollowedIndex[str, Manifest] = field(default_factory=_by_namespace)
    _known: KnownKinds | None = None

    def select(self, asked: PlacementQuestion, world: World) -> SelectedResources:
        """Return what a placement selects, the same object as before if nothing of it differs.

        Raises:
            UserError: See `select_resources`.
        """
        self._follow(world)
        known = self._table.find(asked.key)
        if known is not None and known.body is asked.body:
            return known.selection
        self.drawn += 1
        documents = SelectableDocuments(world, self._content)
        drawn = _draw(asked, documents)
        before = self._table.latest(asked.key)
        if before is not None and before.selection == drawn:
            drawn = before.selection
        answer = _Answer(asked.body, drawn)
        self._table.settle(asked.key, answer, frozenset(documents.reads), None)
        return drawn

    def follow(self, world: World, gone: Iterable[ObjectKey]) -> None:
        """Go on to the world of the next round, and drop what placements that are gone select."""
        self._table.drop_all(gone)
        if self._table:
            self._follow(world)
        else:
            self._inputs, self._blobs, self._content = Followed(), Followed(), _by_namespace()

    @property
    def stale(self) -> Collection[ObjectKey]:
        """The placements that may select something else than before."""
        return self._table.unsettled

    def _follow(self, world: World) -> None:
        """Find out what may select something else in a world than in the one asked last."""
        if self._known != world.known:
            self._table.unsettle_all()
            self._known = world.known
        entries, paths = self._inputs.follow(world.inputs), self._blobs.keys(world.blobs)
        self._content.follow(world.inputs)
        if self._table:
            versions = (one for entry in entries for one in entry[1:] if one is not None)
            questions = {question for one in versions for question in object_reads.about(one)}
            questions |= {*map(object_reads.in_file, paths)}
            self._table.affected(questions, ())


def _draw(asked: PlacementQuestion, documents: SelectableDocuments) -> SelectedResources:
    """Return what a placement selects.

    Raises:
        UserError: See `select_resources`.
    """
    return select_resources(
        asked.selectors,
        documents.inputs,
        documents.blobs,
        documents.known,
        asked.key.namespace,
        _among(asked, documents),
    )


def _among(asked: PlacementQuestion, documents: SelectableDocuments) -> Iterator[Manifest]:
    """Yield what the selectors could select, and perhaps more."""
    for selector in asked.selectors:
        kind, name = kind_of(selector), fields.text(selector, "name")
        one_scope = asked.key.namespace or documents.known.scopes.get(kind) is False
        if name and one_scope and kind != NAMESPACE:
            found = documents.inputs.get(ObjectKey(*kind, asked.key.namespace, name))
            yield from () if found is None else (found,)
            continue
        listed = documents.of_kind(kind, name, None if name else labels_of_selector(selector))
        yield from listed
        if kind == NAMESPACE and not asked.key.namespace:
            names = {one.key.name for one in listed if may_match(selector, one)}
            for namespace in sorted((names | {name}) - {""}):
                yield from documents.within(namespace)

"""Which documents objects read, found out from what their APIs state; nothing is stated here.

One object is asked alone over the documents that it reads. The other way round, a document leads to
the objects that read it: those that it is part of, and those of whatever leads to it. An object
reads what others are decided to where its documents lead to theirs, so what concerns one of these
concerns it, too. Objects that read nothing of each other's can be decided apart.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import TypeVar, cast

from reconciler.core.dialects import DIALECTS, dialect_of
from reconciler.core.record import CLUSTER_REPORT
from reconciler.dialects.contract import (
    WORKLOADS,
    Answers,
    DependsOnOthers,
    Dialect,
    Documents,
    Statement,
)
from reconciler.dialects.reads import FollowedIndex, Question, about
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, field
from reconciler.model.world import Manifest, World
from reconciler.multicluster.cluster_profile import CLUSTER_PROFILE


def statements() -> Mapping[Dialect, Statement]:
    """Return what the objects of each API read, of those that state it."""
    stated = ((dialect, dialect.statement()) for dialect in DIALECTS)
    return {dialect: statement for dialect, statement in stated if statement is not None}


def shared_kinds() -> frozenset[Kind]:
    """Return the kinds of inputs and outputs that any object reads."""
    stated = (kind for statement in statements().values() for kind in statement.shared)
    return frozenset((*stated, CLUSTER_PROFILE, CLUSTER_REPORT))


T = TypeVar("T")

INPUTS, OUTPUTS = "inputs", "outputs"
PARTS = "parts"
ABOUT = "about"


@dataclass(frozen=True, slots=True)
class ReadDocuments:
    """The keys of the inputs and outputs that one object reads, beside what all objects share."""

    inputs: frozenset[ObjectKey] = frozenset()
    outputs: frozenset[ObjectKey] = frozenset()


@dataclass(slots=True, eq=False)
class StatedDocuments:
    """The documents of a world as the objects of one API ask for them; each index when asked."""

    statement: Statement
    world: World
    _indexes: dict[tuple[str, str], FollowedIndex[Question, Manifest]] = field(default_factory=dict)
    _drawn: dict[object, object] = field(default_factory=dict)

    def follow(self, world: World) -> None:
        """Go on to another world."""
        if self.world.known != world.known:  # which kinds are workloads
            self._indexes.clear()
        if self.world is not world:
            self._drawn.clear()
        self.world = world

    def once(self, draw: Callable[[Documents], T]) -> T:
        """Return what is drawn of all documents, drawn once a world."""
        if draw not in self._drawn:
            self._drawn[draw] = draw(self)
        return cast(T, self._drawn[draw])

    def inputs(self, question: Question, /) -> AbstractSet[ObjectKey]:
        """Return the inputs that answer a question; of an object those that are part of it."""
        return self._index(INPUTS, self.world.inputs, question).of(question)

    def outputs(self, question: Question, /) -> AbstractSet[ObjectKey]:
        """Return the outputs that answer a question; of an object those that are part of it."""
        return self._index(OUTPUTS, self.world.outputs, question).of(question)

    def owners(self, manifest: Manifest) -> Iterable[ObjectKey]:
        """Return the objects that a document is part of, beside itself."""
        owners = self._of_kind(self.statement.owners, manifest.key[:2])
        return () if owners is None else owners(manifest)

    def leads(self, *manifests: Manifest) -> Iterator[Question]:
        """Yield where documents lead."""
        for table in (self.statement.leads, self.statement.consults):
            for manifest in manifests:
                leads = self._of_kind(table, manifest.key[:2])
                yield from () if leads is None else leads(manifest, self)

    def read_by(self, key: ObjectKey) -> ReadDocuments | DependsOnOthers:
        """Return what an object reads, or why others have a say."""
        if key[:2] not in self.statement.decided:
            return DependsOnOthers(f"nothing is decided about a {key.kind} by itself")
        others = self.statement.others(key, self)
        if others:
            return DependsOnOthers(others)
        world = self.world
        inputs, outputs = set[ObjectKey](), set[ObjectKey]()
        ahead, seen = list[Question]([key]), set[Question]()
        while ahead:
            question = ahead.pop()
            if question in seen:
                continue
            seen.add(question)
            chosen, written = {*self.inputs(question)}, set[ObjectKey]()
            leading = [one for one in chosen if one[:2] not in self.statement.decided]
            if isinstance(question, ObjectKey):
                chosen.add(question)
                written = {question, *self.outputs(question)}
                ahead += chosen | written
                leading = [*chosen]  # what is decided by itself leads on where it is named
            inputs |= chosen
            outputs |= written
            documents = (*map(world.inputs.get, leading), *map(world.outputs.get, written))
            ahead += self.leads(*(one for one in documents if one is not None))
        return ReadDocuments(frozenset(inputs), frozenset(outputs))

    def links(self) -> Iterator[tuple[Question, ObjectKey]]:
        """Yield each question that a document leads to, but for what is consulted, and its key."""
        for table, listed in self._listed(self.statement.leads):
            for manifest in listed:
                yield from ((question, manifest.key) for question in table(manifest, self))

    def parts(self) -> Iterator[tuple[ObjectKey, ObjectKey]]:
        """Yield each object that a document is part of, and the key of that."""
        for owners, listed in self._listed(self.statement.owners):
            for manifest in listed:
                yield from ((owner, manifest.key) for owner in owners(manifest))

    def _listed(self, table: Mapping[Kind, T]) -> Iterator[tuple[T, Iterable[Manifest]]]:
        """Yield what a table has for the kinds of documents, with these."""
        for kind, manifests in self.world.by_kind():
            found = self._of_kind(table, kind)
            if found is not None:
                yield found, manifests

    def _of_kind(self, table: Mapping[Kind, T], kind: Kind) -> T | None:
        """Return what a table has for a kind, `None` if nothing."""
        manifests = table.get(kind)
        if manifests is None and kind[0] not in self.world.known.groups:
            return table.get(WORKLOADS)
        return manifests

    def _index(
        self, name: str, documents: Mapping[ObjectKey, Manifest], question: Question
    ) -> FollowedIndex[Question, Manifest]:
        """Return the index that answers a question, of the world that was followed last."""
        kind: str = PARTS
        answers: Answers = self.owners
        if isinstance(question, tuple) and not isinstance(question, ObjectKey):
            kind = question[0] if question[0] in self.statement.answers else ABOUT
            answers = self.statement.answers.get(kind, about)
        index = self._indexes.get((name, kind))
        if index is None:
            index = self._indexes[name, kind] = FollowedIndex(lambda _, one: answers(one))
        index.follow(documents)
        return index


NO_API = DependsOnOthers("it belongs to no API")


@dataclass(slots=True, eq=False)
class StatedObjects:
    """What the objects of all APIs read of the world that was followed last."""

    _documents: dict[Dialect, StatedDocuments] = field(default_factory=dict)

    def follow(self, world: World) -> None:
        """Go on to another world; each index follows when something is asked of it."""
        for dialect, statement in statements().items():
            self._documents.setdefault(dialect, StatedDocuments(statement, world)).follow(world)

    def read_by(self, key: ObjectKey) -> ReadDocuments | DependsOnOthers:
        """Return what an object reads, or why that is not all that it depends on."""
        dialect = dialect_of(key.group)
        if dialect is None:
            return NO_API
        documents = self._documents.get(dialect)
        if documents is None:
            return DependsOnOthers(f"it is not told what a {key.kind} reads")
        return documents.read_by(key)


@dataclass(frozen=True, slots=True)
class DocumentLinks:
    """How the documents of some worlds hang together, but for what is consulted.

    Attributes:
        worlds: That have them.
        documents: Those of the last one.
        asking: By what is asked, the keys of the documents that ask it.
        parts: By object the keys of the documents that are part of it.
    """

    worlds: Sequence[World]
    documents: StatedDocuments
    asking: Mapping[Question, Collection[ObjectKey]]
    parts: Mapping[ObjectKey, Collection[ObjectKey]]

    def readers(self, touched: Iterable[ObjectKey]) -> set[ObjectKey]:
        """Return the objects that read one of some documents, or what one that does is decided."""
        concerned, seen, ahead = set[ObjectKey](), set[ObjectKey](), [*touched]
        while ahead:
            key = ahead.pop()
            if key in seen:
                continue
            seen.add(key)
            ahead += self.asking.get(key, ())
            ahead += self.parts.get(key, ())
            ahead += chain.from_iterable(self._above(key, world) for world in self.worlds)
            if key[:2] in self.documents.statement.decided:
                concerned.add(key)
        return concerned

    def tied(self, common: Container[ObjectKey]) -> Iterator[list[ObjectKey]]:
        """Yield what belongs together in the last world, beside what all objects have."""
        for owner, parts in self.parts.items():
            yield [owner, *parts]
        for question, asking in self.asking.items():
            answers = (
                {question} if isinstance(question, ObjectKey) else self.documents.inputs(question)
            )
            own = [key for key in answers if key not in common]
            if own:
                yield [*own, *asking]

    def _above(self, key: ObjectKey, world: World) -> Iterator[ObjectKey]:
        """Yield the objects that a document is part of, and who asks for what it answers."""
        written, left = world.inputs.get(key), world.outputs.get(key)
        for manifest in filter(None, (written, left)):
            yield from self.documents.owners(manifest)
        if written is not None and self.asking:
            for answers in (about, *self.documents.statement.answers.values()):
                for question in answers(written):
                    yield from self.asking.get(question, ())


def links_in(statement: Statement, *worlds: World) -> DocumentLinks:
    """Return how the documents of some worlds hang together, of which the same kinds are known."""
    documents = StatedDocuments(statement, worlds[0])
    asking: defaultdict[Question, set[ObjectKey]] = defaultdict(set)
    parts: defaultdict[ObjectKey, set[ObjectKey]] = defaultdict(set)
    for world in worlds:
        documents.follow(world)
        for question, key in documents.links():
            asking[question].add(key)
        for owner, key in documents.parts():
            parts[owner].add(key)
    return DocumentLinks(worlds, documents, asking, parts)

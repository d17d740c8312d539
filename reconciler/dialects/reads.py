"""What was read decides what is looked at: values that were derived, each with what they came from.

A round must not go over all objects to find the few that a change concerns, and no object should
have to remember by itself what it depended on. So a computation says which questions it asked: of
an object (`("object", key)`), of a cluster by name, of all clusters with a label, of the reports on
a workload, of whatever else there is. A question counts whether or not it found something, for what
was missing may come. The table keeps the value with its questions, and an index from each question
to the values that asked it.

At the beginning of a round whoever knows what differs since the last one names the questions whose
answers may be others by now. `affected` returns the objects to look at: those that asked one of
them, those whose moment has come, and those that did not come to rest when they were looked at
last, since they moved, were held, or could not be decided. Of all others `find` has the value. What
is looked at either rests again, with the questions of this time, or is looked at in the next round.

An object always looks at what is its own: what is told of it by its key needs no record. All other
questions are given as one set, and objects that asked the same share it: the index leads from a
question to sets, and from a set to objects. So what an object costs here does not grow with the
clusters that it looks at, as long as others look at the same ones. Questions are made and answered
by the dialects; the table never looks at a world. What a value took from the moment of its round is
bounded by `until`. If a round has an earlier moment than the one before, nothing of that holds, and
everything is looked at.

All indexes of the pass are made of these parts. Nearly always a name leads to a single key, so a
single key costs a tuple and not a set. Every table begins with a mapping that is followed from one
round to the next: it asks what differs since it looked last, and goes on. Where a mapping is a
version of the one before that is known, else it is compared; so the first look sees everything. The
objects of an API and the outputs that are theirs are followed in this way.

Whoever selects objects that people wrote asks by kind and name, by kind and label, or by kind
alone; or takes what is within a namespace. An object belongs to the questions that find it, so what
differs of one leads to whoever asked, and nobody tries all pairs. The same questions lead from a
selector to objects where those are indexed by `about`. An object that asks for labels of clusters
looks at the clusters that have them; one that takes a cluster by its name looks at that one,
whether it is there or not; everything else looks at the whole fleet.
"""

import dataclasses
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from heapq import heapify, heappop, heappush
from typing import Generic, NamedTuple, TypeVar

from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.labels import LabelSelector, has_odd_labels, labels_of
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import differing_keys
from reconciler.model.world import Manifest, World

K = TypeVar("K", bound=Hashable)
W = TypeVar("W", bound=Hashable)

Question = Hashable
"""What was asked: its kind and what it was about, or the name of a cluster."""

Reads = frozenset[Question]


@dataclass(slots=True, eq=False)
class KeyIndex(Generic[W, K]):
    """Keys by what they are found by; it is changed in place."""

    _found: dict[W, tuple[K] | set[K]] = field(default_factory=dict)
    _ways: frozenset[W] = frozenset()
    _differ: bool = False

    def put(self, key: K, ways: Iterable[W]) -> None:
        """Let a key be found by some ways, too."""
        alone = (key,)  # one for all ways
        for way in ways:
            known = self._found.get(way)
            if known is None:
                self._found[way], self._differ = alone, True
            elif isinstance(known, set):
                known.add(key)
            elif known != alone:
                self._found[way] = {*known, key}

    def drop(self, key: K, ways: Iterable[W]) -> None:
        """Let a key not be found by some ways any more."""
        for way in ways:
            known = self._found.get(way, ())
            if isinstance(known, set):
                known.discard(key)
            elif key not in known:
                continue
            if not isinstance(known, set) or not known:
                del self._found[way]
                self._differ = True

    def of(self, way: W) -> AbstractSet[K]:
        """Return the keys that are found by something."""
        keys = self._found.get(way, ())
        return keys if isinstance(keys, set) else frozenset(keys)

    @property
    def ways(self) -> frozenset[W]:
        """All by which something is found; the very same set while it does not change."""
        if self._differ:
            self._differ, ways = False, frozenset(self._found)
            self._ways = self._ways if ways == self._ways else ways
        return self._ways

    def __contains__(self, way: W) -> bool:
        return way in self._found


@dataclass(slots=True, eq=False)
class ReadIndex(Generic[K]):
    """The questions of each key; it is changed in place."""

    _reads: dict[K, Reads] = field(default_factory=dict)
    _shared: dict[Reads, Reads] = field(default_factory=dict)
    _readers: KeyIndex[Reads, K] = field(default_factory=KeyIndex)
    _sets: KeyIndex[Question, Reads] = field(default_factory=KeyIndex)

    def put(self, key: K, reads: Reads) -> None:
        """Take the questions of a key in place of those that it asked before."""
        self.drop(key)
        if reads not in self._shared:
            self._shared[reads] = reads
            self._sets.put(reads, reads)
        reads = self._reads[key] = self._shared[reads]
        self._readers.put(key, (reads,))

    def drop(self, key: K) -> None:
        """Forget a key."""
        reads = self._reads.pop(key, None)
        if reads is None:
            return
        self._readers.drop(key, (reads,))
        if reads not in self._readers:
            del self._shared[reads]
            self._sets.drop(reads, reads)

    def asking(self, question: Question) -> set[K]:
        """Return the keys that asked a question."""
        return {key for reads in self._sets.of(question) for key in self._readers.of(reads)}

    def reads(self, key: K) -> Reads:
        """Return the questions of a key, the same object for keys that asked the same."""
        return self._reads.get(key, frozenset())

    def shared(self, reads: Reads) -> Reads:
        """Return questions, the same object as those who asked the same have."""
        return self._shared.get(reads, reads)

    @property
    def questions(self) -> frozenset[Question]:
        """All that is asked; the very same set while it does not change."""
        return self._sets.ways


V = TypeVar("V")

SLACK = 64  # moments of values that changed since, beyond those that count


class _Settled(NamedTuple, Generic[V]):
    """A value that stays, and until when it does."""

    value: V
    until: datetime | None


@dataclass(slots=True, eq=False)
class ReadTable(Generic[V]):
    """Values of objects, by key; it is changed in place, and no answer depends on it.

    Attributes:
        tells: Whether a value has something to say in each round although it stays.
    """

    tells: Callable[[V], bool] = bool
    _settled: dict[ObjectKey, _Settled[V]] = field(default_factory=dict)
    _index: ReadIndex[ObjectKey] = field(default_factory=ReadIndex)
    _unsettled: dict[ObjectKey, V | None] = field(default_factory=dict)
    _telling: dict[ObjectKey, V] = field(default_factory=dict)
    _due: list[tuple[datetime, ObjectKey]] = field(default_factory=list)
    _moment: datetime | None = None

    def affected(
        self, changed: Iterable[Question], own: Iterable[ObjectKey], now: datetime | None = None
    ) -> set[ObjectKey]:
        """Begin a round, and return the objects that it has to look at.

        Args:
            changed: The questions whose answers may differ from the last round.
            own: The objects of which something may differ that is told by their keys.
            now: The moment of the round, `None` if no value depends on it.
        """
        if now is not None and self._moment is not None and now < self._moment:
            self.unsettle_all()
        self._moment = now
        self.unsettle(own)
        for question in changed:
            self.unsettle(self.asking(question))
        if now is not None:
            self.unsettle(list(self._come(now)))
        return self.unsettled

    @property
    def unsettled(self) -> set[ObjectKey]:
        """The objects to look at."""
        return set(self._unsettled)

    def find(self, key: ObjectKey) -> V | None:
        """Return the value of an object that is at rest, `None` if it is not."""
        known = self._settled.get(key)
        return None if known is None else known.value

    def latest(self, key: ObjectKey) -> V | None:
        """Return the value at which an object rested last, whether or not it still does.

        One that comes to the same again keeps it, so that nothing which depends on it differs.
        """
        known = self._settled.get(key)
        return self._unsettled.get(key) if known is None else known.value

    def settle(self, key: ObjectKey, value: V, reads: Reads, until: datetime | None) -> None:
        """Take an object as one that stays as it is.

        Args:
            key: Of the object.
            value: What it came to.
            reads: The questions that were asked for it.
            until: When time alone may change the value, `None` if never.
        """
        self._drop(key)
        self._settled[key] = _Settled(value, until)
        self._index.put(key, reads)
        if until is not None:
            heappush(self._due, (until, key))
        if self.tells(value):
            self._telling[key] = value

    def asking(self, question: Question) -> set[ObjectKey]:
        """Return the objects at rest that asked a question."""
        return self._index.asking(question)

    def shared(self, reads: Reads) -> Reads:
        """Return questions, the same object as those who asked the same have."""
        return self._index.shared(reads)

    def unsettle(self, keys: Iterable[ObjectKey]) -> None:
        """Have objects looked at in each round until they are settled."""
        for key in keys:
            value = self.latest(key)
            self._drop(key)
            self._unsettled[key] = value

    def unsettle_all(self) -> None:
        """Have all objects looked at."""
        self.unsettle(list(self._settled))

    def drop_all(self, keys: Iterable[ObjectKey]) -> None:
        """Forget objects."""
        for key in keys:
            self._drop(key)

    def keep(self, keys: Container[ObjectKey]) -> None:
        """Forget all other objects."""
        self.drop_all([key for key in (*self._settled, *self._unsettled) if key not in keys])

    def clear(self) -> None:
        """Forget all objects."""
        self.keep(())

    def telling(self, but: Collection[ObjectKey]) -> list[V]:
        """Return the values at rest that have something to say, but for those of some objects."""
        return [value for key, value in self._telling.items() if key not in but]

    def until(self) -> datetime | None:
        """Return the next moment at which an object at rest is due, `None` if there is none."""
        if len(self._due) > 2 * len(self._settled) + SLACK:
            moments = ((one.until, key) for key, one in self._settled.items())
            self._due = [(until, key) for until, key in moments if until is not None]
            heapify(self._due)
        while self._due and not self._counts(*self._due[0]):
            heappop(self._due)
        return self._due[0][0] if self._due else None

    def __len__(self) -> int:
        return len(self._settled)

    def __bool__(self) -> bool:
        return bool(self._settled or self._unsettled)

    def _drop(self, key: ObjectKey) -> None:
        """Forget an object."""
        self._unsettled.pop(key, None)
        known = self._settled.pop(key, None)
        if known is None:
            return
        self._telling.pop(key, None)
        self._index.drop(key)

    def _come(self, now: datetime) -> Iterator[ObjectKey]:
        """Yield the objects whose moment has come."""
        while (until := self.until()) is not None and until <= now:
            yield heappop(self._due)[1]

    def _counts(self, until: datetime, key: ObjectKey) -> bool:
        """Return whether a moment is that of a value that still stands."""
        known = self._settled.get(key)
        return known is not None and known.until == until


class FollowedEntry(NamedTuple, Generic[K, V]):
    """An entry that may be another one; `None` where it is not there."""

    key: K
    before: V | None
    now: V | None


@dataclass(slots=True, eq=False)
class Followed(Generic[K, V]):
    """A mapping as it was when it was followed last; it is changed in place."""

    seen: Mapping[K, V] = field(default_factory=dict, repr=False)

    def keys(self, now: Mapping[K, V]) -> list[K]:
        """Go on to another mapping, and return the keys of the entries that may differ."""
        before, self.seen = self.seen, now
        return [] if before is now else list(differing_keys(now, before))

    def follow(self, now: Mapping[K, V]) -> list[FollowedEntry[K, V]]:
        """Go on to another mapping, and return the entries that may differ."""
        before = self.seen
        if not before:  # the first look
            self.seen = now
            return [FollowedEntry(key, None, one) for key, one in now.items()]
        return [FollowedEntry(key, before.get(key), now.get(key)) for key in self.keys(now)]


@dataclass(slots=True, eq=False)
class FollowedIndex(Generic[W, V]):
    """Objects by what they are looked up by; it follows a mapping, and costs what differs.

    `ways` returns what an object is found by.
    """

    ways: Callable[[ObjectKey, V], Iterable[W]]
    _objects: Followed[ObjectKey, V] = field(default_factory=Followed)
    _index: KeyIndex[W, ObjectKey] = field(default_factory=KeyIndex)

    def follow(self, objects: Mapping[ObjectKey, V]) -> set[W]:
        """Go on to another mapping, and return the ways that lead to what differs, or did."""
        touched = set[W]()
        for key, before, now in self._objects.follow(objects):
            was = set[W]() if before is None else {*self.ways(key, before)}
            leads = set[W]() if now is None else {*self.ways(key, now)}
            if was or leads:  # most objects are of other kinds
                self._index.drop(key, was - leads)
                self._index.put(key, leads - was)
                touched |= was | leads
        return touched

    def get(self, key: ObjectKey) -> V | None:
        """Return an object as it was followed last, `None` if it is not there."""
        return self._objects.seen.get(key)

    def of(self, way: W) -> AbstractSet[ObjectKey]:
        """Return what is found by something."""
        return self._index.of(way)

    def found(self, way: W) -> dict[ObjectKey, V]:
        """Return what is found by something, sorted by key."""
        seen = self._objects.seen
        return {key: seen[key] for key in sorted(self._index.of(way))}

    @property
    def all_ways(self) -> frozenset[W]:
        """All by which something is found; the very same set while it does not change."""
        return self._index.ways


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """Which objects are followed, and which outputs are theirs.

    Attributes:
        kinds: Of the objects, and of their status files.
        owned: The kinds of their other outputs.
        owner_of: Returns the object that such an output belongs to; one that cannot be there where
            that cannot be told.
        is_there: Whether an object that is written counts.
    """

    kinds: Collection[Kind]
    owned: Collection[Kind] = ()
    owner_of: Callable[[ObjectKey, Body], ObjectKey] = lambda key, _: key
    is_there: Callable[[Manifest], bool] = lambda _: True


@dataclasses.dataclass(slots=True, eq=False)
class FollowedObjects:
    """Those of the world that was followed last; it is changed in place.

    Attributes:
        by: Which they are.
        there: The objects.
        left: Outputs by the object that they belong to, its status excepted, each by key.
        gone: The keys that have outputs or a status, and are no such object.
    """

    by: Ownership
    there: dict[ObjectKey, Manifest] = dataclasses.field(default_factory=dict)
    left: dict[ObjectKey, dict[ObjectKey, Body]] = dataclasses.field(default_factory=dict)
    gone: set[ObjectKey] = dataclasses.field(default_factory=set)
    _inputs: Followed[ObjectKey, Manifest] = dataclasses.field(default_factory=Followed)
    _outputs: FollowedIndex[ObjectKey, Manifest] = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        """Index the outputs by the object that each belongs to."""
        self._outputs = FollowedIndex(self._owners)

    def follow(self, world: World) -> set[ObjectKey]:
        """Go on to a world, and return the objects of which a file may be another."""
        touched = self._outputs.follow(world.outputs)
        for key in touched:
            self._gather(key)
        for key in self._inputs.keys(world.inputs):
            if key[:2] in self.by.kinds:
                self._take(key, world.inputs.get(key))
                touched.add(key)
        for key in touched:
            if key not in self.there and self._outputs.of(key):
                self.gone.add(key)
            else:
                self.gone.discard(key)
        return touched

    def owner(self, key: ObjectKey) -> ObjectKey:
        """Return the object that an output belongs to; any other one is told as it is."""
        output = self._outputs.get(key)
        return key if output is None else next(iter(self._owners(key, output)), key)

    def files(self, key: ObjectKey) -> dict[ObjectKey, Body]:
        """Return the outputs of an object, its status last."""
        status = self._outputs.get(key)
        return {**self.left.get(key, {}), **({} if status is None else {key: status.body})}

    def _owners(self, key: ObjectKey, output: Manifest) -> tuple[ObjectKey, ...]:
        """Return the object that an output belongs to, its status to itself; none for others."""
        if key[:2] in self.by.kinds:
            return (key,)
        return (self.by.owner_of(key, output.body),) if key[:2] in self.by.owned else ()

    def _take(self, key: ObjectKey, manifest: Manifest | None) -> None:
        """Take an object as it is written, `None` if it is not any more."""
        if manifest is None or not self.by.is_there(manifest):
            self.there.pop(key, None)
        else:
            self.there[key] = manifest

    def _gather(self, owner: ObjectKey) -> None:
        """Gather the outputs of an object; what was told of them stays as it was."""
        owned = self._outputs.found(owner).items()
        files = {key: output.body for key, output in owned if key != owner}
        if files:
            self.left[owner] = files
        else:
            self.left.pop(owner, None)


def of_kind(kind: Kind) -> Question:
    """Return the question of all objects of a kind."""
    return "of kind", kind


def named(kind: Kind, name: str) -> Question:
    """Return the question of the objects of a kind and name, in whatever namespace."""
    return "named", kind, name


def with_label(kind: Kind, label: str, value: str) -> Question:
    """Return the question of the objects of a kind that have a label."""
    return "labelled", kind, label, value


def with_odd_labels(kind: Kind) -> Question:
    """Return the question of the objects of a kind whose labels cannot be read."""
    return "odd", kind


def within(namespace: str) -> Question:
    """Return the question of all objects in a namespace."""
    return "within", namespace


def in_file(path: str) -> Question:
    """Return the question of where the content of a file stands."""
    return "file", path


def selected(kind: Kind, name: str, labels: LabelSelector | None) -> Iterator[Question]:
    """Yield the questions to one of which each object belongs that a selector may select.

    Args:
        kind: Of the objects.
        name: Of the object, `""` for any; where there is one, labels do not count.
        labels: What the objects must have, `None` for nothing.
    """
    if name:
        yield named(kind, name)
        return
    asked = labels_asked(labels)
    if asked is None:
        yield of_kind(kind)
        return
    yield with_odd_labels(kind)  # those are an error of whoever asks for any
    yield from (with_label(kind, *label) for label in asked)


def about(manifest: Manifest) -> Iterator[Question]:
    """Yield the questions to which an object belongs."""
    key, kind = manifest.key, manifest.key[:2]
    yield of_kind(kind)
    yield named(kind, key.name)
    if key.namespace:
        yield within(key.namespace)
    labels = labels_of(manifest.body)
    for label, value in labels.items():
        yield with_label(kind, label, value)
    if has_odd_labels(manifest.body):
        yield with_odd_labels(kind)


class RecordedMapping(Mapping[K, V]):
    """A mapping that records what it is asked; a key that is not there counts, too.

    It cannot be gone through, for then any entry might matter.
    """

    def __init__(
        self, source: Mapping[K, V], question: Callable[[K], Question], reads: set[Question]
    ) -> None:
        """Look into `source`, and add the `question` of each key to `reads`."""
        self._source, self._question, self._reads = source, question, reads

    def __getitem__(self, key: K) -> V:
        self._reads.add(self._question(key))
        return self._source[key]

    def __iter__(self) -> Iterator[K]:
        raise TypeError("only single keys are recorded")

    def __len__(self) -> int:
        raise TypeError("only single keys are recorded")


FLEET: Question = ("fleet",)
NAMES: Question = ("names of clusters",)


class SeenCluster(NamedTuple):
    """A cluster as a round has it.

    Attributes:
        view: What is read of it, the very same object while nothing of that differs.
        state: What is known of it beside that.
        labels: Its labels.
    """

    view: object
    state: str
    labels: Mapping[str, str]


def cluster_named(name: str) -> Question:
    """Return the question of the cluster of a name."""
    return "cluster", name


def labelled(selector: LabelSelector | None) -> tuple[Question, ...] | None:
    """Return labels of which a cluster that fits has one, `None` if it may have none."""
    asked = labels_asked(selector)
    return None if asked is None else tuple(("label", *one) for one in asked)


def labels_asked(selector: LabelSelector | None) -> tuple[tuple[str, str], ...] | None:
    """Return labels of which whatever fits has one, `None` if it may have none."""
    for requirement in () if selector is None else selector.requirements:
        if requirement.operator == "In":
            return tuple((requirement.key, value) for value in requirement.values or ())
    return None


def about_cluster(name: str, labels: Mapping[str, str]) -> Iterator[Question]:
    """Yield the questions to which a cluster belongs."""
    yield FLEET
    yield cluster_named(name)
    yield from (("label", key, value) for key, value in labels.items())


def changed(
    before: Mapping[str, SeenCluster], now: Mapping[str, SeenCluster]
) -> Iterator[Question]:
    """Yield the questions about clusters whose answers differ between two fleets, by name."""
    for name, known in now.items():
        was = before.get(name)
        if was is None:
            yield NAMES
        elif was.view is known.view and was.state == known.state:
            continue
        else:
            yield from about_cluster(name, was.labels)
        yield from about_cluster(name, known.labels)
    for name in before.keys() - now.keys():
        yield NAMES
        yield from about_cluster(name, before[name].labels)

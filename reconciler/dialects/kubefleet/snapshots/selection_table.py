"""What each placement selects, asked again only where something changed that it could select."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reconciler.dialects.kubefleet.api.names import NAMESPACE
from reconciler.dialects.kubefleet.rollout.availability_reports import keys_of
from reconciler.dialects.kubefleet.snapshots.resource_selection import (
    SelectedResources,
    kind_of,
    may_match,
    select_resources,
)
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind, KnownKinds
from reconciler.model.versioned import differing
from reconciler.model.world import Manifest, World

SERVICE = ("", "Service")
ENDPOINTS = ("", "Endpoints")


@dataclass(frozen=True, slots=True)
class PlacementQuestion:
    """A placement as far as its selection goes; `body` is its document."""

    key: ObjectKey
    body: Body
    selectors: tuple[Body, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What a placement selects; `places` is what it can be reached by, beside its selectors.

    These are the namespaces that it may take as a whole, and the paths of what it selects.
    """

    question: PlacementQuestion
    selection: SelectedResources
    places: frozenset[str]


@dataclass(slots=True, eq=False)
class SelectionTable:
    """The selections of one repository, in the round that looked last.

    Attributes:
        drawn: How many selections were drawn so far.
    """

    drawn: int = 0
    _inputs: Mapping[ObjectKey, Manifest] = field(default_factory=dict, repr=False)
    _blobs: Mapping[str, str] = field(default_factory=dict, repr=False)
    _known: KnownKinds | None = field(default=None, repr=False)
    _content: dict[str, dict[ObjectKey, Manifest]] = field(default_factory=dict, repr=False)
    _answers: dict[ObjectKey, _Answer] = field(default_factory=dict, repr=False)
    _stale: set[ObjectKey] = field(default_factory=set, repr=False)
    _by_kind: dict[Kind, set[ObjectKey]] = field(default_factory=dict, repr=False)
    _by_name: dict[tuple[Kind, str], set[ObjectKey]] = field(default_factory=dict, repr=False)
    _by_place: dict[str, set[ObjectKey]] = field(default_factory=dict, repr=False)

    def select(self, asked: PlacementQuestion, world: World) -> SelectedResources:
        """Return what a placement selects, the same object as before if nothing of it differs.

        Raises:
            UserError: See `select_resources`.
        """
        self._follow(world)
        known = self._answers.get(asked.key)
        if known is not None and known.question.body is asked.body and asked.key not in self._stale:
            return known.selection
        self.drawn += 1
        among = self._among(asked, world)
        drawn = select_resources(
            asked.selectors, world.inputs, world.blobs, world.known, asked.key.namespace, among
        )
        places = frozenset(_places(asked, drawn, world.inputs)) - {""}
        if known is not None:
            self._drop(asked.key)
            drawn = known.selection if known.selection == drawn else drawn
        self._keep(_Answer(question=asked, selection=drawn, places=places))
        return drawn

    def follow(self, world: World, gone: Iterable[ObjectKey]) -> None:
        """Go on to the world of the next round, and drop what placements that are gone select."""
        for key in gone:
            if key in self._answers:
                self._drop(key)
        if self._answers:
            self._follow(world)
        else:
            self._inputs, self._blobs, self._known, self._content = {}, {}, None, {}

    @property
    def stale(self) -> Collection[ObjectKey]:
        """The placements that may select something else than before."""
        return self._stale

    def _drop(self, key: ObjectKey) -> None:
        answer = self._answers.pop(key)
        self._stale.discard(key)
        for index, asked in self._asked(answer):
            index[asked].discard(key)
        for place in answer.places:
            self._by_place[place].discard(key)

    def _keep(self, answer: _Answer) -> None:
        key = answer.question.key
        self._answers[key] = answer
        for index, asked in self._asked(answer):
            index.setdefault(asked, set()).add(key)
        for place in answer.places:
            self._by_place.setdefault(place, set()).add(key)

    def _asked(self, answer: _Answer) -> Iterator[tuple[dict[Any, set[ObjectKey]], object]]:
        """Yield what each selector asks for, with the index that leads from that to who asks."""
        for selector in answer.question.selectors:
            kind, name = kind_of(selector), fields.text(selector, "name")
            yield (self._by_name, (kind, name)) if name else (self._by_kind, kind)

    def _follow(self, world: World) -> None:
        """Mark what may select something else in a world than in the one that was asked last."""
        seen = self._inputs is world.inputs and self._blobs is world.blobs
        if seen and self._known is world.known:
            return
        changed = differing(world.inputs, self._inputs)
        paths = differing(world.blobs, self._blobs)
        if changed is None or paths is None or self._known != world.known:
            self._stale = set(self._answers)
            self._content = _by_namespace(world.inputs)
        else:
            self._stale.update(*(self._by_place.get(path, ()) for path in paths))
            for key in changed:
                self._mark(key, world.inputs)
        self._inputs, self._blobs, self._known = world.inputs, world.blobs, world.known

    def _mark(self, key: ObjectKey, inputs: Mapping[ObjectKey, Manifest]) -> None:
        """Mark what may select something else since one document differs."""
        before, now = self._inputs.get(key), inputs.get(key)
        content = self._content.setdefault(key.namespace, {})
        content.pop(key, None)
        if now is not None:
            content[key] = now
        self._stale |= self._by_place.get(key.namespace, set())
        versions = [manifest for manifest in (before, now) if manifest is not None]
        self._stale |= self._by_name.get((key[:2], key.name), set())
        for name in self._by_kind.get(key[:2], ()):
            selectors = self._answers[name].question.selectors
            if any(may_match(one, manifest) for one in selectors for manifest in versions):
                self._stale.add(name)
        if key[:2] == SERVICE:  # a hub makes Endpoints for it, which then go nowhere
            self._stale |= self._by_kind.get(ENDPOINTS, set())
            self._stale |= self._by_name.get((ENDPOINTS, key.name), set())

    def _among(self, asked: PlacementQuestion, world: World) -> Iterator[Manifest]:
        """Yield what the selectors could select, and perhaps more."""
        for selector in asked.selectors:
            kind, name = kind_of(selector), fields.text(selector, "name")
            one_scope = asked.key.namespace or world.known.scopes.get(kind) is False
            if name and one_scope and kind != NAMESPACE:
                found = world.inputs.get(ObjectKey(*kind, asked.key.namespace, name))
                yield from () if found is None else (found,)
            else:
                yield from world.of_kind(*kind)
        if not asked.key.namespace:
            namespaces = world.of_kind(*NAMESPACE)
            for name in _namespaces(asked.selectors, namespaces):
                yield from self._content.get(name, {}).values()


def _by_namespace(
    inputs: Mapping[ObjectKey, Manifest],
) -> dict[str, dict[ObjectKey, Manifest]]:
    found: dict[str, dict[ObjectKey, Manifest]] = {}
    for key, manifest in inputs.items():
        found.setdefault(key.namespace, {})[key] = manifest
    return found


def _namespaces(selectors: Iterable[Body], namespaces: Sequence[Manifest]) -> set[str]:
    """Return the namespaces that selectors may take as a whole, written or not."""
    listed = [selector for selector in selectors if kind_of(selector) == NAMESPACE]
    written = {fields.text(selector, "name") for selector in listed} - {""}
    matched = (
        manifest.key.name
        for manifest in namespaces
        if any(may_match(selector, manifest) for selector in listed)
    )
    return written.union(matched)


def _places(
    asked: PlacementQuestion,
    drawn: SelectedResources,
    inputs: Mapping[ObjectKey, Manifest],
) -> Iterator[str]:
    """Yield the namespaces that a placement may take as a whole, and the paths of what it has."""
    keys = keys_of(drawn.resources)
    for key in keys:
        yield inputs[key].origin.path
    for selector in asked.selectors:
        if kind_of(selector) == NAMESPACE and not asked.key.namespace:
            yield from (key.name for key in keys if key[:2] == NAMESPACE)
            yield fields.text(selector, "name")

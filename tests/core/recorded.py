"""What the computations of a round really read, and which of them a round makes.

Mappings, manifests and listings of a world tell whoever records what they are asked. What follows a
world from one round to the next looks at whatever differs, for all: those are reads of nobody.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial, wraps
from typing import Any, NamedTuple, cast

import pytest

from reconciler.core.reconcile import Memo
from reconciler.core.rounds import run_round
from reconciler.dialects.karmada.detector import detect
from reconciler.dialects.karmada.detector.binding_draft import binding_key
from reconciler.dialects.object_pass import ObjectPass, Objects, Part
from reconciler.dialects.ocm.plan import Drafts
from reconciler.dialects.reads import Followed, FollowedIndex
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.remembered import Versioned
from reconciler.model.settings import CONFIGURATION, settings_in
from reconciler.model.world import Kinds, Manifest, World

INPUTS, OUTPUTS, FEEDBACK = "inputs", "outputs", "feedback"
MAPPINGS = (INPUTS, OUTPUTS, FEEDBACK)


class Document(NamedTuple):
    """A document that was looked for, be it there or not: in which mapping, and its key."""

    mapping: str
    key: ObjectKey


class Listing(NamedTuple):
    """All that there is of a kind in a mapping."""

    mapping: str
    kind: Kind


Read = Document | Listing


@dataclass
class Recorder:
    """What was read in a round over a world.

    Attributes:
        reads: By what was computed, what that read.
        computed: What was computed.
        parts: What each object came to that was decided.
    """

    world: World
    computed: set[ObjectKey] = field(default_factory=set)
    reads: dict[ObjectKey, set[Read]] = field(default_factory=dict)
    parts: dict[ObjectKey, Part] = field(default_factory=dict)
    reader: ObjectKey | None = None

    def note(self, read: Read) -> None:
        """Take down what is read, if somebody reads."""
        if self.reader is not None:
            self.reads.setdefault(self.reader, set()).add(read)

    def note_entry(self, mapping: object, key: object) -> None:
        """Take down what is looked for in a mapping of the world, or in what was decoded of one."""
        for name in MAPPINGS if self.reader is not None else ():
            if getattr(self.world, name) is mapping and isinstance(key, ObjectKey):
                self.note(Document(name, key))
                return
        if isinstance(key, ObjectKey):
            self.note(Document(INPUTS, key))  # a policy, say

    def note_body(self, manifest: Manifest) -> None:
        """Take down which document of the world says something, if it is of the world."""
        with self.reading(None):
            entries = [(name, getattr(self.world, name).get(manifest.key)) for name in MAPPINGS]
        for name, entry in entries:
            if entry is manifest:
                self.note(Document(name, manifest.key))

    @contextmanager
    def reading(self, key: ObjectKey | None) -> Iterator[None]:
        """Let an object read, or nobody."""
        before, self.reader = self.reader, key
        try:
            yield
        finally:
            self.reader = before


@dataclass
class Watched:
    """The objects of an API, of which is known what is decided anew."""

    objects: Any
    recorder: Recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self.objects, name)

    def decide(self, key: ObjectKey, demand: object) -> Part:
        """Decide an object, and note what it comes to."""
        self.recorder.computed.add(key)
        part: Part = self.objects.decide(key, demand)
        self.recorder.parts[key] = part
        return part


@contextmanager
def recorded(world: World) -> Iterator[Recorder]:
    """Record what is read of a world, and what is decided."""
    recorder = Recorder(world)
    with pytest.MonkeyPatch.context() as patch:
        _record_accessors(patch, recorder)
        _attribute(patch, recorder)
        yield recorder


def _record_accessors(patch: pytest.MonkeyPatch, recorder: Recorder) -> None:
    """Let what has the documents of a world say what it is asked."""

    def noting(owner: type, name: str, note: Callable[..., None]) -> None:
        real: Callable[..., object] = getattr(owner, name)

        @wraps(real)
        def noted(*asked: Any) -> object:
            note(*asked)
            return real(*asked)

        patch.setattr(owner, name, noted)

    for name in ("__getitem__", "get", "__contains__"):
        noting(Versioned, name, lambda mapping, key, *_: recorder.note_entry(mapping, key))
    for name in ("of_kind", "written_of_kind"):
        noting(World, name, lambda _, *kind: recorder.note(Listing(INPUTS, kind)))
    noting(World, "outputs_of_kind", lambda _, kind: recorder.note(Listing(OUTPUTS, kind)))
    real_body: Callable[[Manifest], object] = Manifest.body.fget  # type: ignore[attr-defined]  # a property

    def body(manifest: Manifest) -> object:
        recorder.note_body(manifest)
        return real_body(manifest)

    patch.setattr(Manifest, "body", property(body))


def _attribute(patch: pytest.MonkeyPatch, recorder: Recorder) -> None:
    """Let it be known who reads: an object that is claimed, drawn or decided, or nobody."""

    def by(owner: object, name: str, reader: Callable[..., ObjectKey | None]) -> None:
        real: Callable[..., object] = getattr(owner, name)

        @wraps(real)
        def attributed(*given: Any, **more: Any) -> object:
            key = reader(*given)
            with recorder.reading(key):
                found = real(*given, **more)
            if key is not None and found is not None:
                recorder.computed.add(key)
            return found

        patch.setattr(owner, name, attributed)

    real_answer = ObjectPass._answer

    def answer(decided: ObjectPass, key: ObjectKey, objects: Objects) -> Part:
        with recorder.reading(key):
            return real_answer(decided, key, cast(Objects, Watched(objects, recorder)))

    patch.setattr(ObjectPass, "_answer", answer)
    by(detect, "claim_workload", lambda reads, *_: binding_key(reads.key))
    by(Drafts, "_draw", lambda _, key: key)
    for owner, name in ((Kinds, "of"), (Followed, "follow"), (Followed, "keys")):
        by(owner, name, lambda *_: None)
    by(FollowedIndex, "follow", lambda *_: None)


def versioned(world: World) -> World:
    """The same world in mappings that can be recorded."""
    maps: Mapping[str, Any] = {name: Versioned(getattr(world, name)) for name in MAPPINGS}
    return replace(world, **maps, kinds=Kinds(), output_kinds=Kinds())


def record_round(world: World, now: datetime, memo: Memo | None = None) -> Recorder:
    """What a round reads and decides, by its objects; without any memory all of them.

    Args:
        world: In mappings that can be recorded.
        now: Moment of the round.
        memo: What earlier rounds remember.
    """
    memo = Memo() if memo is None else memo
    read = partial(settings_in, world)
    settings = memo.settings.recall(None, world.of_kind(*CONFIGURATION), read)
    with recorded(world) as recorder:
        run_round(world, settings, now, memo.dialects)
    return recorder

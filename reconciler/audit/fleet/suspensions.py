"""What is suspended, and by which file."""

import dataclasses
from collections.abc import Mapping, Sequence

from reconciler.audit.named_object import spelled
from reconciler.core.dialects import KINDS, decision_on, dialect_of
from reconciler.manifests.admission import (
    SUSPEND_REASON,
    SUSPEND_UNTIL,
    SUSPENDED_BY,
    suspends,
)
from reconciler.model.body import Body
from reconciler.model.fields import at
from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass
from reconciler.model.remembered import differing_keys
from reconciler.model.settings import CONFIGURATION, settings_in
from reconciler.model.world import World

ITSELF, EVERYTHING = "itself", "everything"


@dataclass(frozen=True, slots=True, order=True)
class Suspender:
    """What suspends an object: its own manifest, that of its policy, or the configuration.

    `note` says who suspended it, why and until when, as far as that is written; `""` for nothing.
    """

    key: ObjectKey
    path: str
    note: str = ""

    @property
    def words(self) -> str:
        """What suspends, and in which file.

        >>> Suspender(ObjectKey("apps", "Deployment", "default", "web"), "web.yaml").words
        'deployment/web in namespace default (web.yaml)'
        """
        what = EVERYTHING if self.is_configuration else spelled(self.key)
        return f"{what} ({'; '.join(filter(None, (self.path, self.note)))})"

    @property
    def clause(self) -> str:
        """How that continues a sentence: suspended by an object, or with everything."""
        return f"{'with' if self.is_configuration else 'by'} {self.words}"

    @property
    def is_configuration(self) -> bool:
        """Whether it suspends the whole repository."""
        return self.key[:2] == CONFIGURATION


@dataclasses.dataclass(frozen=True, slots=True)
class Suspensions:
    """What suspends anything in a world, by key; asked about many objects of it.

    `before` are those of a world before it, `None` where none are known; they only save work.
    """

    world: World
    before: dataclasses.InitVar["Suspensions | None"] = None
    suspenders: Mapping[ObjectKey, Suspender] = dataclasses.field(init=False)
    everything: Suspender | None = dataclasses.field(init=False)

    def __post_init__(self, before: "Suspensions | None") -> None:
        """Look at every manifest once, or at those that differ from the world before."""
        suspenders: dict[ObjectKey, Suspender] = {} if before is None else {**before.suspenders}
        inputs = self.world.inputs
        changed = inputs if before is None else differing_keys(inputs, before.world.inputs)
        for key in changed:
            suspenders.pop(key, None)
            if (suspender := _suspender(self.world, key)) is not None:
                suspenders[key] = suspender
        object.__setattr__(self, "suspenders", suspenders)
        object.__setattr__(self, "everything", _suspender_of_all(self.world))

    @property
    def foremost(self) -> tuple[Suspender, ...]:
        """What suspends everything, else all that suspends anything, sorted."""
        whole = self.everything
        return tuple(sorted(self.suspenders.values())) if whole is None else (whole,)

    def followed(self, world: World) -> "Suspensions":
        """Return those of another world."""
        return Suspensions(world, self)

    def of(self, key: ObjectKey) -> tuple[Suspender, ...]:
        """Return all that suspends an object or what is decided about it, its own manifest first.

        Nothing suspends what passes do nothing with: a cluster, a score.
        """
        related = _related(self.world, key) if self.suspenders else ()
        suspenders = [self.suspenders[one] for one in related if one in self.suspenders]
        return (*suspenders, *_with_all(self.everything, key))

    def cell(self, key: ObjectKey) -> str:
        """Return in a word what suspends an object, `""` if nothing does."""
        return ", ".join(_word(one, key) for one in self.of(key))

    def fact(self, key: ObjectKey) -> str:
        """Return that an object is suspended, and by what if not by its own file; `""` if not."""
        suspenders = self.of(key)
        if not suspenders:
            return ""
        others = [one for one in suspenders if one.key != key]
        words = [f"{'with' if o.is_configuration else 'by'} {_word(o, key)}" for o in others]
        return " ".join(("suspended", " and ".join(words))).rstrip()


def suspenders_of(world: World, key: ObjectKey) -> tuple[Suspender, ...]:
    """Return what `Suspensions.of` says of one object; nothing but what concerns it is read."""
    suspenders = (_suspender(world, one) for one in _related(world, key))
    return (
        *(one for one in suspenders if one is not None),
        *_with_all(_suspender_of_all(world), key),
    )


def _suspender(world: World, key: ObjectKey) -> Suspender | None:
    """Return a manifest as what suspends, `None` if it does not."""
    manifest = world.inputs.get(key)
    if manifest is None or not suspends(key[:2], manifest.body, KINDS):
        return None
    return Suspender(key, manifest.origin.path, _note(manifest.body))


def _note(body: Body) -> str:
    """Return who suspended something, why and until when, `""` where nothing of that is written."""
    notes = at(body, "metadata", "annotations")
    by, reason, until = (
        value if isinstance(value := notes.get(name), str) else ""
        for name in (SUSPENDED_BY, SUSPEND_REASON, SUSPEND_UNTIL)
    )
    parts = (by and f"by {by}", reason, until and f"until {until}")
    return ", ".join(filter(None, parts))


def _suspender_of_all(world: World) -> Suspender | None:
    """Return the configuration if it suspends everything."""
    whole = next(iter(world.of_kind(*CONFIGURATION)), None)
    if whole is None or not settings_in(world).suspend:
        return None
    return Suspender(whole.key, whole.origin.path, _note(whole.body))


def _with_all(everything: Suspender | None, key: ObjectKey) -> tuple[Suspender, ...]:
    """Return what suspends an object together with everything."""
    return (everything,) if everything is not None and _is_governed(key) else ()


def _related(world: World, key: ObjectKey) -> Sequence[ObjectKey]:
    """Return an object, what is decided about it, and what that belongs to, each once."""
    decided = key if key in world.outputs else decision_on(key) or key
    keys = [key]
    output, dialect = world.outputs.get(decided), dialect_of(decided.group)
    if output is not None and dialect is not None:
        view = dialect.view()
        keys.append(decided)
        if (workload := view.outputs.workload_of(output.body)) is not None:
            keys.append(workload.key)
        related = (view.outputs.owner_of(decided, output.body), view.outputs.policy_of(output.body))
        keys += (one for one in related if one is not None)
    return list(dict.fromkeys(keys))


def _word(suspender: Suspender, key: ObjectKey) -> str:
    """Return what suspends an object as that object would call it."""
    if suspender.is_configuration:
        return EVERYTHING
    one = suspender.key
    return ITSELF if one == key else f"{one.kind.lower()}/{one.name}"


def _is_governed(key: ObjectKey) -> bool:
    """Return whether passes do anything with objects of a kind but read them."""
    kind = key[:2]
    if kind[0] not in KINDS.groups:
        return kind != CONFIGURATION
    return kind in KINDS.suspendable | KINDS.owned | KINDS.removable

"""What there is to be referred to in a repository, and a reference that leads nowhere."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass
from reconciler.model.world import Manifest, World

FEW = 8  # names to list
MANY = 1000  # ours: among more names the search for a similar one costs more than it tells


_NUMBER = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class Dangling:
    """A reference that leads nowhere: whose, at which JSON pointer, and what would be right."""

    key: ObjectKey
    pointer: str
    rule: str
    message: str
    expected: str


class Brought(NamedTuple):
    """That a policy or a placement puts an object onto clusters, and where it says so."""

    by: ObjectKey
    pointer: str
    object: ObjectKey


class OverrideResult(NamedTuple):
    """What an override makes of an object: where it says so, and the object as it leaves it.

    `result` is why it cannot change the object, where it cannot.
    """

    by: ObjectKey
    pointer: str
    object: ObjectKey
    result: Body | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is written in the repository.

    Attributes:
        world: Its inputs are valid; they are what is checked.
        keys: Everything that may be referred to: the inputs, projected clusters, and documents that
            are faulty. Those are told of as such, and need no second complaint from each object
            that names them.
        by_kind: The same by (group, kind), sorted.
        placements: (group, kind) of what is placed by itself, and so may be rebalanced beside
            workloads.
        unclear: (group, kind) of the faulty ones, of which it is not known what labels they have.
    """

    world: World
    keys: frozenset[ObjectKey]
    by_kind: Mapping[tuple[str, str], tuple[ObjectKey, ...]]
    placements: frozenset[Kind]
    unclear: frozenset[Kind]

    def of_kind(self, group: str, kind: str) -> Iterator[Manifest]:
        """Yield the valid objects of a kind, sorted by key."""
        manifests = (self.world.find(key) for key in self.by_kind.get((group, kind), ()))
        return (manifest for manifest in manifests if manifest is not None)

    def names(self, group: str, kind: str, namespace: str = "") -> frozenset[str]:
        """Return the names of the objects of a kind; of a namespaced one those of a namespace."""
        keys = self.by_kind.get((group, kind), ())
        return frozenset(key.name for key in keys if key.namespace == namespace)

    def workloads(self) -> frozenset[tuple[str, str, str]]:
        """Return kind, namespace and name of each workload."""
        apis = self.world.known.groups
        return frozenset(
            (key.kind, key.namespace, key.name) for key in self.keys if key.group not in apis
        )


def known_in(world: World, placements: frozenset[Kind]) -> Known:
    """Return what may be referred to in a world."""
    faulty = frozenset(filter(None, (_key_of(fault.subject) for fault in world.faults)))
    projected = (manifest.key for listed in world.projected.values() for manifest in listed)
    keys = frozenset(world.inputs).union(faulty, projected)
    by_kind: dict[tuple[str, str], list[ObjectKey]] = defaultdict(list)
    for key in sorted(keys):
        by_kind[key.group, key.kind].append(key)
    return Known(
        world=world,
        keys=keys,
        by_kind={kind: tuple(found) for kind, found in by_kind.items()},
        placements=placements,
        unclear=frozenset((key.group, key.kind) for key in faulty - world.inputs.keys()),
    )


def _key_of(subject: str) -> ObjectKey | None:
    """Return the key that a fault names as text, `None` if it names none."""
    what, _, where = subject.partition(" ")
    if not where or " " in where:
        return None
    kind, _, group = what.partition(".")
    scope, _, name = where.rpartition("/")
    return ObjectKey("" if group == "core" else group, kind, scope, name)


def proposal(name: str, names: Collection[str], kind: str) -> str:
    """Return what might have been meant by a name that names nothing.

    >>> proposal("membr1", ["member1", "edge"], "Cluster")
    'did you mean "member1"?'
    >>> proposal("x", [], "Cluster")
    'a Cluster of this name'

    Nobody mistypes one number for another: that of a name says which one is meant.

    >>> proposal("member1", ["member2"], "Cluster")
    'a Cluster of this name, or one of member2'
    """
    from difflib import get_close_matches  # noqa: PLC0415  # only for what is wrong

    numbered = _NUMBER.sub("#", name)
    known = [one for one in sorted(names)[:MANY] if _NUMBER.sub("#", one) != numbered]
    close = get_close_matches(name, known, n=1, cutoff=0.7)
    if close:
        return f'did you mean "{close[0]}"?'
    if names and len(names) <= FEW:
        return f"a {kind} of this name, or one of {', '.join(sorted(names))}"
    return f"a {kind} of this name"


def is_slip(one: str, other: str) -> bool:
    """Return whether a name is another one with a letter too many, too few, or two swapped.

    A letter in place of another is none: `team-a` and `team-b` are both meant.

    >>> is_slip("defualt", "default"), is_slip("team-a", "team-b")
    (True, False)
    """
    if abs(len(one) - len(other)) == 1:
        long, short = sorted((one, other), key=len, reverse=True)
        return any(long[:i] + long[i + 1 :] == short for i in range(len(long)))
    same = len(one) == len(other)
    differs = [i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]]
    return same and len(differs) == 2 and sorted(one) == sorted(other) and _adjacent(differs)


def _adjacent(positions: Sequence[int]) -> bool:
    return positions[1] - positions[0] == 1

"""What there is to be referred to, and what a reference that leads nowhere is told by."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from reconciler.manifests.identify import OUR_GROUPS
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest, World

FEW = 8  # names to list


@dataclass(frozen=True, slots=True)
class Dangling:
    """A reference that leads nowhere: whose, at which JSON pointer, and what would be right."""

    key: ObjectKey
    pointer: str
    rule: str
    message: str
    expected: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is written in the repository.

    Attributes:
        world: Its inputs are valid; they are what is checked.
        keys: Everything that may be referred to: the inputs, and documents that are faulty. Those
            are told of as such, and need no second complaint from each object that names them.
        unclear: (group, kind) of the faulty ones, of which it is not known what labels they have.
    """

    world: World
    keys: frozenset[ObjectKey]
    unclear: frozenset[tuple[str, str]]

    def of_kind(self, group: str, *kinds: str) -> Iterator[Manifest]:
        """Yield the valid objects of some kinds, sorted by key."""
        for key in sorted(self.world.inputs):
            if key.group == group and key.kind in kinds:
                yield self.world.inputs[key]

    def names(self, group: str, kind: str) -> frozenset[str]:
        """Return the names of the cluster-scoped objects of a kind."""
        return frozenset(key.name for key in self.keys if (key.group, key.kind) == (group, kind))

    def workloads(self) -> frozenset[tuple[str, str, str]]:
        """Return kind, namespace and name of each workload."""
        return frozenset(
            (key.kind, key.namespace, key.name) for key in self.keys if key.group not in OUR_GROUPS
        )


def known_in(world: World) -> Known:
    """Return what may be referred to in a world."""
    faulty = frozenset(filter(None, (_key_of(fault.subject) for fault in world.faults)))
    return Known(
        world=world,
        keys=frozenset(world.inputs) | faulty,
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
    """
    from difflib import get_close_matches  # noqa: PLC0415  # only for what is wrong

    close = get_close_matches(name, sorted(names), n=1, cutoff=0.7)
    if close:
        return f'did you mean "{close[0]}"?'
    if names and len(names) <= FEW:
        return f"a {kind} of this name, or one of {', '.join(sorted(names))}"
    return f"a {kind} of this name"

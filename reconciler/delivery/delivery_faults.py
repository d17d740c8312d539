"""What delivery finds wrong with decisions, or worth knowing of them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from reconciler.delivery.carriage import NOT_CARRIED, TABLE
from reconciler.delivery.memory import DeliveryMemory
from reconciler.delivery.settings import Destination
from reconciler.delivery.transports.decisions import DECISIONS
from reconciler.dialects.renderer import Instruction
from reconciler.model.enumeration import enumerated
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Fault, World

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
    if any(one.transport != DECISIONS.name for one in destinations):
        yield from memory.definitions.missing(world)
        yield from memory.definitions.without_namespace()


def _not_carried(memory: DeliveryMemory) -> Iterator[str]:
    """Yield what is asked and not carried: a sentence an instruction and transport."""
    found: defaultdict[tuple[Instruction, str], set[ObjectKey]] = defaultdict(set)
    for owner in memory.telling:
        for one in memory.owned[owner].not_carried:
            found[one.instruction, one.transport].add(one.source)
    for (instruction, transport), sources in sorted(found.items()):
        what = enumerated(map(str, sorted(sources)), NAMED)
        yield f"{not_carried_text(instruction, transport)} ({NOT_CARRIED}): {what}"


def not_carried_text(instruction: Instruction, transport: str) -> str:
    """Return that a transport does not carry what is asked, and what happens instead."""
    return f"`{instruction}` is not carried by {transport}: {TABLE[instruction][transport].by}"


def _conflict(path: str, first: ObjectKey, other: ObjectKey) -> Fault:
    return Fault(
        path=path,
        line=0,
        column=0,
        field="",
        rule=CONFLICT,
        message=f"{first} and {other} put different objects there; that of {first} stands",
        expected="one decision for each object on a cluster",
        subject=str(other),
    )

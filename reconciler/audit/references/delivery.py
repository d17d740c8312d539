"""What is asked not to happen on clusters, and the transports in use do not carry."""

from collections.abc import Iterator

from reconciler.core.dialects import DIALECTS
from reconciler.delivery.carriage import NOT_CARRIED, TABLE
from reconciler.delivery.delivery_faults import not_carried_text
from reconciler.delivery.settings import decode_delivery
from reconciler.dialects.renderer import Instruction
from reconciler.manifests.references import Dangling, Known
from reconciler.model.settings import settings_in


def not_carried_by_delivery(known: Known) -> Iterator[Dangling]:
    """Yield what is asked of objects and not carried, for each transport that is in use."""
    destinations = decode_delivery(settings_in(known.world)).destinations
    if not destinations:
        return
    transports = sorted({one.transport for one in destinations})
    for dialect in DIALECTS:
        for one in dialect.view().instructed(known):
            for transport in transports:
                if not TABLE[one.instruction][transport].carried:
                    text = not_carried_text(one.instruction, transport)
                    expected = _expected(one.instruction)
                    yield Dangling(one.by, one.pointer, NOT_CARRIED, text, expected)


def _expected(instruction: Instruction) -> str:
    """Return what carries it."""
    cells = TABLE[instruction].items()
    carrying = [name for name, cell in cells if cell.carried and name != "decisions"]
    if not carrying:
        return "a manifest that does not ask for it"
    return f"a transport that carries it ({', '.join(carrying)}), or a manifest without it"

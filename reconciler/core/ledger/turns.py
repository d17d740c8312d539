"""Whose decisions come first, where all APIs take room of the same clusters."""

from collections.abc import Callable, Mapping

from reconciler.dialects.contract import Dialect, Plan, Prepared
from reconciler.schedule.capacity.ledger import Ledger, Order


def plan_in_turn(
    prepared: Mapping[Dialect, Prepared],
    plan: Callable[[Prepared], Plan],
    ledger: Ledger | None,
) -> dict[Dialect, Plan]:
    """Return the plan of each API, in the order of the APIs.

    With a ledger an API is planned once its turn comes. One whose objects are of several priorities
    has those planned that come between them, before it goes on.

    Args:
        prepared: The APIs.
        plan: Plans one of them.
        ledger: What is reserved, `None` where nothing is.
    """
    if ledger is None:
        return {dialect: plan(part) for dialect, part in prepared.items()}
    rules = {dialect: dialect.capacity() for dialect in prepared}
    turns = {dialect: one.turn for dialect, one in rules.items() if one is not None}
    begun: set[Dialect] = set()
    found: dict[Dialect, Plan] = {}

    def begin(dialect: Dialect) -> None:
        begun.add(dialect)
        one, part = rules[dialect], prepared[dialect]
        found[dialect] = plan(part if one is None else one.within(part, ledger))

    def before(order: Order) -> None:
        for dialect in sorted(turns.keys() - begun, key=turns.__getitem__):
            if dialect not in begun and turns[dialect] < order:
                begin(dialect)

    ledger.before = before
    for dialect in sorted(turns, key=turns.__getitem__):
        if dialect not in begun:
            begin(dialect)
    for dialect in prepared:
        if dialect not in begun:
            begin(dialect)
    return {dialect: found[dialect] for dialect in prepared}

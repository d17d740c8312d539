"""How much of a cluster is taken: amounts as people write them, and bars of so many parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reconciler.audit.fleet.usage import Usage
from reconciler.model.quantity import Quantity, canonical_binary, canonical_cpu, ceil_units
from reconciler.model.resources import Resources

AMOUNTS = {"cpu": canonical_cpu, "memory": canonical_binary}


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much of a resource is taken.

    Attributes:
        resource: Its name.
        used: What is taken.
        all: What there is, `""` where that is not known.
        free: What is left, `""` where that is not known.
        reserved: What of it is decided and not reported yet, `""` unless room is protected.
        over: By how much it is over-committed, `""` if it is not.
        percent: What is taken of what there is; above 100 where it is over-committed, `None` where
            it is not known.
    """

    resource: str
    used: str
    all: str
    free: str
    over: str
    percent: int | None
    reserved: str = ""

    @property
    def bar(self) -> tuple[int, int]:
        """How far a bar of a hundred is filled, and from where on it is over-committed.

        >>> Amount(resource="cpu", used="", all="", free="", over="", percent=125).bar
        (100, 80)
        """
        percent = self.percent or 0
        return (percent, 100) if percent <= 100 else (100, round(10_000 / percent))


def amounts_of(usage: Usage, *, every: bool = False) -> Sequence[Amount]:
    """Return what is known of cpu and memory, with `every` of what else a cluster counts, too."""
    known = [*usage.used, *(usage.capacity or {})] if every else []
    names = dict.fromkeys((*AMOUNTS, *sorted(known)))
    return [one for name in names if (one := _amount(usage, name)) is not None]


def _amount(usage: Usage, name: str) -> Amount | None:
    """Return how much of a resource is used, `None` where nothing is known of it."""
    used, capacity = usage.used.get(name), (usage.capacity or {}).get(name)
    if used is None and capacity is None:
        return None
    return Amount(
        resource=name,
        used=_shown(usage.used, name) or "0",
        all=_shown(usage.capacity or {}, name),
        free=_shown(usage.free or {}, name),
        over=_shown(usage.over, name),
        reserved=_shown(usage.reserved, name),
        percent=None if not capacity else round(100 * (used or 0) / capacity),
    )


def _shown(resources: Resources | Mapping[str, Quantity], name: str) -> str:
    """Return an amount as people write it, `""` where it is not known."""
    found = resources.get(name)
    if found is None:
        return ""
    return AMOUNTS[name](found) if name in AMOUNTS else str(ceil_units(found))

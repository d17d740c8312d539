"""What `reconciler.yaml` says of room in clusters."""

from dataclasses import dataclass
from datetime import timedelta

from reconciler.model.fields import number_or_none
from reconciler.model.moments import span
from reconciler.model.settings import Settings

SECTION = "capacity"
RESERVATION_SECONDS = 600  # ours: ten reports of a cluster that reports every minute


@dataclass(frozen=True, slots=True)
class Protection:
    """Whether room is reserved, and for how long at most where no report ends that."""

    on: bool
    bound: timedelta


def decode_protection(settings: Settings) -> Protection:
    """Return what the configuration says; nothing is reserved unless it says so."""
    seconds = number_or_none(settings.options.get(SECTION, {}), "reservationSeconds")
    return Protection(
        on=protects(settings),
        bound=span(seconds=RESERVATION_SECONDS if seconds is None else seconds),
    )


def protects(settings: Settings) -> bool:
    """Return whether what clusters cannot hold is refused."""
    return settings.options.get(SECTION, {}).get("protect") is True

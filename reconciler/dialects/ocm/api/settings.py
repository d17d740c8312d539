"""OCM's section of the configuration: how soon scores alone may move a placement."""

from datetime import timedelta

from reconciler.model.moments import span
from reconciler.model.settings import Settings

RESYNC_SECONDS = 300  # OCM enhancement 32: scores are looked at every five minutes


def decode_resync(settings: Settings) -> timedelta:
    """Return how long after a decision scores alone may cause the next one; zero is at once."""
    seconds = settings.options.get("ocm", {}).get("resyncSeconds", RESYNC_SECONDS)
    return span(seconds=seconds if isinstance(seconds, int) else RESYNC_SECONDS)

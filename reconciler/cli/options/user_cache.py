"""Where we keep what can be made again: mirrors, parsed documents, records of proofs."""

import os
from pathlib import Path

import click

OFF = "off"


def user_cache() -> Path:
    """Return our folder below the user's cache.

    Raises:
        RuntimeError: The user has no home.
    """
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "reconciler"


def chosen_cache() -> str | None:
    """Return what a person chose as our folder, `None` for nothing."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.find_root().params.get("cache_dir")


def cache_folder() -> Path | None:
    """Return where things are kept from one command to the next, `None` if nothing is."""
    chosen = chosen_cache()
    if chosen == OFF:
        return None
    try:
        return Path(chosen) if chosen else user_cache()
    except RuntimeError:
        return None

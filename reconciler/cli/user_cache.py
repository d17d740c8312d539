"""Where we keep what can be made again, such as mirrors and records of proofs."""

import os
from pathlib import Path


def user_cache() -> Path:
    """Return our folder below the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "reconciler"

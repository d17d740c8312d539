"""Where parsed manifests are kept from one command to the next."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reconciler.shell.document_cache import DocumentCache

OFF = "off"


def document_cache() -> "DocumentCache | None":
    """Return what was parsed before, written when the command is over; `None` if it is off."""
    from reconciler.audit.printable import printable
    from reconciler.core.dialects import KINDS
    from reconciler.shell.document_cache import DocumentCache
    from reconciler.shell.resources import build_id

    context = click.get_current_context().find_root()
    named: str | None = context.params.get("cache_dir")
    try:
        folder = Path(named) if named else user_cache()
    except RuntimeError:  # a user without a home
        return None
    if named == OFF:
        return None
    documents = DocumentCache(folder / "documents", build_id, KINDS)

    def save() -> None:
        if not isinstance(sys.exception(), KeyboardInterrupt):
            documents.save()
        if named and documents.problem:
            told = f"--cache-dir {named} is not used, so manifests are parsed each time"
            click.echo(printable(f"{told}: {documents.problem}"), err=True)

    context.call_on_close(save)
    return documents


def user_cache() -> Path:
    """Return our folder below the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "reconciler"

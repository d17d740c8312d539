"""Where parsed manifests are kept from one command to the next."""

import sys
from typing import TYPE_CHECKING

import click

from reconciler.cli.options.user_cache import cache_folder, chosen_cache

if TYPE_CHECKING:
    from reconciler.shell.reading.document_cache import DocumentCache


def document_cache() -> "DocumentCache | None":
    """Return what was parsed before, written when the command is over; `None` if it is off."""
    from reconciler.audit.printable import printable
    from reconciler.core.dialects import KINDS
    from reconciler.shell.reading.document_cache import DocumentCache
    from reconciler.shell.resources import build_id, build_stamp

    named, folder = chosen_cache(), cache_folder()
    context = click.get_current_context(silent=True)
    if folder is None or context is None:
        return None
    documents = DocumentCache(folder / "documents", build_id, KINDS, stamp=build_stamp)

    def save() -> None:
        if not isinstance(sys.exception(), KeyboardInterrupt):
            documents.save()
        if named and documents.problem:
            told = f"--cache-dir {named} is not used, so manifests are parsed each time"
            click.echo(printable(f"{told}: {documents.problem}"), err=True)

    context.find_root().call_on_close(save)
    return documents
